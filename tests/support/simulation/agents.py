"""Agents that follow a script, for measuring worlds and their rewards: `--agent simulation.agents:create:NAME`.

They ask no model, and every figure of them says so. `gold` does what the reference does, `noop` nothing, `random` calls
that are valid, `sloppy:P` the reference with each call wrong at a rate of P, `greedy-distractor` the reference on other
rows than were meant. Ours.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import Annotated

from evosyn.domains.tool_use import place_in
from evosyn.errors import UsageError
from evosyn.ports import AgentTools, Argument, PluginConfig
from evosyn.ports.agents import AgentWork
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.text.tool_calls import ToolCall
from evosyn.trajectories import FINISH
from evosyn.worlds.tools.files import bundled, read_tasks
from evosyn.worlds.tools.kind import ToolPlace
from evosyn.worlds.tools.nearmiss import other_values
from evosyn.worlds.tools.records import Rows, ToolWorld
from evosyn.worlds.tools.states import draw_args

NAMES = ("gold", "noop", "random", "sloppy", "greedy-distractor")
RANDOM_CALLS = 6
Calls = Sequence[tuple[str, dict[str, Json]]]


class ScriptedConfig(PluginConfig):
    """
    Attributes:
        script: a name of `NAMES`; `sloppy:P` with a rate.
        source: of the world whose tasks it knows; empty for all bundled ones.
    """

    script: Annotated[str, Argument("NAME")] = "gold"
    source: str = ""
    seed: int = 0


def create(tools: AgentTools, config: ScriptedConfig) -> ScriptedAgent:  # noqa: ARG001
    """
    Raises:
        UsageError: no such script, or no such world.
    """
    sources = [config.source] if config.source else [f"builtin:{name}" for name in bundled()]
    references = {task.id: task.reference for source in sources for task in read_tasks(source)}
    return ScriptedAgent(config.script, references, SeedTree(config.seed))


class ScriptedAgent:
    """Implements `ports.agents.Agent`.

    Args:
        references: the calls that solve each problem, by its name.
    """

    def __init__(self, text: str, references: Mapping[str, Calls], seeds: SeedTree) -> None:
        self._name, colon, rate = text.partition(":")
        try:
            self._rate = float(rate) if colon else 0.2
        except ValueError:
            self._rate = -1.0
        if self._name not in NAMES or not 0 <= self._rate <= 1 or (colon and self._name != "sloppy"):
            raise UsageError(f"script {text!r}: one of {', '.join(NAMES)} (sloppy:0.2 with a rate from 0 to 1)")
        self._references, self._seeds = references, seeds

    async def run(self, work: AgentWork) -> None:
        """See `ports.agents.Agent`."""
        rng = self._seeds.child(self._name, work.problem.problem_id, work.opening.sample).random()
        for name, args in self._calls(place_in(work.problem), self._references[work.problem.problem_id], rng):
            await work.do(ToolCall(name, args))
        await work.do(ToolCall(FINISH, {}))

    def _calls(self, place: ToolPlace, reference: Calls, rng: random.Random) -> Calls:
        world, rows = place.world, place.state
        if self._name == "noop":
            return ()
        if self._name == "random":
            names = rng.choices(place.shown, k=RANDOM_CALLS)
            drawn = [(name, draw_args(world, world.tool[name], rows, rng)) for name in names]
            return [(name, args) for name, args in drawn if args is not None]
        if self._name == "greedy-distractor":
            return greedy(world, reference, rows, rng)
        calls = []
        for name, args in reference:
            wrong = (
                draw_args(world, world.tool[name], rows, rng)
                if self._name == "sloppy" and rng.random() < self._rate
                else None
            )
            calls.append((name, args if wrong is None else wrong))
        return calls


def greedy(world: ToolWorld, reference: Calls, rows: Rows, seeds: random.Random) -> Calls:
    """What an agent does that takes the next best row: each write, done to others than were meant."""
    found = []
    for name, args in reference:
        tool = world.tool[name]
        wrong = dict(args)
        for one in tool.parameters:
            others = other_values(world, one, args.get(one.name), rows, seeds) if tool.request and one.ref else []
            wrong[one.name] = others[0] if others else args.get(one.name)
        found.append((name, {key: value for key, value in wrong.items() if value is not None}))
    return found
