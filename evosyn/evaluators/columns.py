"""What a strategy ranks: testings as they were drawn, or their distinct cases as columns of the matrix.

Nothing is executed: columns are made from outcomes that were recorded case by case. A weak model's testings are hardly
ever right as a whole where single cases of them are, and what one reply says again is no further evidence. Sizes (N)
count replies, which are the testings as drawn, whatever is ranked.
"""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.errors import UsageError
from evosyn.records import Json, ParsedCall, PassMatrix, Unit, canonical_json
from evosyn.strategies.evidence import sub_matrix
from evosyn.text.logprobs import means
from evosyn.textual import similarity

MOST_COLUMNS = 64
"""Cases of one problem that a strategy ranks; of more the replies give evenly."""
LISTS = ("cases", "asserts")


class DistinctCase(NamedTuple):
    """What one column is.

    Attributes:
        held: by which testings, and where in each first; None for a testing that is one column whole.
        text: of a testing of that case alone; empty where texts are unknown.
    """

    held: Mapping[int, int | None]
    text: str = ""

    @property
    def testing(self) -> int:
        """The first that holds it."""
        return next(iter(self.held))

    @property
    def place(self) -> int | None:
        """Where the first that holds it does."""
        return self.held[self.testing]

    @property
    def replies(self) -> tuple[int, ...]:
        """All testings that hold it."""
        return tuple(self.held)


def distinct_cases(matrix: PassMatrix) -> list[DistinctCase]:
    """The cases of all testings of a matrix, each once. They are the same where their texts are, or where texts are
    unknown what they ask and expect is. A testing without recorded cases stays whole."""
    found: dict[object, dict[int, int | None]] = {}
    told: dict[object, str] = {}
    for n in range(matrix.verdicts_MN.shape[1]):
        count = 0 if matrix.cases_NMC is None else matrix.cases_NMC[n].shape[1]
        text = matrix.testing_texts[n] if matrix.testing_texts else None
        texts = None if text is None else _single_texts(text, count) if count else [text]
        asked = matrix.calls_N[n] if count and matrix.calls_N is not None else None
        for c in range(count or 1):
            same = texts[c] if texts else _whole(asked[c] if asked else None) or (n, c)
            told.setdefault(same, texts[c] if texts else "")
            found.setdefault(same, {}).setdefault(n, c if count else None)
    return [DistinctCase(held, told[same]) for same, held in found.items()]


def spread(columns_of: Sequence[Sequence[int]], most: int = MOST_COLUMNS) -> list[int]:
    """The columns of some replies, each once and in the order of the replies; of more than `most` those that the
    replies give in turn, one after the other, each the first of its own that no other gave."""
    taken: set[int] = set()
    waiting = deque(map(iter, columns_of))
    while waiting and len(taken) < most:
        reply = waiting.popleft()
        new = next((column for column in reply if column not in taken), None)
        if new is not None:
            taken.add(new)
            waiting.append(reply)
    return [column for column in dict.fromkeys(column for one in columns_of for column in one) if column in taken]


def columns_of_replies(replies_N: Sequence[Sequence[int]], count: int) -> list[list[int]]:
    """For each of so many replies the columns that it holds."""
    found: list[list[int]] = [[] for _ in range(count)]
    for column, replies in enumerate(replies_N):
        for reply in replies:
            found[reply].append(column)
    return found


def ranked_cases(matrix: PassMatrix) -> list[DistinctCase]:
    """Those cases of a problem that a strategy ranks where all of its replies are used: `MOST_COLUMNS` at most."""
    cases = distinct_cases(matrix)
    own = columns_of_replies([case.replies for case in cases], matrix.verdicts_MN.shape[1])
    return [cases[column] for column in spread(own)]


def in_unit(matrix: PassMatrix, unit: Unit) -> PassMatrix:
    """The matrix with a column for what is ranked: of cases all distinct ones, from which draws take theirs.

    Raises:
        UsageError: its columns are cases, and testings are asked for.
    """
    if unit == "case" and matrix.replies_N is None:
        return case_columns(matrix, distinct_cases(matrix))
    if unit == "testing" and matrix.replies_N is not None:
        raise UsageError(
            f"unit testing: the columns of problem {matrix.problem_id!r} are cases, which make no testings again; "
            "rank cases (scoring.unit=case), or give the matrices that they were made from"
        )
    return matrix


