"""`evosyn experiment coevolve`: does it help to evolve problems with the student that they are for?

The arms train the same policy on other problems: seeds, seeds chosen, and mutants of them, chosen or not. DejaQ
(2601.01931) in a toy world; mutators and policy are made up. docs/experiment.md.
"""

from __future__ import annotations

from evosyn.errors import UsageError
from evosyn.ports import Experiment, ExperimentTools
from evosyn.simulation.experiment.coevolve_arms import ARMS
from evosyn.simulation.experiment.coevolve_learner import CoevolvePlan
from evosyn.simulation.experiment.coevolve_runs import CoevolveExperiment
from evosyn.simulation.experiment.config import ExperimentConfig


class CoevolveExperimentConfig(ExperimentConfig):
    """Where a student's problems come from: seeds, mutants, mutants by learnability. Mutators and world are SIMULATED.

    Arms: dr draws uniformly from the seeds; sfl half by learnability; resample is a curriculum of seeds; mutate-uniform
    has mutants but chooses nothing by learnability; dejaq-s mutates settings, dejaq-a structure too; dejaq-a-valid has
    a mutator without mistakes. Accuracy is measured on problems of more steps, of other settings, and with an aside.
    """


def create(tools: ExperimentTools, config: CoevolveExperimentConfig) -> Experiment:
    """
    Raises:
        UsageError: an arm or a size that there is not.
    """
    if config.size == "gpu":
        raise UsageError("--size gpu: there is none; the policy is a toy, and cpu is its size")
    arms = config.arms or tuple(ARMS)
    for arm in arms:
        if arm not in ARMS:
            raise UsageError(f"--arms {arm!r}: one of {', '.join(ARMS)}")
    plan = CoevolvePlan()
    if config.size == "smoke":
        plan = CoevolvePlan(seeds=32, steps=4, prompts=4, group=4, every=2, heldout=10)
    return CoevolveExperiment(tools, plan, config.size, config.seed_numbers, arms)
