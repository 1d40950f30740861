"""The arms of `evosyn experiment worlds`: what is made once for all seeds, the tasks of one seed, and its trainings."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from evosyn.codec import dump, load
from evosyn.configs.saving import freeze_config
from evosyn.ports import Comparison, ExperimentTools
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir, write_atomic
from evosyn.simulation.experiment.table import publish
from evosyn.simulation.experiment.tool_data import WorldMaker, demonstrations, named, read_posed, write_tasks
from evosyn.simulation.experiment.tool_language import PosedTask
from evosyn.simulation.experiment.tool_offices import (
    HELD,
    TRAIN,
    WARM,
    DrawnTool,
    Programs,
    by_lot,
    drawn_tools,
    first,
    office_of,
    ranked,
    with_sources,
)
from evosyn.simulation.experiment.tool_table import ON_CURVE, markdown, summarize, write_worlds_curve
from evosyn.simulation.experiment.toy_data import StepBudget
from evosyn.simulation.experiment.units import run_units
from evosyn.train.models import require_train
from evosyn.worlds.tools.records import ToolWorld

ARMS = ("rule", "string", "unexecuted", "by-lot")
CURVE = (1, 2, 4, 8, 16)
SHOWN, WRONG = 1000, 0.3
"""Answers of the warm start; chance of a further slip in each."""
TRAIN_NAMINGS, WARM_NAMINGS, HELD_NAMINGS = range(64), range(100, 116), range(1000, 1064)
"""Of tables, in the worlds of each kind; a world of the curve has one."""
NAMINGS_EACH = 8
"""Namings in which an arm trains on each of its tasks."""


@dataclass(frozen=True)
class WorldsPlan:
    """What decides the data.

    Attributes:
        worlds, tasks: to train on, and tasks of all of them together.
        held, each: worlds that nobody trains on, and tasks of each.
        warm: worlds of the warm start.
        draws: programs and testings of each tool.
        curve: numbers of worlds with the same number of tasks in all; for the first seed only.
    """

    worlds: int = 4
    tasks: int = 24
    held: int = 6
    each: int = 6
    warm: int = 6
    draws: int = 8
    curve: tuple[int, ...] = CURVE

    def of_curve(self, number: int) -> int:
        """How many tasks of a world the curve needs: it is there wherever as many worlds are."""
        return -(-self.tasks // min(count for count in self.curve if count > number))


class WorldsExperiment:
    """Implements `ports.Experiment`."""

    def __init__(
        self,
        tools: ExperimentTools,
        plan: WorldsPlan,
        budget: StepBudget,
        seeds: Sequence[int],
        arms: Sequence[str],
        jobs: int,
    ) -> None:
        self._tools, self._plan, self._budget, self._jobs = tools, plan, budget, jobs
        self._seeds, self._arms = seeds, arms

    def run(self, out: Path) -> Comparison:
        """See `ports.Experiment`."""
        require_train()
        with RunDir(out) as run:
            freeze_config(run.path, {**asdict(self._plan), **asdict(self._budget)}, "plan.yaml")
            self._draw(run.file("shared"))
            share_tasks(run.file("shared"), self._plan, self._tools.say)
            curve = [(self._seeds[0], f"{ON_CURVE}{count}") for count in self._plan.curve]
            units = [*((seed, arm) for arm in self._arms for seed in self._seeds), *curve]
            warm = partial(warm_unit, run.path, self._budget)
            train = partial(train_unit, run.path, self._budget, self._plan)
            records = run_units(run.path, units, self._jobs, warm, train, self._tools.say)
            table = summarize(records, _told(_drawn(run.file("shared")), self._plan.worlds))
            write_worlds_curve(run, table)
            return publish(run, [one for one in records if one["arm"] in self._arms], table, "worlds", markdown)

    def _draw(self, folder: Path) -> None:
        """The drawn tools, which all seeds have."""
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "tools.json").exists():
            return
        drawn, plan = list[list[DrawnTool]](), self._plan
        with self._tools.open_sandbox(workers=None, packages=("numpy",)) as sandbox:
            for number in TRAIN[: plan.worlds]:
                drawn.append(drawn_tools(number, sandbox, plan.draws))
                self._tools.say(f"world {number + 1} of {plan.worlds}: its tools are drawn and ranked")
        write_atomic(folder / "tools.json", json.dumps([[dump(one) for one in each] for each in drawn]))


def share_tasks(folder: Path, plan: WorldsPlan, say: Callable[[str], None]) -> None:
    """The tasks that all seeds have, of which a seed trains on half of those that its arm may have.

    NAME.jsonl stands where NAME.json, the shares of failing chains, does: it is written last, and a set that lacks one
    of the two is made again, to the same files.
    """
    chosen, believed = ([_world_of(number, pick(tools)) for number, tools in enumerate(_drawn(folder))]
                        for pick in (ranked, first))  # fmt: skip
    right, each = {number: office_of(number)[1] for number in range(TRAIN.start, HELD.stop)}, plan.each
    wanted: list[tuple[str, list[tuple[ToolWorld, int]]]] = [
        ("held", [(right[number], each) for number in HELD[: plan.held]]),
        ("within", [(right[number], each) for number in TRAIN[: plan.worlds]]),
        ("warm", [(right[number], each) for number in WARM[: plan.warm]]),
        ("rule", [(world, 2 * plan.tasks // plan.worlds) for world in chosen]),
        ("unexecuted", [(world, 2 * plan.tasks // plan.worlds) for world in believed]),
        ("curve", [(right[number], plan.of_curve(number)) for number in TRAIN[: max(plan.curve, default=0)]]),
    ]
    for name, worlds in wanted:
        if all((folder / f"{name}.{end}").exists() for end in ("json", "jsonl")):
            continue
        maker = WorldMaker(SeedTree(0).child(name))
        sets = [maker.tasks(world, count, executed=name != "unexecuted") for world, count in worlds]
        posed, rng = [one for each in sets for one in each.tasks], SeedTree(0).child("naming", name).random()
        failing = {one.world.name: of_world.failing for of_world in sets for one in of_world.tasks}
        write_atomic(folder / f"{name}.json", json.dumps(failing))
        write_tasks(folder / f"{name}.jsonl", named(posed, HELD_NAMINGS if name == "held" else TRAIN_NAMINGS, rng))
        say(f"tasks {name}: {len(posed)}")


def warm_unit(root: Path, budget: StepBudget, seed: int) -> None:
    """The weights that a seed's arms start from; what is shown is of worlds of its own."""
    from evosyn.simulation.experiment.tool_policy import warm_weights

    folder, seeds = root / f"seed-{seed}", SeedTree(seed).child("worlds")
    folder.mkdir(parents=True, exist_ok=True)
    posed, rng = read_posed(root / "shared" / "warm.jsonl"), seeds.child("slips").random()
    told = demonstrations(posed, WARM_NAMINGS, SHOWN, WRONG, rng)
    warm_weights(folder / "start", told, budget, seeds.child("learner"))


