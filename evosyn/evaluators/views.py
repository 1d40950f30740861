"""The same problems as they would look in a pool that recorded verdicts only.

A strategy is used on matrices that it was not evolved on, and what is best on a pool with texts and values may be far
behind a plain rule where there are none; nothing in its score tells (docs/evolve.md has figures). So a search scores
what is left of a program there too, and a finalist that falls behind gives way (ours).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.evaluators.heldout import task_of
from evosyn.records import PassMatrix

UNRECORDED = "without texts and values"


def searched(matrices: Sequence[PassMatrix]) -> list[PassMatrix]:
    """What a search scores programs on: the problems, and then once more those that lose something without texts and
    values, under names that say so."""
    return [*matrices, *(_named(matrix) for matrix in plain(matrices))]


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


def _recorded(matrix: PassMatrix) -> bool:
    more = (matrix.values_NMC, matrix.calls_N, matrix.solution_similarity_MM, matrix.testing_similarity_NN)
    return bool(matrix.solution_texts or matrix.testing_texts) or any(one is not None for one in more)


def _named(matrix: PassMatrix) -> PassMatrix:
    meta = {**matrix.meta, "task": task_of(matrix), "view": UNRECORDED}
    return replace(matrix, problem_id=f"{matrix.problem_id} ({UNRECORDED})", meta=meta)
