"""One arm of one seed of `evosyn experiment coevolve`: its policy, trained on what its source gives, and measured.

Every arm of a seed starts from the same weights. What they are good for is checked first: where the base solves nothing
just beyond what it can do, no curriculum has anything to choose from (docs/experiment.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from statistics import fmean

from evosyn.errors import UsageError
from evosyn.ports import GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.simulation.experiment.coevolve_arms import CoevolveArm, source_of
from evosyn.simulation.experiment.coevolve_policy import TaggingPolicy, load_policy
from evosyn.simulation.experiment.coevolve_world import (
    MOST_STEPS,
    SETTINGS,
    SUITES,
    draw_base,
    draw_seeds,
    draw_steps,
    draw_suite,
)

SAMPLES, AT_END = 2, 16
"""Answers to each held-out problem along the way, and at the end."""
LEAST_SLOPE = 0.3
"""Of the chance with one step less, what a further step must leave: below it lies a cliff."""
SLOPE_PROBLEMS, SLOPE_SAMPLES = 200, 8


@dataclass(frozen=True)
class CoevolvePlan:
    """What every arm gets.

    Attributes:
        told, base_steps, base_rate: answers that the base is made from, and its SFT.
        seeds: problems that everybody starts from.
        steps: GRPO steps of `prompts` x `group` answers.
        every: steps between measurements.
        heldout: problems of each suite.
    """

    told: int = 1500
    base_steps: int = 400
    base_rate: float = 3e-3
    seeds: int = 96
    steps: int = 100
    prompts: int = 16
    group: int = 8
    rate: float = 1e-3
    every: int = 10
    heldout: int = 200


def make_base(file: Path, plan: CoevolvePlan, seeds: SeedTree) -> list[float]:
    """Write the weights that all arms of a seed start from; how often it solves problems of one step, two, ..."""
    policy = TaggingPolicy(seeds.child("base"))
    policy.imitate(draw_base(seeds, plan.told), plan.base_steps, plan.base_rate)
    policy.save(file)
    rng, found = seeds.child("slope").random(), []
    for steps in range(1, MOST_STEPS + 1):
        problems = [draw_steps(rng, rng.choice(SETTINGS), steps) for _ in range(SLOPE_PROBLEMS)]
        found.append(round(fmean(_right(policy, problems, SLOPE_SAMPLES)), 4))
    return found


def check_slope(seed: int, chances: Sequence[float]) -> None:
    """
    Raises:
        UsageError: a further step leaves too little: nothing beyond the edge would ever be learnable.
    """
    for steps, (less, more) in enumerate(pairwise(chances), 1):
        if more < LEAST_SLOPE * less or not more:
            told = f"{steps} steps are solved with chance {less:.3f}, {steps + 1} with {more:.3f}"
            raise UsageError(
                f"seed {seed}: the base has a cliff: {told}, less than {LEAST_SLOPE} of it, so an experiment on it "
                "would say nothing about what is chosen; take another --first-seed"
            )


class StepsLearner:
    """Trains one arm of a seed from the weights in a file."""

    def __init__(self, file: Path, plan: CoevolvePlan, seeds: SeedTree) -> None:
        self._plan, self._seeds = plan, seeds
        self._policy = load_policy(file, seeds.child("learner"))
        self._measured = load_policy(file, seeds.child("measure"))
        self._suites = {name: draw_suite(seeds, name, plan.heldout) for name in SUITES}
        self._marks: dict[str, list[list[int]]] = {}

    def train(self, arm: CoevolveArm) -> Json:
        """The record of an arm: its curve, the rewards of each step, what became of each held-out problem, mutants."""
        plan, log = self._plan, list[dict[str, float]]()
        source = source_of(arm, draw_seeds(self._seeds, plan.seeds), self._seeds.child("arm"), self._policy.answers)
        curve = [self._measure(0, source.completions, source.figures())]
        for step in range(plan.steps):
            names, problems = zip(*source.batch(step, plan.prompts), strict=True)
            answers = self._policy.answers(problems, plan.group)
            rewards = [
                [float(one.solved_by(signs)) for signs in tried] for one, tried in zip(problems, answers, strict=True)
            ]
            self._policy.reinforce(problems, answers, rewards, plan.rate)
            passed = [int(sum(paid)) for paid in rewards]
            log.append({"reward": fmean(passed) / plan.group, "signal": fmean(0 < one < plan.group for one in passed)})
            source.report(step, [GroupOutcome(name, one, plan.group) for name, one in zip(names, passed, strict=True)])
            if (step + 1) % plan.every == 0 or step + 1 == plan.steps:
                spent = (step + 1) * plan.prompts * plan.group + source.completions
                curve.append(self._measure(step + 1, spent, source.figures()))
        mutants = [list(map(int, one)) for one in source.mutants]
        return {"curve": curve, "log": log, "marks": self._marks, "mutants": mutants}

    def _measure(self, step: int, completions: int, figures: Json) -> dict[str, float]:
        """Accuracy by suite and their mean, drawn at temperature 1; at the end with more answers, and greedy too."""
        self._measured.weights, end = self._policy.weights, step == self._plan.steps
        found = {}
        for name, problems in self._suites.items():
            samples = AT_END if end else SAMPLES
            marks = _right(self._measured, problems, samples)
            self._marks[name] = [marks[at : at + samples] for at in range(0, len(marks), samples)]
            found[name] = round(fmean(marks), 6)
        values = {"step": step, "completions": completions, "sampled": round(fmean(found.values()), 6), **found}
        return {**values, **({"greedy": round(self._greedy(), 6)} if end else {}), **figures}

    def _greedy(self) -> float:
        problems = [one for suite in self._suites.values() for one in suite]
        return fmean(one.solved_by(signs) for one, signs in zip(problems, self._measured.greedy(problems), strict=True))


def _right(policy: TaggingPolicy, problems: Sequence[Json], samples: int) -> list[int]:
    """Whether each answer is right, 1 or 0: those of a problem follow each other."""
    tried = policy.answers(problems, samples)
    return [int(one.solved_by(signs)) for one, each in zip(problems, tried, strict=True) for signs in each]
