"""`evosyn experiment worlds`: what makes a policy better at tools, when its worlds, tasks and rewards are made?

The arms train the same policy on other tasks, or with another reward. ScaleEnv (2602.06820); docs/experiment.md.
"""

from __future__ import annotations

from pydantic import Field

from evosyn.errors import UsageError
from evosyn.ports import Experiment, ExperimentTools
from evosyn.simulation.experiment.config import ExperimentConfig, see_arms


class WorldsConfig(ExperimentConfig):
    """Worlds compared: a reward by final state or by words, tasks executed or believed, tools ranked or by lot.

    Arms: rule, string, unexecuted, by-lot; for the first seed also 1 to 16 worlds with the same number of tasks. Author
    and worlds are SIMULATED; success is measured by the rule, in worlds that nobody trains on.
    """

    curve: bool = Field(default=True, description="Vary the number of worlds too, for the first seed.")
    jobs: int = Field(default=2, ge=1, description="Trainings at the same time.")


def create(tools: ExperimentTools, config: WorldsConfig) -> Experiment:
    """
    Raises:
        UsageError: an arm or a size that there is not.
    """
    from evosyn.simulation.experiment.tool_runs import ARMS, CURVE, WorldsExperiment, WorldsPlan
    from evosyn.simulation.experiment.toy_data import StepBudget

    if config.size == "gpu":
        raise UsageError("--size gpu: there is none; train a real model with `evosyn world make` and `evosyn train`")
    arms = see_arms(config.arms, ARMS)
    curve = CURVE if config.curve else ()
    plan, budget = WorldsPlan(curve=curve), StepBudget(warm_steps=200, steps=60, rate=6e-4, every=20, width=64)
    if config.size == "smoke":
        plan = WorldsPlan(worlds=1, tasks=4, held=1, each=2, warm=1, draws=3, curve=curve[:2])
        budget = StepBudget(warm_steps=10, steps=2, prompts=2, group=2, every=2, width=32)
    return WorldsExperiment(tools, plan, budget, config.seed_numbers, arms, config.jobs)
