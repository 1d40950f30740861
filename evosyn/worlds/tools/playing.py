"""Plays calls of tools over states, in a sandbox: what a job looks like, and what its outcome says.

A play is a function of (world, rows, calls, clock): equal plays leave equal bytes. Nothing is judged here. Our own
failures are `Failed("infrastructure")`, never an outcome of a tool. DESIGN.md section 5; docs/worlds.md.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import Any, NamedTuple

from pydantic import TypeAdapter

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, HarnessJob, ItemOutcome, Limits, Status
from evosyn.ports import Sandbox
from evosyn.records import Json, canonical_json
from evosyn.worlds.tools.ddl import statements
from evosyn.worlds.tools.records import Rows, ToolWorld

LIMITS = Limits(cpu_s=4.0, budget_s=60.0, memory_mb=512, output_kb=16_384)
A_PLAY = 0.02
"""Seconds that one of many may take beside those of all."""
AT_ONCE = 200
"""Plays of one job; those of one that does not end well are played once more, each alone: neither a neighbour nor a
machine that is busy decides anything."""

OUTCOMES = {"ok", "rejected", "failed"}
STATE = TypeAdapter(dict[str, list[dict[str, Any]]])
"""Rows by table."""


class ToolCalled(NamedTuple):
    """One call that was asked for; `args` may refer to what earlier ones gave: `{"from": [call, "0.member_id"]}`."""

    tool: str
    args: Mapping[str, Json]
    minute: int = 0


class Play(NamedTuple):
    """Calls over a state."""

    rows: Rows
    calls: tuple[ToolCalled, ...]


class CallOutcome(NamedTuple):
    """What came of a call.

    Attributes:
        outcome: `ok`, `rejected` (by a refusal that the tool declares) or `failed`.
        args: as they were given, references filled in.
        reads, writes: `table.column`, or `table.*`.
    """

    outcome: str
    value: Json = None
    exception: str = ""
    detail: str = ""
    wrote: bool = False
    args: Mapping[str, Json] = {}
    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()


class Played(NamedTuple):
    """What came of a play.

    Attributes:
        lost: why there is nothing: `timeout`, `killed: ...`, `forged: ...`, `state: ...` (it breaks the schema); ""
            where there is.
    """

    calls: tuple[CallOutcome, ...]
    rows: dict[str, list[dict[str, Json]]]
    lost: str = ""

    @property
    def smooth(self) -> bool:
        """Whether all calls did what was asked."""
        return not self.lost and all(one.outcome == "ok" for one in self.calls)


def minutes(calls: Sequence[tuple[str, Mapping[str, Json]]]) -> tuple[ToolCalled, ...]:
    """Calls one after the other, a minute each."""
    return tuple([ToolCalled(tool, args, number) for number, (tool, args) in enumerate(calls, 1)])


@functools.lru_cache(maxsize=1)
def inside() -> str:
    """The text of what plays."""
    return (resources.files("evosyn.worlds.tools") / "inside.py").read_text(encoding="utf-8")


@functools.lru_cache(maxsize=256)
def kit(world: ToolWorld) -> str:
    """What `inside` has to know of a world, as JSON."""
    known = {
        "ddl": statements(world),
        "tables": [[one.name, one.key, [two.name for two in one.columns], one.prefix] for one in world.ordered],
        "tools": {one.name: {"source": one.source, "raises": list(one.raises)} for one in world.tools},
    }
    return json.dumps(known)


@functools.lru_cache(maxsize=256)
def program(world: ToolWorld) -> str:
    """A whole program: the text of `inside`, and the world."""
    return f"{inside()}\n\nKIT.update(json.loads({kit(world)!r}))\n"


def play_job(
    world: ToolWorld, rows: Rows, plays: Sequence[tuple[ToolCalled, ...]], limits: Limits = LIMITS
) -> HarnessJob:
    """One process for all plays over the same rows, each over a fresh copy; its one item is all of them."""
    argument: Json = [dict(rows), [[list(call) for call in one] for one in plays], world.clock]
    return HarnessJob(inside(), kit(world), argument=argument, limits=limits)


def apart_job(world: ToolWorld, asked: Sequence[tuple[Rows, ToolCalled]], limits: Limits = LIMITS) -> CallsJob:
    """One process for calls over states of their own, an item each: one that does not end costs no other."""
    calls = [Call((dict(rows), [[list(call)]], world.clock)) for rows, call in asked]
    return CallsJob(program(world), "play", tuple(calls), limits)


def played(outcome: ItemOutcome, rows: Rows, plays: int = 1) -> list[Played]:
    """What came of each play of a job.

    Args:
        rows: that they began with.

    Raises:
        SandboxUnavailable: nothing was played, by our fault.
    """
    if outcome.status is Status.INFRASTRUCTURE:
        raise SandboxUnavailable(f"a tool world could not be played: {outcome.detail[:200]}")
    if outcome.status is not Status.OK:
        return [Played((), {}, f"{outcome.status.value}: {outcome.detail[:200]}".rstrip(": "))] * plays
    try:
        found = [_played(one, rows) for one in outcome.value]
    except (TypeError, KeyError, AttributeError, ValueError, RecursionError):
        found = []
    return found if len(found) == plays else [Played((), {}, "forged: what came out is no outcome of calls")] * plays


def _played(value: Json, rows: Rows) -> Played:
    """
    Raises:
        TypeError, KeyError, AttributeError, ValueError, RecursionError: it is none; the process that ran tools may
            say anything, also what is no JSON.
    """
    if value["broken"]:
        return Played((), {}, f"state: {value['broken']}")
    touched = [{what: tuple(one.get(what, ())) for what in ("reads", "writes")} for one in value["calls"]]
    calls = [CallOutcome(**{**one, **more}) for one, more in zip(value["calls"], touched, strict=True)]
    if not {one.outcome for one in calls} <= OUTCOMES:
        raise ValueError("no such outcome")
    found = None if value["rows"] is None else STATE.validate_python(value["rows"])
    canonical_json([found, *[one[:5] for one in calls], *[one.args for one in calls]])
    return Played(tuple(calls), dict(rows) if found is None else found)


class Player:
    """Plays many at once; keeps nothing but its collaborators."""

    def __init__(self, sandbox: Sandbox, limits: Limits = LIMITS) -> None:
        self._sandbox, self._limits = sandbox, limits

    def play(self, world: ToolWorld, plays: Sequence[Play]) -> list[Played]:
        """What came of each, in order; neighbours over the same rows share a process.

        Raises:
            SandboxUnavailable: the sandbox failed twice.
        """
        groups: list[list[int]] = []
        for at, one in enumerate(plays):
            if groups and len(groups[-1]) < AT_ONCE and plays[groups[-1][0]].rows is one.rows:
                groups[-1].append(at)
            else:
                groups.append([at])
        outcomes = self._run(world, plays, groups)
        lost = [group for group, outcome in zip(groups, outcomes, strict=True) if outcome.status is not Status.OK]
        alone = [[at] for group in lost for at in group]
        found: dict[int, Played] = {}
        sound = [pair for pair in zip(groups, outcomes, strict=True) if pair[0] not in lost]
        for group, outcome in [*sound, *zip(alone, self._run(world, plays, alone), strict=True)]:
            found |= dict(zip(group, played(outcome, plays[group[0]].rows, len(group)), strict=True))
        return [found[at] for at in range(len(plays))]

    def one(self, world: ToolWorld, play: Play) -> Played:
        return self.play(world, [play])[0]

    def _run(self, world: ToolWorld, plays: Sequence[Play], groups: Sequence[Sequence[int]]) -> list[ItemOutcome]:
        jobs = []
        for group in groups:
            limits = replace(self._limits, cpu_s=self._limits.cpu_s + A_PLAY * len(group), wall_s=0.0)
            jobs.append(play_job(world, plays[group[0]].rows, [plays[at].calls for at in group], limits))
        return [outcome for (outcome,) in self._sandbox.run(jobs)] if jobs else []
