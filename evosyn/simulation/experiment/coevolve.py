"""`evosyn experiment coevolve`: does it help to evolve problems with the student that they are for?

The arms train the same policy on other problems: seeds, seeds chosen, and mutants of them, chosen or not (DejaQ,
2601.01931); or, from a strong start, on pools of environments that stay as they are, rotate, or are its own (EvoEnv).
Both in toy worlds; mutators, authors and policies are made up. docs/experiment.md.
"""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from evosyn.errors import UsageError
from evosyn.ports import Experiment, ExperimentTools
from evosyn.simulation.experiment import selfplay_runs
from evosyn.simulation.experiment.coevolve_arms import ARMS
from evosyn.simulation.experiment.coevolve_learner import CoevolvePlan
from evosyn.simulation.experiment.coevolve_runs import CoevolveExperiment
from evosyn.simulation.experiment.config import ExperimentConfig, see_arms


class CoevolveExperimentConfig(ExperimentConfig):
    """Where a student's problems come from: seeds, mutants, mutants by learnability. Mutators and world are SIMULATED.

    Arms: dr draws uniformly from the seeds; sfl half by learnability; resample is a curriculum of seeds; mutate-uniform
    has mutants but chooses nothing by learnability; dejaq-s mutates settings, dejaq-a structure too; dejaq-a-valid has
    a mutator without mistakes. Accuracy is measured on problems of more steps, of other settings, and with an aside.

    With --recipe evoenv a policy starts that solves .75 to .85 of ten environments written by hand. Arms: none is not
    trained; public has a file of questions with answers about what these ask, fixed questions of the ten; drafted
    checked environments of a simulated author, and rotation these in a pool that rotates; in selfplay the policy writes
    environments too, a statement a token: the ladder, a simulated review and its own solve rate decide which join the
    ten. Accuracy is measured on environments that nobody trains on. It needs the train extra, and no GPU.
    """

    recipe: Literal["dejaq", "evoenv"] = Field(default="dejaq", description="Whose loop.")
    jobs: int = Field(default=2, ge=1, description="Trainings at the same time (evoenv).")
    rate: float = Field(default=3e-4, gt=0, description="Learning rate of the arms (evoenv).")


def create(tools: ExperimentTools, config: CoevolveExperimentConfig) -> Experiment:
    """
    Raises:
        UsageError: an arm or a size that there is not.
    """
    if config.size == "gpu":
        raise UsageError("--size gpu: there is none; the policy is a toy, and cpu is its size")
    arms = see_arms(config.arms, ARMS if config.recipe == "dejaq" else selfplay_runs.ARMS)
    if config.recipe == "evoenv":
        return selfplay_runs.experiment(
            tools, config.size, config.seed_numbers, arms, jobs=config.jobs, rate=config.rate
        )
    plan = CoevolvePlan()
    if config.size == "smoke":
        plan = CoevolvePlan(seeds=32, steps=4, prompts=4, group=4, every=2, heldout=10)
    return CoevolveExperiment(tools, plan, config.size, config.seed_numbers, arms)
