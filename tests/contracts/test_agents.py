"""Every agent that the registry finds, in each of its dialects, and one from outside, keeps the contract of agents."""

import pytest

from evosyn import registry
from evosyn.contracts import AgentContract
from evosyn.ports import AgentTools, PluginConfig
from evosyn.text.tool_calls import ToolCall

DIALECTS = ("text", "tools", "auto")


class TestFound(AgentContract):
    ending = "Act: finish"

    @pytest.fixture(autouse=True, params=[(name, dialect) for name in registry.names("agents") for dialect in DIALECTS])
    def _named(self, request):
        name, dialect = request.param
        self.create = registry.find("agents", name).create
        self.options = {"dialect": dialect}


class Blunt:
    """Asks for one script, runs it, and is done: no loop at all."""

    async def run(self, work):
        reply = await work.ask(work.opening)
        await work.do(ToolCall("bash", {"script": reply.text}))
        await work.do(ToolCall("finish", {"thought": ""}))


def create(tools: AgentTools, config: PluginConfig) -> Blunt:  # noqa: ARG001
    return Blunt()


class TestOutside(AgentContract):
    create = staticmethod(create)
    ending = "true"


def test_the_agent_that_comes_with_evosyn_is_found():
    assert registry.names("agents") == ["loop"]
