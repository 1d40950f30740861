"""How sure a score is: bootstrap intervals over problems, paired comparisons, and splits by problem.

Draws of one problem share its pool, so problems are what is resampled. DESIGN.md section 5, "Resampling".
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from evosyn.errors import UsageError
from evosyn.evaluators.draws import Floats
from evosyn.randomness import SeedTree
from evosyn.records import PassMatrix

RESAMPLES = 2000
TIE_ERRORS = 0.5
"""Standard errors of the paired difference to the better one within which another counts as level with it."""
SAME_TESTING = 0.02
"""Balanced accuracies that lie no more than this below the best count as equal to it."""


class Interval(NamedTuple):
    """A 95 % percentile interval."""

    low: float
    high: float


class Split(NamedTuple):
    """Matrices to evolve on, and matrices held out."""

    train: list[PassMatrix]
    heldout: list[PassMatrix]


def bootstrap(values_P: Floats | Sequence[float], seed: int = 0) -> Interval:
    """The interval of the mean of `values_P` over problems.

    Args:
        values_P: one value a problem; NaN are left out.
    """
    values = np.asarray(values_P, dtype=np.float64)
    values = values[~np.isnan(values)]
    if not len(values):
        return Interval(float("nan"), float("nan"))
    return resampled(values, SeedTree(seed).child("bootstrap", len(values)).rng())


def resampled(values_P: Floats, rng: np.random.Generator) -> Interval:
    """The same of one value or more, none of them NaN, by a generator of the caller's."""
    means = values_P[rng.integers(len(values_P), size=(RESAMPLES, len(values_P)))].mean(axis=1)
    low, high = np.quantile(means, [0.025, 0.975])
    return Interval(float(low), float(high))


def difference(first_P: Sequence[float], second_P: Sequence[float], seed: int = 0) -> Interval:
    """The interval of the mean difference of two strategies on the same problems; tied where it holds 0.

    Args:
        first_P, second_P: per-problem scores in the same order.
    """
    return bootstrap(np.subtract(first_P, second_P), seed)


def level(best_P: Sequence[float], other_P: Sequence[float]) -> bool:
    """Whether the second falls short of the first by no more than `TIE_ERRORS`, over the same problems."""
    gaps = np.subtract(best_P, other_P)
    if len(gaps) < 2:
        return not gaps.any()
    return bool(gaps.mean() <= TIE_ERRORS * gaps.std(ddof=1) / np.sqrt(len(gaps)) + 1e-12)


def split_problems(matrices: Sequence[PassMatrix], share: float, seed: int) -> Split:
    """Hold out a share of the problems, chosen by the seed and not by their order in the file.

    Where there are several pools, a task stays whole, and tasks that are in the same pools are split by the same share.

    Args:
        share: of the problems that are held out, in (0, 1); at least one problem stays on each side.

    Raises:
        UsageError: fewer than two problems, or a share outside (0, 1).
    """
    if not 0 < share < 1:
        raise UsageError(f"held-out share {share}: must lie between 0 and 1")
    pools_of: dict[str, set[str]] = {}
    for matrix in matrices:
        pools_of.setdefault(task_of(matrix), set()).add(pool_of(matrix))
    if len(pools_of) < 2:
        raise UsageError(f"{len(pools_of)} problems cannot be split into seeds and held-out problems; bring more")
    rng = SeedTree(seed).child("heldout").rng()
    held: set[str] = set()
    for stratum in sorted({tuple(sorted(pools)) for pools in pools_of.values()}):
        tasks = sorted(task for task, pools in pools_of.items() if tuple(sorted(pools)) == stratum)
        order = rng.permutation(len(tasks))
        size = min(max(round(share * len(tasks)), 1), len(tasks) - 1)
        held.update([tasks[place] for place in order[:size]])
    held = held or {min(pools_of)}
    return Split(
        [matrix for matrix in matrices if task_of(matrix) not in held],
        [matrix for matrix in matrices if task_of(matrix) in held],
    )


def pool_of(matrix: PassMatrix) -> str:
    """The pool that a matrix came from, where a search has several; it is no part of the evidence."""
    return str(matrix.meta.get("pool", ""))


def task_of(matrix: PassMatrix) -> str:
    """What the problem is called in every pool that has it."""
    return str(matrix.meta.get("task", matrix.problem_id))
