"""Sandboxes with different hash seeds, and the ladder between them."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evosyn.environments.ladder import Ladder
from evosyn.ports import Sandbox
from evosyn.sandbox import open_sandbox


@pytest.fixture(scope="session")
def sandboxes() -> Iterator[tuple[Sandbox, Sandbox]]:
    with open_sandbox(workers=2) as one, open_sandbox(workers=2, hash_seed=1) as other:
        yield one, other


@pytest.fixture(scope="session")
def ladder(sandboxes: tuple[Sandbox, Sandbox]) -> Ladder:
    return Ladder(*sandboxes)
