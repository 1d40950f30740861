"""Recorded matrices on disk: JSON lines, one problem a line, letters per solution and testing. DESIGN.md section 4.

A matrix read back holds neither solutions nor testings, so that nothing can be executed again.
"""

from __future__ import annotations

import logging
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from evosyn.codec import Through
from evosyn.documents import SUFFIXES
from evosyn.errors import FormatError, InputError, is_held, nearest
from evosyn.jsonlines import read_lines, write_lines
from evosyn.origins import origin_from_json
from evosyn.pools import POOLS, see_told
from evosyn.records import Digests, Json, Letters, ParsedCall, ParsedCalls, PassMatrix, Verdict

log = logging.getLogger(__name__)
VERSION = 4
MOST = 2**31
"""Copies and numbers of groups are below, so that sums of them hold."""
ROUNDED = 1e-3
T = TypeVar("T")
DIGEST = re.compile(r"[0-9a-f]{16}")
LETTERS = frozenset(verdict.value for verdict in Verdict)
FIELDS = (
    "v", "problem_id", "verdicts", "human", "cases", "copies", "groups", "durations", "solution_ids",
    "testing_ids", "problem", "calls", "values", "solution_similarity", "testing_similarity", "replies",
    "solution_logprob", "testing_logprobs", "origin", "meta",
)  # fmt: skip


def is_matrices_file(path: str | Path) -> bool:
    """Whether the first line of a file is a matrix; False for bundled pools and YAML.

    Raises:
        InputError: missing, empty or not JSON lines.
    """
    if str(path).startswith("builtin:") or Path(path).suffix in SUFFIXES or Path(path, POOLS).is_file():
        return False
    first = next(read_lines(Path(path))).value
    return "verdicts" in first and "statement" not in first


def matrix_files(folder: Path) -> list[Path]:
    """The files of matrices in a directory: its own, or those of its `matrices/`.

    Raises:
        CorruptRun: what has such a name is no file.
    """
    found = [folder / "matrices.jsonl", folder / "matrices.jsonl.gz", *sorted((folder / "matrices").glob("*.jsonl*"))]
    return [file for file in found if is_held(file)]


def load_matrices(path: str | Path) -> list[PassMatrix]:
    """All matrices of a file, validated; one without testings has N = 0, and a field that is none of ours is ignored
    with a warning.

    Raises:
        InputError: naming file, line, field, value and what to do.
    """
    return list(iter_matrices(path))


def iter_matrices(path: str | Path) -> Iterator[PassMatrix]:
    """The same, one at a time."""
    path = Path(path)
    first_seen: dict[str, int] = {}
    strange: Counter[str] = Counter()
    for number, value in read_lines(path):
        unknown = value.keys() - FIELDS
        strange.update(unknown)
        try:
            matrix = matrix_from_json({name: one for name, one in value.items() if name not in unknown})
        except FormatError as error:
            raise error.at(path, number) from error
        name = matrix.problem_id
        if name in first_seen:
            hint = f"It stands in line {first_seen[name]} already"
            raise InputError(path, "duplicate id", line=number, field="problem_id", value=name, hint=hint)
        first_seen[name] = number
        yield matrix
    for field, count in sorted(strange.items()):
        told = "%s: field %r of %d lines is none of a recorded matrix and is ignored; %s"
        log.warning(told, path, field, count, nearest(field, FIELDS))


def write_matrices(path: str | Path, matrices: Iterable[PassMatrix]) -> int:
    """Write a file of matrices atomically (gzip if it ends with `.gz`); returns their number."""
    return write_lines(Path(path), (matrix_to_json(matrix) for matrix in matrices))


