"""`evosyn experiment environments`: is a policy better off where environments were checked, and where its pool rotates?

The arms train the same policy on other pools of environments. docs/experiment.md.
"""

from __future__ import annotations

from pydantic import Field

from evosyn.errors import UsageError
from evosyn.ports import Experiment, ExperimentTools
from evosyn.simulation.experiment.config import ExperimentConfig, see_arms

ARMS = ("fixed", "unfiltered", "filtered", "rotation", "oracle")


class EnvironmentsConfig(ExperimentConfig):
    """Pools of environments compared: as a simulated author drafts them, checked, rotating, and all that are sound.

    All arms start from the same weights; accuracy is measured on environments that nobody trains on, by a table of our
    own.
    """

    drafts: int = Field(default=60, ge=2, description="Environments that the simulated author drafts for a seed.")
    sound: float = Field(default=0.35, ge=0, le=1, description="Share of its drafts without a defect.")
    rewarding: float = Field(default=1.0, ge=0, description="Weight of defects that pay for wrong answers.")
    active: int = Field(default=64, ge=1, description="Rows of the pool that rotates.")
    jobs: int = Field(default=2, ge=1, description="Trainings at the same time.")


def create(tools: ExperimentTools, config: EnvironmentsConfig) -> Experiment:
    """
    Raises:
        UsageError: an arm or a size that there is not.
    """
    from evosyn.simulation.experiment.environment_runs import EnvironmentExperiment, EnvironmentPlan
    from evosyn.simulation.experiment.toy_data import StepBudget

    if config.size == "gpu":
        raise UsageError(
            "--size gpu: there is none; train a real model with `evosyn env rows` and `evosyn train --rotate`"
        )
    arms = see_arms(config.arms, ARMS)
    plan = EnvironmentPlan(config.drafts, config.sound, config.rewarding, config.active, config.size)
    budget = StepBudget(warm_steps=150)
    if config.size == "smoke":
        plan = EnvironmentPlan(min(config.drafts, 8), config.sound, config.rewarding, 8, config.size, 5, 4, 2, False)
        budget = StepBudget(warm_steps=20, steps=4, prompts=4, group=4, every=2, width=64)
    return EnvironmentExperiment(tools, plan, budget, config.seed_numbers, arms, config.jobs)
