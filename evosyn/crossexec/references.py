"""Whether the references of seed problems pass the human testings that they come with.

A seed that fails its own testing would teach a strategy the wrong lesson, so it is found before anything is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from evosyn.crossexec.judge import Cell, Judge
from evosyn.errors import InputError
from evosyn.jobs import CellResult
from evosyn.records import Pool, Problem, Solution, Verdict


class Claim(NamedTuple):
    """A source that must pass, and the field of the pool file that it stands in."""

    problem: Problem
    field: str
    source: str


def check_references(
    judge: Judge, source: str | Path, pools: Sequence[Pool], *, alternatives: bool = True
) -> list[InputError]:
    """Run every reference, and the alternatives that `meta` names, against the human testing of its problem.

    Args:
        source: the file that messages name.
        alternatives: run those too.

    Returns:
        One error per source that does not pass, in the order of the file; problems without a human testing have none.
    """
    claims = [claim for pool in pools for claim in _claims(pool.problem, alternatives)]
    cells = [
        Cell(problem, Solution(text), testing) for problem, _, text in claims if (testing := problem.human_testing)
    ]
    results = judge.verify(cells)
    return [
        _error(source, claim, result)
        for claim, result in zip(claims, results, strict=True)
        if result.verdict is not Verdict.PASS
    ]


def _claims(problem: Problem, alternatives: bool) -> Iterator[Claim]:
    if problem.human_testing is None:
        return
    if problem.reference_solution is not None:
        yield Claim(problem, "reference_solution", problem.reference_solution)
    others = problem.meta.get("alternatives") if alternatives else None
    for index, text in enumerate(others if isinstance(others, list) else []):
        if isinstance(text, str):
            yield Claim(problem, f"meta.alternatives[{index}]", text)


def _error(source: str | Path, claim: Claim, result: CellResult) -> InputError:
    failed = [str(index) for index, case in enumerate(result.cases) if case is not Verdict.PASS]
    cases = f" at case {', '.join(failed[:5])}" if failed else ""
    detail = f": {result.detail}" if result.detail else ""
    where = source if claim.problem.line else f"{source} {claim.problem.problem_id}"
    return InputError(
        where,
        f"{result.verdict.name} on the human testing{cases}{detail}",
        line=claim.problem.line or None,
        field=claim.field,
        hint="Correct the source or the testing: one of them is wrong",
    )
