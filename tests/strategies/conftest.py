"""A sandbox that strategies run in, one for each file of tests."""

from collections.abc import Iterator

import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.ports import Sandbox
from evosyn.sandbox import open_sandbox


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    try:
        opened = open_sandbox(workers=2, allow_weak=True, packages=("numpy",))
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with opened:
        yield opened
