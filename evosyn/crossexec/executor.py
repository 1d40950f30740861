"""Cross-execution: every solution against every testing of its problem, each distinct cell once, by the judge.

Rows of many problems are in flight together, so that one slow problem holds up nobody; cells that differ when repeated
are reported as flaky. Du 2025, figure 4b: this is where the cost of the method lies.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field

from pydantic import Field

from evosyn.configs.section import Section
from evosyn.crossexec.grid import Grid, Place
from evosyn.crossexec.judge import BATCHES, Judge
from evosyn.crossexec.rows import Row
from evosyn.errors import UsageError
from evosyn.jobs import CellResult
from evosyn.matrices import StoredMatrix
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Problem, Solution, Testing, Verdict
from evosyn.sandbox.packages import require_shown

Item = tuple[Problem, Sequence[Solution], Sequence[Testing]]


class CrossexecConfig(Section):
    """How a cross-execution is run; none of it may change a verdict that is not flaky.

    Attributes:
        repeat: how often a sampled row is executed in all; 1 looks for no flaky cells.
        sample: share of rows that are repeated; a problem with a flaky cell has all its rows repeated.
        canaries: run a program that is surely wrong on every problem, so that testings which accept it are marked.
        rows: rows in flight together; bounds the memory.
        seed: draws the sample.
    """

    repeat: int = Field(default=1, ge=1, le=100)
    sample: float = Field(default=0.05, ge=0.0, le=1.0)
    canaries: bool = True
    rows: int = Field(default=1024, ge=1)
    seed: int = 0


@dataclass
class CellCounts:
    """What a cross-execution has done so far.

    Attributes:
        problems, cells, human_cells: that matrices were asked for; duplicates count, the human testing apart.
        executed: distinct cells that ran here, human testings included, canaries not.
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


@dataclass(frozen=True)
class ExecutedProblem:
    """Event of a journal: the matrix of one problem.

    Attributes:
        key: digest of what was executed.
    """

    key: str
    matrix: StoredMatrix


@dataclass
class _Batch:
    """Some problems whose rows are in flight together."""

    grids: list[Grid] = field(default_factory=list)
    rows: int = 0


