"""Programs on draws that a search never saw, batch by batch, and what one of them gains over another on the same."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evosyn.evaluators.axes.program_size import code_tokens
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig, DrawCount, Floats, draws_of
from evosyn.evaluators.heldout import pool_of, task_of
from evosyn.evaluators.intervals import Strata, t_quantile
from evosyn.ports import StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, PassMatrix
from evosyn.strategies.genome import TIE_METRIC

FEWEST_TASKS = 8
"""With fewer no finalist wins: on four, of programs that were worth nothing, one in four was ahead of every rule."""
BATCH = 20
"""Draws a problem that are made at once."""
DIGITS = 9
"""Behind the point, of figures that are compared; the rest is rounding."""


class Scored(NamedTuple):
    """One program on fresh draws.

    Attributes:
        scores_BP: mean score in each batch of draws of each problem.
        testing: balanced accuracy of its chosen testing.
    """

    scores_BP: Floats
    testing: float

    @property
    def per_problem(self) -> Floats:
        return np.asarray(self.scores_BP.mean(axis=0))

    @property
    def score(self) -> float:
        return float(self.scores_BP.mean())


class Gain(NamedTuple):
    """One program over another on the same draws.

    Attributes:
        mean: over problems; `lower` is the lower end of its 95 % interval, by Student's t over tasks.
        drawing_error: standard error of the mean from drawing alone.
        by_pool: mean gain in each pool.
    """

    mean: float
    lower: float
    drawing_error: float
    by_pool: Mapping[str, float]

    @property
    def bound(self) -> float:
        """`lower` without what rounding added: of a gain on one problem alone it is 0."""
        return round(self.lower, DIGITS)


def gain_of(one: Scored, other: Scored, strata: Strata) -> Gain:
    """What the first is ahead of the second."""
    gaps_P = one.per_problem - other.per_problem
    mean = float(gaps_P.mean())
    lower = mean - t_quantile(strata.freedom) * strata.error(gaps_P)
    return Gain(mean, lower, drawing_error(one, other), strata.of_pools(gaps_P))


def drawing_error(one: Scored, other: Scored) -> float:
    """Standard error of the mean difference from drawing alone; 0 where there is one batch."""
    gaps_BP = one.scores_BP - other.scores_BP
    batches, problems = gaps_BP.shape
    drawing = float(gaps_BP.var(axis=0, ddof=1).sum()) / batches if batches > 1 else 0.0
    return math.sqrt(drawing) / float(problems)


def merit(text: str, scored: Scored) -> tuple[float, float, int, str]:
    """What programs are ordered by where nothing else decides: score, testing, length."""
    return round(scored.score, DIGITS), round(scored.testing, DIGITS), -code_tokens(text), text


class FreshDraws:
    """Draws in batches, each of its own seed; those of a problem are the same among whatever others it stands.

    A problem with one draw was seen by the search as it is. It is left out where enough tasks have others, and where
    they are too few to judge by nothing is.

    Attributes:
        matrices: what is drawn from; `strata`: of these.
        judging: tasks that have other draws.
        draws_matter: whether another batch could differ.
        batches: that were made.
        dropped: why a program is no longer scored, by text.
    """

    def __init__(
        self,
        runner: StrategyRunner,
        matrices: Sequence[PassMatrix],
        scoring: ConsistencyConfig,
    ) -> None:
        self._runner, self._scoring = runner, scoring
        counts = [draws_of(matrix, scoring) for matrix in matrices]
        usable, anew = ([one for one, count in zip(matrices, counts, strict=True) if count > least] for least in (0, 1))
        self.judging, self.draws_matter = len({task_of(matrix) for matrix in anew}), bool(anew)
        self.matrices = anew if self.judging >= FEWEST_TASKS else usable or matrices
        self.strata = Strata([pool_of(one) for one in self.matrices], [task_of(one) for one in self.matrices])
        self._single, self._usable, self.batches = len(usable) - len(anew), len(usable), 0
        self.dropped: dict[str, str] = {}

    def score(self, texts: Sequence[str], batches: int) -> dict[str, Scored]:
        """Those that are valid on all of the next draws; none are made for nobody."""
        found: dict[str, Scored] = {}
        texts = list(dict.fromkeys(texts))
        for _ in range(batches if self.draws_matter else 1):
            if not texts:
                break
            valid = self._batch(texts)
            found = {text: joined(found[text], scored) if found else scored for text, scored in valid.items()}
            texts = list(valid)
        return found

    def count(self, batches: int) -> DrawCount:
        """What so many batches come to."""
        return DrawCount(BATCH * batches * self.draws_matter, self._single, self._usable)

    def of(self, matrices: Sequence[PassMatrix]) -> FreshDraws:
        """The same of other problems, from the first batch on."""
        return FreshDraws(self._runner, matrices, self._scoring)

    def _batch(self, texts: Sequence[str]) -> dict[str, Scored]:
        seed = SeedTree(self._scoring.seed).child("batch", self.batches).integer() % 2**31
        config = self._scoring.model_copy(update={"seed": seed, "draws": BATCH})
        evaluator = SeedConsistency(self._runner, self.matrices, config, ())
        evaluations = evaluator.evaluate([Candidate(text) for text in texts])
        self.batches += 1
        valid = {}
        for text, one in zip(texts, evaluations, strict=True):
            if one.score is None:
                self.dropped[text] = one.invalid or "invalid"
            else:
                valid[text] = Scored(np.array([one.per_seed]), one.metrics[TIE_METRIC])
        return valid


def joined(one: Scored, other: Scored) -> Scored:
    """One program on the batches of both."""
    sizes = len(one.scores_BP), len(other.scores_BP)
    testing = float(np.average([one.testing, other.testing], weights=sizes))
    return Scored(np.concatenate([one.scores_BP, other.scores_BP]), testing)
