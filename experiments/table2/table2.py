"""Rewards by testings that were chosen in different ways, in two forms. EvoSyn (2510.17928) table 2.

A toy policy (`toy_runs`), or a real model on the user's own dataset (`real_runs`). experiments/RESULTS.md.
"""

from __future__ import annotations

from evosyn.configs.loading import load_config
from evosyn.errors import UsageError
from evosyn.train.config import DistillConfig, RlvrConfig
from experiments.table2.choices import ARMS, Sizes
from experiments.table2.config import ExperimentTools, Table2Config
from experiments.table2.real_runs import SETTINGS, RealExperiment, RealPlan
from experiments.table2.toy_data import StepBudget
from experiments.table2.toy_runs import ExperimentPlan, ToyExperiment

EVALUATIONS = {"smoke": 150, "cpu": 1500}
"""Where the search for the strategy ends."""


def create(tools: ExperimentTools, config: Table2Config) -> RealExperiment | ToyExperiment:
    """The form of table 2 that the configuration asks for.

    Raises:
        UsageError: options that exclude or need each other, an unknown arm or noise, a key that training does not know.
    """
    if config.data is not None:
        return RealExperiment(tools, _real_plan(config, config.data))
    for name in ("model", "bench", "train", "distill"):
        if getattr(config, name):
            raise UsageError(f"{name}: belongs to --data; the toy has a policy and problems of its own")
    return ToyExperiment(tools, _toy_plans(config))


def _toy_plans(config: Table2Config) -> list[ExperimentPlan]:
    sizes, budget = Sizes(), StepBudget()
    if config.size == "smoke":
        sizes = Sizes(seeds=20, problems=24, heldout=16, draws=8)
        budget = StepBudget(warm_steps=20, steps=6, distill_steps=6, prompts=4, group=4, every=3, width=64)
    plans = [
        ExperimentPlan(
            seeds=config.seed_numbers,
            arms=config.arms or ARMS,
            noise=noise,
            sizes=sizes,
            budget=budget,
            jobs=config.jobs,
            evaluations=EVALUATIONS[config.size],
        )
        for noise in dict.fromkeys(config.noise)
    ]
    for plan in plans:
        plan.check()
    return plans


def _real_plan(config: Table2Config, data: str) -> RealPlan:
    """What every run of a real model is told; `--set train.KEY=VALUE` stands over the preset."""
    if config.model is None or config.bench is None:
        raise UsageError("--data: needs --model and --bench as well")
    if config.noise != ("default",):
        raise UsageError("--noise: belongs to the toy; the data of a real model come from elsewhere")
    preset = "tiny" if config.model == "builtin:tiny" else None
    return RealPlan(
        data=data,
        bench=config.bench,
        model=config.model,
        arms=config.arms or SETTINGS,
        seeds=config.seed_numbers,
        samples=config.samples,
        max_tokens=config.max_tokens,
        config=load_config(RlvrConfig, preset=preset and f"train-{preset}", flags=config.train),
        fit=load_config(DistillConfig, preset=preset and f"distill-{preset}", flags=config.distill),
    )
