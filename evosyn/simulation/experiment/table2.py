"""`evosyn experiment table2`: rewards by testings that were chosen in different ways. EvoSyn (2510.17928) table 2.

In three forms: a toy policy (`toy_runs`), a real model on small functions (`function_pools`), or on the user's own
dataset (`own_data`); the last two are `real_runs`. docs/experiment.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import Field

from evosyn.errors import UsageError
from evosyn.ports import Experiment, ExperimentTools
from evosyn.records import Json
from evosyn.simulation.experiment.choices import ARMS, Sizes
from evosyn.simulation.experiment.config import ExperimentConfig, Names, see_arms

if TYPE_CHECKING:
    from evosyn.simulation.experiment.real_runs import RealPlan

MODEL = "Qwen/Qwen2.5-Coder-0.5B-Instruct"
EVALUATIONS = {"smoke": 150, "cpu": 1500, "gpu": 1500}
"""Where the search for the strategy ends."""
SMOKE_TRAIN = (
    *("steps=2", "rollout.prompts=2", "rollout.group=2", "rollout.max_completion=16"),
    *("memory.lora_rank=4", "keep.every=1", "tiny.warm_steps=2"),
)
SMOKE_DISTILL = ("steps=2", "fit.batch=2", "memory.lora_rank=4", "keep.every=1", "tiny.warm_steps=2")


class Table2Config(ExperimentConfig):
    """Table 2 in small: the same problems and budget, rewards by testings chosen in different ways.

    The evosyn arm uses a strategy that `evosyn evolve` finds on seed problems nobody trains on. All arms start from the
    same weights; accuracy is measured on unseen problems with human testings.
    """

    noise: Names = Field(
        default=("default",),
        description="How good the toy's teacher is: default, better, worse; several, comma-separated, are a sweep.",
    )
    data: str | None = Field(
        default=None, description="Your own dataset directory; then --model and --bench are needed as well."
    )
    model: str | None = Field(
        default=None,
        description=f"A real model, with --size smoke or gpu, or --data: where every arm starts. [{MODEL}]",
    )
    bench: str | None = Field(
        default=None, description="With --data: pool with human testings, or builtin:python-seeds."
    )
    samples: int = Field(default=4, ge=1, description="Of a real model: per unseen problem.")
    max_tokens: int = Field(default=512, ge=1, description="Of a real model: length of a completion.")
    jobs: int = Field(default=2, ge=1, description="Trainings of the toy at the same time.")
    train: dict[str, Json] = Field(default_factory=dict, description="any key of `evosyn train`, for a real model")
    distill: dict[str, Json] = Field(default_factory=dict, description="any key of `evosyn distill`, likewise")


def create(tools: ExperimentTools, config: Table2Config) -> Experiment:
    """The form of table 2 that the configuration asks for.

    Raises:
        UsageError: options that exclude or need each other, an unknown arm or noise, a key that training does not know.
    """
    if config.data is not None:
        return _on_own_data(tools, config)
    if config.bench is not None:
        raise UsageError("--bench: belongs to --data; unseen problems are made here")
    if config.size == "gpu" or config.model is not None:
        return _on_functions(tools, config)
    return _toy(tools, config)


def _toy(tools: ExperimentTools, config: Table2Config) -> Experiment:
    from evosyn.simulation.experiment.toy_data import StepBudget
    from evosyn.simulation.experiment.toy_runs import ExperimentPlan, ToyExperiment

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
    return ToyExperiment(tools, plans)


def _on_functions(tools: ExperimentTools, config: Table2Config) -> Experiment:
    from evosyn.simulation.experiment.function_pools import OfflineFunctions
    from evosyn.simulation.experiment.real_runs import RealExperiment

    if config.size == "cpu":
        raise UsageError("--model: a real model goes with --size gpu (or smoke), or with --data and --bench")
    arms = see_arms(config.arms, ARMS)
    sizes = Sizes(51, 192, 96, 16) if config.size == "gpu" else Sizes(16, 12, 4, 6)
    plan = _real_plan(config, arms, f"--size {config.size}", preset="table2", along=True)
    return RealExperiment(tools, plan, OfflineFunctions(sizes, EVALUATIONS[config.size]))


def _on_own_data(tools: ExperimentTools, config: Table2Config) -> Experiment:
    from evosyn.simulation.experiment.own_data import SETTINGS, OwnData
    from evosyn.simulation.experiment.real_runs import RealExperiment

    if config.data is None or config.model is None or config.bench is None:
        raise UsageError("--data: needs --model and --bench as well")
    preset = "tiny" if config.model == "builtin:tiny" else None
    plan = _real_plan(config, config.arms or SETTINGS, f"{config.data} on {config.bench}", preset=preset, along=False)
    return RealExperiment(tools, plan, OwnData(config.data, config.bench))


def _real_plan(config: Table2Config, arms: Sequence[str], source: str, *, preset: str | None, along: bool) -> RealPlan:
    """What every run of a real model is told; `--set train.KEY=VALUE` stands over the preset and the smoke size."""
    from evosyn.configs.loading import load_config
    from evosyn.simulation.experiment.real_runs import RealPlan
    from evosyn.train.config import DistillConfig, RlvrConfig

    if config.noise != ("default",):
        raise UsageError("--noise: belongs to the toy; the data of a real model come from elsewhere")
    smoke = config.size == "smoke" and config.data is None
    train, distill = (SMOKE_TRAIN, SMOKE_DISTILL) if smoke else ((), ())
    return RealPlan(
        source=source,
        model=config.model or MODEL,
        arms=tuple(arms),
        seeds=config.seed_numbers,
        samples=config.samples,
        max_tokens=config.max_tokens,
        config=load_config(RlvrConfig, preset=preset and f"train-{preset}", sets=train, flags=config.train),
        fit=load_config(DistillConfig, preset=preset and f"distill-{preset}", sets=distill, flags=config.distill),
        along=along,
    )
