"""The figures by which simulated pools are compared with recorded ones, computed from matrices alone.

The recorded rows were measured on pools of HumanEval problems, executed cell by cell: `weak` on solutions and testings
of CodeGen-16B (microsoft/CodeT), `strong` on solutions of some forty models and testings of seven; `mixed` is the mean
of both rows. Nothing is executed here: `benchmarks/calibration.py` does that, docs/offline-teacher.md shows the result.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.records import PassMatrix, Verdict

RATES: tuple[str, ...] = (
    "problems with at least one right solution",
    "share of right solutions, mean over problems",
    "share of valid testings (the reference passes)",
    "valid single checks",
    "testings that accept nobody",
    "testings that accept everybody",
    "balanced accuracy of a testing, mean",
    "balanced accuracy of the best testing in the pool",
    "a valid testing accepts a wrong solution",
    "a valid testing rejects a right solution",
)
_WEAK = (0.750, 0.228, 0.125, 0.333, 0.744, 0.000, 0.547, 0.702, 0.271, 0.036)
_STRONG = (1.000, 0.743, 0.488, 0.652, 0.437, 0.011, 0.706, 0.986, 0.088, 0.082)
RECORDED: Mapping[str, tuple[float, ...]] = {
    "weak": _WEAK,
    "mixed": tuple((low + high) / 2 for low, high in zip(_WEAK, _STRONG, strict=True)),
    "strong": _STRONG,
}
"""What each preset is fitted to, in the order of `RATES`."""
QUANTILES = (0.1, 0.25, 0.5, 0.75, 0.9)


class Measured(NamedTuple):
    """One problem's part.

    Attributes:
        right_M: the human testing passes; shape (M,).
        accepts_MN: shape (M, N).
        valid_N: the reference passes; shape (N,).
        checks: single checks of all testings, and how many of them the reference passes.
    """

    right_M: NDArray[np.bool_]
    accepts_MN: NDArray[np.bool_]
    valid_N: NDArray[np.bool_]
    checks: tuple[int, int]


def measured(matrix: PassMatrix) -> Measured:
    """Split a matrix whose last row is the reference.

    Raises:
        ValueError: the matrix lacks human verdicts or cases.
    """
    if matrix.human_M is None or matrix.cases_NMC is None:
        raise ValueError(f"matrix of {matrix.problem_id!r}: human verdicts and cases are needed")
    cases = [cases_MC[-1] for cases_MC in matrix.cases_NMC]
    return Measured(
        right_M=np.asarray(matrix.human_M[:-1] == Verdict.PASS.value),
        accepts_MN=matrix.passed_MN[:-1],
        valid_N=matrix.passed_MN[-1],
        checks=(sum(len(row) for row in cases), sum(int((row == Verdict.PASS.value).sum()) for row in cases)),
    )


def rates(problems: Sequence[Measured]) -> tuple[float, ...]:
    """The figures of `RATES`, in that order; means over problems, over those where the figure is defined."""
    right = np.array([problem.right_M.mean() for problem in problems])
    mixed = [problem for problem in problems if 0 < problem.right_M.sum() < len(problem.right_M)]
    balanced = [balanced_accuracy(problem) for problem in mixed]
    wrong_accepted = [_share(problem.accepts_MN[~problem.right_M][:, problem.valid_N]) for problem in problems]
    right_accepted = [_share(problem.accepts_MN[problem.right_M][:, problem.valid_N]) for problem in problems]
    return (
        float((right > 0).mean()),
        float(right.mean()),
        float(np.mean([problem.valid_N.mean() for problem in problems])),
        float(np.mean([passed / max(1, count) for count, passed in (problem.checks for problem in problems)])),
        float(np.mean([(~problem.accepts_MN.any(axis=0)).mean() for problem in problems])),
        float(np.mean([problem.accepts_MN.all(axis=0).mean() for problem in problems])),
        float(np.mean([values.mean() for values in balanced])),
        float(np.mean([values.max() for values in balanced])),
        float(np.nanmean(wrong_accepted)),
        1.0 - float(np.nanmean(right_accepted)),
    )


def balanced_accuracy(problem: Measured) -> NDArray[np.float64]:
    """Of each testing, shape (N,): mean of the shares of right solutions accepted and of wrong ones rejected."""
    accepted_N = problem.accepts_MN[problem.right_M].mean(axis=0)
    rejected_N = 1.0 - problem.accepts_MN[~problem.right_M].mean(axis=0)
    return np.asarray((accepted_N + rejected_N) / 2.0)


def separation(problems: Sequence[Measured]) -> float:
    """How well the plain number of passes tells right solutions from wrong ones of the same problem (area under curve).

    The recorded weak pool has 0.67; mean over problems with both kinds.
    """
    found = []
    for problem in problems:
        passes_M = problem.accepts_MN.sum(axis=1)
        right, wrong = passes_M[problem.right_M], passes_M[~problem.right_M]
        if len(right) and len(wrong):
            found.append(float(((right[:, None] > wrong) + 0.5 * (right[:, None] == wrong)).mean()))
    return float(np.mean(found))


def spread(problems: Sequence[Measured]) -> dict[str, tuple[float, ...]]:
    """Quantiles (`QUANTILES`) over problems of the shares of right solutions and of valid testings."""
    return {
        "right solutions": tuple(np.quantile([problem.right_M.mean() for problem in problems], QUANTILES)),
        "valid testings": tuple(np.quantile([problem.valid_N.mean() for problem in problems], QUANTILES)),
    }


def _share(cells: NDArray[np.bool_]) -> float:
    return float(cells.mean()) if cells.size else float("nan")
