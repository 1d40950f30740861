"""`evosyn experiment table3`: agents that imitate trajectories which testings accepted. EvoSyn (2510.17928) table 3.

Trajectories are made, checked and measured in real rooms; their author, the tasks and the student are SIMULATED
(`shell_language`, `shell_data`, `shell_policy`). docs/experiment.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from pydantic import Field

from evosyn.configs.saving import freeze_config
from evosyn.errors import UsageError
from evosyn.ports import Comparison, Experiment, ExperimentTools
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir, write_atomic
from evosyn.simulation.experiment.choices import Sizes, Split
from evosyn.simulation.experiment.config import ExperimentConfig, see_arms
from evosyn.simulation.experiment.shell_language import Errors
from evosyn.train.models import require_train
from evosyn.train.stats import t_interval

ARMS = ("evosyn", "random", "oracle")
BESIDE = ("teacher", "start")
NOTE = (
    "SIMULATED: the teacher, the tasks and the student (a model of 0.1 million parameters, trained from scratch) are "
    "made up; only rooms, episodes and checks are real. A mechanism check, no evidence about language models: table 3 "
    "of the paper is not reproduced."
)
ON_SEEDS = "Measured on the seed tasks themselves, as the paper does: the strategy was evolved on them."


class Table3Config(ExperimentConfig):
    """Table 3 in small: a student imitates trajectories that testings accepted, chosen in different ways.

    Tasks on files in a Linux system, of 12 families, 4 of which nobody is trained on. All arms start from the same
    weights and take as many steps; episodes on unseen tasks are judged by human testings. Rows `teacher` and `start`
    stand beside.
    """

    split: Split = Field(
        default="unseen", description="Measure on unseen tasks, or on the seed tasks themselves (paper)."
    )


@dataclass(frozen=True)
class ShellPlan3:
    """What is compared.

    Attributes:
        evaluations: where the search for the strategy ends.
        split: what students are measured on.
    """

    sizes: Sizes
    warm: int = 15
    steps: int = 250
    width: int = 64
    evaluations: int = 1000
    errors: Errors = field(default_factory=Errors)
    split: Split = "unseen"


PLANS = {
    "smoke": ShellPlan3(Sizes(seeds=8, problems=8, heldout=4, draws=4), warm=2, steps=20, width=32, evaluations=60),
    "cpu": ShellPlan3(Sizes(seeds=32, problems=96, heldout=64, draws=8)),
}


def create(tools: ExperimentTools, config: Table3Config) -> Experiment:
    """
    Raises:
        UsageError: an unknown arm, or a size that there is not.
    """
    if config.size not in PLANS:
        raise UsageError(f"--size {config.size}: table3 has the sizes {', '.join(PLANS)}")
    arms = see_arms(config.arms, ARMS)
    plan = replace(PLANS[config.size], split=config.split)
    return ShellExperiment(tools, plan, arms, config.seed_numbers)


class ShellExperiment:
    """Implements `ports.Experiment`."""

    def __init__(self, tools: ExperimentTools, plan: ShellPlan3, arms: Sequence[str], seeds: Sequence[int]) -> None:
        self._tools, self._plan, self._arms, self._seeds = tools, plan, arms, seeds

    def run(self, out: Path) -> Comparison:
        """See `ports.Experiment`."""
        require_train()
        from evosyn.simulation.experiment.shell_data import ShellRows

        with RunDir(out) as run:
            freeze_config(run.path, asdict(self._plan), "plan.yaml")
            units = [(seed, arm) for seed in self._seeds for arm in (*self._arms, *BESIDE)]
            for seed in self._seeds:
                if any(not _file(run.path, *unit).exists() for unit in units if unit[0] == seed):
                    self._run_seed(run, seed)
            records = [json.loads(_file(run.path, *unit).read_text(encoding="utf-8")) for unit in units]
            facts = [ShellRows.load(run.file(f"seed-{seed}", "rows.json")).facts for seed in self._seeds]
            order = (*self._arms, *BESIDE)
            return publish_shell(run, sorted(records, key=lambda one: order.index(one["arm"])), facts, self._plan.split)

    def _run_seed(self, run: RunDir, seed: int) -> None:
        """What is not yet done of one seed."""
        import torch

        from evosyn.simulation.experiment.search import StrategySearch
        from evosyn.simulation.experiment.shell_data import Episodes, ShellRows, Tasks, prepare_shell
        from evosyn.simulation.experiment.shell_policy import Student, StudentBudget
        from evosyn.workbench import Workbench

        torch.set_num_threads(1)
        plan, folder, tree = self._plan, run.file(f"seed-{seed}"), SeedTree(seed).child("student")
        folder.mkdir(parents=True, exist_ok=True)
        budget = StudentBudget(plan.warm, plan.steps, width=plan.width)
        with (
            self._tools.open_sandbox(workers=None, packages=("numpy",)) as own,
            Workbench(out=folder, lent=own) as workbench,
        ):
            search, shells = StrategySearch(workbench.sandbox, plan.evaluations), workbench.shells
            path = folder / "rows.json"
            tasks, episodes = Tasks(seed, plan.sizes, plan.split), Episodes(shells, folder / "turns.jsonl")
            if not path.is_file():
                prepare_shell(folder, seed, tasks, plan.sizes, search, shells, plan.errors)
            rows = ShellRows.load(path)
            self._keep(run, seed, "teacher", [{"step": 0, "greedy": rows.teacher["sampled"], **rows.teacher}])
            start: list[Json] = []
            for arm in ("start", *self._arms):
                if start and _file(run.path, seed, arm).exists():
                    continue
                student = Student(tree, budget)
                student.fit([(tasks.training[at].task, text) for at, text in rows.warm], plan.warm, tree.child("warm"))
                steps = 0 if arm == "start" else plan.steps
                if steps:
                    learnt = [(tasks.training[at].task, text) for at, text in rows.arms[arm]]
                    student.fit(learnt, steps, tree.child("imitate"))
                found = student.measure(tasks.measured, episodes, search.crossexec, tree.child("measure"))
                start = start or [{"step": 0, **found}]
                self._keep(run, seed, arm, start if arm == "start" else [*start, {"step": steps, **found}])
                self._tools.say(f"seed {seed}, {arm}: {found['sampled']:.3f} of {len(tasks.measured)} tasks solved")

    def _keep(self, run: RunDir, seed: int, arm: str, curve: Sequence[Json]) -> None:
        write_atomic(_file(run.path, seed, arm), json.dumps({"arm": arm, "seed": seed, "curve": list(curve)}))


def _file(root: Path, seed: int, arm: str) -> Path:
    return root / f"seed-{seed}" / f"{arm}.json"


def publish_shell(run: RunDir, records: Sequence[Json], facts: Sequence[Json], split: Split) -> Comparison:
    """The table: its arms with what is solved of families trained on and of others, where others are measured."""
    from evosyn.simulation.experiment.table import interval_json, publish, summarize

    table = summarize(records, facts, NOTE if split == "unseen" else f"{NOTE} {ON_SEEDS}")
    for row in table["arms"]:
        last = [record["curve"][-1] for record in records if record["arm"] == row["arm"]]
        for name in ("trained", "untrained"):
            found = [one[name] for one in last if name in one]
            row[name] = interval_json(t_interval(found)) if found else None
    return publish(run, records, table, "table3", shell_markdown)


def shell_markdown(table: Mapping[str, Any]) -> str:
    """The table for people."""
    from evosyn.simulation.experiment.table import cell, conclusion, interval

    lines = [
        f"> {table['note']}",
        "",
        "| arm | rows | right trajectories | good testings | balanced accuracy | families trained on | other families "
        "| tasks solved [95 %] | greedy |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in table["arms"]:
        families = [cell(one and one["mean"], 3) for one in (row["trained"], row["untrained"])]
        lines.append(
            f"| {row['arm']} | {cell(row['rows'], 0)} | {cell(row['right'])} | {cell(row['good'])} | "
            f"{cell(row['balanced_accuracy'])} | {' | '.join(families)} "
            f"| {interval(row['sampled'])} | {'-' if row['arm'] == 'teacher' else interval(row['greedy'])} |"
        )
    return "\n".join([*lines, *conclusion(table)])