def matrix_to_json(matrix: PassMatrix) -> dict[str, Json]:
    """The line of a matrix: all of it but the texts of solutions and testings."""
    line: dict[str, Json] = {
        "v": VERSION,
        "problem_id": matrix.problem_id,
        "verdicts": _rows(matrix.verdicts_MN),
        "human": None if matrix.human_M is None else "".join(matrix.human_M),
    }
    if matrix.cases_NMC is not None:
        line["cases"] = [_rows(cases_MC) for cases_MC in matrix.cases_NMC]
    if matrix.copies_M is not None:
        line["copies"] = [int(copies) for copies in matrix.copies_M]
    if matrix.groups_M is not None:
        line["groups"] = [int(group) for group in matrix.groups_M]
    if matrix.durations_MN is not None:
        line["durations"] = [[round(float(one), 6) for one in row] for row in matrix.durations_MN]
    if matrix.solution_ids:
        line["solution_ids"] = list(matrix.solution_ids)
    if matrix.testing_ids:
        line["testing_ids"] = list(matrix.testing_ids)
    if matrix.statement is not None or matrix.payload is not None:
        line["problem"] = {"statement": matrix.statement, "payload": matrix.payload}
    if matrix.calls_N is not None:
        line["calls"] = [calls and [call and list(call) for call in calls] for calls in matrix.calls_N]
    if matrix.values_NMC is not None:
        line["values"] = [None if values_MC is None else _numbered(values_MC) for values_MC in matrix.values_NMC]
    if matrix.solution_similarity_MM is not None:
        line["solution_similarity"] = matrix.solution_similarity_MM.round(4).tolist()
    if matrix.testing_similarity_NN is not None:
        line["testing_similarity"] = matrix.testing_similarity_NN.round(4).tolist()
    if matrix.solution_logprob_M is not None:
        line["solution_logprob"] = _told_logprobs(matrix.solution_logprob_M)
    if matrix.logprobs_NC is not None:
        line["testing_logprobs"] = [None if own is None else _told_logprobs(own) for own in matrix.logprobs_NC]
    if matrix.replies_N is not None:
        line["replies"] = [list(replies) for replies in matrix.replies_N]
    if origin := matrix.origin.to_json():
        line["origin"] = origin
    if matrix.meta:
        line["meta"] = dict(matrix.meta)
    return line


def matrix_from_json(value: Mapping[str, Json]) -> PassMatrix:
    """One line of a file of matrices.

    Raises:
        FormatError: naming the field.
    """
    version = value.get("v", VERSION)
    if type(version) is not int or version != VERSION:
        raise FormatError("v", f"this evosyn reads version {VERSION}", version, hint="Use the evosyn that wrote it")
    for key in value:
        if key not in FIELDS:
            raise FormatError(key, "is not a field of a recorded matrix", hint=f"Fields: {', '.join(FIELDS)}")
    name = value.get("problem_id")
    if not isinstance(name, str) or not name:
        raise FormatError("problem_id", "must be a text", name)
    see_told("problem_id", name)
    rows = value.get("verdicts")
    verdicts_MN = _letters("verdicts", rows)
    M, N = verdicts_MN.shape
    human = value.get("human")
    if human is not None and (not isinstance(human, str) or len(human) != M or not LETTERS.issuperset(human)):
        raise FormatError("human", f"must be null or {M} letters, one per solution", human)
    meta = value.get("meta") or {}
    if not isinstance(meta, dict):
        raise FormatError("meta", "must be an object", meta)
    cases_NMC = _cases(value.get("cases"), verdicts_MN)
    widths = [1] * N if cases_NMC is None else [cases_MC.shape[1] for cases_MC in cases_NMC]
    statement, payload = _problem(value.get("problem"))
    return PassMatrix(
        problem_id=name,
        verdicts_MN=verdicts_MN,
        human_M=None if human is None else np.array(list(human), dtype="<U1"),
        cases_NMC=cases_NMC,
        durations_MN=_numbers(value, "durations", (M, N), "seconds from 0"),
        copies_M=_whole(value, "copies", M, least=1),
        groups_M=_whole(value, "groups", M, least=0),
        solution_ids=_ids(value, "solution_ids", verdicts_MN),
        testing_ids=_ids(value, "testing_ids", verdicts_MN.T),
        statement=statement,
        payload=payload,
        calls_N=_of_testings(value, "calls", widths, _calls_of),
        values_NMC=_of_testings(value, "values", widths, partial(_values_of, M)),
        solution_similarity_MM=_similarity(value, "solution_similarity", M),
        testing_similarity_NN=_similarity(value, "testing_similarity", N),
        solution_logprob_M=None
        if (told := value.get("solution_logprob")) is None
        else _logprobs("solution_logprob", told, M),
        logprobs_NC=_of_testings(value, "testing_logprobs", widths, _logprobs),
        replies_N=_replies(value.get("replies"), N),
        origin=origin_from_json(value.get("origin", {})),
        meta=meta,
    )


StoredMatrix: TypeAlias = Annotated[PassMatrix, Through(matrix_from_json, matrix_to_json)]
"""A matrix in a record: on disk as a line of a file of matrices."""


