"""Problems of agents over the machine's own programs."""

import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.records import Problem
from evosyn.worlds.shell import open_shells

INIT = "mkdir -p /root/d; echo one > /root/d/a; echo two > /root/d/.b"


@pytest.fixture(scope="session", autouse=True)
def rooms():
    try:
        open_shells(workers=1).close()
    except SandboxUnavailable as error:
        pytest.skip(str(error))


@pytest.fixture
def problem():
    """A question whose answer is 2."""
    world = {"image": "host", "init": [{"code": INIT}]}
    return Problem(
        "count", "os-shell", "How many files are in /root/d?", {"world": world, "asks": "answer", "rounds": 4}
    )
