"""What the simulated author knows of one tool: what the right program does on calls that it looked at, and what the
programs do that mistake it. Found by playing in the sandbox; a pure function of the seed and the problem."""

from __future__ import annotations

import functools
import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import NamedTuple

import yaml

from evosyn.documents import LOADER
from evosyn.domains.world_tool import body_of, with_source, world_of
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Limits, Status
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem
from evosyn.worlds.tools.cases import begun
from evosyn.worlds.tools.faults import plantings
from evosyn.worlds.tools.playing import Played, ToolCalled, apart_job, played
from evosyn.worlds.tools.probing import told
from evosyn.worlds.tools.records import Rows, ToolSpec, ToolWorld
from evosyn.worlds.tools.states import draw_args, draw_state

LIMITS = Limits(cpu_s=4.0, budget_s=120.0, memory_mb=1024, output_kb=65_536)
STATES, CALLS, EACH = 12, 16, 6
"""States that are drawn; calls in each; examples of each way to end that are kept."""
BELIEVABLE = (
    "wrong-comparison",
    "second-table",
    "no-existence-check",
    "wrong-column",
    "wrong-exception",
    "no-op-write",
)
"""Classes of mistakes that one may take for right."""
A_CLASS = 2
NOBODY, CORNERS = 0.12, 0.4
"""Shares of keys that are nobody's, and of numbers at a bound."""


class ToolExample(NamedTuple):
    """A call and what the right tool makes of it; `ends`: in which way."""

    rows: Rows
    args: Mapping[str, Json]
    right: Played
    ends: str


class ToolMistake(NamedTuple):
    """A wrong program, and what it makes of the examples, by place."""

    kind: str
    source: str
    does: tuple[Played, ...]


class ToolStudy(NamedTuple):
    """One tool.

    Attributes:
        faulty: wrong programs by class.
        mistakes: those that are believed.
        tempting: the one that many follow, if there is one.
    """

    world: ToolWorld
    source: str
    examples: tuple[ToolExample, ...]
    faulty: Mapping[str, tuple[str, ...]]
    mistakes: tuple[ToolMistake, ...]
    tempting: ToolMistake | None

    @property
    def tool(self) -> ToolSpec:
        return self.world.tools[0]


@functools.cache
def rates() -> Mapping[str, Json]:
    found: Mapping[str, Json] = yaml.load(
        resources.files(__package__).joinpath("rates.yaml").read_text(encoding="utf-8"), LOADER
    )
    return found


def study_tool(problem: Problem, source: str, sandbox: Sandbox, tree: SeedTree) -> ToolStudy:
    """Study one tool; blocks while the sandbox works.

    Args:
        source: a right program.
        tree: the node of this problem.

    Raises:
        SandboxUnavailable: the sandbox failed.
    """
    world = with_source(world_of(problem), source)
    asked = [*_of_people(problem, world), *_drawn(world, tree)]
    does = _play(sandbox, world, asked)
    examples = _chosen(asked, does, tree.child("examples").random())
    faulty = plantings(world, source)
    rng = tree.child("mistakes").random()
    mistakes = []
    for kind in BELIEVABLE:
        for text in rng.sample(faulty[kind], min(A_CLASS, len(faulty[kind]))):
            found = _play(sandbox, with_source(world, text), [(one.rows, one.args) for one in examples])
            if any(told(one) != told(example.right) for one, example in zip(found, examples, strict=True)):
                mistakes.append(ToolMistake(kind, text, tuple(found)))
    rng.shuffle(mistakes)
    quiet = [one for one in mistakes if all(_ended(run) for run in one.does)]
    tempting = quiet[0] if quiet and rng.random() < rates()["tempted"] else None
    return ToolStudy(world, source, examples, faulty, tuple(mistakes), tempting)


def _ended(run: Played) -> bool:
    return not run.lost and run.calls[0].outcome != "failed"


def _of_people(problem: Problem, world: ToolWorld) -> list[tuple[Rows, Mapping[str, Json]]]:
    """The calls of the human testing: somebody who knows the tool thinks of such."""
    if problem.human_testing is None:
        return []
    body = body_of(problem.human_testing)
    return [(begun(body, case, world), case.args) for case in body.cases]


