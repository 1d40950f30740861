"""Chains: calls of tools in which every key comes from an earlier call, so that a task is solvable by construction.

Writes are drawn and tried in a state; then each row that they name is looked up by calls that the graph has shown to
give its key, from facts that a person would know. An argument is `{"know": column, "is": value}`, `{"say": value}` or
`{"from": [step, path]}`: no key is ever written down. ScaleEnv section 4.2.1; how writes are drawn is ours.
"""

from __future__ import annotations

import random
import string
from collections.abc import Mapping, Sequence
from typing import NamedTuple, TypeAlias

from evosyn.records import Json
from evosyn.worlds.tools.graph import Edge, ToolGraph, places
from evosyn.worlds.tools.playing import Play, Played, Player, ToolCalled, minutes
from evosyn.worlds.tools.records import Rows, ToolSpec, ToolWorld
from evosyn.worlds.tools.states import draw_args

LENGTH = range(2, 9)
CANDIDATES = 24
"""Calls that are tried for one write."""
IN_FOCUS = 0.6
DEEPEST = 3
"""Lookups that one key may need, one after the other."""
Entity: TypeAlias = tuple[str, str]
"""A table and a key."""


class ChainStep(NamedTuple):
    """One call of a chain, its arguments by where they come from."""

    tool: str
    args: dict[str, dict[str, Json]]

    @property
    def form(self) -> Json:
        """What makes two steps the same, whatever the values."""
        return [self.tool, {name: one if "from" in one else sorted(one)[0] for name, one in sorted(self.args.items())}]


class Lookup(NamedTuple):
    """A call that gives the key of a row; `after` the rows whose keys it needs itself."""

    tool: str
    args: dict[str, Json]
    after: dict[str, Entity]


class Chain(NamedTuple):
    """A chain and what is said of it.

    Attributes:
        sentences: the requests, one for each write, that together are the instruction.
    """

    steps: tuple[ChainStep, ...]
    sentences: tuple[str, ...]


def calls_of(steps: Sequence[ChainStep]) -> tuple[ToolCalled, ...]:
    """The chain as calls that can be played."""
    return minutes([(one.tool, {name: _given(source) for name, source in one.args.items()}) for one in steps])


def _given(source: Mapping[str, Json]) -> Json:
    return dict(source) if "from" in source else source.get("is", source.get("say"))


