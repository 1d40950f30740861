"""What every agent must keep to: `ports.Agent`, in an episode whose replies are given and whose room says nothing."""

from __future__ import annotations

import asyncio

from evosyn.agents import dialects
from evosyn.chat import Message, Reply, Request
from evosyn.contracts.base import ODD_TEXTS, PluginContract
from evosyn.ports import Agent
from evosyn.ports.agents import Ways
from evosyn.records import Json, Problem
from evosyn.text.tool_calls import ToolCall
from evosyn.trajectories import BASH

ROUNDS = 4
FULL = 50
"""Requests after which an episode that does not move is given up."""
PROBLEM = Problem("task", "os-shell", "Make /root/a.", {"world": {"image": "host"}, "asks": "state", "rounds": ROUNDS})


class GivenWork:
    """Implements `ports.AgentWork`: every reply is the same.

    Attributes:
        asked: requests that were put, `done`: what was done, `late`: how much of it after the end.
    """

    problem = PROBLEM
    opening = Request((Message("user", PROBLEM.statement),), "solution")
    ways: Ways = dialects

    def __init__(self, text: str) -> None:
        self._text, self._noted = text, dict[str, Json]()
        self.asked: list[Request] = []
        self.done: list[ToolCall | None] = []
        self.late = 0

    @property
    def over(self) -> bool:
        ended = bool(self.done) and self.done[-1] is not None and self.done[-1].name != BASH
        return ended or len(self.done) >= ROUNDS

    async def ask(self, request: Request) -> Reply:
        self.asked.append(request)
        if len(self.asked) > FULL:
            raise TimeoutError("an agent that asks and asks, and never does a thing")
        return Reply(f"r_{len(self.asked)}", self._text, "given")

    async def do(self, act: ToolCall | None) -> str:
        if self.over:
            self.late += 1
        else:
            self.done.append(act)
        return ""

    def recall(self, name: str) -> Json:
        return self._noted.get(name)

    def note(self, name: str, value: Json) -> None:
        self._noted[name] = value


class AgentContract(PluginContract):
    """Subclass it, and set `create` and `ending`.

    Attributes:
        ending: a reply that makes it end the task.
    """

    kind = "agents"
    ending: str = ""

    def test_it_is_one(self) -> None:
        agent: Agent = self.make()
        assert asyncio.iscoroutinefunction(agent.run), "run: must be a coroutine function"

    def test_it_ends_when_it_says_so_and_does_nothing_afterwards(self) -> None:
        work = self._worked(self.given("ending", "Act: finish"))
        last = work.done[-1] if work.done else None
        assert last is not None and last.name in ("answer", "finish"), f"run: ends by {last}, with {self.ending!r}"
        assert not work.late, "run: does more after the end; look at `work.over`"

    def test_any_reply_is_data_and_the_rounds_bound_it(self) -> None:
        for text in (text for text in ODD_TEXTS if len(text) < 1000):
            try:
                work = self._worked(text)
            except Exception as error:
                raise AssertionError(f"run: a reply {text[:40]!r} raises {error!r}") from error
            assert not work.late, f"run: after {text[:40]!r} it does more than the rounds allow"

    def test_equal_replies_lead_to_equal_requests(self) -> None:
        one, other = self._worked("Act: nothing"), self._worked("Act: nothing")
        assert one.asked == other.asked, "run: asks something else each time, so a killed run pays its replies again"

    def _worked(self, text: str) -> GivenWork:
        work = GivenWork(text)
        asyncio.run(self.make().run(work))
        return work
