"""Every sandbox that the registry finds, and one from outside that wraps ours, keeps the contract of sandboxes."""

import pytest

from evosyn import registry
from evosyn.contracts import SandboxContract
from evosyn.ports import PluginConfig, SandboxTools
from evosyn.sandbox import local

NAMES = registry.names("sandboxes")


def test_there_is_a_local_and_a_docker_sandbox():
    assert {"local", "docker"} <= set(NAMES)


class TestFound(SandboxContract):
    @pytest.fixture(autouse=True, params=NAMES)
    def _named(self, request):
        self.create = registry.find("sandboxes", request.param).create


class Counting:
    """A sandbox from outside: the local one, and how many jobs it ran."""

    def __init__(self, behind):
        self.behind, self.count = behind, 0
        self.protection, self.share, self.close = behind.protection, behind.share, behind.close

    def run(self, jobs, *, on_done=None):
        self.count += len(jobs)
        return self.behind.run(jobs, on_done=on_done)

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        self.close()


def create(tools: SandboxTools, config: PluginConfig):
    return Counting(local.create(tools, config))


class TestOutside(SandboxContract):
    create = staticmethod(create)
