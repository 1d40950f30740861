"""Every kind of world that the registry finds keeps the contract of worlds."""

import pytest

from evosyn import registry
from evosyn.contracts import WorldContract
from evosyn.jobs import ShellScript
from evosyn.shell_world import ShellWorld

WORLDS = {"shell": (ShellWorld(init=(ShellScript("echo one > /root/a"),)), "echo two > /root/b", "ls /root")}


class TestFound(WorldContract):
    @pytest.fixture(autouse=True, params=registry.names("worlds"))
    def _named(self, request):
        self.create = registry.find("worlds", request.param).create
        self.world, self.change, self.look = WORLDS[request.param]
