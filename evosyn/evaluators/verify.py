"""Verifying single cells, without matrices and without a cache: what a reward needs for a batch of completions.

Generators of a testing are evaluated first, once for all cells that share it; then everything runs together.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeAlias

from evosyn.jobs import CellResult, ItemOutcome, Job, Limits
from evosyn.ports import Domain, Plan
from evosyn.records import Problem, Solution, Testing

RunJobs: TypeAlias = Callable[[Sequence[Job]], list[tuple[ItemOutcome, ...]]]
"""As `ports.Sandbox.run`: outcomes of each job, in order."""


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
        domains: by name; those of all problems.

    Raises:
        KeyError: a problem's domain is not there.
        SandboxUnavailable: from the sandbox.
    """
    plain = _expanded(run, domains, limits, cells)
    jobs: list[Job] = []
    decided: list[Plan | CellResult] = []
    for problem, solution, testing in cells:
        ready = plain[id(testing)]
        if isinstance(ready, CellResult):
            decided.append(ready)
            continue
        plan = domains[problem.domain].plan(problem, solution, (ready,), limits)
        jobs += plan.jobs
        decided.append(plan)
    outcomes = iter(run(jobs) if jobs else ())
    results = []
    for one in decided:
        if isinstance(one, CellResult):
            results.append(one)
        else:
            results += one.judge([next(outcomes) for _ in one.jobs])
    return results


def _expanded(
    run: RunJobs, domains: Mapping[str, Domain], limits: Limits, cells: Sequence[Asked]
) -> dict[int, Testing | CellResult]:
    """For each testing, by identity, the testing without generators, or the result that all its cells share."""
    distinct = {id(cell.testing): cell for cell in cells}
    expansions = {key: domains[cell.problem.domain].expand([cell.testing], limits) for key, cell in distinct.items()}
    jobs = [job for expansion in expansions.values() for job in expansion.jobs]
    outcomes = iter(run(jobs) if jobs else ())
    found: dict[int, Testing | CellResult] = {}
    for key, expansion in expansions.items():
        (made,) = expansion.testings([next(outcomes) for _ in expansion.jobs])
        found[key] = made
    return found
