"""Where a winner must not be behind: in each of several pools, and on the same problems as other pools would have them.

A program may be ahead over all problems and behind on those of one pool, without texts and values, or where every
solution is right (`views`). It is compared there with the known rules, on fresh draws as everywhere; behind is who
falls short by more than `MOST_FALL` and by more than drawing explains.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from evosyn.evaluators.heldout import pool_of
from evosyn.evaluators.views import ONLY_RIGHT, RIGHT_UNRECORDED, UNRECORDED, plain, right
from evosyn.synthesis.search.fresh import DIGITS, FreshDraws, Scored, drawing_error

ERRORS = 2.0
"""Standard errors from drawing by which more than may be is clear."""
MOST_FALL = 0.005
"""What a winner may fall short of a rule in one place."""
RIGHT_SHARE = 1 / 8
"""Draws of a strong model's pool that hold right solutions only: as much more it may fall short of a rule on those."""
BEST_RULES = 3
"""Known rules of a place that are scored there on more draws."""


class Behind(NamedTuple):
    """Another program, mostly a known rule, that is better than one somewhere.

    Attributes:
        rule: its name; `by`: how much better, on the same draws.
        error: of `by`, from drawing alone.
        allowed: what it may be.
    """

    rule: str
    by: float
    error: float
    allowed: float = MOST_FALL

    @property
    def clear(self) -> float:
        """By how much more than may be: 0 where drawing may explain it."""
        return round(max(0.0, self.by - self.allowed - ERRORS * self.error), DIGITS)


class _PlaceScores:
    """Scores in one place, in rounds of draws of which later ones hold fewer programs.

    Args:
        fresh: draws of its own, where they are not part of those of all problems.
        rules: texts of the known rules that count here.
    """

    def __init__(self, fresh: FreshDraws | None, rules: Sequence[str], first: Mapping[str, Scored]) -> None:
        self.fresh, self._rounds = fresh, [first]
        self._rules = sorted((text for text in rules if text in first), key=lambda text: -first[text].score)

    @property
    def best(self) -> list[str]:
        """The known rules that are best here, the first of all first."""
        return self._rules[:BEST_RULES]

    def add(self, later: Mapping[str, Scored]) -> None:
        """Draws that come after those by which programs were chosen."""
        self._rounds.append(later)

    def behind(self, text: str, rule: str) -> tuple[float, float] | None:
        """How far a program is behind a rule, and the error of that; None where the rule is not valid here. What a
        program is invalid on is worth nothing."""
        invalid = not self._ran(text) or self._fell_out(text)
        found = next((one for one in reversed(self._rounds) if rule in one and (text in one or invalid)), None)
        if found is None:
            return None
        other = found[rule]
        own = found.get(text, Scored(np.zeros_like(other.scores_BP), 0.0))
        return other.score - own.score, drawing_error(other, own)

    def _ran(self, text: str) -> bool:
        return text in self._rounds[0]

    def _fell_out(self, text: str) -> bool:
        """Whether it was asked on more draws and not valid there; who is missing otherwise was not asked."""
        return self.fresh is not None and text in self.fresh.dropped


class Places:
    """All places of a contest.

    Args:
        fresh: the draws of all problems, of which `found` are the first; `rules`: texts of known rules.
        found: valid programs; a rule that lacks evidence in one pool is none over all, and may be the best of another.
        names: of all programs, by text.
        leading: the known rules that are best over all problems, which alone count where all solutions are right.
        views: whether other views of the problems count.
    """

    def __init__(
        self,
        fresh: FreshDraws,
        found: Mapping[str, Scored],
        rules: Sequence[str],
        leading: Sequence[str],
        names: Mapping[str, str],
        *,
        views: bool,
        solutions: int | None,
    ) -> None:
        self._names, self._pools_P = names, np.array(fresh.strata.pools_P)
        batches = fresh.batches
        self._places: dict[str, _PlaceScores] = {}
        pools = dict.fromkeys(fresh.strata.pools_P)
        for pool in pools if len(pools) > 1 else ():
            own = fresh.of([one for one in fresh.matrices if pool_of(one) == pool])
            rest = own.score([text for text in rules if text not in found], batches)
            self._places[pool] = _PlaceScores(None, rules, {**self._part(found, pool), **rest})
        all_right = right(fresh.matrices, solutions)
        for name, matrices, count in (
            (UNRECORDED, plain(fresh.matrices), rules),
            (ONLY_RIGHT, all_right, leading),
            (RIGHT_UNRECORDED, plain(all_right), leading),
        ):
            if views and matrices:
                own = fresh.of(matrices)
                self._places[name] = _PlaceScores(
                    own, count, own.score([*found, *(one for one in count if one not in found)], batches)
                )

    @property
    def best_of_pools(self) -> list[str]:
        """The best known rule of each pool."""
        return [text for place in self._places.values() if place.fresh is None for text in place.best[:1]]

    def add(self, found: Mapping[str, Scored], texts: Sequence[str], reference: str, batches: int) -> None:
        """More draws, for few programs.

        Args:
            found: what was drawn of all problems; `texts`: whom to score on other views of them.
        """
        for name, place in self._places.items():
            if place.fresh is None:
                place.add(self._part(found, name))
            elif place.fresh.draws_matter:
                place.add(place.fresh.score([*texts, *place.best, reference], batches))

    def behind(self, text: str) -> dict[str, Behind]:
        """Where a known rule is better, and which is so most clearly."""
        found = {}
        for name, place in self._places.items():
            rules = [one for one in (self._behind(name, text, rule) for rule in place.best) if one is not None]
            most = max(rules, key=lambda one: (one.clear, one.by), default=None)
            if most is not None and most.clear > 0:
                found[name] = most
        return found

    def behind_rule(self, text: str, rule: str) -> dict[str, Behind]:
        """Where one program, a known rule or another, is better."""
        found = {name: self._behind(name, text, rule) for name in self._places}
        return {name: one for name, one in found.items() if one is not None and one.clear > 0}

    def shortfall(self, text: str) -> float:
        """By how much it is clearly behind, over all places."""
        return round(sum(one.clear for one in self.behind(text).values()), DIGITS)

    def _behind(self, name: str, text: str, rule: str) -> Behind | None:
        found = self._places[name].behind(text, rule)
        allowed = MOST_FALL / RIGHT_SHARE if name in (ONLY_RIGHT, RIGHT_UNRECORDED) else MOST_FALL
        return None if found is None else Behind(self._names[rule], *found, allowed)

    def _part(self, found: Mapping[str, Scored], pool: str) -> dict[str, Scored]:
        there = self._pools_P == pool
        return {text: Scored(one.scores_BP[:, there], one.testing) for text, one in found.items()}
