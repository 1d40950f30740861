"""Plays calls of tools over states, in a sandbox: what a job looks like, and what its outcome says.

A play is a function of (world, rows, calls, clock): equal plays leave equal bytes. Nothing is judged here. Our own
failures are `Failed("infrastructure")`, never an outcome of a tool. DESIGN.md section 5; docs/worlds.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib import resources
from typing import NamedTuple

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, ItemOutcome, Limits, Status
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.worlds.tools.ddl import statements
from evosyn.worlds.tools.records import Rows, ToolWorld

LIMITS = Limits(cpu_s=4.0, budget_s=60.0, memory_mb=512, output_kb=4096)
AT_ONCE = 200
"""Plays of one job."""
_AGAIN = frozenset({Status.INFRASTRUCTURE, Status.NOT_RUN, Status.TIMEOUT})
"""Played once more, alone: a machine that is busy decides nothing."""


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
        lost: why there is nothing: `timeout`, `killed: ...`, `state: ...` (it breaks the schema); "" where there is.
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


@functools.lru_cache(maxsize=256)
def program(world: ToolWorld) -> str:
    """What runs: the text of `inside`, and the world."""
    kit = {
        "ddl": statements(world),
        "tables": [[one.name, one.key, [two.name for two in one.columns], one.prefix] for one in world.ordered],
        "tools": {one.name: {"source": one.source, "raises": list(one.raises)} for one in world.tools},
    }
    text = (resources.files("evosyn.worlds.tools") / "inside.py").read_text(encoding="utf-8")
    return f"{text}\n\nKIT = {kit!r}\n"


def play_job(world: ToolWorld, plays: Sequence[Play], limits: Limits = LIMITS) -> CallsJob:
    """One process for all plays; what one takes too long ends with it, the next begins anew."""
    calls = [Call((dict(one.rows), [list(call) for call in one.calls], world.clock)) for one in plays]
    return CallsJob(program(world), "play", tuple(calls), limits)


def played(outcome: ItemOutcome) -> Played:
    """What came of one play.

    Raises:
        SandboxUnavailable: it was not played, by our fault.
    """
    if outcome.status is Status.INFRASTRUCTURE:
        raise SandboxUnavailable(f"a tool world could not be played: {outcome.detail[:200]}")
    if outcome.status is not Status.OK:
        return Played((), {}, f"{outcome.status.value}: {outcome.detail[:200]}".rstrip(": "))
    value = outcome.value
    if value["broken"]:
        return Played((), {}, f"state: {value['broken']}")
    touched = [{what: tuple(one.get(what, ())) for what in ("reads", "writes")} for one in value["calls"]]
    calls = [CallOutcome(**{**one, **more}) for one, more in zip(value["calls"], touched, strict=True)]
    return Played(tuple(calls), value["rows"])


class Player:
    """Plays many at once; keeps nothing but its collaborators."""

    def __init__(self, sandbox: Sandbox, limits: Limits = LIMITS) -> None:
        self._sandbox, self._limits = sandbox, limits

    def play(self, world: ToolWorld, plays: Sequence[Play]) -> list[Played]:
        """What came of each, in order.

        Raises:
            SandboxUnavailable: the sandbox failed twice.
        """
        parts = [plays[at : at + AT_ONCE] for at in range(0, len(plays), AT_ONCE)]
        jobs = [play_job(world, part, self._roomy(len(part))) for part in parts]
        found = [one for outcomes in self._sandbox.run(jobs) for one in outcomes]
        again = [at for at, one in enumerate(found) if one.status in _AGAIN]
        alone = [play_job(world, [plays[at]], self._limits) for at in again]
        for at, (outcome,) in zip(again, self._sandbox.run(alone) if alone else (), strict=True):
            found[at] = outcome
        return [played(one) for one in found]

    def one(self, world: ToolWorld, play: Play) -> Played:
        return self.play(world, [play])[0]

    def _roomy(self, plays: int) -> Limits:
        return replace(self._limits, budget_s=self._limits.budget_s + 0.2 * plays)
