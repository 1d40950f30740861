"""What decides the reward of a row: the chosen testing, joined with what the other testings say that agree with it.

Where cases were ranked, these are the cases that the pruning joined (`Decision.joined`), which a search is judged by.
Where testings were ranked:

A testing agrees where the *top* accepts it: the solutions of the highest score that pass the chosen testing. Of a
testing that the top refuses in a few cases the others are kept: one wrong expectation does not spoil the rest of a
testing. A joined testing refuses whatever the chosen one refuses, and more. The paper keeps the chosen testing alone
(Du 2025, section 3.3); `filter.reward.union=false` does that. Pure; the texts are joined by the domain.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from evosyn.evaluators.columns import DistinctCase
from evosyn.records import PassMatrix, Ranking, Testing, Verdict
from evosyn.strategies.ranking import best_of
from evosyn.synthesis.prune import Choice


class AgreementConfig(BaseModel):
    """What the reward of a row is made of.

    Attributes:
        union: join the chosen testing (or case) with all that agree with it; False for the chosen one alone.
        mend: where testings are ranked, also take the agreed cases of those in which the top is refused by less than
            this share of the cases; 0 for none of them.
        large: ask for large inputs, whose outputs are those that the top solutions agree on; False for none.
        examples: drop a problem whose own examples the best solution contradicts.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    union: bool = True
    mend: float = Field(default=0.5, ge=0.0, le=1.0)
    large: bool = True
    examples: bool = True


class Part(NamedTuple):
    """The agreed cases of one testing.

    Attributes:
        testing: its column.
        places: of the cases that are taken.
        cases: that it has.
    """

    testing: int
    places: tuple[int, ...]
    cases: int


@dataclass(frozen=True)
class Reward:
    """What pays for a row, and what all M solutions got from it.

    Attributes:
        letters: their verdicts, in the order of the matrix.
        testings: places of the testings as drawn that cases were taken from, that of the chosen testing or case first.
        dropped: cases of those testings that the top contradicts.
        large: cases whose outputs the top solutions agreed on.
    """

    testing: Testing
    letters: str
    testings: tuple[int, ...]
    dropped: int = 0
    large: int = 0


def top_solutions(matrix: PassMatrix, ranking: Ranking, choice: Choice) -> NDArray[np.intp]:
    """Those of the highest score that pass the chosen testing; the best one is among them."""
    best = best_of(ranking.solution_scores_M)
    return np.asarray(best[matrix.passed_MN[best, choice.testing]], dtype=np.intp)


def agreed(matrix: PassMatrix, ranking: Ranking, choice: Choice, config: AgreementConfig) -> list[Part]:
    """The testings that agree with the chosen one, which comes first; the others by score, then in draw order."""
    if matrix.cases_NMC is None:
        return []
    top = top_solutions(matrix, ranking, choice)
    vacuous: Collection[int] = matrix.meta.get("vacuous", ())
    columns = sorted(range(len(matrix.testing_ids)), key=lambda n: (n != choice.testing, -ranking.testing_scores_N[n]))
    parts, seen = [], set()
    for n in columns if config.union else columns[:1]:
        good_C = (matrix.cases_NMC[n][top] == Verdict.PASS.value).all(axis=0)
        usable = n not in vacuous and matrix.testing_ids[n] not in seen and good_C.any()
        if usable and (good_C.all() or (~good_C).mean() < config.mend):
            seen.add(matrix.testing_ids[n])
            parts.append(Part(n, tuple(np.flatnonzero(good_C).tolist()), good_C.size))
    return parts


def parts_of(cases: Sequence[DistinctCase], joined: Sequence[int]) -> list[Part]:
    """The cases that were joined, by the testing that each is taken from: that of the first one first.

    Args:
        cases: those that were ranked.
        joined: which of these; a testing without cases of its own, which is one whole, cannot be joined.
    """
    sizes = Counter(case.testing for case in cases)
    places: dict[int, list[int]] = {}
    for case in (cases[column] for column in joined):
        if case.place is not None:
            places.setdefault(case.testing, []).append(case.place)
    return [Part(testing, tuple(sorted(own)), sizes[testing]) for testing, own in places.items()]


def distinct(matrix: PassMatrix, solutions: Sequence[int]) -> list[int]:
    """Of some solutions one of each group, the first."""
    groups = range(len(matrix.solution_ids)) if matrix.groups_M is None else matrix.groups_M.tolist()
    first: dict[int, int] = {}
    for m in solutions:
        first.setdefault(groups[m], m)
    return list(first.values())
