"""A pass matrix as an answer: best solutions and testings first, their texts, and what was chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from evosyn.errors import PUT_BACK, CorruptRun, InputError, UsageError
from evosyn.matrices import load_matrices, matrix_files
from evosyn.reading.checks import CheckShown, checks_judged, program_of
from evosyn.records import PassMatrix, Ranking

WIDEST = 64
"""Rows and columns that an answer holds."""


@dataclass(frozen=True)
class MatrixRow:
    """One solution; `verdicts` has a letter for each testing that is shown, `human` is the human testing's."""

    m: int
    score: float | None
    chosen: bool
    verdicts: str
    human: str | None
    text: str | None


@dataclass(frozen=True)
class MatrixColumn:
    """One testing.

    Attributes:
        checks: what it asks and expects, with the verdicts of the best and the worst solution.
        program: its text where that is no list of checks.
    """

    n: int
    score: float | None
    chosen: bool
    checks: tuple[CheckShown, ...]
    program: str | None


@dataclass(frozen=True)
class MatrixShown:
    """A matrix of `rows` x `columns`, of which the best `WIDEST` of each are held.

    Attributes:
        ranked_by: the strategy whose scores stand here; None where nothing was ranked.
        worst: the solution that is ranked last.
    """

    problem: str
    ranked_by: str | None
    digest: str
    rows: int
    columns: int
    worst: int
    solutions: tuple[MatrixRow, ...]
    testings: tuple[MatrixColumn, ...]


def shown_matrix(
    matrix: PassMatrix,
    ranking: Ranking | None = None,
    *,
    by: str | None = None,
    best: int | None = None,
    testing: int | None = None,
    joined: Sequence[int] = (),
) -> MatrixShown:
    """
    Args:
        best, testing: what was chosen; it stands first among its equals.
        joined: columns that were joined with it.
    """
    rows, columns = matrix.verdicts_MN.shape
    scores_M = None if ranking is None else ranking.solution_scores_M.tolist()
    scores_N = None if ranking is None else ranking.testing_scores_N.tolist()
    order_M, order_N = _order(scores_M, rows, best), _order(scores_N, columns, testing)[:WIDEST]
    return MatrixShown(
        problem=matrix.problem_id,
        ranked_by=by,
        digest=matrix.digest,
        rows=rows,
        columns=columns,
        worst=order_M[-1],
        solutions=tuple(
            MatrixRow(
                m=m,
                score=None if scores_M is None else scores_M[m],
                chosen=m == best,
                verdicts="".join(str(matrix.verdicts_MN[m, n]) for n in order_N),
                human=None if matrix.human_M is None else str(matrix.human_M[m]),
                text=_at(matrix.solution_texts, m),
            )
            for m in order_M[:WIDEST]
        ),
        testings=tuple(
            MatrixColumn(
                n=n,
                score=None if scores_N is None else scores_N[n],
                chosen=n == testing or n in joined,
                checks=checks_judged(matrix, n, order_M[0], order_M[-1]),
                program=program_of(_at(matrix.testing_texts, n)),
            )
            for n in order_N
        ),
    )


def stored_matrices(folder: Path) -> list[PassMatrix]:
    """All matrices that a directory holds.

    Raises:
        UsageError: none yet.
        CorruptRun: a file of them is damaged.
    """
    files = matrix_files(folder)
    if not files:
        raise UsageError(
            f"{folder}: holds no matrices; give a run of `evosyn evolve` or `evosyn crossexec`, or a pool file"
        )
    try:
        return [matrix for file in files for matrix in load_matrices(file)]
    except InputError as error:
        raise CorruptRun(f"{error}. {PUT_BACK}") from error


def matrix_of(matrices: Sequence[PassMatrix], problem: str) -> PassMatrix:
    """
    Raises:
        UsageError: no such problem.
    """
    found = {matrix.problem_id: matrix for matrix in matrices}
    if problem not in found:
        names = sorted(found)
        more = f" and {len(names) - 8} more" if len(names) > 8 else ""
        raise UsageError(f"matrix of {problem!r}: no such problem here; there are {', '.join(names[:8])}{more}")
    return found[problem]


def _order(scores: Sequence[float] | None, size: int, first: int | None) -> list[int]:
    order = range(size) if scores is None else sorted(range(size), key=lambda at: (-scores[at], at != first, at))
    return list(order)


def _at(texts: Sequence[str], place: int) -> str | None:
    return texts[place] if texts else None
