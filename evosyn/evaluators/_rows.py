"""Running rows: one solution against the testings that it lacks, through the domain's plan and the sandbox.

Generators of testings are evaluated first, once for all rows of a problem. DESIGN.md section 5, "Sandbox".
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from evosyn.evaluators._grid import Grid
from evosyn.evaluators.verify import guarded
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits, Status
from evosyn.ports import Domain, Plan, Sandbox
from evosyn.records import Problem, Testing, Verdict

SLOW = 0.25
"""Share of the time limit from which a call counts as slow."""


@dataclass(eq=False)
class Row:
    """One solution of a grid and the columns that it has to be run on.

    Attributes:
        slowest: seconds of its slowest call that ended in time.
    """

    grid: Grid
    domain: Domain
    row: int
    columns: tuple[int, ...]
    slowest: float = 0.0

    @property
    def key(self) -> str:
        return self.grid.keys[self.row][self.columns[0]]

    def results(self) -> list[CellResult]:
        """The results in the order of `columns`; UNKNOWN where there is none yet."""
        found = self.grid.results[self.row]
        return [found[column] or CellResult(Verdict.UNKNOWN) for column in self.columns]

    def suspicious(self, cpu_s: float) -> bool:
        """A timeout in a row whose other calls were slow but ended may be the machine's load."""
        return self.slowest >= SLOW * cpu_s and any(one.verdict is Verdict.TIMEOUT for one in self.results())


Done = Callable[[Row, Sequence[CellResult]], None]


@dataclass(frozen=True)
class _Ready:
    """The testings of some columns without generators.

    Attributes:
        problem: of the grid.
        testings: those that can be planned; one tuple for all rows, so that the domain prepares them once.
        fixed: for each column its result if a generator could not run, else None.
    """

    problem: Problem
    testings: tuple[Testing, ...]
    fixed: tuple[CellResult | None, ...]


@dataclass
class _Open:
    """A row whose jobs are not all done."""

    row: Row
    ready: _Ready
    plan: Plan | CellResult | None
    outcomes: list[tuple[ItemOutcome, ...]]
    left: int


class RowRunner:
    """Executes rows; keeps no state between calls but its sandbox and limits."""

    def __init__(self, sandbox: Sandbox, limits: Limits) -> None:
        self._sandbox, self._limits = sandbox, limits

    def run(self, rows: Sequence[Row], done: Done) -> None:
        """Execute rows; `done` gets each as soon as it is judged, one at a time."""
        if not rows:
            return
        ready = self._expanded(rows)
        opened: list[_Open] = []
        jobs: list[Job] = []
        owners: list[tuple[int, int]] = []
        for row in rows:
            found = ready[id(row.grid), row.columns]
            plan = None
            if found.testings:
                solution = row.grid.rows[row.row]
                plan = guarded(row.domain.plan, found.problem, solution, found.testings, self._limits)
            mine = () if plan is None or isinstance(plan, CellResult) else plan.jobs
            owners += [(len(opened), number) for number in range(len(mine))]
            jobs += mine
            opened.append(_Open(row, found, plan, [()] * len(mine), len(mine)))

        def job_done(index: int, outcomes: tuple[ItemOutcome, ...]) -> None:
            place, number = owners[index]
            one = opened[place]
            one.outcomes[number] = outcomes
            one.left -= 1
            if one.left == 0:
                _finish(one, done)

        for one in [one for one in opened if one.left == 0]:
            _finish(one, done)
        if jobs:
            self._sandbox.run(jobs, on_done=job_done)

    def _expanded(self, rows: Sequence[Row]) -> dict[tuple[int, tuple[int, ...]], _Ready]:
        """For each grid and set of columns the testings without generators; all generators run together."""
        groups: dict[tuple[int, tuple[int, ...]], Row] = {}
        for row in rows:
            groups.setdefault((id(row.grid), row.columns), row)
        needed: dict[int, tuple[Row, dict[int, None]]] = {}
        for row in groups.values():
            needed.setdefault(id(row.grid), (row, {}))[1].update(dict.fromkeys(row.columns))
        expansions = {
            key: (
                list(columns),
                guarded(row.domain.expand, [row.grid.columns[column] for column in columns], self._limits),
            )
            for key, (row, columns) in needed.items()
        }
        jobs = [
            job
            for _, expansion in expansions.values()
            if not isinstance(expansion, CellResult)
            for job in expansion.jobs
        ]
        outcomes = iter(self._sandbox.run(jobs) if jobs else ())
        plain: dict[int, dict[int, Testing | CellResult]] = {}
        for key, (columns, expansion) in expansions.items():
            made = (
                expansion
                if isinstance(expansion, CellResult)
                else guarded(expansion.testings, [next(outcomes) for _ in expansion.jobs])
            )
            every = [made] * len(columns) if isinstance(made, CellResult) else made
            plain[key] = dict(zip(columns, every, strict=True))
        return {group: _ready(row, plain[group[0]]) for group, row in groups.items()}


def _ready(row: Row, plain: dict[int, Testing | CellResult]) -> _Ready:
    made = [plain[column] for column in row.columns]
    return _Ready(
        row.grid.problem,
        tuple([one for one in made if isinstance(one, Testing)]),
        tuple([None if isinstance(one, Testing) else one for one in made]),
    )


def _finish(one: _Open, done: Done) -> None:
    made = one.plan if one.plan is None or isinstance(one.plan, CellResult) else guarded(one.plan.judge, one.outcomes)
    judged = itertools.repeat(made) if isinstance(made, CellResult) else iter(made or ())
    for outcomes in one.outcomes:
        for outcome in outcomes:
            if outcome.seconds > one.row.slowest and outcome.status is Status.OK:
                one.row.slowest = outcome.seconds
    one.outcomes, one.plan = [], None
    done(one.row, [next(judged) if fixed is None else fixed for fixed in one.ready.fixed])
