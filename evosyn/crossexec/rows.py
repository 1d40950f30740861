"""Running rows: one solution against the testings that it lacks, through the domain's plan and the sandbox.

Generators of testings are evaluated first, once for all rows that share them. Rows are apart from each other: where
evosyn itself fails on one (an exception while it is planned, sent or judged), its cells are UNKNOWN and all others are
decided. Only a sandbox that is gone for good ends a run. DESIGN.md section 5, "Sandbox".
"""

from __future__ import annotations

import itertools
import logging
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import ParamSpec, TypeAlias, TypeVar

from evosyn.errors import UnavailableError
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits, Status
from evosyn.ports import Domain, Expansion, Plan, Sandbox
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.sandbox.bundling import run_jobs
from evosyn.sandbox.outcomes import LargeOutcome
from evosyn.sharing import Company

log = logging.getLogger(__name__)

SLOW = 0.25
"""Share of the time limit from which a call counts as slow."""
_TOO_FEW = CellResult(Verdict.UNKNOWN, detail="evosyn failed: the domain judged fewer testings than it was given")
Outcomes: TypeAlias = tuple[ItemOutcome, ...]
Given = ParamSpec("Given")
Made = TypeVar("Made")


@dataclass(eq=False, slots=True)
class Row:
    """One solution and the testings that judge it.

    Attributes:
        columns: the testings; rows of one problem share this very tuple, so that generators run once for all of them.
        keys: of the cells in a verdict cache, one for each column.
        results: what is known of each column.
        fresh: places of the columns that are executed; the others were known before.
        trouble: what every cell of it is, where its domain failed on the solution or the problem; nothing is executed.
        slowest: seconds of its slowest call that ended in time.
    """

    domain: Domain
    problem: Problem
    solution: Solution
    columns: tuple[Testing, ...]
    keys: tuple[str, ...]
    results: list[CellResult | None]
    fresh: tuple[int, ...] = ()
    slowest: float = 0.0
    trouble: CellResult | None = None

    def found(self) -> list[CellResult]:
        """The results of its fresh columns; UNKNOWN where there is none yet."""
        return [self.results[column] or CellResult(Verdict.UNKNOWN) for column in self.fresh]

    def take(self, results: Sequence[CellResult]) -> None:
        """Results for its fresh columns."""
        for column, result in zip(self.fresh, results, strict=True):
            self.results[column] = result

    def suspicious(self, cpu_s: float) -> bool:
        """A timeout in a row whose other calls were slow but ended may be the machine's load."""
        return self.slowest >= SLOW * cpu_s and any(one.verdict is Verdict.TIMEOUT for one in self.found())

    def final(self, cpu_s: float) -> bool:
        """Whether nothing of it will run again."""
        return not self.suspicious(cpu_s) and Verdict.UNKNOWN not in {one.verdict for one in self.found()}


OnRow: TypeAlias = Callable[[Row, Sequence[CellResult]], None]
"""Gets a row and the results of its fresh columns."""


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
        return _failed(error, _culprit(make, args))


@dataclass(frozen=True)
class _Ready:
    """The testings of some columns without generators.

    Attributes:
        testings: those that can be planned; one tuple for all rows, so that the domain prepares them once.
        fixed: for each column its result if a generator could not run, else None.
    """

    testings: tuple[Testing, ...]
    fixed: tuple[CellResult | None, ...]


@dataclass
class _Open:
    """A row whose jobs are not all done.

    Attributes:
        trouble: why none of its cells can be decided, where a job failed for evosyn's own fault.
    """

    row: Row
    ready: _Ready
    plan: Plan | CellResult | None
    outcomes: list[Outcomes]
    left: int
    trouble: CellResult | None = None


@dataclass
class _Expanding:
    """The testings of one tuple of columns on the way to their generators' results."""

    row: Row
    columns: dict[int, None] = field(default_factory=dict)
    made: dict[int, Testing | CellResult] = field(default_factory=dict)


