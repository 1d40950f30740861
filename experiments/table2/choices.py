"""Which testing of each problem each arm trains on, and which solution is imitated: what an experiment compares.

All choices of one seed come from the same matrices. Ties are broken by lot, as in the score of a strategy. EvoSyn
(2510.17928) section 3.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from evosyn.ports import StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.rankings import Rankings
from evosyn.records import Evidence, Invalid, PassMatrix
from evosyn.strategies import load_known
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.ranking import varies
from evosyn.synthesis.retention import balanced_accuracy

RL_ARMS = ("evosyn", "random", "relaxed", "initial", "figure3", "oracle")
DISTILL_ARMS = ("distill-best", "distill-random")
ARMS = (*RL_ARMS, *DISTILL_ARMS)
KNOWN = {"initial": "initial", "figure3": "gap"}
"""Arms that use a shipped strategy of the paper."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything one seed has: seed problems, training problems, unseen ones, and M = N of a draw."""

    seeds: int = 51
    problems: int = 300
    heldout: int = 300
    draws: int = 16

    def size_of(self, number: int) -> int:
        """Solutions (and testings) of problem `number`: the seeds, which come first, have half as many again."""
        return self.draws + self.draws // 2 if number < self.seeds else self.draws


@dataclass(frozen=True)
class Choices:
    """Places in the pools, one per problem in every list.

    Attributes:
        kept: problems that pruning leaves; the others are in the `relaxed` arm only.
        testings: by arm, for those that choose from the pool (all but `oracle`).
        best, some: the best-ranked solution, and a random one.
        scores: of the solutions, by the evolved strategy.
    """

    kept: list[int]
    testings: dict[str, list[int]]
    best: list[int]
    some: list[int]
    scores: list[NDArray[np.float64]]

    def rows(self, arm: str) -> list[int]:
        """The problems that an arm trains on."""
        return list(range(len(self.best))) if arm == "relaxed" else self.kept


def choose(matrices: Sequence[PassMatrix], strategy: str, runner: StrategyRunner, seeds: SeedTree) -> Choices:
    """The choices of all arms.

    Args:
        matrices: with as many solutions and testings as the pools.
        strategy: source of the evolved one.

    Raises:
        ValueError: a strategy ranks nothing.
    """
    evidences = [evidence_of(matrix) for matrix in matrices]
    programs = {"evosyn": strategy, **{arm: load_known(name) for arm, name in KNOWN.items()}}
    rankings = _rankings(programs, evidences, runner)
    picks = {arm: [_pick(each.testing_scores_N, seeds.child(arm, "t", at)) for at, each in enumerate(found)]
             for arm, found in rankings.items()}  # fmt: skip
    best = [_pick(each.solution_scores_M, seeds.child("evosyn", "s", at)) for at, each in enumerate(rankings["evosyn"])]
    kept = [
        at
        for at, each in enumerate(rankings["evosyn"])
        if varies(each.testing_scores_N) and bool(matrices[at].passed_MN[best[at], picks["evosyn"][at]])
    ]
    lots = [seeds.child("random", at).random() for at in range(len(matrices))]
    shapes = [matrix.passed_MN.shape for matrix in matrices]
    picks["random"] = [lot.randrange(shape[1]) for lot, shape in zip(lots, shapes, strict=True)]
    picks["relaxed"] = picks["evosyn"]
    some = [lot.randrange(shape[0]) for lot, shape in zip(lots, shapes, strict=True)]
    return Choices(kept, picks, best, some, [each.solution_scores_M for each in rankings["evosyn"]])


def mean_worth(matrices: Sequence[PassMatrix], choices: Choices, arm: str) -> float | None:
    """Mean balanced accuracy of an arm's testings over the problems where it can be told."""
    if arm not in choices.testings:
        return None
    found = [balanced_accuracy(matrices[at], choices.testings[arm][at]) for at in choices.rows(arm)]
    known = [value for value in found if value is not None]
    return round(sum(known) / len(known), 4) if known else None


def _rankings(
    programs: Mapping[str, str], evidences: Sequence[Evidence], runner: StrategyRunner
) -> dict[str, Rankings]:
    found = {}
    for name, result in zip(programs, runner.rank(list(programs.values()), evidences), strict=True):
        if isinstance(result, Invalid):
            raise ValueError(f"the strategy {name!r} ranks nothing: {result.reason}")
        found[name] = result
    return found


def _pick(scores: NDArray[np.float64], seeds: SeedTree) -> int:
    """The place of the highest score; ties are broken by lot, as in the score of a strategy."""
    return int(seeds.random().choice(np.flatnonzero(scores == scores.max()).tolist()))
