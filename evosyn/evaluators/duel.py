"""Why one strategy does better than another: seeds won and lost, and what each chose where they differ most.

Everything is read off rankings that were made; nothing is executed for it. Human verdicts stand in it, so it is for
people and never for programs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Self

import numpy as np

from evosyn.evaluators.behaviour import Behaviour
from evosyn.evaluators.draws import Block
from evosyn.evolve.selection import WON
from evosyn.records import Invalid
from evosyn.strategies.ranking import broken_ties, centred_places, rank_correlations

SHOWN = 3
"""Seeds won, and seeds lost, that are told with what was chosen."""


@dataclass(frozen=True)
class Chosen:
    """What a strategy chose in one draw; of equals the first as they were recorded or drawn.

    Attributes:
        best, worst, testing: their places in the problem's whole matrix; of cases the first that is joined, None where
            nothing is kept.
        joined: columns that the testing is made of.
        right, worst_right: whether the human testing accepts the best and the worst solution.
        passes: testings of the draw that the best solution passes.
        accepts: solutions of the draw that the testing accepts.
        agrees: solutions of the draw on which the testing and the human one say the same.
    """

    best: int
    worst: int
    testing: int | None
    joined: int
    right: bool
    worst_right: bool
    passes: int
    accepts: int
    agrees: int


@dataclass(frozen=True)
class Duel:
    """A seed problem on which two strategies differ, with the draw on which they differ most.

    Attributes:
        ours, theirs: scores of the seed.
        solutions, testings: of the draw, of which `right` solutions are right.
    """

    problem: str
    ours: float
    theirs: float
    solutions: int
    testings: int
    right: int
    mine: Chosen
    other: Chosen

    @property
    def gap(self) -> float:
        return self.ours - self.theirs


class SeedsWon(NamedTuple):
    """Seeds won, lost and even, by `WON`."""

    won: int
    lost: int
    even: int

    @classmethod
    def of(cls, ours: Sequence[float], theirs: Sequence[float]) -> Self:
        gaps = np.subtract(ours, theirs)
        won, lost = int((gaps > WON).sum()), int((gaps < -WON).sum())
        return cls(won, lost, len(gaps) - won - lost)


def largest(gaps: Sequence[float], most: int = SHOWN) -> list[int]:
    """The places of the largest gains, then of the largest losses, beyond `WON`."""
    order = np.argsort(-np.asarray(gaps), kind="stable").tolist()
    won = [at for at in order if gaps[at] > WON][:most]
    return won + [at for at in reversed(order) if gaps[at] < -WON][:most]


def duels(ours: Behaviour | Invalid, theirs: Behaviour | Invalid) -> tuple[Duel, ...]:
    """The seeds that are won and lost by most, the gains first; none where one of the two ranks nothing."""
    if isinstance(ours, Invalid) or isinstance(theirs, Invalid):
        return ()
    draws = ours.draws
    mine_E, other_E = (one.per_draw(lambda _, outcome: outcome.score_B) for one in (ours, theirs))
    mine_P, other_P = draws.by_problem(mine_E), draws.by_problem(other_E)
    found = []
    for problem in largest((mine_P - other_P).tolist()):
        of_problem = np.flatnonzero(draws.problem_E == problem)
        sign = 1.0 if mine_P[problem] > other_P[problem] else -1.0
        at = int(of_problem[np.argmax(sign * (mine_E - other_E)[of_problem])])
        number, place = _in_block(draws.blocks, at)
        block = draws.blocks[number]
        found.append(
            Duel(
                problem=draws.problem_ids[problem],
                ours=round(float(mine_P[problem]), 4),
                theirs=round(float(other_P[problem]), 4),
                solutions=block.passed_BMN.shape[1],
                testings=int(block.widths_B[place]),
                right=int(block.human_BM[place].sum()),
                mine=_chosen(ours, at),
                other=_chosen(theirs, at),
            )
        )
    return tuple(found)


def likeness(one: Behaviour | Invalid, other: Behaviour | Invalid) -> float | None:
    """The mean rank correlation of how two programs rank solutions; None where one of them ranks nothing.

    Where both leave all solutions of a draw tied they are alike there: 1.
    """
    if isinstance(one, Invalid) or isinstance(other, Invalid):
        return None
    values = []
    for mine, theirs in zip(one.outcomes, other.outcomes, strict=True):
        places = [centred_places(found.solution_ranks_BM) for found in (mine, theirs)]
        tied_B = ~(places[0].any(axis=1) | places[1].any(axis=1))
        values += np.where(tied_B, 1.0, rank_correlations(*places)).tolist()
    return float(np.mean(values))


def told(duel: Duel, name: str, against: str) -> list[str]:
    """The duel in words, a line each: the seed, the solutions on top and at the bottom, the testings."""
    what = "won" if duel.gap > 0 else "lost"
    mine, other = duel.mine, duel.other
    return [
        f"{what} {duel.problem}: {duel.ours:.2f} against {duel.theirs:.2f} "
        f"({duel.right} of {duel.solutions} solutions are right)",
        f"on top: s{mine.best}, {_right(mine)}, by {name}; s{other.best}, {_right(other)}, by {against}"
        f" (they pass {mine.passes} and {other.passes} of {duel.testings} testings)",
        f"at the bottom: s{mine.worst}, {'right' if mine.worst_right else 'wrong'}, by {name}; s{other.worst}, "
        f"{'right' if other.worst_right else 'wrong'}, by {against}",
        f"testing: {_testing(mine, duel, name)} and agrees with the human one on {mine.agrees}; "
        f"{_testing(other, duel, against)} and agrees on {other.agrees}",
    ]


def _testing(chosen: Chosen, duel: Duel, by: str) -> str:
    more = f" and {chosen.joined - 1} joined with it" if chosen.joined > 1 else ""
    named = "none" if chosen.testing is None else f"t{chosen.testing}{more}"
    return f"{named} by {by} accepts {chosen.accepts} of {duel.solutions}"


def _right(chosen: Chosen) -> str:
    return "right" if chosen.right else "wrong"


def _in_block(blocks: Sequence[Block], at: int) -> tuple[int, int]:
    """The number of the block of a draw, and the draw's place in it."""
    number = next(number for number, one in enumerate(blocks) if at in one.at_B)
    return number, int(np.flatnonzero(blocks[number].at_B == at)[0])


def _chosen(behaviour: Behaviour, at: int) -> Chosen:
    number, place = _in_block(behaviour.draws.blocks, at)
    block, outcome = behaviour.draws.blocks[number], behaviour.outcomes[number]
    passed, human = block.passed(place), block.human_BM[place]
    ranks = broken_ties(outcome.solution_ranks_BM[place], block.places_BM[place])
    best, worst = int(np.argmin(ranks)), int(np.argmax(ranks))
    if block.joinable_BN is None:
        kept = [int(np.argmin(broken_ties(outcome.testing_ranks_BN[place], block.places_BN[place])))]
    else:
        kept = np.flatnonzero(outcome.trusted_BN[place]).tolist()
    picked = behaviour.draws.picked_E[at]
    accepts_M = np.asarray(passed[:, kept].all(axis=1) & bool(kept))
    return Chosen(
        best=int(picked.rows_M[best]),
        worst=int(picked.rows_M[worst]),
        testing=int(picked.columns_N[kept[0]]) if kept else None,
        joined=len(kept),
        right=bool(human[best]),
        worst_right=bool(human[worst]),
        passes=int(passed[best].sum()),
        accepts=int(accepts_M.sum()),
        agrees=block.agrees(place, kept) if kept else 0,
    )
