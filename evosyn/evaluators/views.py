"""The same problems as they would look in other pools: one that recorded verdicts only, one of a model that is right.

A strategy is used on matrices that it was not evolved on, and nothing in its score tells how it does there. Two things
were found to decide it (docs/evolve.md has figures). What is best on a pool with texts and values may be far behind a
plain rule where there are none. And on a weak model's pool no draw holds right solutions only: what is best there lets
its testing reject the solution that it ranks last, which is wrong wherever all are right, as they often are in a strong
model's pool. So a search scores programs there too, and a finalist that falls behind gives way (ours).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evosyn.evaluators.heldout import JUDGED_VERDICTS, pool_of, task_of
from evosyn.randomness import SeedTree
from evosyn.records import PassMatrix, Verdict
from evosyn.strategies.evidence import sub_matrix

UNRECORDED = "without texts and values"
ONLY_RIGHT = "right solutions only"
RIGHT_UNRECORDED = "right solutions only, without texts and values"
WITHOUT = frozenset({UNRECORDED, RIGHT_UNRECORDED})
"""Views that show no texts and values."""
OFTEN = 0.05
"""Share of a pool's own draws that hold right solutions only from which on no view of it is needed."""
MOST_RIGHT = 4
"""One problem of so many is shown with right solutions only: programs should do well there, and be best elsewhere."""


def searched(matrices: Sequence[PassMatrix], solutions: int | None) -> list[PassMatrix]:
    """What a search scores programs on: the problems, and then those once more of which there is another view, under
    names that say so.

    Args:
        solutions: of a draw; None where it takes all.
    """
    drawn = sorted(right(matrices, solutions), key=lambda one: SeedTree(0).child(ONLY_RIGHT, one.problem_id).integer())
    some = drawn[: max(1, len(matrices) // MOST_RIGHT)]
    views = {UNRECORDED: plain(matrices), ONLY_RIGHT: some, RIGHT_UNRECORDED: plain(some)}
    return [*matrices, *(_named(matrix, view) for view, shown in views.items() for matrix in shown)]


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
        solution_logprob_M=None,
        logprobs_NC=None,
        values_NMC=None,
        calls_N=None,
    )


def right(matrices: Sequence[PassMatrix], solutions: int | None) -> list[PassMatrix]:
    """Those that have enough right solutions for a draw, without their wrong ones; none of a pool whose own draws hold
    right solutions only often enough.

    Args:
        solutions: of a draw; None where it takes all, two at least.
    """
    pools: dict[str, list[PassMatrix]] = {}
    for matrix in matrices:
        pools.setdefault(pool_of(matrix), []).append(matrix)
    told = {name for name, some in pools.items() if np.mean([_all_right(one, solutions) for one in some]) >= OFTEN}
    return [
        sub_matrix(matrix, rows, np.arange(matrix.verdicts_MN.shape[1]))
        for matrix in matrices
        if pool_of(matrix) not in told
        and (solutions or 2) <= len(rows := _right_rows(matrix)) < len(matrix.verdicts_MN)
    ]


def _right_rows(matrix: PassMatrix) -> NDArray[np.int64]:
    letters = [] if matrix.human_M is None else matrix.human_M.tolist()
    return np.array([row for row, letter in enumerate(letters) if letter == Verdict.PASS.value], dtype=np.int64)


def _all_right(matrix: PassMatrix, solutions: int | None) -> float:
    """The chance that a draw of a problem holds right solutions only; without those whose human verdict is unknown."""
    judged = 0 if matrix.human_M is None else int(np.isin(matrix.human_M, [one.value for one in JUDGED_VERDICTS]).sum())
    drawn = min(solutions or judged, judged)
    return math.comb(len(_right_rows(matrix)), drawn) / math.comb(judged, drawn) if drawn else 0.0


def _recorded(matrix: PassMatrix) -> bool:
    more = (
        matrix.values_NMC, matrix.calls_N, matrix.solution_similarity_MM, matrix.testing_similarity_NN,
        matrix.solution_logprob_M, matrix.logprobs_NC,
    )  # fmt: skip
    return bool(matrix.solution_texts or matrix.testing_texts) or any(one is not None for one in more)


def _named(matrix: PassMatrix, view: str) -> PassMatrix:
    origin = matrix.origin._replace(task=task_of(matrix), view=view, original=matrix.problem_id)
    return replace(matrix, problem_id=f"{matrix.problem_id} ({view})", origin=origin)
