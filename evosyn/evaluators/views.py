"""The same problems as they would look in other pools: without texts and values, mostly right, mostly wrong solutions.

A strategy is used on matrices that it was not evolved on: of stronger and weaker models, recorded with more and with
less. What is best on one pool may be far behind elsewhere (docs/evolve.md has figures), and nothing in its score there
tells. So a search also scores what is left without texts and values, and finalists are seen from all sides (ours).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.heldout import task_of
from evosyn.randomness import SeedTree
from evosyn.records import KNOWN_VERDICTS, PassMatrix, Verdict
from evosyn.strategies.evidence import sub_matrix

FEWEST = 4
"""Problems below which a view says nothing."""
MOST = 2 / 3
"""Share of the solutions that are right, or wrong, where most are."""
UNRECORDED = "without texts and values"
MOSTLY_RIGHT, MOSTLY_WRONG = "where most solutions are right", "where most solutions are wrong"
VIEWS = (UNRECORDED, MOSTLY_RIGHT, MOSTLY_WRONG)
"""What the seeds are called when seen so."""


def views(matrices: Sequence[PassMatrix], scoring: ConsistencyConfig) -> dict[str, list[PassMatrix]]:
    """What there is of each view, by name; one of fewer than `FEWEST` problems, or like the pool, is left out.

    Args:
        scoring: a problem too small for its M and N is not in a view.
    """
    kinds: dict[str, Callable[[PassMatrix], PassMatrix | None]] = {
        UNRECORDED: unrecorded,
        MOSTLY_RIGHT: lambda matrix: _mostly(matrix, scoring, right=True),
        MOSTLY_WRONG: lambda matrix: _mostly(matrix, scoring, right=False),
    }
    found = {name: [made for matrix in matrices if (made := view(matrix)) is not None] for name, view in kinds.items()}
    return {name: some for name, some in found.items() if len(some) >= FEWEST}


def searched(matrices: Sequence[PassMatrix]) -> list[PassMatrix]:
    """What a search scores programs on: the problems, and then once more those that lose something without texts and
    values, under names that say so."""
    plain = ((matrix, unrecorded(matrix)) for matrix in matrices)
    return [*matrices, *(_named(matrix, view) for matrix, view in plain if view is not None)]


def _named(matrix: PassMatrix, view: PassMatrix) -> PassMatrix:
    meta = {**matrix.meta, "task": task_of(matrix), "view": UNRECORDED}
    return replace(view, problem_id=f"{matrix.problem_id} ({UNRECORDED})", meta=meta)


def unrecorded(matrix: PassMatrix) -> PassMatrix | None:
    """What is left where only verdicts were recorded; None where that is all there is."""
    if not matrix.solution_texts and matrix.values_NMC is None and matrix.solution_similarity_MM is None:
        return None
    return replace(
        matrix,
        solution_texts=(),
        testing_texts=(),
        solution_similarity_MM=None,
        testing_similarity_NN=None,
        values_NMC=None,
        calls_N=None,
    )


def _mostly(matrix: PassMatrix, scoring: ConsistencyConfig, *, right: bool) -> PassMatrix | None:
    """Two of three solutions right and the better half of the testings, or two of three wrong and the worse half; None
    where the problem has too few, or is like that anyway."""
    if matrix.human_M is None:
        return None
    judged = np.array([letter in KNOWN_VERDICTS for letter in matrix.human_M.tolist()])
    accepted = matrix.human_M == Verdict.PASS.value
    wanted, others = np.flatnonzero(judged & (accepted == right)), np.flatnonzero(judged & (accepted != right))
    if not len(others) or not len(wanted) or len(wanted) >= MOST * judged.sum():
        return None
    rng = SeedTree(scoring.seed).child("view", matrix.problem_id, right).rng()
    fewer = max(1, round(len(wanted) * (1 - MOST) / MOST))
    rows = np.sort(np.concatenate([wanted, rng.permutation(others)[:fewer]]))
    columns = _half(matrix.passed_MN[judged], accepted[judged], scoring.N or 2, best=right)
    if len(rows) < (scoring.M or 2) or len(columns) < (scoring.N or 2):
        return None
    return sub_matrix(matrix, rows, columns)


def _half(passed_MN: NDArray[np.bool_], human_M: NDArray[np.bool_], least: int, *, best: bool) -> NDArray[np.int64]:
    """The half of the testings, and as many as are needed, that tell right from wrong best or worst."""
    told = passed_MN[human_M].mean(axis=0) - passed_MN[~human_M].mean(axis=0)
    order = np.argsort(-told if best else told, kind="stable")
    return np.sort(order[: max(least, -(-len(order) // 2))])
