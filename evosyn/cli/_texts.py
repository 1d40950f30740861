"""Answers that several kinds of directories give, as text. Texts of models are escaped."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from evosyn.cli._output import echo

if TYPE_CHECKING:
    from evosyn.reading.conclusions import Conclusion
    from evosyn.reading.matrices import MatrixShown

LETTERS = "P pass, F wrong, E exception, T time, K killed, B broken testing, N not run, U unknown"


COLOURS = {"yes": "green", "no": "red", "unclear": "yellow", "open": "cyan", "done": "green"}
WORDS = {
    "yes": "it worked",
    "no": "it did not work",
    "unclear": "unclear",
    "open": "running or stopped",
    "done": "finished",
}


def print_conclusion(found: Conclusion) -> None:
    """Did it work, what won, why: before any figure."""
    echo(f"{WORDS[found.worked]}: ", fg=COLOURS[found.worked], bold=True, nl=False)
    echo(found.did)
    if found.won:
        echo(f"  {'ahead' if found.worked == 'open' else 'won'}: {found.won}")
    for line in found.why:
        echo(f"  why: {line}")
    echo()


def print_matrix(matrix: MatrixShown) -> None:
    """A matrix as it is asked for by itself."""
    ranked = f" ranked by {matrix.ranked_by}" if matrix.ranked_by else ""
    head(f"{matrix.problem}{ranked}: {matrix.rows} solutions x {matrix.columns} testings")
    for line in matrix_lines(matrix):
        echo(line)


def matrix_lines(matrix: MatrixShown) -> Iterator[str]:
    """The verdicts, best solutions and testings first, with their scores; > and v mark what was chosen."""
    human = any(one.human is not None for one in matrix.solutions)
    marks = "".join("v" if one.chosen else " " for one in matrix.testings)
    if human or marks.strip():
        yield f"{'':16}{marks}{'  human' if human else ''}".rstrip()
    for one in matrix.solutions:
        score = "" if one.score is None else f"{one.score:.4g}"
        mark, said = ">" if one.chosen else " ", f"  {one.human}" if one.human else ""
        yield f"{mark} s{one.m:<3}{score:>9} {one.verdicts}{said}"
    scores = [f"t{one.n} {one.score:.4g}" for one in matrix.testings if one.score is not None]
    if scores:
        yield f"testings, best first: {', '.join(scores[:8])}{', ...' if len(scores) > 8 else ''}"
    shown = len(matrix.solutions), len(matrix.testings)
    if shown != (matrix.rows, matrix.columns):
        yield f"(the first {shown[0]} x {shown[1]} of {matrix.rows} x {matrix.columns})"
    yield LETTERS


def head(text: str) -> None:
    echo(text, bold=True)
