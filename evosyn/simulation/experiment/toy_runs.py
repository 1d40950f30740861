"""All arms of all seeds, in several processes, each unit kept as it is done; the same call goes on after a kill.

The search for the strategy and the cross-execution are passed in; units open a sandbox of their own by the given
opener, because a sandbox does not travel between processes.
"""

from __future__ import annotations

import json
import logging
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path
from typing import TypeAlias

from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.records import Json
from evosyn.rundir import RunDir, write_atomic
from evosyn.seeds import SeedTree
from evosyn.simulation.experiment.choices import DISTILL_ARMS, RL_ARMS
from evosyn.simulation.experiment.toy_data import PreparedExperiment, Sizes
from evosyn.simulation.experiment.toy_language import Noise
from evosyn.train.checkpoints import freeze_config

log = logging.getLogger(__name__)

NOISES = {
    "default": Noise(),
    "better": Noise(solution=0.2, testing=0.15, trivial=0.1, corrupted=0.1, lost=0.05),
    "worse": Noise(solution=0.4, testing=0.4, trivial=0.35, corrupted=0.2, lost=0.25),
}

OpenSandbox: TypeAlias = Callable[[], Sandbox]
"""Opens a sandbox with one worker; must travel between processes (a module function or a partial of one)."""


@dataclass(frozen=True)
class StepBudgetConfig:
    """`learn.StepBudget` without its imports, for the command line; see there."""

    warm_steps: int = 40
    steps: int = 120
    distill_steps: int = 100
    prompts: int = 16
    group: int = 8
    rate: float = 3e-4
    every: int = 40
    width: int = 128


@dataclass(frozen=True)
class ExperimentPlan:
    """What is compared.

    Attributes:
        noise: a name of `NOISES`.
        jobs: processes that train at the same time.
    """

    seeds: tuple[int, ...]
    arms: tuple[str, ...] = (*RL_ARMS, *DISTILL_ARMS)
    noise: str = "default"
    sizes: Sizes = field(default_factory=Sizes)
    budget: StepBudgetConfig = field(default_factory=StepBudgetConfig)
    jobs: int = 2

    def check(self) -> None:
        """
        Raises:
            UsageError: an arm or a noise that there is not.
        """
        for arm in self.arms:
            if arm not in (*RL_ARMS, *DISTILL_ARMS):
                raise UsageError(f"--arms {arm!r}: one of {', '.join((*RL_ARMS, *DISTILL_ARMS))}")
        if self.noise not in NOISES:
            raise UsageError(f"--noise {self.noise!r}: one of {', '.join(NOISES)}")
        if not self.seeds:
            raise UsageError("--seeds: at least one")


Prepare: TypeAlias = Callable[[Path, int, Sizes, Noise], PreparedExperiment]
"""(directory, seed, sizes, noise) -> data of one seed; see `prepare.prepare`."""


def run_plan(
    plan: ExperimentPlan, run: RunDir, prepare: Prepare, open_sandbox: OpenSandbox, *, on_done: Callable[[str], None]
) -> list[Json]:
    """Run what is not yet done and return one record per (seed, arm).

    Args:
        on_done: told in words what has ended.

    Raises:
        UsageError: the plan is wrong, or the directory was started with another one.
    """
    plan.check()
    frozen = {name: value for name, value in asdict(plan).items() if name not in ("jobs", "seeds", "arms")}
    freeze_config(run, {"command": "experiment table2", **frozen, "noise_parameters": asdict(NOISES[plan.noise])})
    for seed in plan.seeds:
        folder = run.file(f"seed-{seed}")
        if not (folder / "prepared.json").exists():
            folder.mkdir(parents=True, exist_ok=True)
            facts = prepare(folder, seed, plan.sizes, NOISES[plan.noise]).facts
            on_done(f"seed {seed}: {facts['kept']} of {facts['problems']} problems kept")
    units = [(seed, arm) for arm in plan.arms for seed in plan.seeds]
    missing = [unit for unit in units if not _file(run.path, *unit).exists()]
    with ExitStack() as stack:
        pool = stack.enter_context(ProcessPoolExecutor(plan.jobs, mp_context=get_context("spawn")))
        stack.callback(pool.shutdown, wait=False, cancel_futures=True)
        warm = [seed for seed in plan.seeds if any(unit[0] == seed for unit in missing)]
        for started in [pool.submit(_warm, run.path, seed, plan.budget) for seed in warm]:
            started.result()
        futures = {
            pool.submit(_unit, run.path, seed, arm, plan.budget, open_sandbox): (seed, arm) for seed, arm in missing
        }
        for future in as_completed(futures):
            final = future.result()["curve"][-1]
            seed, arm = futures[future]
            on_done(f"seed {seed}, {arm}: held-out accuracy {final['sampled']:.3f} (greedy {final['greedy']:.3f})")
    return [json.loads(_file(run.path, *unit).read_text(encoding="utf-8")) for unit in units]


def facts_of(run: RunDir, seeds: Sequence[int]) -> list[Json]:
    """What the choices of each seed were worth."""
    return [PreparedExperiment.load(run.file(f"seed-{seed}", "prepared.json")).facts for seed in seeds]


def _file(root: Path, seed: int, arm: str) -> Path:
    return root / f"seed-{seed}" / f"{arm}.json"


def _warm(root: Path, seed: int, budget: StepBudgetConfig) -> None:
    import torch

    from evosyn.simulation.experiment.toy_policy import StepBudget, warm_start

    torch.set_num_threads(1)
    folder = root / f"seed-{seed}"
    seeds = SeedTree(seed).child("learner")
    warm_start(folder / "start", PreparedExperiment.load(folder / "prepared.json"), StepBudget(**asdict(budget)), seeds)


def _unit(root: Path, seed: int, arm: str, budget: StepBudgetConfig, open_sandbox: OpenSandbox) -> Json:
    import torch

    from evosyn.domains import Domains
    from evosyn.simulation.experiment.toy_policy import Learner, StepBudget
    from evosyn.train.scoring import Scorer

    warnings.filterwarnings("ignore", category=FutureWarning, module="transformers")
    torch.set_num_threads(1)
    folder = root / f"seed-{seed}"
    with open_sandbox() as sandbox:
        scorer = Scorer(sandbox, Domains())
        prepared = PreparedExperiment.load(folder / "prepared.json")
        learner = Learner(
            prepared, folder / "start", StepBudget(**asdict(budget)), scorer, SeedTree(seed).child("learner")
        )
        result = learner.imitate(arm) if arm in DISTILL_ARMS else learner.reinforce(arm, folder / "scratch" / arm)
    result |= {"seed": seed, "executed": scorer.executed, "cached": scorer.cached}
    write_atomic(_file(root, seed, arm), json.dumps(result))
    return dict(result)
