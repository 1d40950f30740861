"""Every kind of world that the registry finds keeps the contract of worlds."""

import pytest
from tool_shop import rows, shop

from evosyn import registry
from evosyn.contracts import WorldContract
from evosyn.jobs import ShellScript
from evosyn.ports import WorldTools
from evosyn.sandbox import open_sandbox
from evosyn.shell_world import ShellWorld
from evosyn.worlds.tools.kind import ToolPlace, action_of

SHOP = ToolPlace(shop(), rows(), ("buy", "find_item"))
BUY = action_of("buy", {"item_id": "I1001", "count": 2})
LOOK = action_of("find_item", {"name": "Thing 1"})
WORLDS = {
    "shell": (ShellWorld(init=(ShellScript("echo one > /root/a"),)), "echo two > /root/b", "ls /root"),
    "tools": (SHOP, BUY, LOOK),
}


@pytest.fixture(scope="module")
def sandbox():
    with open_sandbox(workers=1) as opened:
        yield opened


class TestFound(WorldContract):
    @pytest.fixture(autouse=True, params=registry.names("worlds"))
    def _named(self, request, sandbox):
        self._sandbox = sandbox
        self.create = registry.find("worlds", request.param).create
        self.world, self.change, self.look = WORLDS[request.param]

    def tools(self):
        return WorldTools(self._folder, 1, lambda: self._sandbox)
