"""Which instances stay, with which testing and which solution: zero-variance pruning and the three settings.

A pure function of (matrix, ranking, seed). Du 2025, section 3.2 (pruning), 4.3 (settings); DESIGN.md section 5.

How the paper is read where it leaves room: an instance is discarded when all testing scores are equal ("the testings
yield no ranking variation"), or when the strategy gives no ranking at all; equal *solution* scores alone do not discard
it, unless `solution_variance` asks for that. After ranking a top solution must pass a top testing. Where the top is
shared, the pair is drawn, with the seed, from the tied pairs in which the solution passes the testing, so that list
order never decides. `relaxed` skips the zero-variance rule and nothing else, so `evosyn` is always a subset of it.
`random` has exactly the problems of `evosyn`, with a testing drawn uniformly from all N and a solution drawn from those
it accepts (from all M where it accepts none): nothing of the ranking is left in it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from evosyn.evaluators.joining import joined, packed
from evosyn.randomness import SeedTree
from evosyn.records import Invalid, PassMatrix, Ranking
from evosyn.strategies.ranking import best_of, varies

ZERO_VARIANCE = "zero-variance-testings"
ZERO_VARIANCE_SOLUTIONS = "zero-variance-solutions"
TOP_FAILS_TOP = "top-solution-fails-top-testing"
STRATEGY_INVALID = "strategy-invalid"


class PruneConfig(BaseModel):
    """Switches of the pruning.

    Attributes:
        solution_variance: also discard instances whose solution scores are all equal.
        top_must_pass: discard instances in which no solution of the highest score passes a testing of the highest
            score. This rule stands in the published code, not in the paper.
        random_solution: of the random setting: one that the random testing accepts, or `any`.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    solution_variance: bool = False
    top_must_pass: bool = True
    random_solution: Literal["accepted", "any"] = "accepted"


@dataclass(frozen=True)
class Choice:
    """A testing and the best solution beside it: positions in the matrix that was ranked, of the random setting in that
    of the testings as drawn."""

    testing: int
    best: int


@dataclass(frozen=True)
class Decision:
    """What becomes of one instance.

    Attributes:
        reason: empty where all settings keep it, else the name of the rule that dropped it.
        detail: for people.
        dropped_from: the settings that do not have it.
        chosen: by the ranking; None where no setting keeps it.
        random: of the random setting; None where it does not have it.
        joined: columns of cases that make the testing of a row, the chosen one first; none where testings were ranked.
    """

    reason: str
    detail: str
    dropped_from: tuple[str, ...]
    chosen: Choice | None
    random: Choice | None
    joined: tuple[int, ...] = ()

    @property
    def columns(self) -> tuple[int, ...]:
        """The columns of what was ranked that make the testing of a row."""
        return self.joined or (() if self.chosen is None else (self.chosen.testing,))


def decide(
    matrix: PassMatrix,
    ranking: Ranking | Invalid,
    config: PruneConfig,
    tree: SeedTree,
    drawn: PassMatrix | None = None,
) -> Decision:
    """Prune one instance.

    Args:
        matrix: as it was ranked, shape (M, N), M and N at least 1.
        ranking: what the strategy said of it.
        tree: the node of this instance; ties and the random setting are drawn below it.
        drawn: the matrix of the testings as drawn, where cases were ranked.
    """
    if isinstance(ranking, Invalid):
        return _dropped(STRATEGY_INVALID, ranking.reason)
    passed_MN = matrix.passed_MN
    chosen = _choose(passed_MN, ranking, tree.child("ties"))
    if chosen is None and not config.top_must_pass:
        chosen = _choose(np.ones_like(passed_MN), ranking, tree.child("ties"))
    if chosen is None:
        return _dropped(TOP_FAILS_TOP, "no solution of the highest score passes a testing of the highest score")
    columns = None if matrix.replies_N is None else _joined(matrix, ranking, chosen)
    if columns == ():
        return _dropped(TOP_FAILS_TOP, "all that the best solution passes accepts a program that does nothing as well")
    flat = _flat(ranking, config)
    if flat:
        detail = "all testing scores are equal" if flat == ZERO_VARIANCE else "all solution scores are equal"
        return Decision(flat, detail, ("evosyn", "random"), chosen, None, columns or ())
    passed_MN = passed_MN if drawn is None else drawn.passed_MN
    drawn_from = np.ones_like(passed_MN) if config.random_solution == "any" else passed_MN
    return Decision("", "", (), chosen, _random(drawn_from, tree.child("random")), columns or ())


def _joined(matrix: PassMatrix, ranking: Ranking, choice: Choice) -> tuple[int, ...]:
    """The columns that `joining` joins with the chosen one, which comes first where it is among them. With
    `top_must_pass` off, a case that no top solution passes stays alone."""
    top_M = np.isin(np.arange(len(matrix.verdicts_MN)), best_of(ranking.solution_scores_M))
    if not matrix.passed_MN[top_M, choice.testing].any():
        return (choice.testing,)
    places_N = np.arange(matrix.verdicts_MN.shape[1])
    joinable_N = np.isin(places_N, matrix.meta.get("vacuous", ()), invert=True)
    fails_NW = packed(~matrix.passed_MN[None])
    found = joined(fails_NW, joinable_N[None], top_M[None], places_N[None] == choice.testing)
    return tuple(sorted(np.flatnonzero(found.columns_PN.any(axis=0)).tolist(), key=lambda n: n != choice.testing))


def _flat(ranking: Ranking, config: PruneConfig) -> str:
    if not varies(ranking.testing_scores_N):
        return ZERO_VARIANCE
    if config.solution_variance and not varies(ranking.solution_scores_M):
        return ZERO_VARIANCE_SOLUTIONS
    return ""


def _choose(passed_MN: NDArray[np.bool_], ranking: Ranking, tree: SeedTree) -> Choice | None:
    top_solutions, top_testings = best_of(ranking.solution_scores_M), best_of(ranking.testing_scores_N)
    pairs = [(int(m), int(n)) for n in top_testings for m in top_solutions if passed_MN[m, n]]
    if not pairs:
        return None
    random = tree.random()
    testing = random.choice(sorted({n for _, n in pairs}))
    best = random.choice([m for m, n in pairs if n == testing])
    return Choice(testing, best)


def _random(passed_MN: NDArray[np.bool_], tree: SeedTree) -> Choice:
    random = tree.random()
    testing = random.randrange(passed_MN.shape[1])
    accepted = np.flatnonzero(passed_MN[:, testing]).tolist() or list(range(passed_MN.shape[0]))
    return Choice(testing, random.choice(accepted))


def _dropped(reason: str, detail: str) -> Decision:
    return Decision(reason, detail, ("evosyn", "relaxed", "random"), None, None)