def train_unit(root: Path, budget: StepBudget, plan: WorldsPlan, seed: int, arm: str) -> Json:
    """One arm of one seed, or one place of the curve."""
    from evosyn.simulation.experiment.tool_policy import PlanLearner

    folder, shared, seeds = root / f"seed-{seed}", root / "shared", SeedTree(seed).child("worlds")
    facts: dict[str, Json] = {"right": 1.0, "failing": 0.0, "worlds": plan.worlds}
    if arm.startswith(ON_CURVE):
        facts["worlds"] = count = int(arm.removeprefix(ON_CURVE))
        posed = _evenly(read_posed(shared / "curve.jsonl"), count, plan.tasks)
    elif arm == "by-lot":
        posed, facts["right"] = _by_lot(plan, seeds, _drawn(shared))
    else:
        name, pick = ("unexecuted", first) if arm == "unexecuted" else ("rule", ranked)
        every = read_posed(shared / f"{name}.jsonl")
        posed = seeds.child("drawn").random().sample(every, min(plan.tasks, len(every)))
        posed = named(posed * NAMINGS_EACH, TRAIN_NAMINGS, seeds.child("naming").random())
        failing = json.loads((shared / f"{name}.json").read_text(encoding="utf-8"))
        facts["right"] = _share_right([pick(tools) for tools in _drawn(shared)])
        facts["failing"] = round(sum(failing[one.world.name] for one in posed) / max(1, len(posed)), 4)
    learner = PlanLearner(folder, shared, budget, seeds.child("learner"))
    found = learner.reinforce(posed, "words" if arm == "string" else "state", folder / "scratch" / arm)
    return {**found, "tasks": len(posed), **facts}


def _evenly(posed: Sequence[PosedTask], worlds: int, count: int) -> list[PosedTask]:
    """So many tasks of the first worlds, as many of each."""
    names = list(dict.fromkeys(one.world.name for one in posed))[:worlds]
    sets = [[one._replace(naming=number) for one in posed if one.world.name == name][: -(-count // worlds)]
            for number, name in enumerate(names)]  # fmt: skip
    return [one for each in sets for one in each][:count]


def _by_lot(plan: WorldsPlan, seeds: SeedTree, drawn: Sequence[Sequence[DrawnTool]]) -> tuple[list[PosedTask], float]:
    """Tasks of the worlds with tools by lot, and the share of those that are right."""
    maker, chosen = WorldMaker(seeds.child("tasks")), list[Programs]()
    posed = list[PosedTask]()
    for number, tools in enumerate(drawn):
        chosen.append(by_lot(tools, seeds.child("by lot", number)))
        posed += maker.tasks(_world_of(number, chosen[-1]), plan.tasks // plan.worlds).tasks
    return named(posed * NAMINGS_EACH, TRAIN_NAMINGS, seeds.child("naming").random()), _share_right(chosen)


def _world_of(number: int, programs: Programs) -> ToolWorld:
    return with_sources(office_of(number)[1], {name: source for name, (source, _) in programs.items()})


def _share_right(chosen: Sequence[Programs]) -> float:
    truths = [truth for programs in chosen for _, truth in programs.values()]
    return round(sum(one == "right" for one in truths) / max(1, len(truths)), 4)


def _drawn(folder: Path) -> list[list[DrawnTool]]:
    value = json.loads((folder / "tools.json").read_text(encoding="utf-8"))
    return [[load(DrawnTool, one) for one in each] for each in value]


def _told(drawn: Sequence[Sequence[DrawnTool]], worlds: int) -> dict[str, Json]:
    """How the choice did, by what the programs were meant to be."""
    tools = [one for each in drawn for one in each]
    kept = [one.programs[one.chosen][1] for one in tools if one.chosen >= 0]
    written = [truth for one in tools for _, truth in one.programs]
    return {
        "worlds": worlds,
        "tools": len(tools),
        "kept": len(kept),
        "right_of_kept": round(sum(one == "right" for one in kept) / max(1, len(kept)), 4),
        "right_of_written": round(sum(one == "right" for one in written) / max(1, len(written)), 4),
    }