def ranked_columns(matrix: PassMatrix, unit: Unit) -> PassMatrix:
    """The same as a strategy ranks it where all replies are used."""
    return case_columns(matrix, ranked_cases(matrix)) if unit == "case" else matrix


def case_columns(matrix: PassMatrix, cases: Sequence[DistinctCase]) -> PassMatrix:
    """The matrix with these of its cases as columns. Durations are of whole testings; where none has recorded cases all
    that was recorded of them stays."""
    ids = matrix.testing_ids or [str(n) for n in range(matrix.verdicts_MN.shape[1])]
    vacuous = {*matrix.meta.get("vacuous", ())}
    found = [column for column, case in enumerate(cases) if vacuous.issuperset(case.replies)]
    more: dict[str, Any] = {
        "solution_ids": matrix.solution_ids,
        "testing_ids": tuple([ids[case.testing] + ("" if case.place is None else f"/{case.place}") for case in cases]),
        "replies_N": tuple([case.replies for case in cases]),
        "meta": {**matrix.meta, "vacuous": found} if vacuous else matrix.meta,
    }
    if matrix.cases_NMC is None:
        first = np.array([case.testing for case in cases], dtype=np.int64)
        return replace(sub_matrix(matrix, np.arange(len(matrix.verdicts_MN)), first), **more)

    def of(arrays: Sequence[NDArray[Any] | None] | None, case: DistinctCase) -> NDArray[Any] | None:
        own, place = None if arrays is None else arrays[case.testing], case.place
        return None if own is None or place is None else own[:, place : place + 1]

    calls: list[tuple[ParsedCall | None] | None] = []
    whole_MN = matrix.verdicts_MN
    letters = [whole_MN[:, [one.testing]] if (own := of(matrix.cases_NMC, one)) is None else own for one in cases]
    for case in cases:
        asked = None if matrix.calls_N is None or case.place is None else matrix.calls_N[case.testing]
        calls.append(None if asked is None or case.place is None else (asked[case.place],))
    return replace(
        matrix,
        verdicts_MN=np.concatenate([whole_MN[:, :0], *letters], axis=1),
        cases_NMC=None,
        durations_MN=None,
        testing_texts=tuple([case.text for case in cases]) if matrix.testing_texts else (),
        calls_N=None if matrix.calls_N is None else tuple(calls),
        values_NMC=None if matrix.values_NMC is None else tuple([of(matrix.values_NMC, case) for case in cases]),
        testing_similarity_NN=similarity([case.text for case in cases]) if matrix.testing_texts else None,
        logprobs_NC=None
        if matrix.logprobs_NC is None
        else tuple([_logprob(matrix.logprobs_NC, case) for case in cases]),
        **more,
    )


def _logprob(logprobs_NC: Sequence[NDArray[np.float64] | None], case: DistinctCase) -> NDArray[np.float64] | None:
    """The mean over the replies that hold the case; of a testing that is one column whole its own."""
    if case.place is None:
        return logprobs_NC[case.testing]
    known = [(own, place) for n, place in case.held.items() if (own := logprobs_NC[n]) is not None]
    return means([own[place : place + 1] for own, place in known if place is not None]) if known else None


def _whole(call: ParsedCall | None) -> ParsedCall | None:
    """The call where it says all that its case asks."""
    return None if call is None or call.expected is None else call


def _single_texts(text: str, count: int) -> list[str]:
    """The texts of the testings that hold one case each; the whole text, numbered, where its form is another."""
    try:
        body: Json = json.loads(text)
    except ValueError:
        body = None
    for name in LISTS if isinstance(body, dict) else ():
        cases = body.get(name)
        if isinstance(cases, list) and len(cases) == count:
            return [canonical_json({**body, name: [case]}) for case in cases]
    return [text] if count == 1 else [f"{text}#{number}" for number in range(count)]
