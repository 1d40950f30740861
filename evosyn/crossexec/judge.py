"""The judge: cells in, results out. There is no other way to a verdict, for grids, rewards, audits and references.

Cells come from the verdict cache where they can; the rest runs row by row; what our infrastructure failed is tried
again; timeouts that the machine's load may have caused run again, alone. It decides no verdict: domains do. DESIGN.md
section 5, "Sandbox".
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from evosyn.crossexec.rows import OnRow, Row, RowRunner, guarded
from evosyn.crossexec.verdict_cache import MemoryVerdicts, VerdictKey
from evosyn.errors import SandboxUnavailable
from evosyn.jobs import CellResult, Limits
from evosyn.ports import Domain, Sandbox, VerdictCache
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.sandbox.packages import lacking
from evosyn.sharing import Company

KEPT_ROWS = 32
"""Rows that are decided for good are kept in so many at a time."""
BATCHES = 2
"""Calls of `decide` that run at the same time; further ones wait."""


class Cell(NamedTuple):
    """What is asked: does the solution of this problem satisfy this testing?"""

    problem: Problem
    solution: Solution
    testing: Testing


class Effort(NamedTuple):
    """What a decision took beside one run of each row.

    Attributes:
        retried: rows that were tried again because our infrastructure failed.
        rechecked: rows that ran again alone for a suspicious timeout; `recovered`: cells whose verdict that changed.
    """

    retried: int = 0
    rechecked: int = 0
    recovered: int = 0


class Judge:
    """Decides cells. Owns neither sandbox nor cache; may be used from several threads.

    Args:
        sandbox, cache: the caller's; without a cache cells are remembered in memory.
        domains: by name.
        limits: for one solution's row; the same for all.
        retries: how often a row that our infrastructure failed is tried again.
        recheck: whether rows with a suspicious timeout run again, alone.
        company: whether programs that the policy admits share a process; None gives each one of its own.
        other: where rows are repeated to find flaky cells; another hash seed there also finds answers that depend on
            the order of sets. Default: `sandbox`.

    Attributes:
        executed, cached: cells asked of `verify` that ran, and that the cache or an equal cell knew.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        domains: Mapping[str, Domain],
        limits: Limits | None = None,
        cache: VerdictCache | None = None,
        *,
        retries: int = 2,
        recheck: bool = True,
        company: Company | None = None,
        other: Sandbox | None = None,
    ) -> None:
        self.domains, self.limits, self.protection = domains, limits or Limits(), sandbox.protection
        self.company = company or Company(share=False)
        self._cache: VerdictCache = cache if cache is not None else MemoryVerdicts()
        self._retries, self._rechecks = retries, recheck
        self._runner = RowRunner(sandbox, self.limits, self.company)
        self._repeater = RowRunner(other or sandbox, self.limits)
        self._lock = threading.Lock()
        self._slots = threading.Semaphore(BATCHES)
        self._alone = threading.Lock()
        self._key = VerdictKey(self.protection, self.limits)
        self.executed = self.cached = 0

    def serve(self, domains: Mapping[str, Domain]) -> None:
        """Take up further domains; those that it has stay as they are."""
        with self._lock:
            self.domains = {**domains, **self.domains}

    def rows(
        self, problem: Problem, columns: Sequence[Testing], solutions: Mapping[str, Solution], *, by: str = "same"
    ) -> list[Row]:
        """Rows to decide, nothing known yet.

        Args:
            solutions: by what tells them apart: the verdicts of one are those of any other of the same name.
            by: what the names are: of their domain (`same`), or their texts (`text`). A text may read as the name of
                another solution.

        Raises:
            KeyError: the domain of the problem is not served.
        """
        domain, shared = self.domains[problem.domain], tuple(columns)
        key = guarded(domain.key, problem)
        head = key if isinstance(key, CellResult) else guarded(self._key.of_problem, domain, problem, key, by)
        trouble = head if isinstance(head, CellResult) else None
        if reason := lacking(problem, self.protection):
            trouble = CellResult(Verdict.UNKNOWN, detail=reason)
        rows = []
        for name, solution in solutions.items():
            keys = self._key.of_cells(b"" if isinstance(head, CellResult) else head, name, shared)
            rows.append(Row(domain, problem, solution, shared, keys, [None] * len(shared), trouble=trouble))
        return rows

    def decide(self, rows: Sequence[Row], on_row: OnRow | None = None) -> Effort:
        """Fill the results of rows; what stays UNKNOWN our infrastructure failed.

        Args:
            on_row: gets each row that had to run, when it first has results.

        Raises:
            UnavailableError: from the sandbox, which is gone for good.
        """
        self._recall(rows)
        fresh = [row for row in rows if row.fresh]

        kept, settled = list[Row](), set[int]()

        def taken(row: Row, results: Sequence[CellResult]) -> None:
            row.take(results)
            if row.final(self.limits.cpu_s):
                settled.add(id(row))
                kept.append(row)
            if len(kept) >= KEPT_ROWS:  # so that little is lost where a run is cut off
                self._keep(kept)
                kept.clear()
            if on_row is not None:
                on_row(row, results)

        with self._slots:
            self._runner.run(fresh, taken)
            retried = self._retry(fresh)
        rechecked, recovered = self._recheck(fresh) if self._rechecks else (0, 0)
        self._keep([*kept, *(row for row in fresh if id(row) not in settled)])
        return Effort(retried, rechecked, recovered)

    def _keep(self, rows: Sequence[Row]) -> None:
        self._cache.put(
            [(row.keys[column], result) for row in rows for column, result in zip(row.fresh, row.found(), strict=True)]
        )

    def repeat(self, rows: Sequence[Row], on_row: OnRow) -> None:
        """Run the fresh columns of rows once more, and change nothing of what is known."""
        with self._slots:
            self._repeater.run(rows, on_row)

    def verify(self, cells: Sequence[Cell]) -> list[CellResult]:
        """One result per cell, in order; what fails for one of them fails for none of the others. A cell whose domain
        is not served is UNKNOWN.

        Raises:
            UnavailableError: from the sandbox, which is gone for good.
        """
        groups: dict[tuple[int, int], dict[str, Cell]] = {}
        for cell in cells:
            groups.setdefault((id(cell.problem), id(cell.testing)), {}).setdefault(cell.solution.text, cell)
        made = {place: guarded(self._rows_of, list(group.values())) for place, group in groups.items()}
        rows = [row for one in made.values() if not isinstance(one, CellResult) for row in one.values()]
        self.decide(rows)
        ran = sum(bool(row.fresh) for row in rows)
        with self._lock:
            self.executed += ran
            self.cached += (
                sum(not isinstance(made[id(cell.problem), id(cell.testing)], CellResult) for cell in cells) - ran
            )
        results = []
        for cell in cells:
            one = made[id(cell.problem), id(cell.testing)]
            result = one if isinstance(one, CellResult) else one[cell.solution.text].results[0]
            results.append(result or CellResult(Verdict.UNKNOWN))
        return results

    def decided(self, cells: Sequence[Cell]) -> list[CellResult]:
        """As `verify`, where a cell that stays UNKNOWN leaves nothing to go by.

        Raises:
            UnavailableError: as `verify`, or a cell could not be decided; says why.
        """
        results = self.verify(cells)
        for cell, result in zip(cells, results, strict=True):
            if result.verdict is Verdict.UNKNOWN:
                raise SandboxUnavailable(
                    f"{cell.problem.problem_id}: could not be judged: {result.detail or 'no reason'}"
                )
        return results

    def _rows_of(self, cells: Sequence[Cell]) -> dict[str, Row] | CellResult:
        """Rows for solutions of one problem and one testing, by their texts."""
        problem, _, testing = cells[0]
        if problem.domain not in self.domains:
            return CellResult(Verdict.UNKNOWN, detail=f"the domain {problem.domain!r} is not served")
        solutions = {cell.solution.text: cell.solution for cell in cells}
        return dict(zip(solutions, self.rows(problem, (testing,), solutions, by="text"), strict=True))

    def _recall(self, rows: Sequence[Row]) -> None:
        known = iter(self._cache.get([key for row in rows if row.trouble is None for key in row.keys]))
        for row in rows:
            row.results = [row.trouble or next(known) for _ in row.keys]
            row.fresh = tuple([column for column, result in enumerate(row.results) if result is None])

    def _retry(self, rows: Sequence[Row]) -> int:
        retried = 0
        for _ in range(self._retries):
            failed = [row for row in rows if Verdict.UNKNOWN in {result.verdict for result in row.found()}]
            if not failed:
                break
            retried += len(failed)
            self._runner.run(failed, Row.take)
        return retried

    def _recheck(self, rows: Sequence[Row]) -> tuple[int, int]:
        """Rows with a timeout beside calls that were merely slow: the load may have decided. Once more, one by one; a
        second run's verdict counts where the first was a timeout that was none."""
        suspicious = [row for row in rows if row.suspicious(self.limits.cpu_s)]
        recovered = 0

        def settle(row: Row, results: Sequence[CellResult]) -> None:
            nonlocal recovered
            before = row.found()
            settled = [after if _settles(old, after) else old for old, after in zip(before, results, strict=True)]
            recovered += sum(one is not old for one, old in zip(settled, before, strict=True))
            row.take(settled)

        if suspicious:
            with self._alone:
                for _ in range(BATCHES):
                    self._slots.acquire()
            try:
                for row in suspicious:
                    self._runner.run([row], settle)
            finally:
                self._slots.release(BATCHES)
        return len(suspicious), recovered


def _settles(before: CellResult, after: CellResult) -> bool:
    """Whether a second run alone says more than the first: a timeout that was none."""
    return before.verdict is Verdict.TIMEOUT and after.verdict not in (
        Verdict.TIMEOUT,
        Verdict.UNKNOWN,
        Verdict.NOT_RUN,
    )
