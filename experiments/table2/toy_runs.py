"""Table 2 with the toy policy: the data of all seeds, then all arms of them (`units`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

from evosyn.configs.saving import freeze_config
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir, write_atomic
from evosyn.train.models import require_train
from experiments.table2.choices import ARMS, DISTILL_ARMS, Sizes
from experiments.table2.config import ExperimentTools, SandboxOpener, see_arms
from experiments.table2.search import StrategySearch
from experiments.table2.table import Comparison, publish, summarize, sweep_markdown
from experiments.table2.toy_data import PreparedExperiment, StepBudget, prepare
from experiments.table2.toy_language import Noise
from experiments.table2.units import run_units

NOISES = {
    "default": Noise(),
    "better": Noise(solution=0.2, testing=0.15, trivial=0.1, corrupted=0.1, lost=0.05),
    "worse": Noise(solution=0.4, testing=0.4, trivial=0.35, corrupted=0.2, lost=0.25),
}


@dataclass(frozen=True)
class ExperimentPlan:
    """What is compared.

    Attributes:
        noise: a name of `NOISES`.
        evaluations: where the search for the strategy ends.
        jobs: processes that train at the same time.
    """

    seeds: tuple[int, ...]
    arms: tuple[str, ...] = ARMS
    noise: str = "default"
    sizes: Sizes = field(default_factory=Sizes)
    budget: StepBudget = field(default_factory=StepBudget)
    jobs: int = 2
    evaluations: int = 1500

    def check(self) -> None:
        """
        Raises:
            UsageError: an arm or a noise that there is not.
        """
        see_arms(self.arms, ARMS)
        if self.noise not in NOISES:
            raise UsageError(f"--noise {self.noise!r}: one of {', '.join(NOISES)}")


class ToyExperiment:
    """Table 2 with the toy policy, once for each plan (another noise each)."""

    def __init__(self, tools: ExperimentTools, plans: Sequence[ExperimentPlan]) -> None:
        self._tools, self._plans = tools, plans

    def run(self, out: Path) -> Comparison:
        """The table of the only plan, or a directory each and `sweep.md`; the same call goes on after a kill."""
        require_train()
        if len(self._plans) == 1:
            return self._compared(self._plans[0], out)
        found = {plan.noise: self._compared(plan, out / plan.noise) for plan in self._plans}
        text = sweep_markdown({noise: each.report for noise, each in found.items()})
        write_atomic(out / "sweep.md", text)
        reports = {noise: dict(each.report) for noise, each in found.items()}
        return Comparison({"noises": reports}, "\n\n".join([*(each.text for each in found.values()), text]))

    def _compared(self, plan: ExperimentPlan, out: Path) -> Comparison:
        with RunDir(out) as run:
            records = run_plan(plan, run, self._tools)
            return publish(run, records, summarize(records, facts_of(run, plan.seeds)))


def run_plan(plan: ExperimentPlan, run: RunDir, tools: ExperimentTools) -> list[Json]:
    """Run what is not yet done and return one record per (seed, arm).

    Raises:
        UsageError: the directory was started with another plan.
    """
    outside = ("jobs", "seeds", "arms", "evaluations")
    frozen = {name: value for name, value in asdict(plan).items() if name not in outside}
    freeze_config(run.path, {**frozen, "noise_parameters": asdict(NOISES[plan.noise])}, "plan.yaml")
    _prepare(plan, run, tools)
    units = [(seed, arm) for arm in plan.arms for seed in plan.seeds]
    warm = partial(_warm, run.path, plan.budget)
    train = partial(_unit, run.path, plan.budget, tools.open_sandbox)
    return run_units(run.path, units, plan.jobs, warm, train, tools.say)


def _prepare(plan: ExperimentPlan, run: RunDir, tools: ExperimentTools) -> None:
    """The data of the seeds that have none yet."""
    folders = {seed: run.file(f"seed-{seed}") for seed in plan.seeds}
    missing = {seed: folder for seed, folder in folders.items() if not (folder / "prepared.json").exists()}
    if not missing:
        return
    with tools.open_sandbox(workers=None, packages=("numpy",)) as sandbox:
        search = StrategySearch(sandbox, plan.evaluations)
        for seed, folder in missing.items():
            folder.mkdir(parents=True, exist_ok=True)
            facts = prepare(folder, seed, plan.sizes, NOISES[plan.noise], search).facts
            tools.say(f"seed {seed}: {facts['kept']} of {facts['problems']} problems kept")


def facts_of(run: RunDir, seeds: Sequence[int]) -> list[Json]:
    """What the choices of each seed were worth."""
    return [PreparedExperiment.load(run.file(f"seed-{seed}", "prepared.json")).facts for seed in seeds]


def _warm(root: Path, budget: StepBudget, seed: int) -> None:
    from experiments.table2.toy_policy import warm_start

    folder = root / f"seed-{seed}"
    seeds = SeedTree(seed).child("learner")
    warm_start(folder / "start", PreparedExperiment.load(folder / "prepared.json"), budget, seeds)


def _unit(root: Path, budget: StepBudget, open_sandbox: SandboxOpener, seed: int, arm: str) -> Json:
    from evosyn.domains import Domains
    from evosyn.train.scoring import Scorer, reward_judge
    from experiments.table2.toy_policy import Learner

    folder = root / f"seed-{seed}"
    with open_sandbox(workers=1) as sandbox:
        scorer = Scorer(reward_judge(sandbox, Domains()))
        prepared = PreparedExperiment.load(folder / "prepared.json")
        learner = Learner(prepared, folder / "start", budget, scorer, SeedTree(seed).child("learner"))
        result = learner.imitate(arm) if arm in DISTILL_ARMS else learner.reinforce(arm, folder / "scratch" / arm)
    return {**result, "executed": scorer.judge.executed, "cached": scorer.judge.cached}
