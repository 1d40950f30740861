"""Cross-execution: every solution against every testing of its problem, each distinct cell once, in the sandbox.

Cells come from the verdict cache where they can; rows of many problems are in flight together, so that one slow problem
holds up nobody; what our infrastructure failed is retried; timeouts that the machine's load may have caused run again,
alone; cells that differ when repeated are reported as flaky. It decides no verdict: domains do. Du 2025, figure 4b:
this is where the cost of the method lies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace

from pydantic import BaseModel, ConfigDict, Field

from evosyn.errors import UsageError
from evosyn.evaluators._grid import Grid, Place
from evosyn.evaluators._rows import Row, RowRunner
from evosyn.evaluators.verdict_cache import MemoryVerdicts
from evosyn.jobs import CellResult, Limits
from evosyn.ports import Domain, Sandbox, VerdictCache
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Problem, Solution, Testing, Verdict

VERDICTS_VERSION = 3
"""Raised whenever equal inputs may get another verdict; it enters every cache key."""
BATCHES = 2
"""Batches that run at the same time."""
Item = tuple[Problem, Sequence[Solution], Sequence[Testing]]


class CrossexecConfig(BaseModel):
    """How a cross-execution is run; none of it may change a verdict that is not flaky.

    Attributes:
        repeat: how often a sampled row is executed in all; 1 looks for no flaky cells.
        sample: share of rows that are repeated; a problem with a flaky cell has all its rows repeated.
        retries: how often a row that our infrastructure failed is tried again.
        recheck: run rows with a suspicious timeout again, alone.
        canaries: run a program that is surely wrong on every problem, so that testings which accept it are marked.
        rows: rows in flight together; bounds the memory.
        seed: draws the sample.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    repeat: int = Field(default=1, ge=1, le=100)
    sample: float = Field(default=0.05, ge=0.0, le=1.0)
    retries: int = Field(default=2, ge=0, le=10)
    recheck: bool = True
    canaries: bool = True
    rows: int = Field(default=1024, ge=1)
    seed: int = 0


@dataclass
class CellCounts:
    """What a cross-execution has done so far.

    Attributes:
        problems, cells, human_cells: that matrices were asked for; duplicates count, the human testing apart.
        executed: distinct cells that ran here, human testings included; `canary_cells`: those of canaries, apart.
        cached: distinct cells that the cache knew.
        unknown: cells that stayed UNKNOWN after all retries; `retried`: rows that were tried again for it.
        rechecked: rows that ran again alone for a suspicious timeout, `recovered`: cells whose verdict that changed.
        repeated: rows that ran again to look for flaky cells; `flaky`: cells found so.
        wall_s: seconds since the first item.
    """

    problems: int = 0
    cells: int = 0
    human_cells: int = 0
    executed: int = 0
    canary_cells: int = 0
    cached: int = 0
    unknown: int = 0
    retried: int = 0
    rechecked: int = 0
    recovered: int = 0
    repeated: int = 0
    flaky: int = 0
    wall_s: float = 0.0

    @property
    def cells_per_s(self) -> float:
        return (self.cells + self.human_cells) / self.wall_s if self.wall_s > 0 else 0.0


@dataclass
class _Batch:
    """Some problems whose rows are in flight together."""

    grids: list[Grid] = field(default_factory=list)
    rows: int = 0