def _rows(letters: Letters) -> list[str]:
    return ["".join(row) for row in letters]


def _letters(field: str, rows: Json, count: int | None = None) -> Letters:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) for row in rows):
        raise FormatError(field, "must be a list of texts, one per solution", rows)
    if count is not None and len(rows) != count:
        raise FormatError(field, f"must have {count} texts, one per solution", len(rows))
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]):
            raise FormatError(f"{field}[{index}]", f"must have {len(rows[0])} letters like the others", row)
        wrong = set(row) - LETTERS
        if wrong:
            hint = f"Letters: {', '.join(sorted(LETTERS))}"
            raise FormatError(f"{field}[{index}]", f"unknown letter {sorted(wrong)[0]!r}", row, hint=hint)
    return np.array([list(row) for row in rows], dtype="<U1")


def _cases(value: Json, verdicts_MN: Letters) -> tuple[Letters, ...] | None:
    if value is None:
        return None
    M, N = verdicts_MN.shape
    if not isinstance(value, list) or len(value) != N:
        raise FormatError("cases", f"must be a list of {N}, one per testing", value)
    found = tuple(_letters(f"cases[{index}]", rows, M) for index, rows in enumerate(value))
    for index, cases_MC in enumerate(found):
        passed_M = verdicts_MN[:, index] == Verdict.PASS.value
        wrong_M = passed_M & (cases_MC != Verdict.PASS.value).any(axis=1)
        if wrong_M.any():
            at = int(wrong_M.argmax())
            rule = f"must all be P: solution {at} passes this testing in `verdicts`"
            raise FormatError(f"cases[{index}][{at}]", rule, "".join(cases_MC[at]))
    return found


