"""One sandbox and one cross-executor for all tests of the bundled problems."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domains_named, load_pools
from evosyn.ports import Sandbox
from evosyn.records import Problem
from evosyn.sandbox import open_sandbox


@pytest.fixture(scope="session")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox(allow_weak=True) as opened:
        yield opened


@pytest.fixture(scope="session")
def crossexec(sandbox: Sandbox) -> CrossExecutor:
    names = ("python-function", "python-stdin")
    return CrossExecutor(Judge(sandbox, domains_named(names)))


@pytest.fixture(scope="session")
def problems() -> list[Problem]:
    return [pool.problem for pool in load_pools("builtin:python-seeds")]
