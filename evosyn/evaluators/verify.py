"""Verifying single cells, without matrices and without a cache: what a reward needs for a batch of completions.

Generators of a testing are evaluated first, once for all cells that share it; then everything runs together. Cells are
apart from each other: where evosyn itself fails on one (an exception while it is planned, sent or judged), that cell is
UNKNOWN and all others are decided. Only a sandbox that is gone for good ends a batch. DESIGN.md section 5, "Sandbox".
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, ParamSpec, TypeAlias, TypeVar

from evosyn.errors import UnavailableError
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits
from evosyn.ports import Domain, Expansion, Plan
from evosyn.records import Problem, Solution, Testing, Verdict

log = logging.getLogger(__name__)

Outcomes: TypeAlias = tuple[ItemOutcome, ...]
RunJobs: TypeAlias = Callable[[Sequence[Job]], list[Outcomes]]
"""As `ports.Sandbox.run`: outcomes of each job, in order."""
Given = ParamSpec("Given")
Made = TypeVar("Made")


class Asked(NamedTuple):
    """One cell to decide."""

    problem: Problem
    solution: Solution
    testing: Testing


def verify_cells(
    run: RunJobs, domains: Mapping[str, Domain], limits: Limits, cells: Sequence[Asked]
) -> list[CellResult]:
    """One result per cell, in order; UNKNOWN where our infrastructure failed (nothing is tried again).

    Args:
        run: of a sandbox.
        domains: by name; a cell whose domain is not there is UNKNOWN.

    Raises:
        UnavailableError: from the sandbox, which is gone.
    """
    ready = _expanded(run, domains, limits, cells)
    plans = [guarded(_plan, domains, limits, cell, ready[_shared(cell)]) for cell in cells]
    done = iter(run_apart(run, [job for one in plans if not isinstance(one, CellResult) for job in one.jobs]))
    results = []
    for one in plans:
        if isinstance(one, CellResult):
            results.append(one)
            continue
        outcomes = [next(done) for _ in one.jobs]
        results.append(guarded(_judge, one, outcomes))
    return results


def guarded(make: Callable[Given, Made], *args: Given.args, **kwargs: Given.kwargs) -> Made | CellResult:
    """What `make` gives, or UNKNOWN with the reason where it raises: one cell's trouble is no other's.

    Raises:
        UnavailableError: passes through.
    """
    try:
        return make(*args, **kwargs)
    except UnavailableError:
        raise
    except Exception as error:  # noqa: BLE001  the sandbox boundary: what is judged is untrusted
        return _failed(error)


def run_apart(run: RunJobs, jobs: Sequence[Job]) -> list[Outcomes | CellResult]:
    """As `run`, but where it raises for the sake of single jobs those are UNKNOWN, and the others run without them.

    The jobs are halved until the guilty ones stand alone, so one of n costs about log2(n) further runs.

    Raises:
        UnavailableError: passes through.
    """
    if not jobs:
        return []
    found = guarded(run, jobs)
    if not isinstance(found, CellResult):
        return list(found)
    if len(jobs) == 1:
        return [found]
    half = len(jobs) // 2
    return [*run_apart(run, jobs[:half]), *run_apart(run, jobs[half:])]


def _expanded(
    run: RunJobs, domains: Mapping[str, Domain], limits: Limits, cells: Sequence[Asked]
) -> dict[tuple[str, int], Testing | CellResult]:
    """Each testing without generators, or the result that all its cells share."""
    distinct = {_shared(cell): cell for cell in cells}
    expansions = {key: guarded(_expand, domains, limits, cell) for key, cell in distinct.items()}
    jobs = [job for one in expansions.values() if not isinstance(one, CellResult) for job in one.jobs]
    done = iter(run_apart(run, jobs))
    found: dict[tuple[str, int], Testing | CellResult] = {}
    for key, one in expansions.items():
        if isinstance(one, CellResult):
            found[key] = one
            continue
        outcomes = [next(done) for _ in one.jobs]
        found[key] = guarded(_fill, one, outcomes)
    return found


def _shared(cell: Asked) -> tuple[str, int]:
    """Equal for cells whose generators are evaluated together."""
    return cell.problem.domain, id(cell.testing)


def _expand(domains: Mapping[str, Domain], limits: Limits, cell: Asked) -> Expansion:
    return domains[cell.problem.domain].expand([cell.testing], limits)


def _fill(expansion: Expansion, found: Sequence[Outcomes | CellResult]) -> Testing | CellResult:
    outcomes = _whole(found)
    if isinstance(outcomes, CellResult):
        return outcomes
    (made,) = expansion.testings(outcomes)
    return made


def _plan(domains: Mapping[str, Domain], limits: Limits, cell: Asked, ready: Testing | CellResult) -> Plan | CellResult:
    if isinstance(ready, CellResult):
        return ready
    return domains[cell.problem.domain].plan(cell.problem, cell.solution, (ready,), limits)


def _judge(plan: Plan, found: Sequence[Outcomes | CellResult]) -> CellResult:
    outcomes = _whole(found)
    if isinstance(outcomes, CellResult):
        return outcomes
    (result,) = plan.judge(outcomes)
    return result


def _whole(found: Sequence[Outcomes | CellResult]) -> list[Outcomes] | CellResult:
    """The outcomes of all jobs, or the first failure among them."""
    outcomes = []
    for one in found:
        if isinstance(one, CellResult):
            return one
        outcomes.append(one)
    return outcomes


def _failed(error: Exception) -> CellResult:
    try:
        reason = f"{type(error).__name__}: {error}"
    except ValueError:  # a message with an integer too long to be written out
        reason = type(error).__name__
    frame = traceback.extract_tb(error.__traceback__)[-1]
    log.error("a cell is left undecided, evosyn itself failed: %s (%s:%s)", reason, frame.filename, frame.lineno)
    return CellResult(Verdict.UNKNOWN, detail=f"evosyn failed: {reason}"[:200])
