"""`evosyn crossexec`: execute a whole pool file and write its matrices, resumable problem by problem."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand, config_options, out_option, sandbox_options
from evosyn.cli._matrices import VERDICTS
from evosyn.cli._output import echo, rewrite_line
from evosyn.errors import InputError, UsageError
from evosyn.records import Json, PassMatrix, Pool, Problem, Solution, Testing, content_id

if TYPE_CHECKING:
    from evosyn.cli._configs import ExecutionConfig
    from evosyn.crossexec.executor import CellCounts, CrossExecutor
    from evosyn.rundir import RunDir

Item = tuple[Problem, Sequence[Solution], Sequence[Testing]]


@click.command(
    cls=ConfiguredCommand,
    kind="evosyn.cli._configs:ExecutionConfig",
    needs={"source": "POOL: name a pool with recorded solutions and testings"},
    short_help="Execute a whole pool and write its matrices.",
)
@click.argument("source", metavar="POOL", required=False)
@out_option("Directory to write matrices.jsonl into.")
@click.option("-M", "M", type=click.IntRange(1), help="The first M solutions of each problem. [default: all]")
@click.option("-N", "N", type=click.IntRange(1), help="The first N testings of each problem. [default: all]")
@click.option("--timeout", type=click.FloatRange(0.05, 600), help="CPU seconds for a call. [default: 3]")
@click.option("--budget", type=click.FloatRange(0.05), help="CPU seconds for a whole solution. [default: 10 x timeout]")
@click.option("--memory", type=click.IntRange(64), help="MiB for a solution. [default: 1024]")
@click.option("--repeat", type=click.IntRange(1), help="Look for flaky cells: K runs. [default: 1]")
@click.option("--sample", type=click.FloatRange(0, 1), help="Share of rows repeated. [default: 0.05]")
@click.option("--seed", type=int, help="Draws the rows that are repeated. [default: 0]")
@VERDICTS
@sandbox_options
@config_options("verdicts=FILE")
@click.option("--json", "as_json", is_flag=True, help="One JSON object on standard output.")
def command(config: ExecutionConfig, out: Path, as_json: bool) -> int:
    """Run every solution of POOL against every testing of its problem, and the human testing, each once.

    Writes OUT/matrices.jsonl, which `evolve`, `score` and `ablate` take in place of a pool, and OUT/report.json.
    The same command again goes on where it stopped. Problems without solutions or testings are left out.
    """
    from evosyn.cli._inspect_summary import print_closing
    from evosyn.configs.saving import check_new, save_config
    from evosyn.crossexec.executor import CrossexecConfig, CrossExecutor
    from evosyn.crossexec.judge import Judge
    from evosyn.crossexec.verdict_cache import SqliteVerdicts
    from evosyn.domains import iter_pools
    from evosyn.jobs import Limits
    from evosyn.matrices import is_matrices_file
    from evosyn.rundir import RunDir
    from evosyn.workbench import Workbench

    if is_matrices_file(config.source):
        raise UsageError(
            f"POOL {config.source}: holds matrices, which are executed already; `evosyn score --pool` takes it"
        )
    survey = _survey(config.source, iter_pools(config.source), config.M, config.N)
    limits = Limits(config.timeout, budget_s=config.budget or 10 * config.timeout, memory_mb=config.memory)
    flaky = CrossexecConfig(repeat=config.repeat, sample=config.sample, seed=config.seed)
    check_new(out, ["matrices.jsonl"])
    with (
        RunDir(out) as run,
        SqliteVerdicts(config.verdicts or run.file("verdicts.sqlite")) as verdicts,
        Workbench(config.workbench) as workbench,
    ):
        workbench.require_shown(survey.needing)
        # flaky cells are looked for under another hash seed
        workers = config.workbench.sandbox.workers
        other = workbench.open_sandbox(workers=workers, hash_seed=1) if config.repeat > 1 else None
        progress = CellProgress(survey.cells)
        judge = Judge(workbench.sandbox, workbench.domains, limits, verdicts, other=other)
        executor = CrossExecutor(judge, config=flaky, progress=progress.row)
        items = (_item(pool, config.M, config.N) for pool in iter_pools(config.source) if _usable(pool))
        if not run.file("config.yaml").exists():
            save_config(out, config)
        totals = _execute(run, executor, items, progress)
        save_config(out, config)
        progress.end()
        if executor.counts.problems == 0 and run.file("report.json").is_file():
            echo("nothing to do: every matrix is there; the figures are those of the run that made them", err=True)
            report = run.read_json("report.json")
        else:
            report = {**_figures(executor.counts), **totals, "skipped": survey.skipped, **executor.meta()}
            report["cache_damaged"] = verdicts.damaged
            run.write_json("report.json", report)
    if as_json:
        echo(json.dumps(report))
    else:
        print_closing(out, "matrices.jsonl", "report.json")
    return 0


@dataclass(frozen=True)
class Survey:
    """What a pool file holds, found by a first reading that executes nothing; human cells are counted in, and one
    problem stands for all that need the same packages."""

    cells: int
    skipped: int
    needing: tuple[Problem, ...]


def _survey(source: str, pools: Iterable[Pool], m: int | None, n: int | None) -> Survey:
    """Read the whole file, so that a bad last line is found before anything is spent.

    Raises:
        InputError: a bad line; nothing to execute; M or N larger than every problem's.
    """
    cells = skipped = most_m = most_n = 0
    needing: dict[str, Problem] = {}
    for pool in pools:
        if not _usable(pool):
            skipped += 1
            continue
        problem, solutions, testings = _item(pool, m, n)
        needing.setdefault(str(problem.payload.get("packages")), problem)
        cells += len(solutions) * (len(testings) + (pool.problem.human_testing is not None))
        most_m, most_n = max(most_m, len(pool.solutions)), max(most_n, len(pool.testings))
    if not cells:
        hint = "`evosyn evolve` draws them from a teacher; this command takes pools that hold them"
        raise InputError(source, "no problem has recorded solutions and testings", hint=hint)
    for flag, asked, most, what in (("-M", m, most_m, "solutions"), ("-N", n, most_n, "testings")):
        if asked is not None and asked > most:
            raise InputError(source, f"{flag} {asked}: no problem has more than {most} {what}", hint="Ask for fewer")
    return Survey(cells, skipped, tuple(needing.values()))


def _usable(pool: Pool) -> bool:
    return bool(pool.solutions and pool.testings)


def _item(pool: Pool, m: int | None, n: int | None) -> Item:
    problem, solutions = pool.problem, pool.solutions[:m]
    copies = problem.meta.get("copies")
    if isinstance(copies, list) and len(copies) == len(pool.solutions):
        problem = replace(problem, meta={**problem.meta, "copies": copies[:m]})
    return problem, solutions, pool.testings[:n]


def _execute(run: RunDir, executor: CrossExecutor, items: Iterator[Item], progress: CellProgress) -> dict[str, int]:
    """Execute what the journal does not hold yet, journal each matrix, and write them all in the end.

    Returns:
        Totals over the whole file, and how many problems an earlier run had done.

    Raises:
        UsageError: the journal is of other input or other settings.
    """
    from evosyn.crossexec.executor import ExecutedProblem
    from evosyn.journal import Events
    from evosyn.matrices import write_matrices

    events = Events(run.journal, {"matrix": ExecutedProblem})
    events.begin({"kind": "crossexec", **executor.meta()})
    keys: list[str] = []
    totals = dict.fromkeys(("problems", "cells", "human_cells", "resumed", "broken_testings", "vacuous_testings"), 0)

    def count(item: Item, resumed: int) -> None:
        problem, solutions, testings = item
        totals["problems"] += 1
        totals["cells"] += len(solutions) * len(testings)
        totals["human_cells"] += len(solutions) * (problem.human_testing is not None)
        totals["resumed"] += resumed

    def remaining() -> Iterator[Item]:
        for event in events:
            item = next(items, None)
            if item is None or _key(item) != event.key:
                raise UsageError(f"--out {run.path}: holds matrices of another pool or another M or N; name another")
            progress.known(len(item[1]) * (len(item[2]) + (item[0].human_testing is not None)))
            count(item, 1)
        for item in items:
            count(item, 0)
            keys.append(_key(item))
            yield item

    for index, matrix in executor.stream(remaining()):
        events.append(ExecutedProblem(keys[index], matrix))
    run.journal.sync()

    def finished() -> Iterator[PassMatrix]:
        for event in events:
            totals["broken_testings"] += int((event.matrix.verdicts_MN == "B").all(axis=0).sum())
            totals["vacuous_testings"] += len(event.matrix.meta.get("vacuous", ()))
            yield event.matrix

    write_matrices(run.file("matrices.jsonl"), finished())
    return totals


def _key(item: Item) -> str:
    problem, solutions, testings = item
    human = None if problem.human_testing is None else problem.human_testing.id
    ids = [[solution.id for solution in solutions], [testing.id for testing in testings]]
    return content_id("x_", [problem.problem_id, problem.id, human, *ids])


class CellProgress:
    """A line on a terminal, a line every few seconds elsewhere: cells, rate, time left. On standard error."""

    def __init__(self, cells: int) -> None:
        self._cells = cells
        self._known = 0
        self._terminal = sys.stderr.isatty()
        self._every = 0.5 if self._terminal else 15.0
        self._last = time.monotonic()
        self._written = False

    def known(self, cells: int) -> None:
        """Cells that an earlier run has done."""
        self._known += cells

    def row(self, counts: CellCounts) -> None:
        now = time.monotonic()
        if now - self._last < self._every:
            return
        self._last = now
        done = counts.executed + counts.cached
        rate = done / counts.wall_s if counts.wall_s > 0 else 0.0
        left = max(self._cells - self._known - done, 0) / rate if rate > 0 else 0.0
        text = f"{self._known + done} of about {self._cells} cells, {rate:.0f}/s, about {left:.0f} s left"
        if self._terminal:
            rewrite_line(text)
        else:
            echo(text, err=True)
        self._written = self._terminal

    def end(self) -> None:
        if self._written:
            rewrite_line()


def _figures(counts: CellCounts) -> dict[str, Json]:
    names = ("executed", "cached", "unknown", "retried", "rechecked", "flaky")
    return {
        **{name: getattr(counts, name) for name in names},
        "wall_s": round(counts.wall_s, 3),
        "cells_per_s": round(counts.cells_per_s, 1),
    }
