"""The same problems as they would look in other pools: one that recorded verdicts only, one of a model that is right.

A strategy is used on matrices that it was not evolved on, and nothing in its score tells how it does there. Two things
were found to decide it (docs/evolve.md has figures). What is best on a pool with texts and values may be far behind a
plain rule where there are none. And on a weak model's pool no draw holds right solutions only: what is best there lets
its testing reject the solution that it ranks last, which is wrong wherever all are right, as they often are in a strong
model's pool. So a search scores programs there too, and a finalist that falls behind gives way (ours).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from evosyn.evaluators.heldout import task_of
from evosyn.records import PassMatrix, Verdict
from evosyn.strategies.evidence import sub_matrix

UNRECORDED = "without texts and values"
ONLY_RIGHT = "right solutions only"
MOST_RIGHT = 4
"""One problem of so many is shown with right solutions only: programs should do well there, and be best elsewhere."""


def searched(matrices: Sequence[PassMatrix], solutions: int | None) -> list[PassMatrix]:
    """What a search scores programs on: the problems, and then those once more of which there is another view, under
    names that say so.

    Args:
        solutions: of a draw; None where it takes all.
    """
    views = [
        *((UNRECORDED, one) for one in plain(matrices)),
        *((ONLY_RIGHT, one) for one in right(matrices, solutions)),
    ]
    return [*matrices, *(_named(matrix, view) for view, matrix in views)]


def plain(matrices: Sequence[PassMatrix]) -> list[PassMatrix]:
    """Those that lose something without texts and values, without them."""
    return [unrecorded(matrix) for matrix in matrices if _recorded(matrix)]


def unrecorded(matrix: PassMatrix) -> PassMatrix:
    """What is left where only verdicts were recorded."""
    return replace(
        matrix,
        solution_texts=(),
        testing_texts=(),
        solution_similarity_MM=None,
        testing_similarity_NN=None,
        values_NMC=None,
        calls_N=None,
    )


def right(matrices: Sequence[PassMatrix], solutions: int | None) -> list[PassMatrix]:
    """Those that have enough right solutions for a draw, without their wrong ones; none where that takes nothing away.

    Args:
        solutions: of a draw; None where it takes all, two at least.
    """
    return list(_right(matrices, solutions or 2))


def _right(matrices: Sequence[PassMatrix], least: int) -> Iterator[PassMatrix]:
    for matrix in matrices:
        letters = [] if matrix.human_M is None else matrix.human_M.tolist()
        rows = np.array([row for row, letter in enumerate(letters) if letter == Verdict.PASS.value], dtype=np.int64)
        if least <= len(rows) < len(letters):
            yield sub_matrix(matrix, rows, np.arange(matrix.verdicts_MN.shape[1]))


def _recorded(matrix: PassMatrix) -> bool:
    more = (matrix.values_NMC, matrix.calls_N, matrix.solution_similarity_MM, matrix.testing_similarity_NN)
    return bool(matrix.solution_texts or matrix.testing_texts) or any(one is not None for one in more)


def _named(matrix: PassMatrix, view: str) -> PassMatrix:
    meta = {**matrix.meta, "task": task_of(matrix), "view": view, "original": matrix.problem_id}
    return replace(matrix, problem_id=f"{matrix.problem_id} ({view})", meta=meta)
