"""Auditing a dataset against people: how good are the kept testings where human ones exist?

Two questions, both answered by execution. *Validity*: does the chosen testing accept a solution that the human testing
accepts (the reference, or any solution of the pool)? *Agreement*: over all solutions drawn for the problem, does it
accept exactly whom the human testing accepts? Problems are matched by statement, so a synthesis over known problems, or
a human pool written for a synthesis afterwards, both work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evosyn.dataset import Sample
from evosyn.errors import UsageError
from evosyn.ports import Crossexec
from evosyn.records import KNOWN_VERDICTS, Json, Pool, Solution, Verdict
from evosyn.textual import words


@dataclass(frozen=True)
class Audited:
    """One row of the audit.

    Attributes:
        valid: the chosen testing accepts the reference (None if there is none to run, or that is unknown).
        true_accepts, false_accepts, true_refusals, false_refusals: solutions, by the human verdict; those of which one
            of the two verdicts is unknown are left out.
        best_right: the human testing accepts the chosen solution; None where that is unknown.
    """

    sample_id: str
    problem_id: str
    valid: bool | None
    true_accepts: int
    false_accepts: int
    true_refusals: int
    false_refusals: int
    best_right: bool | None


def audit(
    samples: Sequence[Sample], candidates: Mapping[str, Pool], humans: Sequence[Pool], crossexec: Crossexec
) -> list[Audited]:
    """Execute the kept testings and the human ones over the drawn solutions.

    Args:
        samples: rows of one setting.
        candidates: pools of the dataset directory by problem name.
        humans: problems with human testings.

    Raises:
        UsageError: no problem of the dataset has a human testing in `humans`.
    """
    known = {_key(pool.problem.statement): pool.problem for pool in humans if pool.problem.human_testing is not None}
    matched = [(sample, known[_key(sample.statement)]) for sample in samples if _key(sample.statement) in known]
    if not matched:
        raise UsageError(
            "--against: no problem of this dataset has a human testing in that pool; problems are matched by statement"
        )
    items = []
    for sample, problem in matched:
        solutions = [*candidates[sample.problem_id].solutions]
        if problem.reference_solution is not None:
            solutions.append(Solution(problem.reference_solution))
        executed = replace(sample.problem, human_testing=problem.human_testing)
        items.append((executed, solutions, [sample.chosen_testing]))
    matrices = crossexec.matrices(items)
    rows = []
    for (sample, problem), matrix in zip(matched, matrices, strict=True):
        if matrix.human_M is None:
            raise UsageError(f"problem {sample.problem_id}: its human testing was not executed")
        drawn = [one.text for one in candidates[sample.problem_id].solutions]
        letters = zip(matrix.verdicts_MN[:, 0], matrix.human_M, strict=True)
        pairs = [(Verdict(kept), Verdict(human)) for kept, human in letters]
        valid = _accepts(pairs[-1][0]) if problem.reference_solution is not None else None
        rows.append(_row(sample, valid, pairs[: len(drawn)], drawn.index(sample.solution)))
    return rows


def summary(rows: Sequence[Audited]) -> dict[str, Json]:
    """Precision and agreement over the audited rows; shares are None where nothing was there to divide by."""
    sums = {
        name: sum(getattr(row, name) for row in rows)
        for name in ("true_accepts", "false_accepts", "true_refusals", "false_refusals")
    }
    with_reference = [row.valid for row in rows if row.valid is not None]
    best = [row.best_right for row in rows if row.best_right is not None]
    exact = [row.false_accepts == row.false_refusals == 0 for row in rows]
    return {
        "audited": len(rows),
        "valid": _share(sum(with_reference), len(with_reference)),
        "exact": _share(sum(exact), len(exact)),
        "accept_precision": _share(sums["true_accepts"], sums["true_accepts"] + sums["false_accepts"]),
        "accept_recall": _share(sums["true_accepts"], sums["true_accepts"] + sums["false_refusals"]),
        "balanced_accuracy": _balanced(sums),
        "best_solution_right": _share(sum(best), len(best)),
        **sums,
    }


def _row(sample: Sample, valid: bool | None, verdicts: Sequence[tuple[Verdict, Verdict]], best: int) -> Audited:
    """
    Args:
        verdicts: of each drawn solution, by the kept testing and by the human one.
    """
    counts = Counter((_accepts(kept), _accepts(human)) for kept, human in verdicts)
    return Audited(
        sample_id=sample.id,
        problem_id=sample.problem_id,
        valid=valid,
        true_accepts=counts[True, True],
        false_accepts=counts[True, False],
        true_refusals=counts[False, False],
        false_refusals=counts[False, True],
        best_right=_accepts(verdicts[best][1]),
    )


def _accepts(verdict: Verdict) -> bool | None:
    return verdict is Verdict.PASS if verdict in KNOWN_VERDICTS else None


def _balanced(sums: Mapping[str, int]) -> float | None:
    right = _share(sums["true_accepts"], sums["true_accepts"] + sums["false_refusals"])
    wrong = _share(sums["true_refusals"], sums["true_refusals"] + sums["false_accepts"])
    return None if right is None or wrong is None else round((right + wrong) / 2, 4)


def _share(part: int, whole: int) -> float | None:
    return None if whole == 0 else round(part / whole, 4)


def _key(statement: str) -> str:
    return " ".join(words(statement))
