"""What nearly solves a task and must not be paid, and what solves it in another order and must be. Ours.

Near misses: each write left out, done twice, done to another row, done with each hard argument changed; and a further
write of a tool that is not of the task.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence

from evosyn.records import Json
from evosyn.worlds.tools.chains import Chain, ChainStep
from evosyn.worlds.tools.graph import ToolGraph
from evosyn.worlds.tools.playing import ToolCalled, minutes
from evosyn.worlds.tools.records import LONG_TEXT, Parameter, Rows, ToolWorld
from evosyn.worlds.tools.states import draw_args, drawn

ORDERS, EXTRA, OTHERS = 10, 12, 2
"""Other orders of a chain; further writes; other values for an argument: at most."""
Calls = Sequence[tuple[str, dict[str, Json]]]


def near_misses(
    world: ToolWorld, reference: Calls, rows: Rows, shown: Sequence[str], rng: random.Random
) -> list[tuple[ToolCalled, ...]]:
    """Calls that a careless agent would make; some of them change nothing that counts, which playing them shows."""
    found: list[Calls] = []
    for at, (name, args) in enumerate(reference):
        tool = world.tool[name]
        if not tool.request:
            continue
        found += [[*reference[:at], *reference[at + 1 :]], [*reference[: at + 1], (name, args), *reference[at + 1 :]]]
        for one in tool.parameters:
            for other in other_values(world, one, args.get(one.name), rows, rng):
                found.append([*reference[:at], (name, {**args, one.name: other}), *reference[at + 1 :]])
    spare = [world.tool[name] for name in shown if world.tool[name].request]
    for tool in rng.choices(spare, k=EXTRA) if spare else ():
        drawn_args = draw_args(world, tool, rows, rng)
        if drawn_args is not None and (tool.name, drawn_args) not in reference:
            found.append([*reference, (tool.name, drawn_args)])
    return [minutes(one) for one in found]


def most_misses(world: ToolWorld, reference: Calls) -> int:
    """How many there can be at most, whatever is drawn."""
    writes = [world.tool[name] for name, _ in reference if world.tool[name].request]
    return EXTRA + sum(2 + OTHERS * len(one.parameters) for one in writes)


def other_orders(chain: Chain, graph: ToolGraph) -> list[tuple[ChainStep, ...]]:
    """The chain with two neighbours changed that have nothing to do with each other, at most `ORDERS`."""
    tied = {frozenset((one.first, one.then)) for one in graph.edges if one.kind in ("state", "pre")}
    found = []
    for at in range(len(chain.steps) - 1):
        first, then = chain.steps[at : at + 2]
        uses = [source["from"][0] for source in then.args.values() if "from" in source]
        same = bool(_named(first) & _named(then)) or first.tool == then.tool
        if at in uses or same or frozenset((first.tool, then.tool)) in tied:
            continue
        order = [*range(at), at + 1, at, *range(at + 2, len(chain.steps))]
        found.append(tuple(_renumbered(chain.steps, order)))
    return found[:ORDERS]


def _renumbered(steps: Sequence[ChainStep], order: Sequence[int]) -> Iterator[ChainStep]:
    place = {old: new for new, old in enumerate(order)}
    for old in order:
        args = {
            name: {"from": [place[one["from"][0]], one["from"][1]]} if "from" in one else one
            for name, one in steps[old].args.items()
        }
        yield ChainStep(steps[old].tool, args)


def _named(step: ChainStep) -> set[str]:
    return {str(one["from"]) for one in step.args.values() if "from" in one}


def other_values(world: ToolWorld, one: Parameter, value: Json, rows: Rows, rng: random.Random) -> list[Json]:
    """Other values for a hard argument."""
    if value is None or (one.ref is None and one.name in LONG_TEXT):
        return []
    if one.ref is not None:
        keys = [str(row[world.table[one.ref].key]) for row in rows.get(one.ref, ())]
        keys = [key for key in keys if key != value]
        return rng.sample(keys, min(OTHERS, len(keys)))
    others: list[Json] = [drawn(one, world, rng) for _ in range(6)]
    if isinstance(value, int) and not isinstance(value, bool):
        others += [value + 1, value - 1]
    return [other for number, other in enumerate(others) if other != value and other not in others[:number]][:OTHERS]
