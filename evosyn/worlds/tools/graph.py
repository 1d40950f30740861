"""The dependency graph of a world's tools, from executions: an edge stands where runs have shown it, with its evidence.

`data` a -> b.p: a value that a gives is not refused as p in the way in which a key of nobody is. `pre` a -> b: b is
refused and works after a. `state` a -> b: a writes what b reads and changes what it gives. Numbers of states and
weights are ours. ScaleEnv section 4.1.3.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.worlds.tools.playing import CallOutcome, Play, Played, Player, minutes
from evosyn.worlds.tools.records import Rows, ToolSpec, ToolWorld, state_id
from evosyn.worlds.tools.states import draw_args, draw_state

STATES = 12
ENOUGH = 3
"""States that must show a data edge."""
WEIGHTS = {"data": 1.0, "pre": 1.0, "state": 0.5}
_INDEX = re.compile(r"\b\d+\b")


class Edge(NamedTuple):
    """One dependency.

    Attributes:
        parameter, path: of `data`: which parameter, and where in the result its value stands (places of lists are `*`).
        states: ids of those that show it.
    """

    kind: str
    first: str
    then: str
    parameter: str = ""
    path: str = ""
    states: tuple[str, ...] = ()


class ToolGraph(NamedTuple):
    """The edges of a world, in order.

    Attributes:
        wrote: the tools that were seen to write.
        seeds: what the states were drawn from, so that all can be played again; None where nothing was played.
    """

    edges: tuple[Edge, ...]
    wrote: tuple[str, ...]
    seeds: SeedTree | None = None

    def density(self, tools: int) -> float:
        """Pairs that have an edge, as a share of all pairs of a world's tools: E/(V(V-1)).

        Args:
            tools: how many the world has, those without an edge among them.
        """
        pairs = {(one.first, one.then) for one in self.edges}
        return len(pairs) / max(1, tools * (tools - 1))

    def weight(self, tools: set[str]) -> float:
        """Of all edges among these tools."""
        pairs = {(one.kind, one.first, one.then) for one in self.edges if {one.first, one.then} <= tools}
        return sum(WEIGHTS[kind] for kind, _, _ in pairs)


class _PairTrial(NamedTuple):
    """Two tools in a state: the first alone, the second alone, both."""

    rows: Rows
    first: ToolSpec
    then: ToolSpec
    args: tuple[dict[str, Json], dict[str, Json]]
    strange: dict[str, Json]


def find_graph(world: ToolWorld, player: Player, seeds: SeedTree) -> ToolGraph:
    """Plays all pairs of tools in some states."""
    trials = [one for number in range(STATES) for one in _trials(world, seeds.child("graph", number))]
    alone = player.play(world, [Play(one.rows, minutes([(one.first.name, one.args[0])])) for one in trials])
    writing = [
        (trial, first) for trial, first in zip(trials, alone, strict=True) if any(call.wrote for call in first.calls)
    ]
    other = player.play(world, [Play(one.rows, minutes([(one.then.name, one.args[1])])) for one, _ in writing])
    both = [[(one.first.name, one.args[0]), (one.then.name, one.args[1])] for one, _ in writing]
    after = player.play(world, [Play(one.rows, minutes(calls)) for (one, _), calls in zip(writing, both, strict=True)])
    shown: dict[tuple[str, str, str, str, str], set[str]] = {}
    for (trial, first), then, pair in zip(writing, other, after, strict=True):
        for kind in _kinds(first, then, pair):
            shown.setdefault((kind, trial.first.name, trial.then.name, "", ""), set()).add(state_id(trial.rows))
    wrote = sorted({one.first.name for one, _ in writing})
    shown |= _data_edges(world, player, trials, alone)
    edges = [Edge(*key, tuple(sorted(states))) for key, states in sorted(shown.items())]
    return ToolGraph(tuple(edges), tuple(wrote), seeds)


def _trials(world: ToolWorld, seeds: SeedTree) -> Iterator[_PairTrial]:
    rng = seeds.random()
    density = rng.choice((3, 5, 8))
    rows = draw_state(world, {table.name: density for table in world.tables}, rng)
    for first in world.tools:
        for then in world.tools:
            if first is then:
                continue
            own = seeds.child(first.name, then.name).random()
            focus = {table: str(own.choice(listed)[world.table[table].key]) for table, listed in rows.items() if listed}
            args = draw_args(world, first, rows, own, focus), draw_args(world, then, rows, own, focus)
            if args[0] is None or args[1] is None:
                continue
            strange = {one.name: f"{world.table[one.ref].prefix}0007" for one in then.parameters if one.ref}
            yield _PairTrial(rows, first, then, (args[0], args[1]), strange)


def _kinds(first: Played, then: Played, pair: Played) -> Iterator[str]:
    """What three plays show of a pair."""
    if first.lost or then.lost or pair.lost or not first.smooth or pair.calls[0].outcome != "ok":
        return
    before, after = then.calls[0], pair.calls[1]
    if before.outcome == "rejected" and after.outcome == "ok":
        yield "pre"
    if _touch(first.calls[0].writes, before.reads) and (before.outcome, before.value) != (after.outcome, after.value):
        yield "state"


def _touch(writes: Sequence[str], reads: Sequence[str]) -> bool:
    return bool(set(writes) & set(reads)) or bool(
        {one[:-2] for one in writes if one.endswith(".*")} & {one.partition(".")[0] for one in reads}
    )


def _data_edges(
    world: ToolWorld, player: Player, trials: Sequence[_PairTrial], alone: Sequence[Played]
) -> dict[tuple[str, str, str, str, str], set[str]]:
    tried, plays = [], []
    for trial, played in zip(trials, alone, strict=True):
        if not played.smooth:
            continue
        for name, path, key in _links(world, trial.then, played.calls[0], played.rows):
            calls = [(trial.first.name, trial.args[0]), (trial.then.name, {**trial.args[1], name: {"from": [0, path]}})]
            stranger = (trial.then.name, {**trial.args[1], name: trial.strange[name]})
            tried.append((trial, name, path, key))
            plays += [Play(trial.rows, minutes(calls)), Play(trial.rows, minutes([calls[0], stranger]))]
    found = player.play(world, plays) if plays else []
    shown: dict[tuple[str, str, str, str, str], set[str]] = {}
    for (trial, name, path, _), linked, strange in zip(tried, found[::2], found[1::2], strict=True):
        if linked.lost or strange.lost:
            continue
        known, unknown = linked.calls[1], strange.calls[1]
        if unknown.outcome == "rejected" and known.outcome != "failed" and known.exception != unknown.exception:
            edge = ("data", trial.first.name, trial.then.name, name, _INDEX.sub("*", path))
            shown.setdefault(edge, set()).add(state_id(trial.rows))
    return {key: states for key, states in shown.items() if len(states) >= ENOUGH}


def _links(world: ToolWorld, then: ToolSpec, gave: CallOutcome, rows: Rows) -> Iterator[tuple[str, str, str]]:
    """Parameters that something in a result could fill: name, path, value."""
    for one in then.parameters:
        if one.ref is not None:
            keys = {str(row[world.table[one.ref].key]) for row in rows[one.ref]}
            for path, value in places(gave.value):
                if isinstance(value, str) and value in keys:
                    yield one.name, path, value
                    break


def places(value: Json, path: str = "") -> Iterator[tuple[str, Json]]:
    """Each plain value of a result with its path."""
    if isinstance(value, dict | list):
        parts: Mapping[object, Json] = value if isinstance(value, dict) else dict(enumerate(value))
        for key, one in parts.items():
            yield from places(one, f"{path}.{key}" if path else str(key))
    else:
        yield path, value
