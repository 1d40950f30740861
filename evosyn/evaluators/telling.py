"""What is told of a strategy in words, made when somebody asks: feedback for the proposer, and a note for each problem.

A search tells of the few candidates that it keeps, a contest for the winner of none. Until then only the places that a
strategy gave are held, as small integers; what it did follows from them, since the criteria look at places alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import NamedTuple

import numpy as np

from evosyn.evaluators.behaviour import Behaviour, behaviour_of
from evosyn.evaluators.draws import Bools, ConsistencyConfig, Draws, Floats
from evosyn.evaluators.feedback import feedback
from evosyn.evaluators.notes import FirstDraws
from evosyn.rankings import RankingBlock, Rankings


class Standard(NamedTuple):
    """What all strategies of an evaluator are told of by.

    Attributes:
        oracle_E: the best possible score of each draw.
        plain_E: whether a draw shows no texts and values, though they were recorded (`views`).
        warnings: lines about a program's text alone.
    """

    draws: Draws
    config: ConsistencyConfig
    oracle_E: Floats
    plain_E: Bools
    first: FirstDraws
    warnings: Callable[[str], Sequence[str]]


class Untold:
    """What is to be told of one strategy.

    Args:
        fails: a line that says that it is worth nothing on plain draws; empty where it is not so.

    Attributes:
        nbytes: what its places take until then.
    """

    def __init__(self, behaviour: Behaviour, standard: Standard, fails: str = "") -> None:
        self._text, self._standard, self._fails = behaviour.text, standard, fails
        self._places = [
            tuple(_small(ranks) for ranks in (outcome.solution_ranks_BM, outcome.testing_ranks_BN))
            for outcome in behaviour.outcomes
        ]
        self.nbytes = sum(ranks.nbytes for pair in self._places for ranks in pair)

    def feedback(self) -> tuple[str, ...]:
        """Lines of evidence."""
        return self._lines[0]

    def notes(self) -> tuple[str, ...]:
        """One for each problem."""
        return self._lines[1]

    @cached_property
    def _lines(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        draws, config, oracle_E, plain_E, first, warnings = self._standard
        scores = (
            RankingBlock(block.at_B, *(-ranks.astype(np.float64) for ranks in pair))
            for block, pair in zip(draws.blocks, self._places, strict=True)
        )
        behaviour = behaviour_of(self._text, draws, Rankings(scores), config)
        score_E = behaviour.per_draw(lambda _, outcome: outcome.score_B)
        said = [self._fails] if self._fails else []
        score_E = np.where(plain_E, 0.0, score_E) if self._fails else score_E
        found = (*said, *warnings(self._text), *feedback(behaviour, score_E, oracle_E)), first.notes(behaviour)
        self._places = []
        return found


def _small(ranks: np.ndarray[tuple[int, ...], np.dtype[np.int64]]) -> np.ndarray[tuple[int, ...], np.dtype[np.uint16]]:
    """The same in one or two bytes each."""
    return ranks.astype(np.uint8 if ranks.shape[-1] <= 256 else np.uint16)
