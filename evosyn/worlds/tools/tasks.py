"""Tasks of a world: a state, what is asked, what solves it, and the state that must then be. Solvable by construction.

A task is kept only when its chain runs among distractors, its tools work, and its reward tells the gold state from
near misses. Tasks are made in order, each a function of the world, the seed and those before it: how many run at the
same time changes nothing. ScaleEnv section 4.2; counts and thresholds are ours (docs/worlds.md).
"""

from __future__ import annotations

import math
import random
import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.codec import dump
from evosyn.randomness import SeedTree
from evosyn.records import Json, canonical_json, content_id
from evosyn.worlds.tools.chains import Chain, ChainMaker, ChainStep, calls_of
from evosyn.worlds.tools.diff import differences
from evosyn.worlds.tools.graph import ToolGraph
from evosyn.worlds.tools.nearmiss import near_misses, other_orders
from evosyn.worlds.tools.playing import Play, Played, Player, ToolCalled
from evosyn.worlds.tools.records import ToolSpec, ToolWorld
from evosyn.worlds.tools.states import draw_args, draw_row, draw_state, free_key

SMALLEST, MOST_TOOLS, GATE, CHAINS, ORACLE = 4, 30, 0.25, 4, 8
VALID, INVALID = 20, 10
FEWEST_MISSES = 10
States = dict[str, list[dict[str, Json]]]


@dataclass(frozen=True)
class WorldTask:
    """One task.

    Attributes:
        sentences: what is asked, a request each.
        chain: the reference, its arguments by where they come from.
        reference: the same as calls with the arguments that they then had.
        state, gold: before and after it.
        shown: the tools that the agent has.
        misses: near misses that were tried and not paid.
    """

    index: int
    sentences: tuple[str, ...]
    chain: tuple[tuple[str, dict[str, Json]], ...]
    reference: tuple[tuple[str, dict[str, Json]], ...]
    state: States
    gold: States
    shown: tuple[str, ...]
    complexity: int
    distractors: int
    misses: int

    @property
    def id(self) -> str:
        return content_id("k_", [self.sentences, self.chain, self.state])

    @property
    def instruction(self) -> str:
        return " ".join(self.sentences)

    def to_json(self) -> dict[str, Json]:
        return {"id": self.id, **dump(self, defaults=True)}


class MadeTasks(NamedTuple):
    """Tasks, and how often an attempt was dropped, by reason.

    Attributes:
        failing: ids of tasks whose chain is refused, or changes nothing, when it is run: none where chains were
            executed.
    """

    tasks: tuple[WorldTask, ...]
    dropped: Counter[str]
    failing: tuple[str, ...] = ()


@dataclass(frozen=True)
class TaskPlan:
    """How tasks are made.

    Attributes:
        writes: of the chains, in turn; a world has few chains with one.
        attempts: at one task; then as many at one of the next number of writes.
        executed: nothing is believed that was not run; without it a chain, along the edges of the graph, is what its
            author thinks will work, and the gold state what it leaves, whatever that is (ScaleEnv section 5.4, "w/o
            EV").
    """

    writes: tuple[int, ...] = (1, 2, 3)
    attempts: int = 60
    executed: bool = True


