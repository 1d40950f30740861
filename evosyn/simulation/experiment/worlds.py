"""`evosyn experiment worlds`: what rewards by final state, executed tasks and ranked tools are worth to a policy.

After the ablations of ScaleEnv (2602.06820, section 5.4) and its figure of more worlds. SIMULATED (`world_data`,
`world_policy`): a check of mechanisms, no evidence about language models. docs/experiment.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import Field

from evosyn.codec import dump, load
from evosyn.configs.saving import freeze_config
from evosyn.errors import UsageError
from evosyn.plots import write_plot
from evosyn.ports import Comparison, Experiment, ExperimentTools
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir, write_atomic
from evosyn.simulation.experiment.config import ExperimentConfig
from evosyn.simulation.experiment.table import (
    as_share,
    cell,
    interval,
    interval_json,
    paired,
    remarks,
    reward_of,
)
from evosyn.simulation.experiment.units import run_units
from evosyn.simulation.experiment.world_data import ToyTask, draw_tasks, unexecuted
from evosyn.train.models import require_train
from evosyn.train.stats import MeanInterval, t_interval

if TYPE_CHECKING:
    from evosyn.simulation.experiment.world_policy import WorldBudget

ARMS = ("rule", "string", "unexecuted", "random-tools")
START, MANY = "start", "worlds-"
NOTE = (
    "SIMULATED: a model of 0.1 million parameters, trained from scratch, writes calls as single tokens in variants of "
    "the three bundled worlds (the same tools, other data, other words for requests); defects of tools are known and "
    "written by hand. A mechanism check, no evidence about language models: no figure of ScaleEnv is reproduced."
)
CLAIMS = {
    "rule - string": "paying the final state rather than the last words",
    "rule - unexecuted": "tasks whose chains were executed",
    "rule - random-tools": "ranked tools rather than random implementations",
}


class WorldsConfig(ExperimentConfig):
    """Tool worlds in small: the same policy and the same number of tasks, paid, made and equipped in different ways.

    `rule` pays the final state; `string` the last words; `unexecuted` has tasks whose chains nobody ran; `random-tools`
    a random one of two implementations of each tool. Measured on held-out variants of the three bundled worlds. A curve
    over 1 to 16 variants of each world stands beside, of the first seed alone.
    """

    curve: bool = Field(default=True, description="Also train on 1, 2, 4, 8 and 16 variants, with the first seed.")


@dataclass(frozen=True)
class WorldsPlan:
    """What decides the data of a seed: tasks to train on, to warm up on and to measure on; variants of each world."""

    tasks: int = 72
    warm: int = 48
    heldout: int = 60
    variants: int = 4
    counts: tuple[int, ...] = (1, 2, 4, 8, 16)
    wrong: float = 0.3
    steps: int = 40
    prompts: int = 8
    group: int = 8
    warm_steps: int = 100


PLANS = {
    "smoke": WorldsPlan(
        tasks=6, warm=6, heldout=6, variants=2, counts=(1, 2), steps=2, prompts=2, group=2, warm_steps=4
    ),
    "cpu": WorldsPlan(),
}


def create(tools: ExperimentTools, config: WorldsConfig) -> Experiment:
    """
    Raises:
        UsageError: an unknown arm, or a size that there is not.
    """
    if config.size not in PLANS:
        raise UsageError(f"--size {config.size}: worlds has the sizes {', '.join(PLANS)}; a real model: docs/worlds.md")
    arms = config.arms or ARMS
    if wrong := [arm for arm in arms if arm not in ARMS]:
        raise UsageError(f"--arms {wrong[0]!r}: one of {', '.join(ARMS)}")
    return WorldsExperiment(tools, PLANS[config.size], tuple(arms), config.seed_numbers, config.curve)


class WorldsExperiment:
    """Implements `ports.Experiment`."""

    def __init__(
        self, tools: ExperimentTools, plan: WorldsPlan, arms: Sequence[str], seeds: Sequence[int], curve: bool
    ) -> None:
        self._tools, self._plan, self._arms, self._seeds, self._curve = tools, plan, arms, seeds, curve

    def run(self, out: Path) -> Comparison:
        """See `ports.Experiment`."""
        require_train()
        counts = [f"{MANY}{number}" for number in self._plan.counts] if self._curve else []
        with RunDir(out) as run:
            freeze_config(run.path, asdict(self._plan), "plan.yaml")
            units = [(seed, arm) for seed in self._seeds for arm in (*self._arms, START)]
            units += [(self._seeds[0], arm) for arm in counts]
            made = partial(_prepare, run.path, self._plan)
            records = run_units(run.path, units, 1, made, partial(_train, run.path, self._plan), self._tools.say)
            table = summarize(records)
            run.write_json("report.json", table)
            text = markdown(table)
            run.write("worlds.md", text)
            if counts:
                _picture(run.file("worlds.png"), table["curve"])
        return Comparison(table, text)


def _prepare(root: Path, plan: WorldsPlan, seed: int) -> None:
    """The tasks of a seed and the weights from which all its arms start, made once."""
    from evosyn.simulation.experiment import world_policy as toy

    folder = root / f"seed-{seed}"
    if (folder / "start.pt").exists():
        return
    tree, first = SeedTree(seed).child("worlds"), 1000 * seed
    known, unseen = range(first, first + plan.variants), range(first + 500, first + 500 + plan.variants)
    rule = draw_tasks(plan.tasks, known, tree.child("tasks"))
    made = {
        "rule": rule,
        "unexecuted": unexecuted(rule, tree.child("unexecuted")),
        "random-tools": draw_tasks(plan.tasks, known, tree.child("random-tools"), ranked=False),
        "warm": draw_tasks(plan.warm, known[:1], tree.child("warm")),
        "heldout": draw_tasks(plan.heldout, unseen, tree.child("heldout")),
    }
    text = json.dumps({name: [dump(one, defaults=True) for one in tasks] for name, tasks in made.items()})
    write_atomic(folder / "tasks.json", text)
    policy = toy.WorldPolicy(SeedTree(seed).child("policy"), _budget(plan))
    policy.warm(toy.spoilt(made["warm"], plan.wrong, SeedTree(seed)))
    policy.keep(folder / "start.pt")


def _train(root: Path, plan: WorldsPlan, seed: int, arm: str) -> Json:
    """One arm of a seed: its curve, the rewards of its steps, and what its tasks are."""
    from evosyn.simulation.experiment import world_policy as toy

    stored = json.loads((root / f"seed-{seed}" / "tasks.json").read_text(encoding="utf-8"))
    made = {name: [load(ToyTask, one) for one in tasks] for name, tasks in stored.items()}
    policy = toy.WorldPolicy(SeedTree(seed).child("policy"), _budget(plan))
    policy.take(root / f"seed-{seed}" / "start.pt")
    paths = toy.paths_of([*made["random-tools"], *made["rule"], *made["warm"], *made["heldout"]])
    curve = [policy.measure(made["heldout"], paths, 0)]
    if arm == START:
        return {"curve": curve, "tasks": 0, "feasible": None}
    tasks = made[arm] if arm in made else made["rule"]
    if arm.startswith(MANY):
        first, count = 1000 * seed, int(arm.removeprefix(MANY))
        tasks = draw_tasks(plan.tasks, range(first, first + count), SeedTree(seed).child("worlds", "curve", count))
    by_state = partial(toy.rewards_by_state, paths=paths)
    log = policy.reinforce(tasks, toy.rewards_by_words if arm == "string" else by_state)
    curve.append(policy.measure(made["heldout"], paths, plan.steps))
    feasible = sum(one.feasible for one in tasks) / len(tasks)
    return {"curve": curve, "log": log, "tasks": len(tasks), "feasible": round(feasible, 4)}


def _budget(plan: WorldsPlan) -> WorldBudget:
    from evosyn.simulation.experiment.world_policy import WorldBudget

    return WorldBudget(plan.warm_steps, plan.steps, plan.prompts, plan.group)


def summarize(records: Sequence[Json]) -> dict[str, Any]:
    """The table as JSON."""
    rows, curve = [], []
    for arm in dict.fromkeys(record["arm"] for record in records):
        mine = [record for record in records if record["arm"] == arm]
        row: dict[str, Json] = {"arm": arm, "seeds": len(mine), "tasks": sum(one["tasks"] for one in mine) / len(mine)}
        shares = [one["feasible"] for one in mine if one["feasible"] is not None]
        row["feasible"] = round(sum(shares) / len(shares), 4) if shares else None
        row["start_sampled"] = round(sum(one["curve"][0]["sampled"] for one in mine) / len(mine), 4)
        for name in ("sampled", "greedy"):
            row[name] = interval_json(as_share(t_interval([one["curve"][-1][name] for one in mine])))
        row["reward_start"], row["reward_end"] = reward_of(mine, first=True), reward_of(mine, first=False)
        if arm.startswith(MANY):
            figures = mine[0]["curve"][-1]
            curve.append(
                {"worlds": int(arm.removeprefix(MANY)), **{name: figures[name] for name in ("sampled", "greedy")}}
            )
        else:
            rows.append(row)
    pairs = [("rule", other) for other in (*ARMS[1:], START)]
    found = {f"{one} - {other}": paired(records, one, other) for one, other in pairs}
    differences = {name: each for name, each in found.items() if each is not None}
    return {
        "note": NOTE,
        "simulated": True,
        "arms": rows,
        "main": "rule - string",
        "differences": {name: interval_json(each) for name, each in differences.items()},
        "curve": curve,
        "verdict": " ".join(_said(name, each) for name, each in differences.items() if name in CLAIMS),
        "remarks": remarks(rows),
    }


def _said(name: str, found: MeanInterval) -> str:
    """What a difference shows, whatever it is."""
    figures = f"{name} = {found.mean:+.3f}"
    if found.low != found.low:
        return f"{figures}, one seed: nothing is shown of {CLAIMS[name]}."
    shown = f"{figures} [{found.low:+.3f}, {found.high:+.3f}]"
    if found.low > 0:
        return f"{shown}: {CLAIMS[name]} helps at the 95 % level."
    return (
        f"{shown}: {CLAIMS[name]} {'harms' if found.high < 0 else 'makes no difference that is shown'} at that level."
    )


def markdown(table: Mapping[str, Any]) -> str:
    """The table for people."""
    lines = [
        f"> {table['note']}",
        "",
        "| arm | tasks | chains that run | reward start -> end | held-out worlds: start -> end [95 %] | greedy |",
        "|---|---|---|---|---|---|",
    ]
    for row in table["arms"]:
        reward = "-" if row["reward_start"] is None else f"{row['reward_start']:.2f} -> {row['reward_end']:.2f}"
        lines.append(
            f"| {row['arm']} | {cell(row['tasks'], 0)} | {cell(row['feasible'])} | {reward} "
            f"| {row['start_sampled']:.3f} -> {interval(row['sampled'])} | {interval(row['greedy'])} |"
        )
    lines += ["", "| difference, paired by seed | mean [95 %] |", "|---|---|"]
    lines += [f"| {name} | {interval(value, signed=True)} |" for name, value in table["differences"].items()]
    if table["curve"]:
        lines += ["", "| variants of each world (first seed) | sampled | greedy |", "|---|---|---|"]
        lines += [f"| {one['worlds']} | {one['sampled']:.3f} | {one['greedy']:.3f} |" for one in table["curve"]]
    return "\n".join([*lines, "", table["verdict"], "", *(f"- {one}" for one in table["remarks"])]) + "\n"


def _picture(path: Path, curve: Sequence[Mapping[str, float]]) -> None:
    """Success over the number of variants."""

    def draw(axes: Any) -> None:
        for name in ("sampled", "greedy"):
            axes.plot([one["worlds"] for one in curve], [one[name] for one in curve], "o-", label=name)
        axes.set_xscale("log", base=2)
        axes.set_xlabel("variants of each of three worlds (equal tasks, one seed, SIMULATED)")
        axes.set_ylabel("success on held-out variants")
        axes.set_ylim(0, 1)
        axes.grid(alpha=0.3)
        axes.legend()

    write_plot(path, draw, size=(5.6, 3.6))