def _whole(
    line: Mapping[str, Json], field: str, M: int, *, least: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None:
    value = line.get(field)
    if value is None:
        return None
    good = isinstance(value, list) and len(value) == M
    if not good or not all(type(one) is int and least <= one < MOST for one in value):
        raise FormatError(field, f"must be {M} whole numbers from {least} to {MOST - 1}, one per solution", value)
    return np.array(value, dtype=np.int64)


def _numbers(
    line: Mapping[str, Json], field: str, shape: tuple[int, int], what: str
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    """Rows of finite numbers, none below 0."""
    value = line.get(field)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != shape[0]:
        raise FormatError(field, f"must be {shape[0]} rows of {shape[1]} {what}", value)
    for at, row in enumerate(value):
        if not isinstance(row, list) or len(row) != shape[1]:
            raise FormatError(f"{field}[{at}]", f"must be {shape[1]} {what}", row)
        for place, one in enumerate(row):
            if type(one) not in (int, float) or not 0 <= one <= sys.float_info.max:
                raise FormatError(f"{field}[{at}][{place}]", f"must be one of {shape[1]} {what}, with an end", one)
    return np.array(value, dtype=np.float64).reshape(shape)


def _told_logprobs(values: NDArray[np.float64]) -> list[float | None]:
    return [None if np.isnan(one) else round(float(one), 4) for one in values]


def _logprobs(field: str, value: Json, size: int) -> NDArray[np.float64]:
    if not isinstance(value, list) or len(value) != size:
        raise FormatError(field, f"must be {size} numbers up to 0, null where one is unknown", value)
    for at, one in enumerate(value):
        if one is not None and (type(one) not in (int, float) or not -sys.float_info.max <= one <= 0):
            raise FormatError(f"{field}[{at}]", "must be a number up to 0, or null where it is unknown", one)
    return np.array([np.nan if one is None else one for one in value], dtype=np.float64)


def _similarity(
    line: Mapping[str, Json], field: str, size: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    found = _numbers(line, field, (size, size), "numbers from 0 to 1")
    if found is None:
        return None
    for rule, wrong in (
        ("must be from 0 to 1", found > 1),
        ("must be as the other way round", abs(found - found.T) > ROUNDED),
        ("must be 1: a text is like itself", np.eye(size, dtype=bool) & (found != 1)),
    ):
        if wrong.any():
            at, place = np.argwhere(wrong)[0].tolist()
            raise FormatError(f"{field}[{at}][{place}]", rule, float(found[at, place]))
    return found


def _problem(value: Json) -> tuple[str | None, dict[str, Json] | None]:
    """Statement and payload."""
    if value is None:
        return None, None
    if not isinstance(value, dict) or not value.keys() <= {"statement", "payload"}:
        raise FormatError("problem", "must be an object with statement and payload", value)
    statement, payload = value.get("statement"), value.get("payload")
    if not isinstance(statement, str | None):
        raise FormatError("problem.statement", "must be a text or null", statement)
    if not isinstance(payload, dict | None):
        raise FormatError("problem.payload", "must be an object or null", payload)
    return statement, payload


def _replies(value: Json, N: int) -> tuple[tuple[int, ...], ...] | None:
    if value is None:
        return None
    rule = f"must be {N} lists of whole numbers from 0 to {MOST - 1}, one per column, none empty"
    if not isinstance(value, list) or len(value) != N or not all(isinstance(one, list) and one for one in value):
        raise FormatError("replies", rule, value)
    for at, one in enumerate(value):
        if not all(type(reply) is int and 0 <= reply < MOST for reply in one):
            raise FormatError(f"replies[{at}]", rule, one)
    return tuple(map(tuple, value))


def _of_testings(
    line: Mapping[str, Json], field: str, widths: Sequence[int], read: Callable[[str, Json, int], T]
) -> tuple[T | None, ...] | None:
    """What is told of each testing with its number of cases; null for one of which it is unknown."""
    value = line.get(field)
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != len(widths):
        raise FormatError(field, f"must be a list of {len(widths)}, one per testing", value)
    told = enumerate(zip(value, widths, strict=True))
    return tuple([None if own is None else read(f"{field}[{n}]", own, width) for n, (own, width) in told])


def _calls_of(field: str, calls: Json, width: int) -> ParsedCalls:
    if not isinstance(calls, list) or len(calls) != width or not all(map(_is_call, calls)):
        rule = f"must be null or {width} of [arguments, expected], or null, one per case"
        raise FormatError(field, rule, calls)
    return tuple([call and ParsedCall(*call) for call in calls])


def _is_call(value: Json) -> bool:
    if not isinstance(value, list) or len(value) != 2:
        return value is None
    return isinstance(value[0], str) and isinstance(value[1], str | None)


def _numbered(values_MC: Digests) -> dict[str, Json]:
    """Each digest once, as 16 hexadecimal digits, and for every solution where its own stand among them."""
    digests, at = np.unique(values_MC, return_inverse=True)
    return {"digests": [f"{digest:016x}" for digest in digests.tolist()], "at": at.reshape(values_MC.shape).tolist()}


def _values_of(M: int, field: str, value: Json, width: int) -> Digests:
    shape = M, width
    if not isinstance(value, dict) or value.keys() != {"digests", "at"}:
        raise FormatError(field, "must be null or an object with digests and at", value)
    digests, rows = value["digests"], value["at"]
    if not isinstance(digests, list) or not all(isinstance(one, str) and DIGEST.fullmatch(one) for one in digests):
        raise FormatError(f"{field}.digests", "must be a list of texts of 16 hexadecimal digits, lower case", digests)
    if not isinstance(rows, list) or len(rows) != shape[0]:
        raise FormatError(f"{field}.at", f"must be {shape[0]} rows, one per solution", rows)
    for at, row in enumerate(rows):
        good = isinstance(row, list) and len(row) == shape[1]
        if not good or not all(type(one) is int and 0 <= one < len(digests) for one in row):
            rule = f"must be {shape[1]} places, one per case, among the {len(digests)} digests"
            raise FormatError(f"{field}.at[{at}]", rule, row)
    known = np.array([int(one, 16) for one in digests], dtype=np.uint64)
    return np.asarray(known[np.array(rows, dtype=np.int64).reshape(shape)])


def _ids(value: Mapping[str, Json], field: str, verdicts: Letters) -> tuple[str, ...]:
    """The ids of what `verdicts` has a row each of; what was drawn several times stands there as often."""
    found, count = value.get(field), len(verdicts)
    if found is None:
        return tuple(str(index) for index in range(count))
    if not isinstance(found, list) or len(found) != count or not all(isinstance(one, str) for one in found):
        raise FormatError(field, f"must be {count} texts", found)
    places: dict[str, int] = {}
    for at, name in enumerate(found):
        see_told(f"{field}[{at}]", name)
        first = places.setdefault(name, at)
        if (verdicts[first] != verdicts[at]).any():
            raise FormatError(f"{field}[{at}]", f"stands at {first} too, with other verdicts", name)
    return tuple(found)
