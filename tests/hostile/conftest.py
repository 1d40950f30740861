"""The backends, opened once for all tests of a process, the host that they must leave alone, and the seed."""

from __future__ import annotations

import os
import resource
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hostile_suite.backends import BACKENDS, Backend, reason_against
from hostile_suite.host import Host
from hostile_suite.seed import run_seed

OWN_SPACE = 6 << 30
"""Address space that our own process may add while hostile texts are judged in it: a bomb ends in MemoryError, and
shows, before it takes the machine down."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """EVOSYN_HOSTILE_PART=2/8 leaves every eighth case, from the third on: so that parts can run side by side."""
    part, _, parts = os.environ.get("EVOSYN_HOSTILE_PART", "").partition("/")
    if parts:
        items[:] = items[int(part) :: int(parts)]


@pytest.fixture(scope="session")
def seed() -> str:
    return run_seed()


@pytest.fixture(scope="module")
def host() -> Iterator[Host]:
    with tempfile.TemporaryDirectory() as folder:  # not below pytest's own, which other users cannot enter
        made = Host(Path(folder))
        yield made
        made.close()


@pytest.fixture(scope="module")
def backends(host: Host) -> Iterator[Callable[[str], Backend]]:
    """Opens a backend by name, or skips; the host is there before, so that its secrets could be inherited."""
    opened: dict[str, Backend] = {}

    def get(name: str) -> Backend:
        reason = reason_against(name)
        if reason is not None:
            pytest.skip(f"{name}: {reason}")
        return opened.setdefault(name, Backend(name))

    yield get
    for backend in opened.values():
        backend.close()
    assert host.effects() == []


@pytest.fixture(
    params=[name if name != "docker" else pytest.param(name, marks=pytest.mark.docker) for name in BACKENDS]
)
def backend(request: pytest.FixtureRequest, backends: Callable[[str], Backend]) -> Backend:
    return backends(str(request.param))


@pytest.fixture(autouse=True)
def bounded_space() -> Iterator[None]:
    before = resource.getrlimit(resource.RLIMIT_AS)
    size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    most = size + OWN_SPACE
    if before[1] == resource.RLIM_INFINITY or most < before[1]:
        resource.setrlimit(resource.RLIMIT_AS, (most, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)
