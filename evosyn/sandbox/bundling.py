"""Several programs in one sandboxed process, where the company policy admits them.

A process for each program costs more than most programs do. Only clean values count that came out in company; a program
that gave anything else, or took long, runs again in a process of its own, so that no verdict depends on the company.
A sample of what counted is repeated alone; where it differs, once more in such a process without company, which tells
whether the neighbours or the process itself made the difference (`evosyn.sharing`). docs/sandbox.md, "Company".
"""

from __future__ import annotations

import ast
import functools
import itertools
import os
import re
from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

from evosyn.jobs import CallsJob, CompanyJob, ItemOutcome, Job, Limits, Status
from evosyn.parsing import parsed, tree_or_none
from evosyn.ports import Sandbox
from evosyn.sandbox._inside.wire import NotPlain, encode
from evosyn.sandbox.company import CHECKS, PLAIN, admits
from evosyn.sharing import Company

OnDone: TypeAlias = Callable[[int, tuple[ItemOutcome, ...]], None]
MOST = 16
JOBS_A_CORE = 3
"""Programs share a process only where there is work enough for that many jobs a core."""
_ADDRESS = re.compile(rb"0x[0-9a-f]+")
"""As the text of a function shows it."""
CPU_S, BUDGET_S = 0.5, 1.0
"""Of one call and of all calls in a shared process; what takes longer runs alone, with the limits that were asked."""


def run_jobs(
    sandbox: Sandbox,
    jobs: Sequence[Job],
    company: Company,
    *,
    on_done: OnDone | None = None,
    cores: int | None = None,
) -> list[tuple[ItemOutcome, ...]]:
    """As `sandbox.run`, with the same outcomes, only cheaper where there are many programs that may keep company.

    Args:
        company: whether any may, and how many are repeated alone.
        on_done: as for `sandbox.run`.
        cores: how many share the work; None takes those of this process.

    Raises:
        SandboxUnavailable: from the sandbox.
    """
    apart = JOBS_A_CORE * (cores or len(os.sched_getaffinity(0)))
    found = _shared(sandbox, jobs, apart, company) if company.shares else {}
    company.count(len(found))
    repeated = {at for at in found if company.repeats(_program(jobs[at]))}
    alone = [at for at in range(len(jobs)) if at not in found or at in repeated]

    differed: list[int] = []

    def settled(at: int, outcomes: tuple[ItemOutcome, ...]) -> None:
        found[at] = outcomes
        if on_done is not None:
            on_done(at, outcomes)

    def one_done(place: int, outcomes: tuple[ItemOutcome, ...]) -> None:
        at = alone[place]
        if at in repeated:
            if _failed(outcomes):
                outcomes = found[at]
            elif _same_outcomes(found[at], outcomes):
                company.agreed()
            elif _addresses_apart(found[at]) == _addresses_apart(outcomes):
                company.disagreed(_program(jobs[at]), neighbours=False)
            else:
                differed.append(at)
        settled(at, outcomes)

    for at in [at for at in found if at not in repeated]:
        settled(at, found[at])
    if alone:
        sandbox.run([jobs[at] for at in alone], on_done=one_done)
    if differed:
        by_itself = sandbox.run([CompanyJob(some, _limits(some)) for some in _members(jobs, [[at] for at in differed])])
        for at, outcomes in zip(differed, by_itself, strict=True):
            if not _failed(outcomes):
                company.disagreed(_program(jobs[at]), neighbours=_same_outcomes(found[at], outcomes))
    return [found[at] for at in range(len(jobs))]


def keeps_company(job: Job) -> bool:
    """Whether the job is calls, on plain data, of a program that the policy admits and that defines the function at its
    top."""
    if not isinstance(job, CallsJob) or len(program := _program(job)) > PLAIN.most_chars:
        return False
    return all(call.python is None for call in job.calls) and _is_plain(program, job.entry_point)


@functools.lru_cache(maxsize=256)
def _is_plain(program: str, entry_point: str) -> bool:
    tree = tree_or_none(program)
    top = tree and any(isinstance(node, ast.FunctionDef) and node.name == entry_point for node in tree.body)
    return bool(tree and top and PLAIN.admits(tree))


@functools.lru_cache(maxsize=2048)
def harmless(testing: str) -> bool:
    """Whether testing code may run in the testing process that stays; it is parsed here and never run."""
    return admits(testing, CHECKS, parsed)


def _shared(sandbox: Sandbox, jobs: Sequence[Job], apart: int, company: Company) -> dict[int, tuple[ItemOutcome, ...]]:
    """The outcomes, by place, of the jobs that came out clean in company; `apart` is the least number of processes."""
    if len(jobs) < 2 * apart:
        return {}
    plain = [at for at, job in enumerate(jobs) if keeps_company(job) and company.admits(_program(job))]
    size = min(MOST, len(plain) // apart)
    if size < 2:
        return {}
    found: dict[int, tuple[ItemOutcome, ...]] = {}
    bundles = [plain[start : start + size] for start in range(0, len(plain), size)]
    members = _members(jobs, bundles)
    outcomes = sandbox.run([CompanyJob(some, _limits(some)) for some in members])
    for bundle, some, items in zip(bundles, members, outcomes, strict=True):
        found |= dict(_clean(bundle, some, iter(items)))
    return found


def _members(jobs: Sequence[Job], bundles: Sequence[Sequence[int]]) -> list[tuple[CallsJob, ...]]:
    return [tuple(job for at in bundle if isinstance(job := jobs[at], CallsJob)) for bundle in bundles]


def _limits(members: Sequence[CallsJob]) -> Limits:
    asked = [member.limits for member in members]
    return Limits(
        cpu_s=min(CPU_S, *(limits.cpu_s for limits in asked)),
        wall_s=min(limits.wall_s for limits in asked),
        budget_s=min(BUDGET_S, *(limits.budget_s for limits in asked)),
        memory_mb=min(limits.memory_mb for limits in asked),
        output_kb=min(limits.output_kb for limits in asked),
    )


def _clean(
    bundle: Sequence[int], members: Sequence[CallsJob], outcomes: Iterator[ItemOutcome]
) -> Iterator[tuple[int, tuple[ItemOutcome, ...]]]:
    """Of each program of a bundle its outcomes, where all of them are values."""
    for at, member in zip(bundle, members, strict=True):
        mine = tuple(itertools.islice(outcomes, len(member.calls)))
        if all(outcome.status is Status.OK for outcome in mine):
            yield at, mine


def _failed(outcomes: Sequence[ItemOutcome]) -> bool:
    """Whether our own fault leaves open what the program gives."""
    return any(outcome.status is Status.INFRASTRUCTURE for outcome in outcomes)


def _same_outcomes(one: Sequence[ItemOutcome], other: Sequence[ItemOutcome]) -> bool:
    return len(one) == len(other) and all(map(_same, one, other))


def _program(job: Job) -> str:
    return "\n".join([*job.before, job.program]) if isinstance(job, CallsJob) else ""


def _same(one: ItemOutcome, other: ItemOutcome) -> bool:
    """Equal outcomes; not-a-number is itself."""
    return one.status is other.status and (_bytes(one) == _bytes(other) or one.value == other.value)


def _addresses_apart(outcomes: Sequence[ItemOutcome]) -> list[bytes]:
    return [_ADDRESS.sub(b"0x", _bytes(outcome)) for outcome in outcomes]


def _bytes(outcome: ItemOutcome) -> bytes:
    try:
        return encode(outcome.value)
    except NotPlain:
        return b""