def _drawn(world: ToolWorld, tree: SeedTree) -> list[tuple[Rows, Mapping[str, Json]]]:
    tool = world.tools[0]
    found: list[tuple[Rows, Mapping[str, Json]]] = []
    for number in range(STATES):
        rng = tree.child("state", number).random()
        drawn = draw_state(world, {table.name: rng.choice((1, 2, 3)) for table in world.tables}, rng)
        rows = _renumbered(world, _at_bounds(world, drawn, rng))
        for _ in range(CALLS):
            args = draw_args(world, tool, rows, rng, _focus(world, rows, rng))
            if args is not None:
                found.append((rows, _strange(tool, args, rng)))
    return found


def _at_bounds(world: ToolWorld, rows: Rows, rng: random.Random) -> Rows:
    """The same with some numbers as small or as large as they may be: there the corners of tools are."""
    bounded = {(table.name, one.name): (one.minimum, one.maximum) for table in world.tables for one in table.columns
               if one.type == "integer" and one.minimum is not None and one.maximum is not None}  # fmt: skip
    return {
        table: [
            {name: rng.choice((low, low + 1, high - 1, high)) if (table, name) in bounded and rng.random() < CORNERS
             else value for name, value in row.items() for low, high in [bounded.get((table, name), (0, 0))]}
            for row in listed
        ]
        for table, listed in rows.items()
    }  # fmt: skip


def _renumbered(world: ToolWorld, rows: Rows) -> Rows:
    """The same with small keys, as people write them."""
    names: dict[Json, str] = {}
    for table in world.ordered:
        names |= {row[table.key]: f"{table.prefix}{number:04d}" for number, row in enumerate(rows[table.name], 1)}
    return {
        table.name: [
            {one.name: names.get(row[one.name], row[one.name]) if one.references or one.name == table.key
             else row[one.name] for one in table.columns}
            for row in rows[table.name]
        ]
        for table in world.tables
    }  # fmt: skip


def _focus(world: ToolWorld, rows: Rows, rng: random.Random) -> dict[str, str]:
    """Keys that belong together: those of one row, and what it refers to."""
    table = rng.choice(world.tables)
    if not rows[table.name]:
        return {}
    row = rng.choice(rows[table.name])
    referred = {one.references: str(row[one.name]) for one in table.columns if one.references and row[one.name]}
    return {**referred, table.name: str(row[table.key])}


def _strange(tool: ToolSpec, args: dict[str, Json], rng: random.Random) -> dict[str, Json]:
    """The arguments, or with a number at or beside its bounds, or with a key of nobody."""
    found = dict(args)
    for one in tool.parameters:
        if one.name not in found:
            continue
        if one.type == "integer" and rng.random() < 0.35:
            low, high = one.minimum or 0, one.maximum if one.maximum is not None else 40
            found[one.name] = rng.choice((low - 1, low, low + 1, high - 1, high, high + 1))
        elif one.ref and rng.random() < NOBODY:
            found[one.name] = f"{str(found[one.name])[:1]}0099"
    return found


def _play(sandbox: Sandbox, world: ToolWorld, asked: Sequence[tuple[Rows, Mapping[str, Json]]]) -> list[Played]:
    calls = [(rows, ToolCalled(world.tools[0].name, args, 1)) for rows, args in asked]
    for _ in range(3):
        (items,) = sandbox.run([apart_job(world, calls, LIMITS)])
        if all(one.status is not Status.INFRASTRUCTURE for one in items):
            return [played(one, rows)[0] for one, (rows, _) in zip(items, asked, strict=True)]
    raise SandboxUnavailable("offline teacher: the sandbox failed three times on the same job")


def _chosen(
    asked: Sequence[tuple[Rows, Mapping[str, Json]]], does: Sequence[Played], rng: random.Random
) -> tuple[ToolExample, ...]:
    """Some of each way to end."""
    by_end = defaultdict(list)
    for (rows, args), run in zip(asked, does, strict=True):
        if not _ended(run):
            continue
        call = run.calls[0]
        ends = call.exception or ("changes" if run.rows != dict(rows) else "gives" if call.value else "nothing")
        by_end[ends].append(ToolExample(rows, args, run, ends))
    kept = [one for ends in sorted(by_end) for one in rng.sample(by_end[ends], min(EACH, len(by_end[ends])))]
    return tuple(kept)
