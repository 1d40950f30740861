"""Recorded matrices on disk: JSON lines, one problem a line, letters per solution and testing. DESIGN.md section 4.

A matrix read back holds no texts: strategies see verdicts only, and nothing can be executed again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import numpy as np

from evosyn.errors import InputError
from evosyn.jsonlines import read_lines, write_lines
from evosyn.records import Json, Letters, PassMatrix, Verdict
from evosyn.testings import FormatError

VERSION = 2
"""2 records which solutions are the same (`groups`); files of version 1 are read."""
LETTERS = frozenset(verdict.value for verdict in Verdict)
FIELDS = (
    "v", "problem_id", "verdicts", "human", "cases", "copies", "groups", "durations", "solution_ids",
    "testing_ids", "meta",
)  # fmt: skip


def is_matrices_file(path: str | Path) -> bool:
    """Whether the first line of a file is a matrix; False for bundled pools.

    Raises:
        InputError: missing, empty or not JSON lines.
    """
    if str(path).startswith("builtin:"):
        return False
    first = next(read_lines(Path(path))).value
    return "verdicts" in first and "statement" not in first


def load_matrices(path: str | Path) -> list[PassMatrix]:
    """All matrices of a file, validated.

    Raises:
        InputError: naming file, line, field, value and what to do.
    """
    return list(iter_matrices(path))


def iter_matrices(path: str | Path) -> Iterator[PassMatrix]:
    """The same, one at a time."""
    path = Path(path)
    first_seen: dict[str, int] = {}
    for number, value in read_lines(path):
        try:
            matrix = matrix_from_json(value)
        except FormatError as error:
            raise InputError(
                path, error.reason, line=number, field=error.field, value=error.value, hint=error.hint
            ) from error
        name = matrix.problem_id
        if name in first_seen:
            hint = f"It stands in line {first_seen[name]} already"
            raise InputError(path, "duplicate id", line=number, field="problem_id", value=name, hint=hint)
        first_seen[name] = number
        yield matrix


def write_matrices(path: str | Path, matrices: Iterable[PassMatrix]) -> int:
    """Write a file of matrices atomically (gzip if it ends with `.gz`); returns their number."""
    return write_lines(Path(path), (matrix_to_json(matrix) for matrix in matrices))


def matrix_to_json(matrix: PassMatrix) -> dict[str, Json]:
    """The line of a matrix: verdicts, human verdicts, cases, copies, durations in seconds, ids and meta; no texts."""
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
    if matrix.meta:
        line["meta"] = dict(matrix.meta)
    return line


def matrix_from_json(value: Mapping[str, Json]) -> PassMatrix:
    """One line of a file of matrices.

    Raises:
        FormatError: naming the field.
    """
    if value.get("v", VERSION) not in range(1, VERSION + 1):
        hint = "Use the evosyn that wrote it"
        raise FormatError("v", f"this evosyn reads versions 1 to {VERSION}", value["v"], hint=hint)
    for key in value:
        if key not in FIELDS:
            raise FormatError(key, "is not a field of a recorded matrix", hint=f"Fields: {', '.join(FIELDS)}")
    name = value.get("problem_id")
    if not isinstance(name, str) or not name:
        raise FormatError("problem_id", "must be a text", name)
    rows = value.get("verdicts")
    verdicts_MN = _letters("verdicts", rows)
    M, N = verdicts_MN.shape
    human = value.get("human")
    if human is not None and (not isinstance(human, str) or len(human) != M or not LETTERS.issuperset(human)):
        raise FormatError("human", f"must be null or {M} letters, one per solution", human)
    meta = value.get("meta") or {}
    if not isinstance(meta, dict):
        raise FormatError("meta", "must be an object", meta)
    return PassMatrix(
        problem_id=name,
        verdicts_MN=verdicts_MN,
        human_M=None if human is None else np.array(list(human), dtype="<U1"),
        cases_NMC=_cases(value.get("cases"), M, N),
        durations_MN=_durations(value.get("durations"), M, N),
        copies_M=_whole(value, "copies", M, least=1),
        groups_M=_whole(value, "groups", M, least=0),
        solution_ids=_ids(value, "solution_ids", M),
        testing_ids=_ids(value, "testing_ids", N),
        meta=meta,
    )


def _rows(letters: Letters) -> list[str]:
    return ["".join(row) for row in letters]


def _letters(field: str, rows: Json, count: int | None = None) -> Letters:
    if not isinstance(rows, list) or not rows or not all(isinstance(row, str) for row in rows):
        raise FormatError(field, "must be a list of texts, one per solution", rows)
    if count is not None and len(rows) != count:
        raise FormatError(field, f"must have {count} texts, one per solution", len(rows))
    for index, row in enumerate(rows):
        if len(row) != len(rows[0]) or not row:
            raise FormatError(f"{field}[{index}]", f"must have {len(rows[0]) or 'some'} letters like the others", row)
        wrong = set(row) - LETTERS
        if wrong:
            hint = f"Letters: {', '.join(sorted(LETTERS))}"
            raise FormatError(f"{field}[{index}]", f"unknown letter {sorted(wrong)[0]!r}", row, hint=hint)
    return np.array([list(row) for row in rows], dtype="<U1")


def _cases(value: Json, M: int, N: int) -> tuple[Letters, ...] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != N:
        raise FormatError("cases", f"must be a list of {N}, one per testing", value)
    return tuple(_letters(f"cases[{index}]", rows, M) for index, rows in enumerate(value))


def _whole(
    line: Mapping[str, Json], field: str, M: int, *, least: int
) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]] | None:
    value = line.get(field)
    if value is None:
        return None
    good = isinstance(value, list) and len(value) == M
    if not good or not all(type(one) is int and least <= one < 2**63 for one in value):
        raise FormatError(field, f"must be {M} whole numbers from {least}, one per solution", value)
    return np.array(value, dtype=np.int64)


def _durations(value: Json, M: int, N: int) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]] | None:
    if value is None:
        return None
    try:
        durations_MN = np.array(value, dtype=np.float64)
    except (ValueError, TypeError, OverflowError) as error:
        raise FormatError("durations", f"must be {M} x {N} seconds", value) from error
    if durations_MN.shape != (M, N) or not np.isfinite(durations_MN).all():
        raise FormatError("durations", f"must be {M} x {N} seconds", durations_MN.shape)
    return durations_MN


def _ids(value: Mapping[str, Json], field: str, count: int) -> tuple[str, ...]:
    found = value.get(field)
    if found is None:
        return tuple(str(index) for index in range(count))
    if not isinstance(found, list) or len(found) != count or not all(isinstance(one, str) for one in found):
        raise FormatError(field, f"must be {count} texts", found)
    return tuple(found)
