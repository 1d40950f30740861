"""The tasks of `evosyn experiment worlds`, as files: what each arm trains on, and what all are measured on."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from evosyn.codec import load
from evosyn.jsonlines import read_lines, write_lines
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.simulation.experiment.tool_language import (
    NEXT,
    POINTERS,
    PosedTask,
    answer_of,
    prompt_of,
)
from evosyn.simulation.experiment.tool_offices import is_ours
from evosyn.worlds.tools.files import bundled, read_tasks, read_world
from evosyn.worlds.tools.graph import find_graph
from evosyn.worlds.tools.in_process import InProcessPlayer, reviewed
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.tasks import TaskPlan, WorldTask, make_tasks

FORMS, ATTEMPTS = 8, 8
"""Tasks that are asked for in one round, since a world has few forms of chains with one write; attempts at each."""
ROUNDS = 40


class TaskSet(NamedTuple):
    """Tasks of one world.

    Attributes:
        failing: share of those whose chain does not do what is asked when it is run.
    """

    tasks: tuple[PosedTask, ...]
    failing: float = 0.0


@dataclass(frozen=True)
class WorldMaker:
    """Makes tasks with one write, in our own process.

    Attributes:
        vouched: texts of tools that may run there beside those of the offices and of their simulated author.
    """

    seeds: SeedTree
    vouched: frozenset[str] = frozenset()

    def tasks(self, world: ToolWorld, count: int, *, executed: bool = True) -> TaskSet:
        """So many tasks that the language of the policy has words for, or fewer.

        Raises:
            UsageError: nobody vouches for a tool of the world.
        """
        player = InProcessPlayer(ours([world]) | self.vouched)
        tree = self.seeds.child(world.name)
        graph = find_graph(world, player, tree)
        found, failing = list[PosedTask](), 0
        for number in range(ROUNDS):
            seeds = tree.child("round", number)
            plan = TaskPlan((1,), ATTEMPTS, executed)
            made = make_tasks(world, graph, player, min(FORMS, count - len(found)), seeds, plan)
            told = [one for one in made.tasks if answer_of(PosedTask(world, one)) is not None]
            found += [PosedTask(world, one) for one in told]
            failing += sum(one.id in made.failing for one in told)
            if len(found) >= count:
                break
        return TaskSet(tuple(found[:count]), failing / max(1, len(found)))


def in_bundled() -> list[PosedTask]:
    """The tasks of the worlds that come with evosyn which the language has words for."""
    found = list[PosedTask]()
    for name in bundled():
        world = read_world(f"builtin:{name}")
        found += [PosedTask(world, task) for task in read_tasks(f"builtin:{name}")]
    return [one for one in found if answer_of(one) is not None]


def named(posed: Sequence[PosedTask], namings: Sequence[int], rng: random.Random) -> list[PosedTask]:
    """The same, each in a naming by lot."""
    return [one._replace(naming=rng.choice(namings)) for one in posed]


def demonstrations(
    posed: Sequence[PosedTask], namings: Sequence[int], count: int, wrong: float, rng: random.Random
) -> list[tuple[str, str]]:
    """Prompts with the answers of a careless writer, who slips once with this chance, and then again."""
    found = []
    for at in range(count):
        one = posed[at % len(posed)]._replace(naming=rng.choice(namings))
        words = str(answer_of(one)).split()
        while rng.random() < wrong:
            words = _slipped(one, words, rng)
        found.append((prompt_of(one), " ".join(words)))
    return found


def _slipped(posed: PosedTask, words: list[str], rng: random.Random) -> list[str]:
    """One word taken for another, or left out."""
    at = rng.randrange(len(words))
    if words[at] in POINTERS:
        other = rng.choice([one for one in POINTERS if one[0] == words[at][0] and one != words[at]][:3])
    elif words[at] == NEXT or rng.random() < 0.3:
        return words[:at] + words[at + 1 :]
    else:
        other = rng.choice(prompt_of(posed).partition(f" {NEXT} ")[0].split())
    return [*words[:at], other, *words[at + 1 :]]


def write_tasks(path: Path, posed: Iterable[PosedTask]) -> None:
    """Tasks as lines, each with its world and naming."""
    rows = [(one.world.model_dump(mode="json"), one.task.to_json(), one.naming) for one in posed]
    write_lines(path, [dict(zip(PosedTask._fields, row, strict=True)) for row in rows])


def read_posed(path: Path) -> list[PosedTask]:
    """What `write_tasks` wrote."""
    worlds: dict[str, ToolWorld] = {}
    found = list[PosedTask]()
    for _, value in read_lines(path):
        world = ToolWorld.model_validate(value["world"])
        task: dict[str, Json] = {name: one for name, one in value["task"].items() if name != "id"}
        found.append(PosedTask(worlds.setdefault(world.id, world), load(WorldTask, task), value["naming"]))
    return found


def player_of(posed: Iterable[PosedTask]) -> InProcessPlayer:
    """Plays these worlds in our own process, as far as their programs are evosyn's own; others it refuses by name."""
    return InProcessPlayer(ours({one.world.id: one.world for one in posed}.values()) | reviewed())


def ours(worlds: Iterable[ToolWorld]) -> frozenset[str]:
    """Of the texts of these worlds, which may come from files, those that evosyn itself writes for their tools."""
    return frozenset(
        tool.source for world in worlds for tool in world.tools if is_ours(world.name, tool.name, tool.source)
    )