def make_tasks(
    world: ToolWorld, graph: ToolGraph, player: Player, count: int, seeds: SeedTree, plan: TaskPlan = TaskPlan()
) -> MadeTasks:
    """So many tasks, or fewer where the world gives no more that differ.

    Raises:
        SandboxUnavailable: the sandbox failed.
    """
    tasks: list[WorldTask] = []
    dropped: Counter[str] = Counter()
    forms: set[str] = set()
    uses: Counter[str] = Counter()
    failing: list[str] = []
    for index in range(count):
        for attempt in range(2 * plan.attempts):
            writes = plan.writes[(index + attempt // plan.attempts) % len(plan.writes)]
            rng = seeds.child("task", index, attempt).random()
            maker = _TaskMaker(world, graph, player, rng, uses, executed=plan.executed)
            made = maker.make(index, writes, forms)
            if isinstance(made, WorldTask):
                tasks.append(made)
                forms.update(_beginnings(made))
                uses.update(name for name, _ in made.chain)
                failing += [] if plan.executed or maker.works else [made.id]
                break
            dropped[made] += 1
    return MadeTasks(tuple(tasks), dropped, tuple(failing))


def _beginnings(task: WorldTask) -> set[str]:
    """The forms of a chain and of each part that it begins with."""
    form = [ChainStep(*one).form for one in task.chain]
    return {canonical_json(form[: at + 1]) for at in range(len(form))}


class _TaskMaker:
    """One attempt at a task.

    Attributes:
        works: whether the chain of the task that was made does what is asked when it is run.
    """

    def __init__(
        self,
        world: ToolWorld,
        graph: ToolGraph,
        player: Player,
        rng: random.Random,
        uses: Mapping[str, int],
        *,
        executed: bool,
    ) -> None:
        self._world, self._graph, self._player, self._rng, self._uses = world, graph, player, rng, uses
        self._executed, self.works = executed, True

    def make(self, index: int, complexity: int, forms: Collection[str]) -> WorldTask | str:
        """A task, or why there is none; `forms` are those of chains that were made, with all their beginnings."""
        counts = {one.name: self._rng.randint(SMALLEST, 6) for one in self._world.tables}
        rows = draw_state(self._world, counts, self._rng)
        maker = ChainMaker(self._world, self._graph, self._player, rows, self._uses, self._rng, tried=self._executed)
        chain = maker.make(complexity)
        if isinstance(chain, str):
            return chain
        if canonical_json([one.form for one in chain.steps]) in forms:
            return "chain-known"
        if not self._executed:
            return self._believed(index, complexity, chain, rows)
        played = self._player.one(self._world, Play(rows, calls_of(chain.steps)))
        if not played.smooth or played.rows == rows:
            return "chain-infeasible"
        if reason := ungrounded(self._world, chain, rows):
            return reason
        state, played = self._distracted(chain, rows, played, complexity)
        shown = self._widened(state, [one.tool for one in chain.steps])
        if isinstance(shown, str):
            return shown
        reference = tuple([(one.tool, dict(call.args)) for one, call in zip(chain.steps, played.calls, strict=True)])
        misses = self._sound(state, played.rows, chain, reference, shown)
        if isinstance(misses, str):
            return misses
        added = sum(map(len, state.values())) - sum(map(len, rows.values()))
        steps = tuple([(one.tool, dict(one.args)) for one in chain.steps])
        return WorldTask(index, chain.sentences, steps, reference, state, played.rows, shown, complexity, added, misses)

    def _believed(self, index: int, complexity: int, chain: Chain, rows: States) -> WorldTask | str:
        """A task that nobody tried: rows are added unseen, and the gold state is what the chain happens to leave."""
        state = rows
        for table in self._world.ordered:
            for _ in range(complexity + 2):
                row = draw_row(self._world, table, state, self._rng, free_key(table, state, self._rng), None)
                state = state if row is None else _with(self._world, state, table.name, [row])
        played = self._player.one(self._world, Play(state, calls_of(chain.steps)))
        self.works = played.smooth and played.rows != state
        if played.lost:
            return "chain-lost"
        reference = tuple([(one.tool, dict(call.args)) for one, call in zip(chain.steps, played.calls, strict=True)])
        added = sum(map(len, state.values())) - sum(map(len, rows.values()))
        steps = tuple([(one.tool, dict(one.args)) for one in chain.steps])
        shown = tuple(sorted(one.name for one in self._world.tools))
        return WorldTask(index, chain.sentences, steps, reference, state, played.rows, shown, complexity, added, 0)

    # --------------------------------------------------------------------------------------------- distractors

    def _distracted(self, chain: Chain, rows: States, gold: Played, complexity: int) -> tuple[States, Played]:
        """The state with rows that have nothing to do with the task, half of them nearly like others, and what the
        chain leaves there: it gives the same at each step, and changes the same."""
        used = {one.partition(".")[0] for call in gold.calls for one in (*call.reads, *call.writes)}
        state, standing = rows, gold
        for table in self._world.ordered:
            wanted = 4 * complexity + 2 if table.name in used else complexity + 2
            for number in range(0, wanted, 4):  # a few at a time: where they disturb, they are tried one by one
                drawn: list[dict[str, Json]] = []
                for place in range(min(4, wanted - number)):
                    known = {**state, table.name: [*state[table.name], *drawn]}
                    near = self._rng.choice(state[table.name]) if place % 2 and state[table.name] else None
                    row = draw_row(self._world, table, known, self._rng, free_key(table, known, self._rng), near)
                    drawn += [row] if row is not None else []
                state, standing = self._added(chain, state, standing, table.name, drawn)
        return state, standing

    def _added(
        self, chain: Chain, state: States, standing: Played, table: str, drawn: list[dict[str, Json]]
    ) -> tuple[States, Played]:
        tried = [drawn, *([one] for one in drawn)]
        states = [_with(self._world, state, table, some) for some in tried]
        plays = self._player.play(self._world, [Play(one, calls_of(chain.steps)) for one in states])
        if _undisturbed(self._world, standing, plays[0], table, drawn):
            return states[0], plays[0]
        harmless = [one for one, played in zip(drawn, plays[1:], strict=True)
                    if _undisturbed(self._world, standing, played, table, [one])]  # fmt: skip
        wide = _with(self._world, state, table, harmless)
        played = self._player.one(self._world, Play(wide, calls_of(chain.steps)))
        if harmless and _undisturbed(self._world, standing, played, table, harmless):
            return wide, played
        return state, standing

    # ---------------------------------------------------------------------------------------------- the tools

    def _widened(self, state: States, chain: Sequence[str]) -> tuple[str, ...] | str:
        """The tools of the task: those of the chain, then those that work in its state, those that depend on what is
        there first, until enough; or why one of them cannot be shown."""
        shown = dict.fromkeys(chain)
        works, fails = self._tried(state)
        if fails & set(chain):
            return "unexpected-failure"
        begun, grown = 1, True
        while grown or (begun < CHAINS and len(shown) < MOST_TOOLS and self._gate(state, shown) >= GATE):
            left = [one for one in self._world.tools if one.name not in shown and one.name in works - fails]
            if not left or len(shown) >= MOST_TOOLS:
                break
            ready = [one for one in left if self._fed(one, shown)]
            begun += not ready  # a further chain begins with a tool that nothing leads to
            best = max(ready or left, key=lambda one: (self._graph.weight({*shown, one.name}), one.name))
            shown[best.name] = None
            grown = bool(ready)
        return tuple(sorted(shown)) if set(chain) <= works else "dead-end"

    def _fed(self, tool: ToolSpec, shown: Mapping[str, None]) -> bool:
        """Whether each key that it needs comes from a tool that is there."""
        edges = [one for one in self._graph.edges if one.kind == "data" and one.then == tool.name]
        fed = {one.parameter for one in edges if one.first in shown}
        return fed.issuperset(one.name for one in tool.parameters if one.ref and one.required)

    def _gate(self, state: States, shown: Mapping[str, None]) -> float:
        """How much a further chain would add: F (1 - S), S = 1 - exp(-(V + E/2)/20), F the share of random calls that
        work (the formulas of the paper are not printed; these are ours)."""
        size = len(shown) + 0.5 * self._graph.weight(set(shown))
        tools = self._rng.choices([self._world.tool[name] for name in shown], k=ORACLE)
        drawn = [(one.name, draw_args(self._world, one, state, self._rng)) for one in tools]
        plays = [Play(state, (_call(name, args),)) for name, args in drawn if args is not None]
        return sum(one.smooth for one in self._player.play(self._world, plays)) / ORACLE * math.exp(-size / 20)

    def _tried(self, state: States) -> tuple[set[str], set[str]]:
        """Tools that worked at least once, and those that failed in a way that they do not declare."""
        calls = []
        for tool in self._world.tools:
            for number in range(VALID + INVALID):
                args = draw_args(self._world, tool, state, self._rng)
                if args is not None and number >= VALID:
                    args = _spoilt(self._world, tool, args, self._rng)
                calls += [] if args is None else [_call(tool.name, args)]
        found = self._player.play(self._world, [Play(state, (one,)) for one in calls])
        works = {call.tool for call, one in zip(calls, found, strict=True) if one.smooth}
        broken = [one.lost or one.calls[0].outcome == "failed" for one in found]
        return works, {call.tool for call, one in zip(calls, broken, strict=True) if one}

    # ---------------------------------------------------------------------------------------------- the reward

    def _sound(
        self,
        state: States,
        gold: States,
        chain: Chain,
        reference: Sequence[tuple[str, dict[str, Json]]],
        shown: Sequence[str],
    ) -> int | str:
        """How many near misses are not paid, or `reward-unsound`."""
        orders = [Play(state, calls_of(one)) for one in other_orders(chain, self._graph)]
        misses = near_misses(self._world, reference, state, shown, self._rng)
        found = self._player.play(self._world, [*orders, *(Play(state, one) for one in misses)])
        if any(one.smooth and differences(self._world, state, gold, one.rows) for one in found[: len(orders)]):
            return "reward-unsound"
        if differences(self._world, state, gold, gold) or not differences(self._world, state, gold, state):
            return "reward-unsound"
        told = visible(self._world, gold)
        missed = [one for one in found[len(orders) :] if not one.lost and visible(self._world, one.rows) != told]
        if any(not differences(self._world, state, gold, one.rows) for one in missed):
            return "reward-unsound"
        return len(missed) if len(missed) >= FEWEST_MISSES else "few-misses"


def ungrounded(world: ToolWorld, chain: Chain, rows: Mapping[str, Sequence[Mapping[str, Json]]]) -> str:
    """What the instruction lacks or gives away, as a reason; "" where neither."""
    text = " ".join(chain.sentences)
    keys = {str(row[world.table[table].key]) for table, listed in rows.items() for row in listed}
    for step in chain.steps:
        for source in step.args.values():
            value = source.get("is", source.get("say"))
            if "from" not in source and not _says(text, str(value)):
                return "instruction-lacks"
            if value in keys:
                return "id-from-nowhere"
    columns = {f"{table.name}.{one.name}" for table in world.tables for one in table.columns}
    hidden = keys | columns | {one.name for one in world.tools if "_" in one.name}
    return "instruction-leaks" if any(one in text for one in hidden) else ""


def _says(text: str, value: str) -> bool:
    """Whether a value stands in a text as a whole: 3 does not in 37, nor in 3.5."""
    return bool(re.search(rf"(?<!\w)(?<!\d[.,]){re.escape(value)}(?!\w)(?![.,]\d)", text))


def _call(name: str, args: Mapping[str, Json]) -> ToolCalled:
    return ToolCalled(name, args, 1)


def _spoilt(world: ToolWorld, tool: ToolSpec, args: dict[str, Json], rng: random.Random) -> dict[str, Json]:
    """The same with one argument that fits its type and nothing else."""
    if not args:
        return args
    name = rng.choice(sorted(args))
    one = next(one for one in tool.parameters if one.name == name)
    odd: dict[str, Json] = {
        "string": f"{world.table[one.ref].prefix}0007" if one.ref else rng.choice(("", "zzz", "x" * 300)),
        "integer": rng.choice((-1, 0, 10**6)),
        "number": rng.choice((-1.0, 1e9)),
        "boolean": rng.random() < 0.5,
    }
    return {**args, name: odd[one.type]}


def _with(world: ToolWorld, state: States, table: str, more: Sequence[dict[str, Json]]) -> States:
    key = world.table[table].key
    return {**state, table: sorted([*state[table], *more], key=lambda row: str(row[key]))}


def _undisturbed(world: ToolWorld, before: Played, after: Played, table: str, more: Sequence[dict[str, Json]]) -> bool:
    """Whether the chain gave and changed the same with these rows as without."""
    if not after.smooth or [one.value for one in after.calls] != [one.value for one in before.calls]:
        return False
    return after.rows == _with(world, before.rows, table, more)


def visible(world: ToolWorld, rows: Mapping[str, Sequence[Mapping[str, Json]]]) -> Json:
    """The part of a state that a reward may look at, and which rows there are."""
    return {
        table.name: [
            {one.name: row[one.name] for one in table.columns
             if one is table.columns[0] or table.policy(one) in ("hard", "semantic")}
            for row in rows[table.name]
        ]
        for table in world.tables
    }  # fmt: skip
