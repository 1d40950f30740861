"""What a strategy gets to see of one problem, made from its matrix. The human verdicts never get in here.

Which solutions are the same was said by their domain when they were executed. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from evosyn.records import Evidence, Json, PassMatrix, Verdict, content_id
from evosyn.text.logprobs import means

ALWAYS = ("passed", "known", "cases", "copies", "solution_groups", "testing_groups", "replies")
"""What every evidence holds, by the names that programs use."""

MAYBE = {
    "durations": "durations_MN",
    "solution_texts": "solution_texts",
    "testing_texts": "testing_texts",
    "verdicts": "verdicts_MN",
    "statement": "statement",
    "payload": "payload",
    "calls": "calls_N",
    "values": "values_NMC",
    "solution_similarity": "solution_similarity_MM",
    "testing_similarity": "testing_similarity_NN",
    "solution_logprob": "solution_logprob_M",
    "testing_logprob": "testing_logprob_N",
}
"""What may be unknown, with the field of `Evidence` that holds it."""

_HOLLOW = {"durations": "zeros", "solution_texts": "empty", "testing_texts": "empty"}
"""What programs see of these where they are unknown; of all others None."""


def evidence_of(matrix: PassMatrix) -> Evidence:
    """The evidence of one matrix: all of it but what is human (its verdicts) or may be (its `meta`).

    Args:
        matrix: M solutions x N testings; what was not recorded is filled in as `Evidence` says.
    """
    passed_MN = matrix.passed_MN
    rows, columns = passed_MN.shape
    if matrix.cases_NMC is None:
        cases = tuple(passed_MN[:, [n]] for n in range(columns))
    else:
        cases = tuple(
            letters == Verdict.PASS.value if letters.shape[1] else passed_MN[:, [n]]
            for n, letters in enumerate(matrix.cases_NMC)
        )
    durations = np.zeros((rows, columns)) if matrix.durations_MN is None else np.asarray(matrix.durations_MN, float)
    copies = np.ones(rows, np.int64) if matrix.copies_M is None else np.asarray(matrix.copies_M, np.int64)
    return Evidence(
        passed_MN=passed_MN,
        known_MN=matrix.known_MN,
        cases_NMC=cases,
        durations_MN=durations,
        copies_M=copies,
        solution_group_M=np.arange(rows) if matrix.groups_M is None else numbered(matrix.groups_M),
        testing_group_N=groups(matrix.testing_texts, columns),
        solution_texts=tuple(matrix.solution_texts),
        testing_texts=tuple(matrix.testing_texts),
        verdicts_MN=matrix.verdicts_MN,
        statement=matrix.statement,
        payload=matrix.payload,
        calls_N=_any(matrix.calls_N),
        values_NMC=_any(matrix.values_NMC),
        solution_similarity_MM=matrix.solution_similarity_MM,
        testing_similarity_NN=matrix.testing_similarity_NN,
        solution_logprob_M=known_or_none(matrix.solution_logprob_M),
        testing_logprob_N=_testing_logprobs(matrix.logprobs_NC),
        replies_N=tuple([(n,) for n in range(columns)]) if matrix.replies_N is None else matrix.replies_N,
    )


UNSEEN = ("solution_ids", "testing_ids", "origin", "meta")
"""Fields of a matrix that neither are evidence nor judge any."""


def evidence_digest(matrix: PassMatrix) -> str:
    """Hash of all that evidence is made of, and of the human verdicts: equal where every program scores the same."""
    held = {one.name: _hashable(getattr(matrix, one.name)) for one in fields(matrix) if one.name not in UNSEEN}
    return content_id("e_", held)


def _hashable(value: Any) -> Json:
    """The same as JSON, an array by its hash."""
    if isinstance(value, np.ndarray):
        return [str(value.dtype), list(value.shape), hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()]
    if isinstance(value, tuple):
        return [_hashable(one) for one in value]
    return value


def _any(parts: Sequence[Any] | None) -> Any:
    """The same; None where it holds nothing."""
    return None if parts is None or all(one is None for one in parts) else parts


_LONG = r"{0}{{3}}(?:[^{0}\\]++|\\[\s\S]|{0}(?!{0}{0}))*+(?:{0}{{3}})?"
_SHORT = r"{0}(?:[^{0}\\\n]++|\\[\s\S])*+{0}?"
_UNREAD = re.compile("|".join([form.format(quote) for form in (_LONG, _SHORT) for quote in "\"'"] + [r"#[^\n]*"]))
"""Strings and comments, which only mention what they name; from left to right, so that neither is found in the other.
Each matches where it begins, closed or not, and gives nothing back, so that the time is linear in the text: a tenth of
what a syntax tree takes, since a search asks this of every candidate."""


def reads(text: str) -> tuple[str, ...]:
    """What a strategy program reads of the evidence, by the names that programs use."""
    code = _UNREAD.sub("''", text)
    return tuple(name for name in (*ALWAYS, *MAYBE) if re.search(rf"\.{name}\b(?!\()", code))


def unknown(evidence: Evidence) -> frozenset[str]:
    """What an evidence does not hold, by the names that programs use: what is None, empty texts, durations of which
    none was measured."""
    return frozenset(name for name, field in MAYBE.items() if not _held(name, getattr(evidence, field)))


def _held(name: str, value: Any) -> bool:
    if name not in _HOLLOW:
        return value is not None
    return bool(value.any() if isinstance(value, np.ndarray) else value)


def shown_as(name: str) -> str:
    """What a program sees of a part of the evidence that is unknown, in a word."""
    return _HOLLOW.get(name, "None")


def select(
    evidence: Evidence, rows: NDArray[np.int64], columns: NDArray[np.int64], replies: Collection[int] | None = None
) -> Evidence:
    """The evidence of a sub-matrix, as if nothing else had been recorded: groups and replies are numbered anew, since
    numbers of the whole would tell where in it a solution stands.

    Args:
        rows: indices of the M solutions to keep, in their new order.
        columns: indices of the N columns to keep, in their new order.
        replies: that are kept, of those that hold the columns; None for all.
    """
    return replace(
        evidence,
        passed_MN=evidence.passed_MN[np.ix_(rows, columns)],
        known_MN=evidence.known_MN[np.ix_(rows, columns)],
        copies_M=evidence.copies_M[rows],
        solution_group_M=numbered(evidence.solution_group_M[rows]),
        testing_group_N=numbered(evidence.testing_group_N[columns]),
        testing_logprob_N=known_or_none(evidence.testing_logprob_N, columns),
        replies_N=_replies([evidence.replies_N[column] for column in columns if evidence.replies_N], replies),
        **_part(evidence, rows, columns),
    )


def _replies(held: Sequence[Sequence[int]], kept: Collection[int] | None) -> tuple[tuple[int, ...], ...]:
    """Those that are kept, by number of appearance."""
    numbers: dict[int, int] = {}
    left = [one if kept is None else [reply for reply in one if reply in kept] for one in held]
    return tuple([tuple([numbers.setdefault(reply, len(numbers)) for reply in one]) for one in left])


def sub_matrix(matrix: PassMatrix, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> PassMatrix:
    """The same of a matrix, human verdicts included; without ids."""
    return replace(
        matrix,
        human_M=None if matrix.human_M is None else matrix.human_M[rows],
        copies_M=None if matrix.copies_M is None else matrix.copies_M[rows],
        groups_M=None if matrix.groups_M is None else matrix.groups_M[rows],
        solution_ids=(),
        testing_ids=(),
        logprobs_NC=None if matrix.logprobs_NC is None else _any([matrix.logprobs_NC[n] for n in columns]),
        replies_N=None if matrix.replies_N is None else tuple([matrix.replies_N[n] for n in columns]),
        **_part(matrix, rows, columns),
    )


def _part(whole: Evidence | PassMatrix, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> dict[str, Any]:
    """The fields that both have alike, of a sub-matrix."""

    def grid(array: Any, one: NDArray[np.int64], other: NDArray[np.int64]) -> Any:
        return None if array is None else array[np.ix_(one, other)]

    def listed(items: Sequence[Any] | None, places: NDArray[np.int64]) -> Any:
        return tuple([items[place] for place in places]) if items else items

    def of_rows(arrays: Sequence[Any] | None) -> Any:
        return None if arrays is None else tuple([None if arrays[n] is None else arrays[n][rows] for n in columns])

    return {
        "verdicts_MN": grid(whole.verdicts_MN, rows, columns),
        "cases_NMC": of_rows(whole.cases_NMC),
        "values_NMC": _any(of_rows(whole.values_NMC)),
        "calls_N": _any(listed(whole.calls_N, columns)),
        "durations_MN": grid(whole.durations_MN, rows, columns),
        "solution_texts": listed(whole.solution_texts, rows),
        "testing_texts": listed(whole.testing_texts, columns),
        "solution_similarity_MM": grid(whole.solution_similarity_MM, rows, rows),
        "testing_similarity_NN": grid(whole.testing_similarity_NN, columns, columns),
        "solution_logprob_M": known_or_none(whole.solution_logprob_M, rows),
    }


def _testing_logprobs(logprobs_NC: Sequence[NDArray[np.float64] | None] | None) -> NDArray[np.float64] | None:
    """For each testing the mean over those cases for which it is known."""
    found = [np.nan if own is None or not len(own) else means([*own[:, None]])[0] for own in logprobs_NC or ()]
    return known_or_none(np.array(found)) if found else None


def known_or_none(array: NDArray[np.float64] | None, places: Any = slice(None)) -> NDArray[np.float64] | None:
    """The items at these places; None where all of them are NaN."""
    return None if array is None or np.isnan(array[places]).all() else array[places]


def numbered(values: NDArray[Any]) -> NDArray[np.int64]:
    """Equal numbers for equal values, from 0 on by first appearance; shape as given."""
    _, first, at = np.unique(values, return_index=True, return_inverse=True)
    order = np.empty(len(first), np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[at].reshape(values.shape))


def groups(texts: Sequence[str], size: int) -> NDArray[np.int64]:
    """Equal numbers for equal texts, numbered by first appearance; all different where there are no texts."""
    if not texts:
        return np.arange(size, dtype=np.int64)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
