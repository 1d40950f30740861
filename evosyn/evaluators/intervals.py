"""How sure a score is: bootstrap intervals over problems, and paired comparisons.

Draws of one problem share its pool, so problems are what is resampled, and those of one task (which several pools may
have) together. Resampled means of few tasks lie too close to each other, so the percentiles are those of Student's t on
that scale, further out the fewer tasks there are (Hesterberg 2015, "What teachers should know about the bootstrap",
section 5.3). DESIGN.md section 5, "Resampling".
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import compress
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from evosyn import quantiles
from evosyn.evaluators.draws import Floats
from evosyn.randomness import SeedTree

RESAMPLES = 2000
FEWEST_TASKS = 5
"""With fewer there is no interval: no mean of resampled values lies beyond all of them, and at 4 tasks they lie on one
side of what they vary around in 1 of 8 cases."""
FEWEST_ALIKE = 30
"""With fewer there is none where all values are equal: what differs in 1 of 10 tasks stays unseen there too often."""
ALIKE = 1e-9
"""Values that lie closer are equal, but for rounding."""
TOO_FEW = "too few for an interval"
TIE_ERRORS = 0.5
"""Standard errors of the paired difference to the better one within which another counts as level with it."""
SAME_TESTING = 0.02
"""Balanced accuracies that lie no more than this below the best count as equal to it."""


class Interval(NamedTuple):
    """A 95 % percentile interval."""

    low: float
    high: float


NO_ENDS = Interval(math.nan, math.nan)
"""What tables and figures, which leave out what is no number, hold where there is no interval."""


def between(interval: Interval | None, sign: str = "", digits: int = 3) -> str:
    """The interval in words, also where there is none.

    Args:
        sign: "+" for differences.
    """
    return TOO_FEW if interval is None else f"{interval.low:{sign}.{digits}f} to {interval.high:{sign}.{digits}f}"


def t_quantile(freedom: int) -> float:
    """Standard errors on either side of a mean within which Student's t lies in 95 % of all cases.

    Args:
        freedom: degrees of freedom, tasks minus kinds of them (`Strata.freedom`); fewer than one count as one.
    """
    return quantiles.t_quantile(0.975, max(1, freedom))


class Totals(NamedTuple):
    """Values of problems, summed over each of T tasks.

    Attributes:
        counts_T: problems of each.
    """

    sums_T: Floats
    counts_T: Floats

    @property
    def squares(self) -> float:
        """Sum of the squares of what each task has above its share."""
        mean = self.sums_T.sum() / self.counts_T.sum()
        return float(((self.sums_T - self.counts_T * mean) ** 2).sum())

    @property
    def error(self) -> float:
        """Standard error of the mean over problems; as large as the mean where there is one task alone."""
        tasks, problems = len(self.sums_T), float(self.counts_T.sum())
        if tasks < 2:
            return float(abs(self.sums_T.sum() / problems))
        return math.sqrt(tasks / (tasks - 1) * self.squares) / problems


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


def bootstrap(
    values_P: Floats | Sequence[float],
    seed: int = 0,
    tasks_P: Sequence[str] | None = None,
    pools_P: Sequence[str] | None = None,
) -> Interval | None:
    """The interval of the mean of `values_P` over problems; None where there is none, as in `resampled`.

    Args:
        values_P: one value a problem; NaN are left out.
        tasks_P: the task of each, where two problems may have the same one; pools_P: the pool of each, where there are
            several (`Strata`).
    """
    values = np.asarray(values_P, dtype=np.float64)
    known = ~np.isnan(values)
    if not known.any():
        return None
    tasks, pools = (None if given is None else list(compress(given, known)) for given in (tasks_P, pools_P))
    if tasks is not None and pools is not None and len(set(pools)) > 1:
        return Strata(pools, tasks).interval(values[known], seed)
    found = totals(values[known], tasks)
    return resampled(SeedTree(seed).child("bootstrap", len(found.sums_T)).rng(), found)


def resampled(rng: np.random.Generator, *kinds: Totals) -> Interval | None:
    """The same by a generator of the caller's; tasks of each kind are drawn on their own.

    Args:
        kinds: of two tasks or more each, but for one that is all there is.

    Returns:
        None for fewer than `FEWEST_TASKS` (one more for each further kind), and for fewer than `FEWEST_ALIKE` where no
        values of a kind differ.
    """
    tasks, squares = sum(len(found.sums_T) for found in kinds), sum(found.squares for found in kinds)
    alike = squares <= ALIKE**2 * tasks
    freedom = tasks - len(kinds)
    if freedom < FEWEST_TASKS - 1 or (alike and tasks < FEWEST_ALIKE):
        return None
    sums, counts = np.zeros(RESAMPLES), np.zeros(RESAMPLES)
    for found in kinds:
        drawn = rng.integers(len(found.sums_T), size=(RESAMPLES, len(found.sums_T)))
        sums += found.sums_T[drawn].sum(axis=1)
        counts += found.counts_T[drawn].sum(axis=1)
    unbiased = sum(found.squares * len(found.sums_T) / (len(found.sums_T) - 1) for found in kinds)
    wider = 1.0 if alike else math.sqrt(unbiased / squares)
    level = NormalDist().cdf(-wider * t_quantile(freedom))
    defined = counts > 0
    if not defined.any():
        return None
    low, high = np.quantile(sums[defined] / counts[defined], [level, 1 - level])
    return Interval(float(low), float(high))


def difference(
    first_P: Sequence[float],
    second_P: Sequence[float],
    seed: int = 0,
    tasks_P: Sequence[str] | None = None,
    pools_P: Sequence[str] | None = None,
) -> Interval | None:
    """The interval of the mean difference of two strategies on the same problems; tied where it holds 0, or is none.

    Args:
        first_P, second_P: per-problem scores in the same order.
        tasks_P, pools_P: as in `bootstrap`.
    """
    return bootstrap(np.subtract(first_P, second_P), seed, tasks_P, pools_P)


def level(best_P: Sequence[float], other_P: Sequence[float], tasks_P: Sequence[str]) -> bool:
    """Whether the second falls short of the first by no more than `TIE_ERRORS`, over the same problems."""
    gaps = np.subtract(best_P, other_P)
    return bool(gaps.mean() <= TIE_ERRORS * totals(gaps, tasks_P).error + 1e-12)


@dataclass(frozen=True)
class Strata:
    """Which pool and which task each problem is of. Tasks vary; those that are in the same pools vary on their own.

    A task that is alone in its pools shows nothing of how such tasks vary. Those are taken together, and where that is
    one task still, it goes with the smallest of the other kinds.
    """

    pools_P: Sequence[str]
    tasks_P: Sequence[str]

    def of_pools(self, values_P: Floats) -> dict[str, float]:
        """The mean over the problems of each pool."""
        found = totals(values_P, self.pools_P)
        means = found.sums_T / found.counts_T
        return dict(sorted(zip(dict.fromkeys(self.pools_P), means.tolist(), strict=True)))

    @property
    def freedom(self) -> int:
        """Degrees of freedom of `error`: tasks minus kinds."""
        return sum(len(places) - 1 for places in self._kinds)

    def error(self, values_P: Floats) -> float:
        """Standard error of the mean over problems."""
        squares = [(some.error * some.counts_T.sum()) ** 2 for some in self._totals(values_P)]
        return float(np.sqrt(sum(squares))) / len(values_P)

    def interval(self, values_P: Floats, seed: int = 0) -> Interval | None:
        """Of the mean over problems, tasks resampled; None as in `resampled`."""
        rng = SeedTree(seed).child("strata", len(set(self.tasks_P))).rng()
        return resampled(rng, *self._totals(values_P))

    def share(self, gained_P: Floats, possible_P: Floats, seed: int = 0) -> Interval | None:
        """Of what is gained over what could be, both summed over problems, tasks resampled; both vary, together.
        Resamples in which nothing could be gained say nothing; None as in `resampled`.

        Args:
            gained_P, possible_P: per-problem differences to the same reference; `possible_P` is nowhere below 0.
        """
        pairs = zip(self._totals(gained_P), self._totals(possible_P), strict=True)
        kinds = [Totals(gained.sums_T, possible.sums_T) for gained, possible in pairs]
        if any(not kind.counts_T.any() for kind in kinds):
            return None
        return resampled(SeedTree(seed).child("strata", len(set(self.tasks_P))).rng(), *kinds)

    def _totals(self, values_P: Floats) -> list[Totals]:
        """Sums by task, for each kind."""
        whole = totals(values_P, self.tasks_P)
        return [Totals(whole.sums_T[places], whole.counts_T[places]) for places in self._kinds]

    @cached_property
    def _kinds(self) -> list[list[int]]:
        """The tasks of each kind, by their places among all tasks."""
        pools: defaultdict[str, set[str]] = defaultdict(set)
        for pool, task in zip(self.pools_P, self.tasks_P, strict=True):
            pools[task].add(pool)
        kinds: defaultdict[tuple[str, ...], list[int]] = defaultdict(list)
        for place, found in enumerate(pools.values()):
            kinds[tuple(sorted(found))].append(place)
        several = [places for places in kinds.values() if len(places) > 1]
        single = [place for places in kinds.values() if len(places) == 1 for place in places]
        if len(single) == 1 and several:
            min(several, key=len).extend(single)
            single = []
        return [*several, *([single] if single else [])]
