"""Whether the references of seed problems pass the human testings that they come with.

A seed that fails its own testing would teach a strategy the wrong lesson, so it is found before anything is spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from evosyn.crossexec.grid import canaries_of
from evosyn.crossexec.judge import Cell, Judge
from evosyn.errors import InputError
from evosyn.jobs import CellResult
from evosyn.records import Pool, Problem, Solution, Verdict
from evosyn.sandbox.packages import UNSEEN

TESTING = "human_testing"


class Claim(NamedTuple):
    """A source that must pass, and the field of the pool file that it stands in; in the field of the human testing, a
    solution that must not pass."""

    problem: Problem
    field: str
    source: str


def check_references(judge: Judge, source: str | Path, pools: Sequence[Pool]) -> list[InputError]:
    """Run every reference, and the alternatives that `meta` names, against the human testing of its problem.

    Args:
        source: the file that messages name.

    Returns:
        In the order of the file, one error per source that does not pass, and one per human testing that cannot run or
        accepts a solution that is surely wrong; problems without a human testing have none.

    Raises:
        UnavailableError: one could not be judged.
    """
    claims = [claim for pool in pools for claim in _claims(judge, pool.problem)]
    cells = [
        Cell(problem, Solution(text), testing) for problem, _, text in claims if (testing := problem.human_testing)
    ]
    found: dict[tuple[str, str], InputError] = {}
    for claim, result in zip(claims, judge.decided(cells), strict=True):
        broken, canary = result.verdict is Verdict.BROKEN, claim.field == TESTING
        if canary and not broken and result.verdict is not Verdict.PASS:
            continue
        if broken or canary or result.verdict is not Verdict.PASS:
            field = TESTING if broken else claim.field
            found.setdefault((claim.problem.problem_id, field), _error(source, claim._replace(field=field), result))
    return list(found.values())


def check_telling(judge: Judge, source: str | Path, pools: Sequence[Pool]) -> list[InputError]:
    """Human testings that every recorded solution passes, of two or more: they tell no solution from another."""
    rows = []
    for pool in pools:
        problem, distinct = pool.problem, {one.text: one for one in pool.solutions}
        if problem.human_testing is not None and len(distinct) >= 2:
            rows.append([Cell(problem, one, problem.human_testing) for one in distinct.values()])
    results = iter(judge.verify([cell for cells in rows for cell in cells]))
    found = []
    for cells in rows:
        verdicts = {result.verdict for result in islice(results, len(cells))}
        if verdicts == {Verdict.PASS}:
            text = f"accepts all {len(cells)} recorded solutions, so it tells none from another"
            found.append(_at(source, cells[0].problem, TESTING, text, "See that it is strict enough"))
    return found


def _claims(judge: Judge, problem: Problem) -> Iterator[Claim]:
    if problem.human_testing is None:
        return
    for canary in canaries_of(judge.domains[problem.domain], problem, [problem.human_testing]):
        yield Claim(problem, TESTING, canary.text)
    if problem.reference_solution is not None:
        yield Claim(problem, "reference_solution", problem.reference_solution)
    others = problem.meta.get("alternatives")
    for index, text in enumerate(others if isinstance(others, list) else []):
        if isinstance(text, str):
            yield Claim(problem, f"meta.alternatives[{index}]", text)


def _error(source: str | Path, claim: Claim, result: CellResult) -> InputError:
    detail = f": {result.detail}" if result.detail else ""
    if claim.field == TESTING and result.verdict is Verdict.BROKEN:
        text, hint = f"cannot run{detail}", "Correct the testing; no solution can be judged by it"
    elif claim.field == TESTING:
        text, hint = "accepts a solution that is surely wrong", "Correct the testing; it would accept anything"
    else:
        failed = [str(index) for index, case in enumerate(result.cases) if case is not Verdict.PASS]
        cases = f" at case {', '.join(failed[:5])}" if failed else ""
        text = f"{result.verdict.name} on the human testing{cases}{detail}"
        wrong = "Correct the source or the testing: one of them is wrong"
        hint = "Show programs what they import" if UNSEEN in result.detail else wrong
    return _at(source, claim.problem, claim.field, text, hint)


def _at(source: str | Path, problem: Problem, field: str, text: str, hint: str) -> InputError:
    where = source if problem.line else f"{source} {problem.problem_id}"
    return InputError(where, text, line=problem.line or None, field=field, hint=hint)
