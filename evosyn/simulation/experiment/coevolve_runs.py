"""The arms of `evosyn experiment coevolve`: the base of each seed, then all arms of it; what is done is kept."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

from evosyn.configs.saving import freeze_config
from evosyn.ports import Comparison, ExperimentTools
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir, write_atomic
from evosyn.simulation.experiment.coevolve_arms import ARMS
from evosyn.simulation.experiment.coevolve_learner import CoevolvePlan, StepsLearner, check_slope, make_base
from evosyn.simulation.experiment.coevolve_table import markdown, summarize
from evosyn.simulation.experiment.table import publish
from evosyn.simulation.experiment.units import run_units_here

BASE, SLOPE = "base.npz", "slope.json"


@dataclass(frozen=True)
class CoevolveExperiment:
    """Implements `ports.Experiment`."""

    tools: ExperimentTools
    plan: CoevolvePlan
    size: str
    seeds: tuple[int, ...]
    arms: Sequence[str]

    def run(self, out: Path) -> Comparison:
        """The table; see `ports.Experiment`.

        Raises:
            UsageError: the base of a seed has a cliff; the directory was started with another plan.
        """
        with RunDir(out) as run:
            freeze_config(run.path, {"size": self.size, **asdict(self.plan)}, "plan.yaml")
            units = [(seed, arm) for seed in self.seeds for arm in self.arms]
            base, train = partial(base_unit, run.path, self.plan), partial(train_unit, run.path, self.plan)
            records = run_units_here(run.path, units, base, train, self.tools.say)
            slopes = {seed: json.loads(run.file(f"seed-{seed}", SLOPE).read_text()) for seed in self.seeds}
            return publish(run, records, summarize(records, slopes), "coevolve", markdown)


def base_unit(root: Path, plan: CoevolvePlan, seed: int) -> None:
    """The weights that a seed's arms start from, and how their chance falls with the steps of a problem."""
    folder = root / f"seed-{seed}"
    folder.mkdir(parents=True, exist_ok=True)
    if not (folder / SLOPE).exists():  # is written when the weights are
        write_atomic(folder / SLOPE, json.dumps(make_base(folder / BASE, plan, SeedTree(seed).child("coevolve"))))
    check_slope(seed, json.loads((folder / SLOPE).read_text(encoding="utf-8")))


def train_unit(root: Path, plan: CoevolvePlan, seed: int, arm: str) -> Json:
    """One arm of one seed."""
    return StepsLearner(root / f"seed-{seed}" / BASE, plan, SeedTree(seed).child("coevolve")).train(ARMS[arm])