class RowRunner:
    """Executes rows; keeps no state between calls but its collaborators.

    Args:
        company: whether programs that the policy admits share a process; None gives each one of its own.
    """

    def __init__(self, sandbox: Sandbox, limits: Limits, company: Company | None = None) -> None:
        self._sandbox, self._limits = sandbox, limits
        self._company = company or Company(share=False)

    def run(self, rows: Sequence[Row], on_row: OnRow) -> None:
        """Execute the fresh columns of rows; `on_row` gets each row as soon as it is judged, one at a time."""
        if not rows:
            return
        ready = self._expanded(rows)
        opened = [self._opened(row, ready[id(row.columns), row.fresh]) for row in rows]
        jobs: list[Job] = []
        owners: list[tuple[_Open, int]] = []
        for one in opened:
            if one.left == 0:
                _finish(one, on_row)
            elif one.plan is not None and not isinstance(one.plan, CellResult):
                jobs += one.plan.jobs
                owners += [(one, number) for number in range(one.left)]

        def job_done(place: int, found: Outcomes | CellResult) -> None:
            one, number = owners[place]
            if isinstance(found, CellResult):
                one.trouble = found
            else:
                one.outcomes[number] = found
            one.left -= 1
            if one.left == 0:
                _finish(one, on_row)

        self._run_apart(jobs, job_done)

    def _opened(self, row: Row, ready: _Ready) -> _Open:
        if not ready.testings:
            return _Open(row, ready, None, [], 0)
        plan = guarded(row.domain.plan, row.problem, row.solution, ready.testings, self._limits)
        count = 0 if isinstance(plan, CellResult) else len(plan.jobs)
        return _Open(row, ready, plan, [()] * count, count)

    def _run_apart(self, jobs: Sequence[Job], on_done: Callable[[int, Outcomes | CellResult], None]) -> None:
        """Run jobs; where the sandbox raises for the sake of single ones those are UNKNOWN, and the others run without
        them. What is left is halved until the guilty ones stand alone: one of n costs about log2(n) further runs.

        Raises:
            UnavailableError: passes through, and so does whatever `on_done` raises.
        """
        if not jobs:
            return
        left = dict.fromkeys(range(len(jobs)))
        ours: list[BaseException] = []

        def one_done(place: int, outcomes: Outcomes) -> None:
            del left[place]
            try:
                on_done(place, outcomes)
            except BaseException as error:
                ours.append(error)
                raise

        found = guarded(run_jobs, self._sandbox, jobs, self._company, on_done=one_done)
        if ours:
            raise ours[0]
        if not isinstance(found, CellResult):
            return
        places = list(left)
        if len(places) == 1:
            on_done(places[0], found)
            return
        half = len(places) // 2
        for some in (places[:half], places[half:]):
            self._run_apart([jobs[at] for at in some], lambda at, found, some=some: on_done(some[at], found))  # type: ignore[misc]

    def _expanded(self, rows: Sequence[Row]) -> dict[tuple[int, tuple[int, ...]], _Ready]:
        """For each tuple of columns, and each choice of them, the testings without generators; all generators run
        together."""
        groups: dict[tuple[int, tuple[int, ...]], Row] = {}
        for row in rows:
            groups.setdefault((id(row.columns), row.fresh), row)
        expanding: dict[int, _Expanding] = {}
        for row in groups.values():
            one = expanding.setdefault(id(row.columns), _Expanding(row))
            one.columns.update(dict.fromkeys(row.fresh))
        expansions = {key: guarded(self._expansion, one) for key, one in expanding.items()}
        jobs = [job for one in expansions.values() if not isinstance(one, CellResult) for job in one.jobs]
        done: list[Outcomes | CellResult] = [()] * len(jobs)
        self._run_apart(jobs, done.__setitem__)
        outcomes = iter(done)
        for key, one in expanding.items():
            expansion = expansions[key]
            made: Sequence[Testing | CellResult] | CellResult = (
                expansion
                if isinstance(expansion, CellResult)
                else _filled(expansion, [next(outcomes) for _ in expansion.jobs])
            )
            every = [made] * len(one.columns) if isinstance(made, CellResult) else made
            one.made = dict(zip(one.columns, every, strict=True))
        return {group: _ready(row, expanding[group[0]].made) for group, row in groups.items()}

    def _expansion(self, one: _Expanding) -> Expansion:
        return one.row.domain.expand(
            one.row.problem, [one.row.columns[column] for column in one.columns], self._limits.building
        )


def _filled(
    expansion: Expansion, found: Sequence[Outcomes | CellResult]
) -> Sequence[Testing | CellResult] | CellResult:
    outcomes = []
    for one in found:
        if isinstance(one, CellResult):
            return one
        outcomes.append(one)
    return guarded(expansion.testings, outcomes)


def _ready(row: Row, plain: dict[int, Testing | CellResult]) -> _Ready:
    made = [plain[column] for column in row.fresh]
    return _Ready(
        tuple([one for one in made if isinstance(one, Testing)]),
        tuple([None if isinstance(one, Testing) else one for one in made]),
    )


def _finish(one: _Open, on_row: OnRow) -> None:
    judged: Sequence[CellResult] | CellResult = one.trouble or ()
    if one.trouble is None and one.plan is not None:
        judged = one.plan if isinstance(one.plan, CellResult) else guarded(one.plan.judge, one.outcomes)
    results = itertools.repeat(judged) if isinstance(judged, CellResult) else iter(judged)
    for outcome in itertools.chain.from_iterable(one.outcomes):
        if isinstance(outcome, LargeOutcome):
            outcome.forget()  # others may hold it until the batch has ended
        elif outcome.status is not Status.OK:
            continue
        one.row.slowest = max(one.row.slowest, outcome.seconds)
    one.outcomes, one.plan = [], None
    on_row(one.row, [next(results, _TOO_FEW) if fixed is None else fixed for fixed in one.ready.fixed])


def _culprit(make: Callable[..., object], args: Sequence[object]) -> str:
    """Who failed: a domain, with its method and the problem that it was asked about, or ourselves."""
    about = next((one for one in args if isinstance(one, Problem)), None)
    if about is None or not isinstance(getattr(make, "__self__", None), Domain):
        return "evosyn"
    return f"domain {about.domain!r}, problem {about.problem_id!r}: {make.__name__}"


def _failed(error: Exception, who: str) -> CellResult:
    try:
        reason = f"{type(error).__name__}: {error}"
    except ValueError:  # a message with an integer too long to be written out
        reason = type(error).__name__
    frame = traceback.extract_tb(error.__traceback__)[-1]
    log.error("cells are left undecided; %s failed: %s (%s:%s)", who, reason, frame.filename, frame.lineno)
    return CellResult(Verdict.UNKNOWN, detail=f"{who} failed: {reason}"[:200])
