"""`evosyn pool sample`: solutions and testings of a model for a file of problems."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand, config_options, flag, out_option, sandbox_options, teacher_options
from evosyn.cli._output import echo
from evosyn.errors import EvosynError, UsageError

if TYPE_CHECKING:
    from evosyn.records import Json
    from evosyn.synthesis.recipes.pool import PoolSampleConfig

NAMED = 10
"""Problems that are named on the screen; the report has all."""


@click.command(
    "sample",
    cls=ConfiguredCommand,
    kind="evosyn.synthesis.recipes.pool:PoolSampleConfig",
    short_help="Draw solutions and testings from a model.",
)
@click.argument("seeds", required=False)
@out_option("Directory of the pool; the same command again resumes it, and a larger -M, -N or --limit goes on from it.")
@flag("-M", "M", "Solutions of each problem. [default: 16]", type=click.IntRange(1))
@flag("-N", "N", "Testings of each problem. [default: 16]", type=click.IntRange(0))
@click.option("--limit", type=click.IntRange(1), help="The first so many problems. [default: all]")
@teacher_options
@sandbox_options
@config_options("sampling.testing.form=json, workbench.teacher.calls=16")
@click.option("--dry-run", is_flag=True, help="Say what it would take, from a sample of two problems, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress.")
def command(config: PoolSampleConfig, out: Path, dry_run: bool, as_json: bool, quiet: bool) -> None:
    """Ask a model for M solutions and N testings of each problem of SEEDS, a pool file or builtin:NAME.

    OUT is then a pool: `evolve`, `crossexec`, `score` and `calibrate` take the directory, or its pools.jsonl.gz. Each
    problem is there as soon as it is whole (pools.part.jsonl); what could not be used is a line of rejects.jsonl.
    """
    from evosyn.cli._progress import left, replies_of, watching
    from evosyn.cli._tables import keep_estimate, show_estimate
    from evosyn.synthesis.estimate import SamplingTeacher, foretold
    from evosyn.synthesis.recipes.pool import estimate_pool, problems_of, sample_pool
    from evosyn.synthesis.search.estimate import sample_seeds
    from evosyn.synthesis.search.pool_sampling import PART
    from evosyn.synthesis.search.progress import DRAWING
    from evosyn.workbench import Workbench

    if config.seeds is None:
        raise UsageError("SEEDS: name the problems, such as builtin:python-seeds, or give the --config of a run")
    problems, done = problems_of(config), 0
    show = not (quiet or as_json)

    def step(_what: str, so_far: int, _of: int) -> None:
        nonlocal done
        done = so_far

    with Workbench(config.workbench, out=out) as workbench:
        counts = workbench.replies

        def line() -> str:
            whole = f"{DRAWING} {done:,}/{len(problems):,}: {replies_of(counts)}{left(counts.eta_s)}"
            return whole if counts.expected else "waiting for the model"

        with watching(line, show=show, last=not dry_run) as say:
            if dry_run:
                say(foretold(len(problems), *config.drawn, config.sampling.attempts))
                teacher = SamplingTeacher(workbench.teacher(), say)
                asyncio.run(sample_seeds(problems, workbench.domains, teacher, config))
                found = estimate_pool(config, len(problems), teacher.sampled(slots=workbench.slots))
                keep_estimate(found, out)
            else:
                try:
                    report = sample_pool(config, problems, out, workbench, step)
                except (EvosynError, KeyboardInterrupt):
                    if done:
                        say(f"{done:,} of {len(problems):,} problems are whole in {out / PART}")
                    raise
    if dry_run:
        show_estimate(found, as_json=as_json, kept_in=out / "replies.sqlite")
    elif as_json:
        echo(json.dumps(report, indent=2))
    else:
        _summary(report, out)


def _summary(report: Mapping[str, Json], out: Path) -> None:
    from evosyn.cli._tables import show_taken

    marked = "  SIMULATED: drawn from a stand-in for a model" if report["simulated"] else ""
    echo(f"{out}: {report['problems']:,} problems of {report['teacher']}{marked}")
    echo(
        f"{report['solutions']:,} solutions, {report['testings']:,} testings; {report['calls']:,} calls, "
        f"{report['tokens']['input']:,} + {report['tokens']['output']:,} tokens"
    )
    for what, count in report["unusable_replies"].items():
        echo(f"unusable: {count:,} x {what}")
    for what, count in report["read_in_part"].items():
        echo(f"read in part: {count:,} x {what}")
    fewer = report["with_fewer"]
    named = ", ".join(f"{name} ({m} x {n})" for name, (m, n) in islice(fewer.items(), NAMED))
    if fewer:
        echo(f"with fewer than was asked for: {len(fewer)} problems: {named}{', ...' if len(fewer) > NAMED else ''}")
    show_taken(report)
    echo(f"next: evosyn evolve {out} --out RUN     evosyn crossexec {out} --out MATRICES")
