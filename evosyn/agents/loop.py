"""The agent that comes with evosyn: a model is asked, what it does is done, and it is shown what came of it.

As that of AgentBench (Liu 2023, section 3, OS); docs/os-shell.md.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal
from weakref import WeakKeyDictionary

from pydantic import Field

from evosyn.agents.dialects import Dialect
from evosyn.chat import Message, Request
from evosyn.ports import AgentTools, PluginConfig
from evosyn.ports.agents import AgentWork, Ways
from evosyn.records import Json
from evosyn.text.tool_calls import heard
from evosyn.text.tool_dialects import ToolDialect

PROBE = "Call one of your tools once, whichever you like, and do nothing else."
NOTED = "dialect"


class SpeechConfig(PluginConfig):
    """How a model is asked."""

    dialect: Literal["text", "tools", ToolDialect] = Field(
        default="text",
        description="text needs nothing but chat; tools an endpoint with function calling; auto asks it once a run; "
        "a name of vLLM's --tool-call-parser, such as qwen3_coder, is text whose calls are read in this form alone.",
    )


def create(tools: AgentTools, config: SpeechConfig) -> LoopAgent:  # noqa: ARG001
    """The agent `loop`."""
    return LoopAgent(config)


class LoopAgent:
    """Implements `ports.agents.Agent`."""

    def __init__(self, config: SpeechConfig) -> None:
        self._config = config
        self._probing: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Lock] = WeakKeyDictionary()

    async def run(self, work: AgentWork) -> None:
        """See `ports.agents.Agent`."""
        dialect = await self._dialect(work)
        said = self._config.dialect
        form: ToolDialect = "auto" if said == "text" or said == "tools" else said
        ways = work.ways
        request = _first(work.opening, dialect, ways)
        chat = list(request.messages)
        while not work.over:
            reply = await work.ask(replace(request, messages=tuple(chat)))
            act = None if reply.failure else ways.read_action(reply.text, form)
            shown = await work.do(act)
            if act is None:
                chat += [Message("assistant", reply.text.strip() or "(nothing)"), Message("user", ways.HINT)]
            elif not work.over:
                chat += [Message("assistant", ways.written(act, dialect)), ways.result(shown, dialect)]

    async def _dialect(self, work: AgentWork) -> Dialect:
        """What is spoken; `auto` is found out by the first episode, and the same in all others."""
        if self._config.dialect != "auto":
            return "tools" if self._config.dialect == "tools" else "text"
        async with self._probing.setdefault(asyncio.get_running_loop(), asyncio.Lock()):
            if work.recall(NOTED) is None:
                asked = replace(work.opening, messages=(Message("user", PROBE),))
                reply = await work.ask(_first(asked, "tools", work.ways))
                works = not reply.failure and heard(reply.text, tools=work.ways.TOOLS) is not None
                work.note(NOTED, "tools" if works else "text")
        return "tools" if work.recall(NOTED) == "tools" else "text"


def _first(request: Request, dialect: Dialect, ways: Ways) -> Request:
    if dialect == "text":
        return request.followed_by(ways.RULES)
    tools: Mapping[str, Json] = {"tools": list(ways.TOOLS), "parallel_tool_calls": False}
    return replace(request, params={**request.params, **tools})
