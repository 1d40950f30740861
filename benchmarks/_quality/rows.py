"""Held-out scores of a setting as rows, and what one row is ahead of another, with intervals over problems."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from _quality.protocol import ARMS, FOLDS, ORACLE, PARTS, REACHABLE, SEEDS, Part
from _quality.results import Results
from evosyn.evaluators.draws import Floats
from evosyn.evaluators.intervals import Interval, Strata
from evosyn.records import Json

REFERENCE, BEST, OPENING = "codet_gap", "best known rule, chosen on train", "best opening, chosen on train"
DETECTED = 2.8
"""Standard errors of a difference that is found with a power of 80 % at 5 %."""


class Row(NamedTuple):
    """Held-out scores by problem, averaged over search seeds.

    Attributes:
        by_seed: the same of each search seed that has all folds; empty for what was not searched for.
    """

    name: str
    scores: Mapping[str, float]
    by_seed: Mapping[int, Mapping[str, float]] = {}


class Pairing(NamedTuple):
    """Which search seeds of two rows are compared: those that both have; a row without seeds goes with every one.

    Attributes:
        left_out: seeds that one row has alone, by its name.
    """

    seeds: tuple[int, ...]
    left_out: Mapping[str, tuple[int, ...]]

    @classmethod
    def of(cls, one: Row, other: Row) -> Pairing:
        if not one.by_seed or not other.by_seed:
            return cls(tuple(sorted({**one.by_seed, **other.by_seed})), {})
        both = one.by_seed.keys() & other.by_seed.keys()
        alone = {row.name: tuple(sorted(row.by_seed.keys() - both)) for row in (one, other)}
        return cls(tuple(sorted(both)), {name: seeds for name, seeds in alone.items() if seeds})


class Difference(NamedTuple):
    """What a mean over problems is above 0.

    Attributes:
        found: the difference that would be found with a power of 80 %.
    """

    mean: float
    interval: Interval | None
    found: float

    @classmethod
    def of(cls, gaps_P: Sequence[float], strata: Strata) -> Difference:
        values = np.array(gaps_P)
        return cls(float(values.mean()), strata.interval(values), DETECTED * strata.error(values))


class Setting:
    """What is there of one setting.

    Attributes:
        parts: that are done; `begins`: those of a fold without a search.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.name, self.parts = name, Results(folder, name).parts
        self.begins = [self.parts[part] for part in PARTS[:FOLDS] if part in self.parts]

    def searches(self, arm: str) -> list[dict[str, Json]]:
        """Parts of a way to search."""
        return [value for part, value in self.parts.items() if part.arm == arm]

    @cached_property
    def rows(self) -> dict[str, Row]:
        """By name; empty before every fold has its first part."""
        if len(self.begins) < FOLDS:
            return {}
        names = [name for name in self.begins[0]["rows"] if all(name in one["rows"] for one in self.begins)]
        found = [Row(name, self._joined(one["rows"][name] for one in self.begins)) for name in names]
        for name, key in ((BEST, "chosen"), (OPENING, "chosen_opening")):
            found.append(Row(name, self._joined(of_chosen(one, key) for one in self.begins)))
        for name in (ORACLE, REACHABLE):
            if all(one[name] for one in self.begins):
                found.append(Row(name, self._joined(one[name] for one in self.begins)))
        searched = [self._searched(arm) for arm in ARMS]
        return {row.name: row for row in (*found, *searched) if row.scores}

    def _searched(self, arm: str) -> Row:
        """Over the search seeds that have all folds."""
        by_seed = {}
        for seed in range(SEEDS):
            parts = [self.parts.get(Part(fold, seed, arm)) for fold in range(FOLDS)]
            if all(parts):
                by_seed[seed] = self._joined(one["scores"] for one in parts if one)
        problems = self.problems if by_seed else []
        return Row(arm, {name: float(np.mean([some[name] for some in by_seed.values()])) for name in problems}, by_seed)

    def _joined(self, scores: Iterable[Sequence[float]]) -> dict[str, float]:
        """Scores of all folds by problem."""
        named = zip(self.begins, scores, strict=True)
        return {name: score for one, some in named for name, score in zip(one["problems"], some, strict=True)}

    @cached_property
    def problems(self) -> list[str]:
        return [name for one in self.begins for name in one["problems"]]

    @cached_property
    def strata(self) -> Strata:
        """Of the problems, in the order of `problems`."""
        return Strata(*[[value for one in self.begins for value in one[name]] for name in ("pools", "tasks")])

    def mean(self, row: Row) -> float:
        return float(np.mean([row.scores[name] for name in self.problems]))

    def gaps(self, one: Row, other: Row) -> dict[int | None, Floats]:
        """What one row is ahead of another by problem, for each search seed that is compared; rows without seeds have
        one under None."""

        def ahead(some: Mapping[str, float], others: Mapping[str, float]) -> Floats:
            return np.array([some[name] - others[name] for name in self.problems])

        if not one.by_seed and not other.by_seed:
            return {None: ahead(one.scores, other.scores)}
        seeds = Pairing.of(one, other).seeds
        return {seed: ahead(*(row.by_seed.get(seed, row.scores) for row in (one, other))) for seed in seeds}

    def ahead_P(self, one: Row, other: Row) -> Floats:
        """The mean of these over search seeds.

        Raises:
            ValueError: the rows have no search seed in common.
        """
        return np.asarray(np.mean(list(self.gaps(one, other).values()), axis=0))

    def share(self, row: Row) -> tuple[float, Interval | None] | None:
        """How much of the gap between the reference and the oracle a row closes; None where there is no gap."""
        gained, possible = (self.ahead_P(one, self.rows[REFERENCE]) for one in (row, self.rows[ORACLE]))
        if possible.sum() <= 0:
            return None
        return float(gained.sum() / possible.sum()), self.strata.share(gained, possible)


def of_chosen(part: Mapping[str, Json], key: str) -> Sequence[float]:
    """Scores of a rule that was chosen on train; 0 where it is invalid on what is held out."""
    nothing = [0.0] * len(part["problems"])
    scores: Sequence[float] = {**part["rows"], **part["openings"]}.get(part[key], nothing)
    return scores