class CrossExecutor:
    """Implements `ports.Crossexec`. Owns neither sandbox nor cache; may be used from several threads.

    Attributes:
        counts: what was done so far, over all calls.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        domains: Mapping[str, Domain],
        limits: Limits | None = None,
        cache: VerdictCache | None = None,
        *,
        config: CrossexecConfig | None = None,
        other: Sandbox | None = None,
        progress: Callable[[CellCounts], None] | None = None,
    ) -> None:
        """
        Args:
            sandbox, cache: the caller's; without a cache cells are remembered in memory.
            domains: by name; each item's domain must be there.
            limits: for one solution's row; the same for all.
            other: where rows are repeated to find flaky cells; another hash seed there also finds answers that depend
                on the order of sets. Default: `sandbox`.
            progress: called after each row, from any thread, one at a time.
        """
        self._domains = dict(domains)
        self._limits = limits or Limits()
        self._cache: VerdictCache = cache if cache is not None else MemoryVerdicts()
        self._config = config or CrossexecConfig()
        self._progress = progress
        self._lock = threading.RLock()
        self._slots = threading.Semaphore(BATCHES)
        self._alone = threading.Lock()
        self._began: float | None = None
        self._protection = sandbox.protection
        self._runner = RowRunner(sandbox, self._limits)
        self._repeater = RowRunner(other or sandbox, self._limits)
        self.counts = CellCounts()

    def matrices(
        self, items: Sequence[Item], *, on_done: Callable[[int, PassMatrix], None] | None = None
    ) -> list[PassMatrix]:
        """See `ports.Crossexec`.

        Raises:
            UsageError: an item's domain is not among `domains`, or it has no solutions.
            SandboxUnavailable: from the sandbox.
        """
        found: list[PassMatrix | None] = [None] * len(items)
        for index, matrix in self.stream(items):
            found[index] = matrix
            if on_done is not None:
                on_done(index, matrix)
        return [matrix for matrix in found if matrix is not None]

    def stream(self, items: Iterable[Item]) -> Iterator[tuple[int, PassMatrix]]:
        """Index and matrix of each item as it is finished, nearly in order; items are taken as they are needed."""
        for grid in self._finished(items):
            yield grid.index, grid.matrix(self.meta())

    def verify(self, cells: Sequence[tuple[Problem, Solution, Testing]]) -> list[CellResult]:
        """One result per (problem, solution, testing), in order; the human testings are left alone."""
        groups: dict[tuple[int, int], list[int]] = {}
        for index, (problem, _, testing) in enumerate(cells):
            groups.setdefault((id(problem), id(testing)), []).append(index)
        items: list[Item] = [
            (
                replace(cells[group[0]][0], human_testing=None),
                [cells[index][1] for index in group],
                [cells[group[0]][2]],
            )
            for group in groups.values()
        ]
        places = list(groups.values())
        results = [CellResult(Verdict.UNKNOWN)] * len(cells)
        for grid in self._finished(items):
            for index, row in zip(places[grid.index], grid.row_of_M, strict=True):
                results[index] = grid.results[row][0] or results[index]
        return results

    def meta(self) -> dict[str, Json]:
        """What every matrix says of its making."""
        protection, limits = self._protection, self._limits
        return {
            "sandbox": {"backend": protection.backend, "level": protection.level, "version": protection.version},
            "limits": {"cpu_s": limits.cpu_s, "wall_s": limits.wall_s, "budget_s": limits.budget_s},
        }

    def _finished(self, items: Iterable[Item]) -> Iterator[Grid]:
        """Grids with every cell known; two batches at a time, so that the end of one leaves no core idle."""
        if self._began is None:
            self._began = time.monotonic()
        pool = ThreadPoolExecutor(BATCHES, thread_name_prefix="crossexec")
        waiting: list[Future[list[Grid]]] = []
        try:
            for batch in self._batches(items):
                waiting.append(pool.submit(self._run, batch))
                if len(waiting) > BATCHES:
                    yield from waiting.pop(0).result()
            while waiting:
                yield from waiting.pop(0).result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # the owner of the sandbox closes it, which ends the runs
            raise
        pool.shutdown()
        with self._lock:
            self._report()

    def _batches(self, items: Iterable[Item]) -> Iterator[_Batch]:
        batch = _Batch()
        for index, (problem, solutions, testings) in enumerate(items):
            if problem.domain not in self._domains:
                raise UsageError(f"problem {problem.problem_id!r}: no domain named {problem.domain!r} was given")
            if not solutions:
                raise UsageError(f"problem {problem.problem_id!r}: has no solutions to execute")
            domain = self._domains[problem.domain]
            item = (problem, solutions, testings)
            grid = Grid(index, item, domain, self._salt(), canaries=self._config.canaries)
            batch.grids.append(grid)
            batch.rows += len(grid.rows)
            if batch.rows >= self._config.rows:
                yield batch
                batch = _Batch()
        if batch.grids:
            yield batch

    def _salt(self) -> str:
        protection, limits = self._protection, self._limits
        return "|".join(map(str, (VERDICTS_VERSION, protection.backend, protection.version, *vars(limits).values())))

    def _run(self, batch: _Batch) -> list[Grid]:
        """Fill every cell of a batch."""
        for grid in batch.grids:
            self._recall(grid)
        fresh = [
            Row(grid, self._domains[grid.problem.domain], row, columns)
            for grid in batch.grids
            for columns, rows in grid.missing().items()
            for row in rows
        ]
        with self._slots:
            self._runner.run(fresh, self._row_done)
            self._retry(fresh)
        if self._config.recheck:
            self._recheck(fresh)
        if self._config.repeat > 1:
            with self._slots:
                self._repeat(fresh)
        self._keep(fresh)
        with self._lock:
            self.counts.unknown += sum(
                result is None or result.verdict is Verdict.UNKNOWN
                for grid in batch.grids
                for results in grid.results
                for result in results
            )
        return batch.grids

    def _recall(self, grid: Grid) -> None:
        known = 0
        found = self._cache.get([key for keys in grid.keys for key in keys])
        for row in range(len(grid.rows)):
            cells = found[row * len(grid.columns) : (row + 1) * len(grid.columns)]
            grid.results[row] = cells
            if row != grid.canary:
                known += sum(cell is not None for cell in cells)
        with self._lock:
            self.counts.problems += 1
            self.counts.cells += grid.cells
            self.counts.human_cells += grid.human_cells
            self.counts.cached += known

    def _row_done(self, row: Row, results: Sequence[CellResult]) -> None:
        for column, result in zip(row.columns, results, strict=True):
            row.grid.results[row.row][column] = result
        with self._lock:
            if row.row == row.grid.canary:
                self.counts.canary_cells += len(results)
            else:
                self.counts.executed += len(results)
            self._report()

    def _retry(self, rows: Sequence[Row]) -> None:
        for _ in range(self._config.retries):
            failed = [row for row in rows if Verdict.UNKNOWN in {result.verdict for result in row.results()}]
            if not failed:
                return
            with self._lock:
                self.counts.retried += len(failed)
            self._runner.run(failed, self._replace)

    def _replace(self, row: Row, results: Sequence[CellResult]) -> None:
        for column, result in zip(row.columns, results, strict=True):
            row.grid.results[row.row][column] = result

    def _recheck(self, rows: Sequence[Row]) -> None:
        """Rows with a timeout beside calls that were merely slow: the load may have decided. Once more, one by one."""
        suspicious = [row for row in rows if row.suspicious(self._limits.cpu_s)]
        if not suspicious:
            return
        with self._alone:
            for _ in range(BATCHES):
                self._slots.acquire()
        try:
            for row in suspicious:
                self._runner.run([row], self._settle)
        finally:
            self._slots.release(BATCHES)
        with self._lock:
            self.counts.rechecked += len(suspicious)

    def _settle(self, row: Row, results: Sequence[CellResult]) -> None:
        """Take a second run's verdict where the first was a timeout that was none."""
        before = row.results()
        settled = [after if _settles(old, after) else old for old, after in zip(before, results, strict=True)]
        with self._lock:
            self.counts.recovered += sum(one is not old for one, old in zip(settled, before, strict=True))
        self._replace(row, settled)

    def _repeat(self, rows: Sequence[Row]) -> None:
        """Look for flaky cells: in a sample of rows, then in all rows of the problems where one was found."""
        stream = SeedTree(self._config.seed).child("crossexec", "repeat")
        chosen = [row for row in rows if stream.child(row.key).random().random() < self._config.sample]
        self._repeat_rows(chosen)
        suspected = {id(row.grid) for row in rows if row.grid.flaky}
        seen = {id(row) for row in chosen}
        self._repeat_rows([row for row in rows if id(row.grid) in suspected and id(row) not in seen])

    def _repeat_rows(self, rows: Sequence[Row]) -> None:
        for _ in range(self._config.repeat - 1):
            if rows:
                self._repeater.run(rows, self._compare)
        with self._lock:
            self.counts.repeated += len(rows)
            self.counts.flaky += sum(place.row == row.row for row in rows for place in row.grid.flaky)

    def _compare(self, row: Row, results: Sequence[CellResult]) -> None:
        """The first verdict stays; a different one marks the cell."""
        for column, first, again in zip(row.columns, row.results(), results, strict=True):
            if again.verdict is not Verdict.UNKNOWN and (first.verdict, first.cases) != (again.verdict, again.cases):
                row.grid.flaky.add(Place(row.row, column))

    def _keep(self, rows: Sequence[Row]) -> None:
        self._cache.put(
            [
                (row.grid.keys[row.row][column], result)
                for row in rows
                for column, result in zip(row.columns, row.results(), strict=True)
            ]
        )

    def _report(self) -> None:
        self.counts.wall_s = time.monotonic() - (self._began or time.monotonic())
        if self._progress is not None:
            self._progress(self.counts)


def _settles(before: CellResult, after: CellResult) -> bool:
    """Whether a second run alone says more than the first: a timeout that was none."""
    return before.verdict is Verdict.TIMEOUT and after.verdict not in (
        Verdict.TIMEOUT,
        Verdict.UNKNOWN,
        Verdict.NOT_RUN,
    )
