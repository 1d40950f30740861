"""How sure a score is: bootstrap intervals over problems, and paired comparisons.

Draws of one problem share its pool, so problems are what is resampled, and those of one task (which several pools may
have) together. DESIGN.md section 5, "Resampling".
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from evosyn.evaluators.draws import Floats
from evosyn.randomness import SeedTree

RESAMPLES = 2000
TIE_ERRORS = 0.5
"""Standard errors of the paired difference to the better one within which another counts as level with it."""
SAME_TESTING = 0.02
"""Balanced accuracies that lie no more than this below the best count as equal to it."""


class Interval(NamedTuple):
    """A 95 % percentile interval."""

    low: float
    high: float


class Totals(NamedTuple):
    """Values of problems, summed over each of T tasks.

    Attributes:
        counts_T: problems of each.
    """

    sums_T: Floats
    counts_T: Floats

    @property
    def error(self) -> float:
        """Standard error of the mean over problems; as large as the mean where there is one task alone."""
        tasks, problems = len(self.sums_T), self.counts_T.sum()
        mean = self.sums_T.sum() / problems
        if tasks < 2:
            return float(abs(mean))
        return float(np.sqrt(tasks / (tasks - 1) * ((self.sums_T - self.counts_T * mean) ** 2).sum()) / problems)


def totals(values_P: Floats | Sequence[float], tasks_P: Sequence[str] | None = None) -> Totals:
    """Sums by task, in the order in which the tasks come first; with None every problem is its own."""
    if tasks_P is None:
        return Totals(np.asarray(values_P, dtype=np.float64), np.ones(len(values_P)))
    places = {task: place for place, task in enumerate(dict.fromkeys(tasks_P))}
    found = Totals(np.zeros(len(places)), np.zeros(len(places)))
    place_P = [places[task] for task in tasks_P]
    np.add.at(found.sums_T, place_P, values_P)
    np.add.at(found.counts_T, place_P, 1)
    return found


def bootstrap(values_P: Floats | Sequence[float], seed: int = 0, tasks_P: Sequence[str] | None = None) -> Interval:
    """The interval of the mean of `values_P` over problems.

    Args:
        values_P: one value a problem; NaN are left out.
        tasks_P: the task of each, where two problems may have the same one.
    """
    values = np.asarray(values_P, dtype=np.float64)
    known = ~np.isnan(values)
    if not known.any():
        return Interval(float("nan"), float("nan"))
    tasks = None if tasks_P is None else [task for task, there in zip(tasks_P, known, strict=True) if there]
    found = totals(values[known], tasks)
    return resampled(SeedTree(seed).child("bootstrap", len(found.sums_T)).rng(), found)


def resampled(rng: np.random.Generator, *kinds: Totals) -> Interval:
    """The same of one task or more, by a generator of the caller's; tasks of each kind are drawn on their own."""
    sums, counts = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for found in kinds:
        drawn = rng.integers(len(found.sums_T), size=(RESAMPLES, len(found.sums_T)))
        sums += found.sums_T[drawn].sum(axis=1)
        counts += found.counts_T[drawn].sum(axis=1)
    defined = counts > 0
    if not defined.any():
        return Interval(float("nan"), float("nan"))
    low, high = np.quantile(sums[defined] / counts[defined], [0.025, 0.975])
    return Interval(float(low), float(high))


def difference(
    first_P: Sequence[float], second_P: Sequence[float], seed: int = 0, tasks_P: Sequence[str] | None = None
) -> Interval:
    """The interval of the mean difference of two strategies on the same problems; tied where it holds 0.

    Args:
        first_P, second_P: per-problem scores in the same order.
        tasks_P: as in `bootstrap`.
    """
    return bootstrap(np.subtract(first_P, second_P), seed, tasks_P)


def level(best_P: Sequence[float], other_P: Sequence[float], tasks_P: Sequence[str]) -> bool:
    """Whether the second falls short of the first by no more than `TIE_ERRORS`, over the same problems."""
    gaps = np.subtract(best_P, other_P)
    return bool(gaps.mean() <= TIE_ERRORS * totals(gaps, tasks_P).error + 1e-12)


class Strata(NamedTuple):
    """Which pool and which task each problem is of. Tasks vary; those that are in the same pools vary on their own."""

    pools_P: Sequence[str]
    tasks_P: Sequence[str]

    def of_pools(self, values_P: Floats) -> dict[str, float]:
        """The mean over the problems of each pool."""
        found = totals(values_P, self.pools_P)
        means = found.sums_T / found.counts_T
        return dict(sorted(zip(dict.fromkeys(self.pools_P), means.tolist(), strict=True)))

    def error(self, values_P: Floats) -> float:
        """Standard error of the mean over problems."""
        squares = [(some.error * some.counts_T.sum()) ** 2 for some in self._kinds(values_P)]
        return float(np.sqrt(sum(squares))) / len(values_P)

    def interval(self, values_P: Floats, seed: int = 0) -> Interval:
        """Of the mean over problems, tasks resampled."""
        return resampled(SeedTree(seed).child("strata", len(set(self.tasks_P))).rng(), *self._kinds(values_P))

    def share(self, gained_P: Floats, possible_P: Floats, seed: int = 0) -> Interval:
        """Of what is gained over what could be, both summed over problems, tasks resampled; both vary, together.
        Resamples in which nothing could be gained say nothing.

        Args:
            gained_P, possible_P: per-problem differences to the same reference; `possible_P` is nowhere below 0.
        """
        pairs = zip(self._kinds(gained_P), self._kinds(possible_P), strict=True)
        kinds = [Totals(gained.sums_T, possible.sums_T) for gained, possible in pairs]
        return resampled(SeedTree(seed).child("strata", len(set(self.tasks_P))).rng(), *kinds)

    def _kinds(self, values_P: Floats) -> Iterator[Totals]:
        """Sums by task, of tasks that are in the same pools."""
        pools: defaultdict[str, set[str]] = defaultdict(set)
        for pool, task in zip(self.pools_P, self.tasks_P, strict=True):
            pools[task].add(pool)
        kinds = [tuple(sorted(found)) for found in pools.values()]
        whole = totals(values_P, self.tasks_P)
        for kind in dict.fromkeys(kinds):
            own = np.array([one == kind for one in kinds])
            yield Totals(whole.sums_T[own], whole.counts_T[own])