class ChainMaker:
    """Makes chains in one state of a world.

    Args:
        uses: how often each tool was used in chains; those used least are drawn most.
        tried: play what is drawn; without it a chain is what its author believes (section 5.4, "w/o EV").
    """

    def __init__(
        self,
        world: ToolWorld,
        graph: ToolGraph,
        player: Player,
        rows: Rows,
        uses: Mapping[str, int],
        rng: random.Random,
        *,
        tried: bool = True,
    ) -> None:
        self._world, self._graph, self._player, self._tried = world, graph, player, tried
        self._rows, self._uses, self._rng = rows, uses, rng
        self._owner = {
            (table, str(row[world.table[table].key])): row for table, listed in rows.items() for row in listed
        }

    def make(self, writes: int) -> Chain | str:
        """A chain with so many writes, or why there is none."""
        calls: list[tuple[str, dict[str, Json]]] = []
        for _ in range(writes):
            call = self._write(calls)
            if call is None:
                return "chain-infeasible"
            calls.append(call)
        before = self._begun(calls)
        made: dict[str, tuple[int, str]] = {}
        for number, one in enumerate(before.calls):
            for path, value in places(one.value):
                made.setdefault(str(value), (number, path))  # who says it first has made it
        needed = [entity for name, args in calls for entity in self._named(self._world.tool[name], args).values()]
        new = [one for one in needed if one not in self._owner]
        known = {one: made[one[1]] for one in new if one[1] in made}
        lookups = self._lookups([one for one in needed if one in self._owner])
        if lookups is None or len(known) < len(set(new)):
            return "id-from-nowhere"
        steps = self._steps(calls, lookups, known)
        if len(steps) not in LENGTH:
            return "chain-length"
        sentences = self._said(calls, known)
        return Chain(tuple(steps), sentences) if sentences else "instruction-ambiguous"

    # ------------------------------------------------------------------------------------------------- writes

    def _write(self, calls: Sequence[tuple[str, dict[str, Json]]]) -> tuple[str, dict[str, Json]] | None:
        """A further call that works and changes something after those before."""
        begun = self._begun(calls)
        if begun.lost:
            return None
        writers = [one for one in self._world.tools if one.request and one.name in self._graph.wrote]
        weights = [1 / (1 + self._uses.get(one.name, 0)) for one in writers]
        used = [entity for name, args in calls for entity in self._named(self._world.tool[name], args).values()]
        used += self._new(begun.rows)
        tried = []
        for tool in self._rng.choices(writers, weights, k=CANDIDATES) if writers else ():
            focus = dict(used) if self._rng.random() < IN_FOCUS else {}
            args = draw_args(self._world, tool, begun.rows, self._rng, focus, whole=True)
            if args is not None:
                tried.append((tool.name, args))
        if not self._tried:
            return next((call for call in tried if call not in calls), None)
        plays = [Play(self._rows, minutes([*calls, one])) for one in tried]
        for call, played in zip(tried, self._player.play(self._world, plays), strict=True):
            if played.smooth and played.rows != begun.rows and call not in calls:
                return call
        return None

    def _begun(self, calls: Sequence[tuple[str, dict[str, Json]]]) -> Played:
        """What these calls leave; nothing new where nothing is tried."""
        if not self._tried:
            return Played((), dict(self._rows))
        return self._player.one(self._world, Play(self._rows, minutes(calls)))

    def _new(self, rows: Rows) -> list[Entity]:
        found = [(table, str(row[self._world.table[table].key])) for table, listed in rows.items() for row in listed]
        return [one for one in found if one not in self._owner]

    @staticmethod
    def _named(tool: ToolSpec, args: Mapping[str, Json]) -> dict[str, Entity]:
        """The rows that a call names, by parameter."""
        return {one.name: (one.ref, str(args[one.name])) for one in tool.parameters if one.ref and one.name in args}

    # ------------------------------------------------------------------------------------------------- lookups

    def _lookups(self, entities: Sequence[Entity]) -> dict[Entity, tuple[Lookup, str]] | None:
        """For each row, and each that is needed on the way, a call that gives its key alone, and where; None where one
        has none."""
        found: dict[Entity, tuple[Lookup, str]] = {}
        for entity in entities:
            if not self._look(entity, found, DEEPEST):
                return None
        return found

    def _look(self, entity: Entity, found: dict[Entity, tuple[Lookup, str]], depth: int) -> bool:
        if entity in found:
            return True
        options = self._options(entity) if depth else []
        if not self._tried:
            options = [one for one in options if all(self._look(two, found, depth - 1) for two in one.after.values())]
            if options:
                found[entity] = options[0], self._shown(options[0].tool, entity[0])
            return bool(options)
        plays = [Play(self._rows, minutes([(one.tool, one.args)])) for one in options]
        for option, played in zip(options, self._player.play(self._world, plays) if plays else (), strict=True):
            path = _only(played, entity[1])
            if path is not None and all(self._look(one, found, depth - 1) for one in option.after.values()):
                found[entity] = (option, path)
                return True
        return False

    def _shown(self, tool: str, table: str) -> str:
        """Where the graph has seen a tool give keys of a table: the first of a list."""
        paths = [one.path for one in self._key_edges(table) if one.first == tool]
        return paths[0].replace("*", "0")

    def _key_edges(self, table: str) -> list[Edge]:
        by_ref = {(tool.name, one.name): one.ref for tool in self._world.tools for one in tool.parameters}
        edges = [one for one in self._graph.edges if one.kind == "data"]
        return [one for one in edges if by_ref[one.then, one.parameter] == table]

    def _options(self, entity: Entity) -> list[Lookup]:
        """Calls that may give the key of a row, those that need no other key first."""
        table, row = entity[0], self._owner[entity]
        names = sorted({one.first for one in self._key_edges(table)} - set(self._graph.wrote))
        options = [self._filled(self._world.tool[name], table, row) for name in names]
        return sorted([one for one in options if one is not None], key=lambda one: len(one.after))

    def _filled(self, tool: ToolSpec, table: str, row: Mapping[str, Json]) -> Lookup | None:
        """The call of a tool that looks for this row by what stands in it."""
        args: dict[str, Json] = {}
        after: dict[str, Entity] = {}
        for one in tool.parameters:
            home, _, column = (one.column or "").partition(".")
            if home == table and row[column] is not None:
                args[one.name] = row[column]
                continue
            held = [row[two.name] for two in self._world.table[table].columns if two.references == one.ref is not None]
            if one.ref is not None and one.ref != table and held and held[0] is not None:
                args[one.name] = held[0]
                after[one.name] = (one.ref, str(held[0]))
            elif one.required:
                return None
        return Lookup(tool.name, args, after)

    # ---------------------------------------------------------------------------------------- putting together

    def _steps(
        self,
        calls: Sequence[tuple[str, dict[str, Json]]],
        lookups: Mapping[Entity, tuple[Lookup, str]],
        known: Mapping[Entity, tuple[int, str]],
    ) -> list[ChainStep]:
        where: dict[Entity, Json] = {}
        steps: list[ChainStep] = []
        for entity, (lookup, path) in lookups.items():  # what a lookup needs stands before it
            tool = self._world.tool[lookup.tool]
            args = {one.name: {"from": where[lookup.after[one.name]]} if one.name in lookup.after
                    else {"know": one.column, "is": lookup.args[one.name]}
                    for one in tool.parameters if one.name in lookup.args}  # fmt: skip
            where[entity] = [len(steps), path]
            steps.append(ChainStep(lookup.tool, args))
        first = len(steps)
        for entity, (number, path) in known.items():
            where[entity] = [first + number, path]
        for name, given in calls:
            named = self._named(self._world.tool[name], given)
            sources = {key: {"from": where[named[key]]} if key in named else {"say": one} for key, one in given.items()}
            steps.append(ChainStep(name, sources))
        return steps

    def _said(
        self, calls: Sequence[tuple[str, dict[str, Json]]], known: Mapping[Entity, tuple[int, str]]
    ) -> tuple[str, ...]:
        """The requests; none where one of them could mean two things."""
        sentences = []
        latest: dict[str, int] = {}
        for table, _ in known:
            latest[table] = max(number for (one, _), (number, _) in known.items() if one == table)
        for number, (name, args) in enumerate(calls):
            tool = self._world.tool[name]
            named = self._named(tool, args)
            told = {key: self._called(named[key]) if key in named else str(one) for key, one in args.items()}
            if any(one in known and known[one][0] != latest[one[0]] for one in named.values()) or "" in told.values():
                return ()
            sentence = tool.request.format(**told)
            sentences.append(f"{'Then' if number else 'Please'} {sentence}.")
        return tuple(sentences)

    def _called(self, entity: Entity) -> str:
        """How people speak of a row."""
        table, row = self._world.table[entity[0]], self._owner.get(entity)
        if row is None:
            return table.made
        refers = {one.name: one.references for one in table.columns}
        names = [name for _, name, _, _ in string.Formatter().parse(table.called) if name]
        told = {
            name: self._called((str(refers[name]), str(row[name]))) if refers[name] else str(row[name])
            for name in names
        }
        return table.called.format(**told)


def _only(played: Played, key: str) -> str | None:
    """Where the key stands in a result that holds one thing; None where it holds another, or several."""
    if not played.smooth:
        return None
    value = played.calls[0].value
    if isinstance(value, list) and len(value) != 1:
        return None
    return next((path for path, one in places(value) if one == key), None)
