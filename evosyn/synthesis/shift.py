"""Whether the matrices of a synthesis are like those on which its strategy was evolved, and what to do where not.

How far a mean over so many problems strays by itself is taken from the search's own problems, and so is how unsure
their own mean is: what lies beyond was not tried by its held-out problems. Of a search over several pools, what is like
one of them is like what it was evolved on. docs/synthesize.md, "When the matrices are of another kind".
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.codec import dump, load
from evosyn.evaluators.heldout import pool_of
from evosyn.quantiles import t_quantile
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Unit
from evosyn.strategies.evidence import MAYBE, evidence_of, unknown

RESAMPLES = 4000
CHANCE = 0.05
"""That any of the traits is called shifted where nothing is: each gets its part of it."""


COUNTED_LATER = ("durations", "solution_texts", "testing_texts")
"""What is missing from `EvolvedOn.unknown` was counted, and on no problem unknown; but for these."""


class Traits(NamedTuple):
    """What one matrix of M solutions and N testings is like.

    Attributes:
        pass_share: of all cells.
        strictness: share of testings that more than half of the solutions fail.
        solutions_agree, testings_agree: share of testings on which two solutions got the same verdict, and of solutions
            to which two testings gave the same one; means over pairs.
    """

    pass_share: float
    strictness: float
    solutions_agree: float
    testings_agree: float


WORDS = {
    "pass_share": "share of testings that a solution passes",
    "strictness": "share of testings that most solutions fail",
    "solutions_agree": "agreement of two solutions",
    "testings_agree": "agreement of two testings",
}
NEXT = (
    "What the strategy scored on its held-out problems says little of these. Evolve on seeds whose pools the same "
    "models draw (beside the old ones: `evosyn evolve OLD NEW`), or see how the known strategies do on such a pool "
    "(`evosyn score`), and let people look at some rows (`evosyn audit`) before training on them"
)
OTHER_UNIT = (
    "the strategy ranks each {here} here and was evolved where each {evolved} was ranked: its held-out score says "
    "nothing of that. Leave filter.unit out, or evolve with scoring.unit={here}"
)
RESIZE = "Draw as many for each problem as it was evolved on, or evolve with -M {} -N {}"


@dataclass(frozen=True)
class EvolvedOn:
    """What a search keeps of its matrices.

    Attributes:
        traits: of each problem, train and held out.
        heldout: problems that were held out.
        drawn: solutions and testings of a draw; pools: of the largest pool.
        names: the pool of each problem, where there were several.
        unknown: for each part of the evidence how many of the problems did not hold it; None where nobody counted. Of
            runs of before texts and durations were counted it holds neither these nor what all problems held.
        unit: what was ranked; sizes count testings as drawn in either case.
    """

    traits: tuple[Traits, ...]
    heldout: int
    drawn: tuple[int, int]
    pools: tuple[int, int]
    names: tuple[str, ...] = ()
    unknown: Mapping[str, int] | None = None
    unit: Unit = "testing"

    def lacked(self, name: str) -> float | None:
        """On what share of its problems a part of the evidence was unknown; None where nobody counted."""
        if self.unknown is None or (name not in self.unknown and name in COUNTED_LATER):
            return None
        return self.unknown.get(name, 0) / max(1, len(self.traits))

    @property
    def kinds(self) -> list[NDArray[np.float64]]:
        """The traits of all problems, and of those of each pool."""
        whole = np.array(self.traits)
        several = sorted(set(self.names)) if len(set(self.names)) > 1 else []
        return [whole, *(whole[[name == one for name in self.names]] for one in several)]

    def unlike(self, solutions: int, testings: int) -> str:
        """What to say before so many are drawn for each problem; "" where the search had as many."""
        asked = (solutions, testings)
        if all(low <= size <= high for low, high, size in zip(self.drawn, self.pools, asked, strict=True)):
            return ""
        bounds = zip(self.drawn, self.pools, strict=True)
        ranges = [str(low) if low == high else f"{low} to {high}" for low, high in bounds]
        said = "{} solutions and {} testings a problem, and the strategy was evolved on {} and {}. "
        return said.format(*asked, *ranges) + RESIZE.format(*asked)


def traits_of(matrix: PassMatrix) -> Traits:
    """The traits of a matrix with at least one cell."""
    passed_MN = matrix.passed_MN.astype(float)
    strict = float((passed_MN.mean(axis=0) < 0.5).mean())
    found = (float(passed_MN.mean()), strict, _agreement(passed_MN), _agreement(passed_MN.T))
    return Traits(*(round(value, 4) for value in found))


def _agreement(passed_RC: NDArray[np.float64]) -> float:
    """Of two different rows, mean over pairs and columns; 1 where there is one row."""
    rows = len(passed_RC)
    if rows < 2:
        return 1.0
    ones_C = passed_RC.sum(axis=0)
    same_C = ones_C * (ones_C - 1) + (rows - ones_C) * (rows - ones_C - 1)
    return float(same_C.mean() / (rows * (rows - 1)))


def evolved_on(
    train: Sequence[PassMatrix], heldout: Sequence[PassMatrix], m: int | None, n: int | None
) -> dict[str, Json]:
    """What `report.json` of a search keeps.

    Args:
        m, n: solutions and testings of a draw; None = all that a problem has.
    """
    every = [*train, *heldout]
    rows, columns = zip(*((len(one.verdicts_MN), one.drawn) for one in every), strict=True)
    drawn = (m or min(rows), n or min(columns))
    names = tuple(map(pool_of, every))
    found = Counter(name for one in every for name in unknown(evidence_of(one)))
    lacked = {name: found[name] for name in MAYBE}
    unit: Unit = "testing" if every[0].replies_N is None else "case"
    sizes = (max(rows), max(columns))
    kept = EvolvedOn(tuple(map(traits_of, every)), len(heldout), drawn, sizes, names, lacked, unit)
    written: dict[str, Json] = dump(kept, defaults=True)
    return written


def read_evolved_on(report: Mapping[str, Json]) -> EvolvedOn | None:
    """The same from the report; None where there is no report of a search."""
    kept = report.get("evolved_on")
    return None if kept is None else load(EvolvedOn, kept)


def _compared(here_PT: NDArray[np.float64], own_PT: NDArray[np.float64], heldout: int) -> dict[str, Json]:
    """For each trait the means here and there, the range that chance explains, and whether it lies beyond.

    The range is that of Student's t for the mean of so many further problems, or that of resampled means where it is
    wider: few problems of a trait that seldom differs lie far from normal.
    """
    size, own = max(1, min(heldout, len(here_PT))), len(own_PT)
    rng = SeedTree(0).child("shift", size, own).rng()
    means_RT = own_PT[rng.integers(own, size=(RESAMPLES, size))].mean(axis=1)
    beyond = CHANCE / 2 / len(WORDS)
    low_T, high_T = np.quantile(means_RT, [beyond, 1 - beyond], axis=0)
    if own > 1:
        strays_T = t_quantile(1 - beyond, own - 1) * own_PT.std(axis=0, ddof=1) * math.sqrt(1 / size + 1 / own)
        mean_T = own_PT.mean(axis=0)
        low_T, high_T = np.minimum(low_T, mean_T - strays_T), np.maximum(high_T, mean_T + strays_T)
    rows: dict[str, Json] = {}
    for at, name in enumerate(WORDS):
        here, low, high = (round(float(value), 4) for value in (here_PT[:, at].mean(), low_T[at], high_T[at]))
        there = round(float(own_PT[:, at].mean()), 4)
        rows[name] = {"here": here, "evolved": there, "low": low, "high": high, "beyond": not low <= here <= high}
    return rows


class Shifts:
    """Sees the matrices of a synthesis and says how they differ.

    Args:
        known: None where the strategy is of no search, or of one that kept nothing of its matrices.
        unit: what the strategy ranks here.
    """

    def __init__(self, known: EvolvedOn | None, unit: Unit = "testing") -> None:
        self._known, self._unit = known, unit
        self._here: list[NDArray[np.float64]] = []
        self._sizes: list[NDArray[np.int64]] = []

    def see(self, matrix: PassMatrix) -> None:
        if matrix.verdicts_MN.size:
            self.see_all([traits_of(matrix)], [(len(matrix.verdicts_MN), matrix.drawn)])

    def see_all(self, traits: Sequence[Sequence[float]], sizes: Sequence[Sequence[int]]) -> None:
        """The same of matrices of which traits and shapes are known."""
        if traits:
            self._here.append(np.array(traits, dtype=float))
            self._sizes.append(np.array(sizes, dtype=np.int64))

    @property
    def seen(self) -> tuple[list[list[float]], list[list[int]]]:
        """What `see_all` is given elsewhere."""
        both = [np.concatenate(found).tolist() if found else [] for found in (self._here, self._sizes)]
        return both[0], both[1]

    def to_json(self) -> dict[str, Json] | None:
        """Means here and there, the range that chance explains, what lies beyond, and that in words with what to do;
        None where there is nothing to compare."""
        if self._known is None or not self._here:
            return None
        here_PT = np.concatenate(self._here)
        compared = [_compared(here_PT, own_PT, self._known.heldout) for own_PT in self._known.kinds]
        rows = min(compared, key=lambda found: sum(row["beyond"] for row in found.values()))
        for at, name in enumerate(("solutions", "testings")):
            here, low, high = float(np.median(np.concatenate(self._sizes)[:, at])), *self._range(at)
            rows[name] = {"here": here, "evolved": low, "low": low, "high": high, "beyond": not low <= here <= high}
        units = {"here": self._unit, "evolved": self._known.unit}
        other = [] if self._unit == self._known.unit else [OTHER_UNIT.format(**units)]
        return {"problems": len(here_PT), "unit": units, "traits": rows, "said": [*other, *self._said(rows)]}

    def _range(self, at: int) -> tuple[int, int]:
        """Solutions or testings that the search had of a problem: in a draw, and in its largest pool."""
        assert self._known is not None
        return self._known.drawn[at], self._known.pools[at]

    def _said(self, rows: Mapping[str, Json]) -> list[str]:
        beyond = {name: row for name, row in rows.items() if row["beyond"]}
        if not beyond:
            return []
        listed = "; ".join(
            f"{WORDS.get(name, name)} {row['here']:g} here, {row['evolved']:g} there"
            + (f" (by chance {row['low']:g} to {row['high']:g})" if name in WORDS else "")
            for name, row in beyond.items()
        )
        said = [f"these matrices are unlike those on which the strategy was evolved: {listed}"]
        if beyond.keys() & WORDS.keys():
            said.append(NEXT)
        if beyond.keys() - WORDS.keys():
            said.append(RESIZE.format(*(f"{rows[name]['here']:g}" for name in ("solutions", "testings"))))
        return said
