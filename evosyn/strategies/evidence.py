"""What a strategy gets to see of one problem, made from its matrix. The human verdicts never get in here.

Source texts are compared as syntax trees, so that two spellings of one program share a group; they are parsed, never
run. DESIGN.md section 5, "Strategy".
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from evosyn.parsing import parsed
from evosyn.records import Evidence, PassMatrix, Verdict

LONGEST_PARSED = 20_000
"""Longer texts are compared as they are."""


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
        solution_group_M=groups([normalised_source(text) for text in matrix.solution_texts], rows),
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


def groups(texts: Sequence[str], size: int) -> NDArray[np.int64]:
    """Equal numbers for equal texts, numbered by first appearance; all different where there are no texts."""
    if not texts:
        return np.arange(size, dtype=np.int64)
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(text, len(numbers)) for text in texts], dtype=np.int64)


def normalised_source(text: str) -> str:
    """A text that is equal for sources with the same syntax tree; the source itself where it does not parse."""
    if len(text) > LONGEST_PARSED:
        return text
    try:
        return ast.dump(parsed(text), annotate_fields=False)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
