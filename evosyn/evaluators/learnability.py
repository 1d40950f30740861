"""What solve rates say of an environment as something to learn from: its score, and its place among others.

Learnability of a level is p (1 - p), 4 times as much without the bias of few answers, so that 1 is the best (Rutherford
et al. 2024; Foster et al. 2025); EvoEnv's quality of a rate and a plain band are the alternatives. How levels make one
score, and the axes, are ours. Nothing is asked or run here. docs/environments.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal

from evosyn.environments.calibration import Rate, quality
from evosyn.environments.contract import CATEGORIES, KINDS, LEVELS, Environment
from evosyn.environments.genome import NOVELTY, RATE
from evosyn.ports import Axis

Objective = Literal["learnability", "target", "band"]
BAND = (0.1, 0.9)
AXES = (Axis("category", 0, len(CATEGORIES), len(CATEGORIES)), Axis("frontier", 0, LEVELS + 1, LEVELS + 1),
        Axis("kind", 0, len(KINDS), len(KINDS)))  # fmt: skip
"""Category and kind as the program says them; frontier is where the student's rate falls below a half."""


def worth(rate: Rate, objective: Objective = "learnability") -> float:
    """What a level is worth, in [0, 1]."""
    share = rate.solved / rate.n
    if objective == "band":
        return float(BAND[0] <= share <= BAND[1])
    if objective == "target":
        return quality(share)
    return min(1.0, 4 * rate.n / (rate.n - 1) * share * (1 - share)) if rate.n > 1 else 0.0


def score_of(worths: Sequence[float]) -> float:
    """Half of the best level's worth and half of the mean: one good level is enough to begin with, five are better."""
    return 0.5 * max(worths) + 0.5 * sum(worths) / len(worths)


def frontier(rates: Sequence[Rate]) -> float:
    """Where the rate falls below a half, from 0 (before level 1) to 5, between levels by interpolation; above 5 where
    it does not."""
    before = 1.0
    for level, rate in enumerate(rates):
        share = rate.solved / rate.n
        if share < 0.5:
            return level + min(0.999, (before - 0.5) / (before - share))
        before = share
    return LEVELS + 0.5


def descriptor_of(environment: Environment, rates: Sequence[Rate]) -> tuple[float, ...]:
    """Its place on `AXES`."""
    return CATEGORIES.index(environment.category) + 0.5, frontier(rates), KINDS.index(environment.kind) + 0.5


def metrics_of(rates: Sequence[Rate], similarity: float) -> Mapping[str, float]:
    """Figures of an evaluation: share of right answers, by level too, and novelty."""
    shares = {f"{RATE}-{rate.level}": rate.solved / rate.n for rate in rates}
    return {RATE: sum(one.solved for one in rates) / sum(one.n for one in rates), **shares, NOVELTY: 1 - similarity}
