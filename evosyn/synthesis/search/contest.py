"""Finalists against the best known rule on fresh draws: is one of them better, and by more than chance?

Every program is scored on the same draws, which the search never saw, and as many as it takes until drawing others
would hardly move the paired gain. A finalist passes if the lower bound of its mean gain over problems (two standard
errors, of tasks in the same pools on their own) lies above zero and it falls behind in no pool. The best of thousands
of candidates on some thirty problems is partly the luckiest one; docs/evolve.md has the figures behind this rule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evosyn.errors import UsageError
from evosyn.evaluators.axes.program_size import code_tokens
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig, DrawCount, Floats
from evosyn.evaluators.heldout import pool_of
from evosyn.evaluators.intervals import Strata
from evosyn.evaluators.views import UNRECORDED, plain
from evosyn.ports import StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.records import Candidate, PassMatrix
from evosyn.strategies.evidence import EvidencesOnce
from evosyn.strategies.genome import TIE_METRIC

BATCH = 20
"""Draws a problem that are made at once."""
MOST_BATCHES = 16
FIRST_BATCHES = 2
"""All finalists are scored on so many; the few that lead there are compared on others, where they lead by no luck."""
LEADERS = 6
"""Of all, and as many of those that are behind nowhere."""
KNOWN_LEADERS = 3
DRAWING_ERROR = 0.005
"""Standard error of a paired gain from drawing alone, below which no more draws are made."""
ERRORS = 2.0
"""Standard errors between a gain and its bound: the best of several that are no better is ahead by one."""
UNLIKELY = 4.0
"""Errors from drawing by which a bound lies below zero where no further draws will lift it."""
MOST_FALL = 0.005
"""What a finalist may fall behind in one pool."""
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
        mean: over problems; `lower` is `ERRORS` standard errors below it.
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

    @property
    def passes(self) -> bool:
        return self.bound > 0 and min(self.by_pool.values()) >= -MOST_FALL


class Behind(NamedTuple):
    """A known rule that is better than the winner in one pool or without texts and values, and by how much there."""

    rule: str
    by: float


class Contest(NamedTuple):
    """How a winner was found.

    Attributes:
        winner: the text; `scored` is how it did.
        reference: name of the best known rule; None where none is valid.
        gain: of the finalist with the highest lower bound over that rule; None where there is none to compare.
        draws: how many it was compared on.
        behind: where a known rule is better than the winner by more than `MOST_FALL`, on the first
            draws.
    """

    winner: str
    scored: Scored
    reference: str | None
    gain: Gain | None
    draws: DrawCount
    behind: Mapping[str, Behind] = {}

    @property
    def passed(self) -> bool:
        """Whether a finalist won."""
        return self.reference is None if self.gain is None else self.gain.passes


def decide(
    finalists: Sequence[Candidate],
    known: Mapping[str, str],
    runner: StrategyRunner,
    matrices: Sequence[PassMatrix],
    scoring: ConsistencyConfig,
) -> Contest:
    """The finalist that is better than every known rule, or the best known rule.

    Args:
        finalists: the best of the search first.
        known: program texts by name.
        scoring: with the seed that the draws are made by.

    Raises:
        UsageError: no program is valid.
    """
    names = {text: name for name, text in known.items()}
    rivals = [one.text for one in finalists if one.text not in names]
    fresh = _Fresh(runner, matrices, scoring)
    first = found = fresh.score([*rivals, *names], FIRST_BATCHES)
    rivals, rules = [text for text in rivals if text in found], [text for text in names if text in found]
    if not found:
        raise UsageError("no program of the search is valid on fresh draws of its own problems")
    best = _best(rules, found)
    standards = fresh.standards(rivals, names, found)
    if best is not None:
        rivals = _leaders(rivals, found, found[best], standards, fresh.strata)
        rules = sorted(rules, key=lambda text: -found[text].score)[:KNOWN_LEADERS]
    batches = FIRST_BATCHES
    while best is not None and rivals and fresh.draws_matter and fresh.batches < FIRST_BATCHES + MOST_BATCHES:
        more = fresh.score([*rivals, *rules], batches)
        found = more if found is first else {text: _joined(found[text], scored) for text, scored in more.items()}
        rivals, rules = [text for text in rivals if text in found], [text for text in rules if text in found]
        best, batches = _best(rules, found), 1
        if best is None or not rivals:
            break
        gains = {text: gain_of(found[text], found[best], fresh.strata) for text in rivals}
        able = [text for text in rivals if gains[text].lower + UNLIKELY * gains[text].drawing_error >= 0]
        rivals = able or [max(rivals, key=lambda text: gains[text].lower)]
        if max(gains[text].drawing_error for text in rivals) < DRAWING_ERROR:
            break
    draws = fresh.draws._replace(fresh=BATCH * len(next(iter(found.values())).scores_BP) * fresh.draws_matter)
    if best is None or not rivals:
        winner = max(found, key=lambda text: _merit(text, found[text]))
        return Contest(winner, found[winner], names.get(winner), None, draws, standards.behind(winner))
    gains = {text: gain_of(found[text], found[best], fresh.strata) for text in rivals}
    leader = max(
        rivals,
        key=lambda text: (
            gains[text].passes,
            -standards.shortfall(text),
            gains[text].bound,
            *_merit(text, found[text]),
        ),
    )
    winner = leader if gains[leader].passes else best
    return Contest(winner, found[winner], names[best], gains[leader], draws, standards.behind(winner))


def _best(rules: Sequence[str], found: Mapping[str, Scored]) -> str | None:
    return max(rules, key=lambda text: found[text].score, default=None)


def gain_of(one: Scored, other: Scored, strata: Strata) -> Gain:
    """What the first is ahead of the second."""
    gaps_BP = one.scores_BP - other.scores_BP
    batches, problems = gaps_BP.shape
    gaps_P = gaps_BP.mean(axis=0)
    drawing = gaps_BP.var(axis=0, ddof=1).sum() / batches if batches > 1 else 0.0
    mean = float(gaps_P.mean())
    drawing_error = float(np.sqrt(drawing)) / problems
    return Gain(mean, mean - ERRORS * strata.error(gaps_P), drawing_error, strata.of_pools(gaps_P))


class _Standards(NamedTuple):
    """Scores in each pool, where there are several, and without texts and values, by text; on the first draws.

    Attributes:
        rules: names of known rules by text.
        scores: of what is valid there.
    """

    rules: Mapping[str, str]
    scores: Mapping[str, Mapping[str, float]]

    def behind(self, text: str) -> dict[str, Behind]:
        """Where a known rule is better than one program, which is worth nothing where it is invalid."""
        found = {}
        for place, scores in self.scores.items():
            best = max((one for one in self.rules if one in scores), key=lambda one: scores[one], default=None)
            if best is not None and scores[best] - scores.get(text, 0.0) > MOST_FALL:
                found[place] = Behind(self.rules[best], scores[best] - scores.get(text, 0.0))
        return found

    def shortfall(self, text: str) -> float:
        """By how much it is behind, over all places."""
        return round(sum(one.by for one in self.behind(text).values()), DIGITS)


class _Fresh:
    """Draws in batches, each of its own seed.

    Attributes:
        strata: of the problems; `batches`: that were made; `draws`: what that comes to.
        draws_matter: whether another batch could differ.
    """

    def __init__(self, runner: StrategyRunner, matrices: Sequence[PassMatrix], scoring: ConsistencyConfig) -> None:
        self._runner, self._matrices, self._scoring = runner, matrices, scoring
        self._evidence_of = EvidencesOnce()
        self.strata, self.draws = Strata((), ()), DrawCount(0, 0, 0)
        self.batches, self.draws_matter = 0, True

    def score(self, texts: Sequence[str], batches: int) -> dict[str, Scored]:
        """The valid ones on the next draws."""
        found: dict[str, Scored] = {}
        texts = list(dict.fromkeys(texts))
        for _ in range(batches if self.draws_matter else 1):
            evaluator = SeedConsistency(self._runner, self._matrices, self._config(), (), self._evidence_of)
            evaluations = evaluator.evaluate([Candidate(text) for text in texts])
            draws = evaluator.draws
            single = int((np.bincount(draws.problem_E) == 1).sum())
            pools = {matrix.problem_id: pool_of(matrix) for matrix in self._matrices}
            self.strata = Strata([pools[name] for name in draws.problem_ids], draws.tasks_P)
            self.batches, self.draws_matter = self.batches + 1, single < len(draws.problem_ids)
            self.draws = DrawCount(self.batches * BATCH * self.draws_matter, single, len(draws.problem_ids))
            valid = {
                text: Scored(np.array([one.per_seed]), one.metrics[TIE_METRIC])
                for text, one in zip(texts, evaluations, strict=True)
                if one.score is not None
            }
            found = {text: _joined(found[text], scored) if found else scored for text, scored in valid.items()}
            texts = list(valid)
            if not self.draws_matter:
                break
        return found

    def standards(self, rivals: Sequence[str], rules: Mapping[str, str], found: Mapping[str, Scored]) -> _Standards:
        """What programs come to in each pool and without texts and values. A known rule that lacks evidence in another
        pool is none over all of them, and may be the best of its own.

        Args:
            rivals: texts of finalists; `rules`: names of known rules by text.
            found: those that are valid in all pools, on the first draws.
        """
        scores: dict[str, dict[str, float]] = {}
        pools = dict.fromkeys(self.strata.pools_P)
        for pool in pools if len(pools) > 1 else ():
            own = _Fresh(self._runner, [one for one in self._matrices if pool_of(one) == pool], self._scoring)
            rest = own.score([text for text in rules if text not in found], FIRST_BATCHES)
            here = {text: self.strata.of_pools(scored.per_problem)[pool] for text, scored in found.items()}
            scores[pool] = here | {text: scored.score for text, scored in rest.items()}
        if matrices := plain(self._matrices):
            seen = _Fresh(self._runner, matrices, self._scoring).score([*rivals, *rules], FIRST_BATCHES)
            scores[UNRECORDED] = {text: scored.score for text, scored in seen.items()}
        return _Standards(rules, scores)

    def _config(self) -> ConsistencyConfig:
        seed = SeedTree(self._scoring.seed).child("batch", self.batches).integer() % 2**31
        return self._scoring.model_copy(update={"seed": seed, "draws": BATCH})


def _joined(one: Scored, other: Scored) -> Scored:
    sizes = len(one.scores_BP), len(other.scores_BP)
    testing = float(np.average([one.testing, other.testing], weights=sizes))
    return Scored(np.concatenate([one.scores_BP, other.scores_BP]), testing)


def _leaders(
    rivals: Sequence[str], found: Mapping[str, Scored], best: Scored, standards: _Standards, strata: Strata
) -> list[str]:
    """Those of the highest lower bounds, of all and of those that are behind nowhere; of programs that score alike
    everywhere the one of the highest merit."""
    alike: dict[tuple[bytes, bool], str] = {}
    for text in sorted(rivals, key=lambda text: _merit(text, found[text]), reverse=True):
        alike.setdefault((found[text].scores_BP.round(DIGITS).tobytes(), not standards.behind(text)), text)
    ordered = sorted(alike.values(), key=lambda text: -gain_of(found[text], best, strata).lower)
    nowhere = [text for text in ordered if not standards.behind(text)]
    return list(dict.fromkeys([*ordered[:LEADERS], *nowhere[:LEADERS]]))


def _merit(text: str, scored: Scored) -> tuple[float, float, int, str]:
    return round(scored.score, DIGITS), round(scored.testing, DIGITS), -code_tokens(text), text
