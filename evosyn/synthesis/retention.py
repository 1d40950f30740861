"""How many problems survive pruning at each M = N, by subsampling one pool: the trade of figure 4b.

Executions are those that a synthesis of that size needs, M x N a problem; here they were made once. Du 2025 (EvoSyn),
section 4.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from evosyn.errors import UsageError
from evosyn.evaluators.columns import ranked_columns
from evosyn.evaluators.heldout import pool_of, task_of
from evosyn.evaluators.intervals import Interval, bootstrap
from evosyn.ports import StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.records import Invalid, PassMatrix, Unit, Verdict
from evosyn.strategies.evidence import evidence_of, sub_matrix
from evosyn.synthesis.prune import PruneConfig, decide


@dataclass(frozen=True)
class SizeRow:
    """One size.

    Attributes:
        problems: that were subsampled at every size.
        kept, interval: mean share of problems kept, over draws; None where they are too few for an interval.
        relaxed: the same without zero-variance pruning.
        executions: for all problems once, M x N each.
        testing_balanced_accuracy, top_right: of the kept instances, against the human verdicts; NaN without them.
    """

    size: int
    problems: int
    kept: float
    interval: Interval | None
    relaxed: float
    executions: int
    testing_balanced_accuracy: float
    top_right: float


def ablate_size(
    runner: StrategyRunner,
    matrices: Sequence[PassMatrix],
    program: str,
    sizes: Sequence[int],
    draws: int,
    seed: int,
    unit: Unit = "case",
) -> list[SizeRow]:
    """Retention at each size that some problem has, on the problems that have enough for the largest of these.

    Args:
        unit: what is ranked.

    Raises:
        UsageError: no problem is large enough, or the strategy is invalid.
    """
    fitting = [size for size in sizes if any(min(matrix.verdicts_MN.shape) >= size for matrix in matrices)]
    if not fitting:
        raise UsageError(f"no problem has {min(sizes)} solutions and {min(sizes)} testings; choose smaller --sizes")
    usable = [matrix for matrix in matrices if min(matrix.verdicts_MN.shape) >= max(fitting)]
    tree = SeedTree(seed)
    return [_row(runner, usable, program, _Size(size, draws, unit), tree.child("size", size)) for size in fitting]


class _Size(NamedTuple):
    size: int
    draws: int
    unit: Unit


class LogLinear(NamedTuple):
    """A line through the share of problems kept over log2 of the executions.

    Attributes:
        per_doubling: share gained by twice as many executions; r_squared: how much of the variance it explains.
    """

    per_doubling: float
    intercept: float
    r_squared: float

    def at(self, executions: float) -> float:
        return self.intercept + self.per_doubling * float(np.log2(executions))


def log_linear(rows: Sequence[SizeRow]) -> LogLinear | None:
    """Whether usable data grow with the logarithm of the executions, as Du 2025 says (section 4.2); None for fewer than
    three sizes, through which any line goes."""
    if len(rows) < 3:
        return None
    x, y = np.log2([row.executions for row in rows]), np.array([row.kept for row in rows])
    slope, intercept = np.polyfit(x, y, 1)
    total = float(((y - y.mean()) ** 2).sum())
    left = float(((y - intercept - slope * x) ** 2).sum())
    return LogLinear(float(slope), float(intercept), 1.0 if total == 0 else 1 - left / total)


def _row(runner: StrategyRunner, matrices: Sequence[PassMatrix], program: str, asked: _Size, tree: SeedTree) -> SizeRow:
    size, draws, unit = asked
    parts = [part for matrix in matrices for part in _parts(matrix, size, draws, tree.child(matrix.problem_id))]
    drawn = [ranked_columns(part, unit) for part in parts]
    (rankings,) = runner.rank([program], [evidence_of(part) for part in drawn], [task_of(part) for part in drawn])
    if isinstance(rankings, Invalid):
        raise UsageError(f"the strategy is invalid: {rankings.reason}")
    accuracy: list[float | None] = []
    kept, relaxed, right = [], [], []
    for number, (part, ranking) in enumerate(zip(drawn, rankings, strict=True)):
        decision = decide(part, ranking, PruneConfig(), tree.child("decide", number))
        kept.append("evosyn" not in decision.dropped_from)
        relaxed.append("relaxed" not in decision.dropped_from)
        if kept[-1] and decision.chosen is not None and part.human_M is not None:
            accuracy.append(balanced_accuracy(part, *decision.columns))
            right.append(float(part.human_M[decision.chosen.best] == Verdict.PASS.value))
    per_problem = np.array(kept, dtype=float).reshape(len(matrices), draws).mean(axis=1)
    return SizeRow(
        size=size,
        problems=len(matrices),
        kept=float(per_problem.mean()),
        interval=bootstrap(per_problem, tree.root, [*map(task_of, matrices)], [*map(pool_of, matrices)]),
        relaxed=float(np.mean(relaxed)),
        executions=size * size * len(matrices),
        testing_balanced_accuracy=_mean(accuracy),
        top_right=_mean(right),
    )


def _parts(matrix: PassMatrix, size: int, draws: int, tree: SeedTree) -> Iterator[PassMatrix]:
    rows, columns = matrix.verdicts_MN.shape
    for number in range(draws):
        rng = tree.child(number).rng()
        yield sub_matrix(matrix, rng.permutation(rows)[:size], rng.permutation(columns)[:size])


def balanced_accuracy(matrix: PassMatrix, *columns: int) -> float | None:
    """Of columns joined, against the human verdicts; None where there are none, or all solutions are alike."""
    right_M = None if matrix.human_M is None else matrix.human_M == Verdict.PASS.value
    if right_M is None or right_M.all() or not right_M.any():
        return None
    accepted_M = np.asarray(matrix.passed_MN[:, columns].all(axis=1))
    return float((accepted_M[right_M].mean() + (~accepted_M[~right_M]).mean()) / 2)


def _mean(values: Sequence[float | None]) -> float:
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else float("nan")
