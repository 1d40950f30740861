"""Episodes: an agent works in a room, and what it did is a solution. Keeps the room, the journal, the count of rounds.

Who the agent is stands in `loop`, or is a plug-in of the user's own (`ports.agents`). docs/os-shell.md.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple, Protocol, TypeVar
from weakref import WeakKeyDictionary

from evosyn.agents import dialects
from evosyn.agents.course import Course
from evosyn.agents.place import EpisodePlace, RoomGone, SeenOutput
from evosyn.agents.turns import TurnJournal
from evosyn.chat import Reply, Request
from evosyn.domains import rounds_of
from evosyn.ports.agents import Agent, Ways
from evosyn.ports.worlds import WorldKind
from evosyn.records import Json, Problem
from evosyn.running.ledger import UNPAID
from evosyn.shell_world import Need, ShellWorld, world_in
from evosyn.text.tool_calls import ToolCall
from evosyn.trajectories import BASH, ToolUse, Trajectory

Done = TypeVar("Done")
AskTurn = Callable[[int, Request], Awaitable[Reply]]
"""Answers (number of the turn, request)."""
NOTES = "notes"


class Rooms(WorldKind[ShellWorld], Protocol):
    """The shell world, as an agent and its run need it (`worlds.shell.ShellWorlds`)."""

    def first_state(self, world: ShellWorld) -> str: ...

    def trial(self, world: ShellWorld) -> str: ...

    def kept(self, state: str) -> bool: ...

    def see_image(self, name: str) -> None: ...

    def lacks(self, world: ShellWorld) -> tuple[Need, ...]: ...


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


class ReplyLost(Exception):
    """The endpoint gave no reply; its argument says why."""


class EpisodeActor:
    """Has problems solved by an agent; where that takes place is a matter of those that build on it.

    Args:
        most: episodes that have a place at the same time; None for two a core.
    """

    def __init__(self, turns: TurnJournal, agent: Agent, most: int | None = None) -> None:
        self.turns, self._agent = turns, agent
        self._most = most or 2 * len(os.sched_getaffinity(0))
        self._threads = ThreadPoolExecutor(self._most, thread_name_prefix="evosyn-agent")
        self._gates: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Semaphore] = WeakKeyDictionary()

    def ready(self, problems: Sequence[Problem]) -> None:
        """See that there is a place to act in, before anything is spent.

        Raises:
            SandboxUnavailable: there is none; says what to do.
        """

    def lacks(self, problem: Problem) -> tuple[str, ...]:  # noqa: ARG002
        """What its world needs and this machine does not give: it is left out by these names, and nobody is asked."""
        return ()

    async def refused(self, problem: Problem) -> str:  # noqa: ARG002
        """Why no agent should be sent into the world of a new problem, as `name: detail`; empty where nothing is."""
        return ""

    def place(self, problem: Problem, episode: str) -> EpisodePlace:
        """Where an episode takes place."""
        raise NotImplementedError

    def ways(self, problem: Problem) -> Ways:
        """How one acts there."""
        raise NotImplementedError

    @staticmethod
    def action(act: ToolCall) -> str | None:
        """What the session is told; None for what ends the episode."""
        raise NotImplementedError

    async def answered(self, problem: Problem, sample: int, act: ToolCall, before: Sequence[ToolUse]) -> str | None:  # noqa: ARG002
        """What somebody in the place says to an act, who is asked in place of the session; None where nobody is.

        Args:
            sample: number of the episode.
            before: what was done until then.

        Raises:
            ReplyLost: whoever it is gave no answer.
        """
        return None

    async def solve(self, problem: Problem, request: Request, ask: AskTurn) -> Episode:
        """One episode.

        Args:
            request: the first one; those that follow have more messages.

        Raises:
            BudgetSpent, TeacherUnavailable: from the teacher.
            SandboxUnavailable: there are no rooms any more.
        """
        place = self.place(problem, f"{problem.id}/{request.sample}")
        bare = replace(problem, human_testing=None)
        work = _Work(bare, request, ask, place, self)
        async with self._gate():
            with _closing(place):
                try:
                    await self._agent.run(work)
                    state = await self.in_thread(place.freeze) if work.course.ended else None
                except ReplyLost as error:
                    return Episode(None, tuple(work.replies), str(error))
                except RoomGone:
                    return Episode(None, tuple(work.replies), "room")
        return Episode(work.course.trajectory(state), tuple(work.replies), drifted=place.drifted)

    async def in_thread(self, work: Callable[[], Done]) -> Done:
        """Block elsewhere."""
        return await asyncio.get_running_loop().run_in_executor(self._threads, work)

    def _gate(self) -> asyncio.Semaphore:
        return self._gates.setdefault(asyncio.get_running_loop(), asyncio.Semaphore(self._most))


class Actor(EpisodeActor):
    """Has problems solved whose payload names a shell world; arguments as those of `EpisodeActor`."""

    def __init__(self, rooms: Rooms, turns: TurnJournal, agent: Agent, most: int | None = None) -> None:
        super().__init__(turns, agent, most)
        self._rooms = rooms

    def ready(self, problems: Sequence[Problem]) -> None:
        """See that there is a place to act in, before anything is spent.

        Raises:
            SandboxUnavailable: an image is not here; says how it is made.
        """
        for name in sorted({world_in(problem.payload).image for problem in problems}):
            self._rooms.see_image(name)

    def lacks(self, problem: Problem) -> tuple[Need, ...]:
        return self._rooms.lacks(world_in(problem.payload))

    async def refused(self, problem: Problem) -> str:
        return await self.in_thread(lambda: self._rooms.trial(world_in(problem.payload)))

    def place(self, problem: Problem, episode: str) -> EpisodePlace:
        return shell_place(self._rooms, problem, self.turns, episode)

    def ways(self, problem: Problem) -> Ways:  # noqa: ARG002
        return dialects

    @staticmethod
    def action(act: ToolCall) -> str | None:
        return str(act.arguments["script"]) if act.name == BASH else None


def shell_place(rooms: Rooms, problem: Problem, turns: TurnJournal, episode: str) -> EpisodePlace:
    """Where an episode in a shell world takes place."""
    world = world_in(problem.payload)
    return EpisodePlace(lambda: rooms.open(world), rooms.kept, turns, episode)


class _Work:
    """Implements `ports.agents.AgentWork`."""

    def __init__(
        self,
        problem: Problem,
        opening: Request,
        ask: AskTurn,
        place: EpisodePlace,
        actor: EpisodeActor,
    ) -> None:
        self.problem, self.opening, self._ask, self._place, self._actor = problem, opening, ask, place, actor
        self.ways, self.course = actor.ways(problem), Course(rounds_of(problem))
        self.replies: list[Reply] = []

    @property
    def over(self) -> bool:
        return self.course.over

    async def ask(self, request: Request) -> Reply:
        reply = await self._ask(len(self.replies), request)
        self.replies.append(reply)
        if reply.failure in UNPAID:
            raise ReplyLost(reply.failure)
        return reply

    async def do(self, act: ToolCall | None) -> str:
        if self.over:
            return ""
        action = None if act is None else self._actor.action(act)
        self.course.take(act, runs=action is not None)
        if act is None or action is None:
            return ""
        said = await self._actor.answered(self.problem, self.opening.sample, act, self.course.calls)
        if said is None:
            seen = await self._actor.in_thread(lambda: self._place.act(action))
        else:
            seen = SeenOutput(said, 0)
        self.course.saw(act, seen)
        return str(seen.out)

    def recall(self, name: str) -> Json:
        return self._actor.turns.get(NOTES, [name])

    def note(self, name: str, value: Json) -> None:
        self._actor.turns.put(NOTES, [name], value)


@contextmanager
def _closing(place: EpisodePlace) -> Iterator[None]:
    try:
        yield
    finally:
        place.close()