class CrossExecutor:
    """Implements `ports.Crossexec`. May be used from several threads.

    Attributes:
        judge: decides the cells; the caller's.
        counts: what was done so far, over all calls.
    """

    def __init__(
        self,
        judge: Judge,
        *,
        config: CrossexecConfig | None = None,
        progress: Callable[[CellCounts], None] | None = None,
    ) -> None:
        """
        Args:
            judge: each item's domain must be among those that it serves.
            progress: called after each row, from any thread, one at a time.
        """
        self.judge = judge
        self._config = config or CrossexecConfig()
        self._progress = progress
        self._lock = threading.RLock()
        self._began: float | None = None
        self.counts = CellCounts()

    def matrices(
        self, items: Sequence[Item], *, on_done: Callable[[int, PassMatrix], None] | None = None
    ) -> list[PassMatrix]:
        """See `ports.Crossexec`.

        Raises:
            UsageError: an item's domain is not served, it has no solutions, or needs a package that is not shown.
            SandboxUnavailable: from the sandbox.
        """
        require_shown((problem for problem, _, _ in items), self.judge.protection)
        found: list[PassMatrix | None] = [None] * len(items)
        for index, matrix in self.stream(items):
            found[index] = matrix
            if on_done is not None:
                on_done(index, matrix)
        return [matrix for matrix in found if matrix is not None]

    def stream(self, items: Iterable[Item]) -> Iterator[tuple[int, PassMatrix]]:
        """Index and matrix of each item as it is finished, nearly in order; items are taken as they are needed. Two
        batches at a time, so that the end of one leaves no core idle."""
        if self._began is None:
            self._began = time.monotonic()
        pool = ThreadPoolExecutor(BATCHES, thread_name_prefix="crossexec")
        waiting: list[Future[list[Grid]]] = []
        try:
            for batch in self._batches(items):
                waiting.append(pool.submit(self._run, batch))
                if len(waiting) > BATCHES:
                    yield from self._matrices(waiting.pop(0).result())
            while waiting:
                yield from self._matrices(waiting.pop(0).result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # the owner of the sandbox closes it, which ends the runs
            raise
        pool.shutdown()
        with self._lock:
            self._report()

    def meta(self) -> dict[str, Json]:
        """What every matrix says of its making."""
        held, limits = vars(self.judge.protection), self.judge.limits
        return {
            "sandbox": {
                name: held[name] for name in ("backend", "level", "version", "packages", "programs") if held[name]
            },
            "limits": {"cpu_s": limits.cpu_s, "wall_s": limits.wall_s, "budget_s": limits.budget_s},
        }

    def _matrices(self, grids: Sequence[Grid]) -> Iterator[tuple[int, PassMatrix]]:
        for grid in grids:
            yield grid.index, grid.matrix(self.meta())

    def _batches(self, items: Iterable[Item]) -> Iterator[_Batch]:
        batch = _Batch()
        for index, (problem, solutions, testings) in enumerate(items):
            if problem.domain not in self.judge.domains:
                raise UsageError(f"problem {problem.problem_id!r}: no domain named {problem.domain!r} was given")
            if not solutions:
                raise UsageError(f"problem {problem.problem_id!r}: has no solutions to execute")
            grid = Grid(index, (problem, solutions, testings), self.judge, canaries=self._config.canaries)
            batch.grids.append(grid)
            batch.rows += len(grid.rows)
            if batch.rows >= self._config.rows:
                yield batch
                batch = _Batch()
        if batch.grids:
            yield batch

    def _run(self, batch: _Batch) -> list[Grid]:
        """Fill every cell of a batch."""
        rows = [row for grid in batch.grids for row in grid.rows]
        canaries = {id(grid.rows[place]) for grid in batch.grids for place in grid.canaries}

        def row_done(row: Row, results: Sequence[CellResult]) -> None:
            with self._lock:
                if id(row) not in canaries:
                    self.counts.executed += len(results)
                self._report()

        with self._lock:
            self.counts.problems += len(batch.grids)
            self.counts.cells += sum(grid.cells for grid in batch.grids)
            self.counts.human_cells += sum(grid.human_cells for grid in batch.grids)
        effort = self.judge.decide(rows, row_done)
        if self._config.repeat > 1:
            self._repeat(batch.grids)
        with self._lock:
            asked = [row for row in rows if id(row) not in canaries and row.trouble is None]
            self.counts.cached += sum(len(row.keys) - len(row.fresh) for row in asked)
            self.counts.retried += effort.retried
            self.counts.rechecked += effort.rechecked
            self.counts.recovered += effort.recovered
            self.counts.unknown += sum(
                result is None or result.verdict is Verdict.UNKNOWN for row in rows for result in row.results
            )
        return batch.grids

    def _repeat(self, grids: Sequence[Grid]) -> None:
        """Look for flaky cells: in a sample of rows, then in all rows of the problems where one was found."""
        stream = SeedTree(self._config.seed).child("crossexec", "repeat")
        fresh = [(grid, place) for grid in grids for place, row in enumerate(grid.rows) if row.fresh]
        chosen = [
            (grid, place)
            for grid, place in fresh
            if stream.child(grid.rows[place].keys[grid.rows[place].fresh[0]]).random().random() < self._config.sample
        ]
        self._repeat_rows(chosen)
        seen = set(chosen)
        self._repeat_rows([owner for owner in fresh if owner[0].flaky and owner not in seen])

    def _repeat_rows(self, chosen: Sequence[tuple[Grid, int]]) -> None:
        owners = {id(grid.rows[place]): (grid, place) for grid, place in chosen}

        def compare(row: Row, results: Sequence[CellResult]) -> None:
            """The first verdict stays; a different one marks the cell."""
            grid, place = owners[id(row)]
            for column, first, again in zip(row.fresh, row.found(), results, strict=True):
                if again.verdict is not Verdict.UNKNOWN and (first.verdict, first.cases) != (
                    again.verdict,
                    again.cases,
                ):
                    grid.flaky.add(Place(place, column))

        rows = [grid.rows[place] for grid, place in chosen]
        for _ in range(self._config.repeat - 1 if rows else 0):
            self.judge.repeat(rows, compare)
        with self._lock:
            self.counts.repeated += len(rows)
            self.counts.flaky += sum(cell.row == place for grid, place in chosen for cell in grid.flaky)

    def _report(self) -> None:
        self.counts.wall_s = time.monotonic() - (self._began or time.monotonic())
        if self._progress is not None:
            self._progress(self.counts)
