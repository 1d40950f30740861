"""Whether two programs of one tool do the same, as far as calls in drawn states show: for
planted faults that are none. Nothing that decides a verdict looks here."""

from __future__ import annotations

from collections.abc import Sequence

from evosyn.randomness import SeedTree
from evosyn.records import Json, canonical_json
from evosyn.worlds.tools.playing import Play, Played, Player, minutes
from evosyn.worlds.tools.records import ToolSpec, ToolWorld
from evosyn.worlds.tools.states import draw_args, draw_state

STATES, CALLS = 10, 20
"""That are drawn for one tool; calls in each state."""
STRANGE = 0.15
"""Share of calls in which one argument is a key of nobody, or a number beside its bounds."""


def probes(world: ToolWorld, tool: ToolSpec, seeds: SeedTree, states: int = STATES, calls: int = CALLS) -> list[Play]:
    """Calls of a tool in drawn states, a call a play."""
    found = []
    for number in range(states):
        rng = seeds.child("state", number).random()
        rows = draw_state(world, {table.name: rng.choice((2, 4, 7)) for table in world.tables}, rng)
        for _ in range(calls):
            args = draw_args(world, tool, rows, rng)
            if args is None:
                continue
            if tool.parameters and rng.random() < STRANGE:
                name = rng.choice(sorted(args))
                args[name] = _strange(tool, name, rng.choice((0, 1)))
            found.append(Play(rows, minutes([(tool.name, args)])))
    return found


def _strange(tool: ToolSpec, name: str, side: int) -> Json:
    one = next(one for one in tool.parameters if one.name == name)
    if one.type in ("integer", "number"):
        low = (one.minimum if one.minimum is not None else 0) - 1
        high = (one.maximum if one.maximum is not None else 1000) + 1
        return high if side else low
    return True if one.type == "boolean" else ("X0000", "")[side]


def told(played: Played) -> str:
    """What a play came to, as a text that is equal for equal ones."""
    calls = [[one.outcome, one.exception, one.value] for one in played.calls]
    return canonical_json([played.lost[:7], calls, played.rows])


def alike(player: Player, right: ToolWorld, others: Sequence[ToolWorld], seeds: SeedTree) -> list[bool]:
    """For each of other worlds of the same one tool whether it does what the right one does.

    Raises:
        SandboxUnavailable: from the sandbox.
    """
    plays = probes(right, right.tools[0], seeds)
    want = [told(one) for one in player.play(right, plays)]
    return [[told(one) for one in player.play(other, plays)] == want for other in others]
