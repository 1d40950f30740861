"""The loop of an agent: a model is asked, what it does is done in a room, and it is shown what came of it.

It ends with an answer, with `finish`, after so many replies, or when the model twice in a row does nothing; as that of
AgentBench (Liu 2023, section 3, OS); docs/os-shell.md.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

from evosyn.agents.course import Course
from evosyn.agents.dialects import HINT, RULES, TOOLS, Dialect, read_action, result, written
from evosyn.agents.place import EpisodePlace, RoomGone
from evosyn.agents.turns import TurnJournal
from evosyn.chat import Message, Reply, Request
from evosyn.configs.section import Section
from evosyn.domains.os_shell import ROUNDS
from evosyn.ports.worlds import WorldKind
from evosyn.records import Json, Problem
from evosyn.running.ledger import TRANSIENT
from evosyn.shell_world import Need, ShellWorld, world_in
from evosyn.trajectories import BASH, Trajectory

Done = TypeVar("Done")
AskTurn = Callable[[int, Request], Awaitable[Reply]]
"""Answers (number of the turn, request)."""


class Rooms(WorldKind[ShellWorld], Protocol):
    """The shell world, as an agent and its run need it (`worlds.shell.ShellWorlds`)."""

    def first_state(self, world: ShellWorld) -> str: ...

    def trial(self, world: ShellWorld) -> str: ...

    def kept(self, state: str) -> bool: ...

    def see_image(self, name: str) -> None: ...

    def lacks(self, world: ShellWorld) -> tuple[Need, ...]: ...


class AgentConfig(Section):
    """How an agent is asked.

    Attributes:
        dialect: `text` needs nothing but chat; `tools` an endpoint with function calling.
        rooms: episodes that have a room at the same time; None for two a core.
    """

    dialect: Dialect = "text"
    rooms: int | None = None


class Episode(NamedTuple):
    """One run of an agent.

    Attributes:
        trajectory: None where the endpoint gave no reply; `lost` is then why.
        replies: of the model, in order.
        drifted: a room was rebuilt and showed something else than before.
    """

    trajectory: Trajectory | None
    replies: tuple[Reply, ...]
    lost: str = ""
    drifted: bool = False


class LoopActor:
    """Solves problems whose payload names a shell world."""

    def __init__(self, rooms: Rooms, turns: TurnJournal, config: AgentConfig) -> None:
        self._rooms, self._turns, self._config = rooms, turns, config
        self._most = config.rooms or 2 * len(os.sched_getaffinity(0))
        self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="evosyn-agent")
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def ready(self, problems: Sequence[Problem]) -> None:
        """See that there is a place to act in, before anything is spent.

        Raises:
            SandboxUnavailable: an image is not here; says how it is made.
        """
        for name in sorted({world_in(problem.payload).image for problem in problems}):
            self._rooms.see_image(name)

    def lacks(self, problem: Problem) -> tuple[Need, ...]:
        """What its world needs and this machine does not give: it is left out by these names, and nobody is asked."""
        return self._rooms.lacks(world_in(problem.payload))

    async def refused(self, problem: Problem) -> str:
        """Why no agent should be sent into the world of a new problem, as `name: detail`; empty where nothing is."""
        return await self._in_thread(lambda: self._rooms.trial(world_in(problem.payload)))

    async def solve(self, problem: Problem, request: Request, ask: AskTurn) -> Episode:
        """One episode.

        Args:
            request: the first one; those that follow have more messages.

        Raises:
            BudgetSpent, TeacherUnavailable: from the teacher.
            SandboxUnavailable: there are no rooms any more.
        """
        world = world_in(problem.payload)
        place = EpisodePlace(
            lambda: self._rooms.open(world), self._rooms.kept, self._turns, f"{problem.id}/{request.sample}"
        )
        async with self._gate():
            with _closing(place):
                return await self._run(problem, self._first(request), ask, place)

    async def _run(self, problem: Problem, request: Request, ask: AskTurn, place: EpisodePlace) -> Episode:
        chat, replies = list(request.messages), list[Reply]()
        course = Course(int(problem.payload.get("rounds", ROUNDS)))
        try:
            while not course.over:
                reply = await ask(len(replies), replace(request, messages=tuple(chat)))
                replies.append(reply)
                if reply.failure in TRANSIENT:
                    return Episode(None, tuple(replies), reply.failure or "")
                act = None if reply.failure else read_action(reply.text)
                course.take(act)
                if act is None:
                    chat += [Message("assistant", reply.text.strip() or "(nothing)"), Message("user", HINT)]
                elif act.name == BASH:
                    script = str(act.arguments["script"])
                    seen = await self._in_thread(lambda script=script: place.act(script))  # type: ignore[misc]
                    course.saw(act, seen)
                    dialect = self._config.dialect
                    chat += [Message("assistant", written(act, dialect)), result(seen.out, dialect)]
            state = await self._in_thread(place.freeze) if course.ended else None
        except RoomGone:
            return Episode(None, tuple(replies), "room")
        return Episode(course.trajectory(state), tuple(replies), drifted=place.drifted)

    def _first(self, request: Request) -> Request:
        if self._config.dialect == "text":
            return request.followed_by(RULES)
        tools: Mapping[str, Json] = {"tools": TOOLS, "parallel_tool_calls": False}
        return replace(request, params={**request.params, **tools})

    def _gate(self) -> asyncio.Semaphore:
        return self._gates.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._most))

    async def _in_thread(self, work: Callable[[], Done]) -> Done:
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)


@contextmanager
def _closing(place: EpisodePlace) -> Iterator[None]:
    try:
        yield
    finally:
        place.close()
