"""What a strategy gets to see of one problem, made from its matrix. The human verdicts never get in here.

Which solutions are the same was said by their domain when they were executed. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evosyn.parsing import same_program
from evosyn.records import Evidence, PassMatrix, Verdict


def evidence_of(matrix: PassMatrix) -> Evidence:
    """The evidence of one matrix: verdicts, cases, durations, copies, groups and texts, but nothing human.

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
        solution_group_M=_solution_groups(matrix),
        testing_group_N=groups(matrix.testing_texts, columns),
        solution_texts=tuple(matrix.solution_texts),
        testing_texts=tuple(matrix.testing_texts),
    )


def select(evidence: Evidence, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> Evidence:
    """The evidence of a sub-matrix.

    Args:
        rows: indices of the M solutions to keep, in their new order.
        columns: indices of the N testings to keep, in their new order.
    """
    grid = np.ix_(rows, columns)
    return Evidence(
        passed_MN=evidence.passed_MN[grid],
        known_MN=evidence.known_MN[grid],
        cases_NMC=tuple(evidence.cases_NMC[n][rows] for n in columns),
        durations_MN=evidence.durations_MN[grid],
        copies_M=evidence.copies_M[rows],
        solution_group_M=evidence.solution_group_M[rows],
        testing_group_N=evidence.testing_group_N[columns],
        solution_texts=tuple(evidence.solution_texts[m] for m in rows) if evidence.solution_texts else (),
        testing_texts=tuple(evidence.testing_texts[n] for n in columns) if evidence.testing_texts else (),
    )


def _solution_groups(matrix: PassMatrix) -> NDArray[np.int64]:
    """As recorded; matrices of the time before groups were recorded hold Python programs only."""
    if matrix.groups_M is not None:
        return groups([str(group) for group in matrix.groups_M], len(matrix.groups_M))
    return groups([same_program(text) for text in matrix.solution_texts], matrix.verdicts_MN.shape[0])


def groups(texts: Sequence[str], size: int) -> NDArray[np.int64]:
    """Equal numbers for equal texts, numbered by first appearance; all different where there are no texts."""
    if not texts:
        return np.arange(size, dtype=np.int64)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)
