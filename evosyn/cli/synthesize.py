"""`evosyn synthesize`: new problems, M solutions and N testings each, executed, ranked, pruned, written down."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._teacher import TeacherOptions, budget_of, open_teacher, teacher_options
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.records import Json
    from evosyn.synthesis.config import SynthesizeConfig
    from evosyn.synthesis.recipes.synthesize import Inputs

FILE = click.Path(dir_okay=False, path_type=Path)
DIRECTORY = click.Path(file_okay=False, path_type=Path)


@click.command(short_help="Make new problems, cross-execute, rank, prune; write a dataset.")
@click.argument("run", type=click.Path(path_type=Path))
@click.option("--out", type=DIRECTORY, required=True, help="Dataset directory; the same command again resumes it.")
@click.option("--problems", type=click.IntRange(1), help="New problems to ask for. [default: 100]")
@click.option("-M", "solutions", type=click.IntRange(1), help="Solutions for each problem. [default: 16]")
@click.option("-N", "testings", type=click.IntRange(1), help="Testings for each problem. [default: 16]")
@click.option("--seeds", "seeds", help="Pool file of seed problems; by default the one that RUN was evolved on.")
@click.option(
    "--decontaminate", multiple=True, metavar="FILE[::FIELD]", help="Benchmark to keep out (JSON lines or parquet)."
)
@click.option("--seed", type=int, help="Root of all random choices. [default: 0]")
@teacher_options
@click.option("--also-model", "also", multiple=True, help="Further models that take turns at solutions and testings.")
@click.option("--sandbox", "backend", default="local", show_default=True, help="Where programs are executed.")
@click.option("--workers", type=click.IntRange(1), help="Sandbox processes. [default: one a core]")
@click.option("--config", "file", type=FILE, help="YAML file; flags win over it.")
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any configuration key: filter.dedup.threshold=0.7"
)
@click.option("--adaptive", is_flag=True, help="Start small, stop settled and hopeless problems, grow the others.")
@click.option("--dry-run", is_flag=True, help="Say what it would take, from a sample of two problems, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress.")
@click.option("--allow-weak-sandbox", is_flag=True, help="Run even where the sandbox cannot protect this machine well.")
def command(run: Path, out: Path, dry_run: bool, as_json: bool, quiet: bool, **values: Any) -> None:
    """Synthesize a dataset with the strategy of RUN.

    RUN is a directory that `evosyn evolve` wrote, or the text of a strategy (a .py file; then give --seeds). The
    directory of --out gets problems.jsonl, candidates.jsonl, matrices.jsonl, rejects.jsonl, report.json, README.md and
    dataset/{evosyn,relaxed,random}.parquet.
    """
    from evosyn.configs.loading import load_config
    from evosyn.synthesis.config import SynthesizeConfig

    options = TeacherOptions.take_from(values)
    flags = {name: values[name] for name in ("problems", "solutions", "testings", "seed")}
    flags["filter.decontaminate.files"] = list(values["decontaminate"]) or None
    flags["draw.adaptive"] = {} if values["adaptive"] else None
    config = load_config(SynthesizeConfig, file=values["file"], sets=values["sets"], flags=flags)
    inputs = _inputs(run, values["seeds"])
    if dry_run:
        _show(_estimate(inputs, config, out, options, values), as_json)
        if options.model and not as_json:
            click.echo(f"(the sampled replies are kept in {out}/replies.sqlite and are not asked for again)")
        return
    report = _synthesize(inputs, config, out, options, values, show=not (quiet or as_json))
    _show(report, as_json) if as_json else _summary(report, out)


def _inputs(run: Path, seeds: str | None) -> Inputs:
    from evosyn.domains import load_pools
    from evosyn.synthesis.recipes.synthesize import Inputs

    file = run if run.suffix == ".py" else run / "strategy.py"
    if not file.is_file():
        raise UsageError(
            f"RUN {run}: has no strategy.py; give the directory that `evosyn evolve SEEDS --out {run}` wrote, "
            "or a strategy file"
        )
    source = seeds or _seeds_of(run)
    problems = tuple(pool.problem for pool in load_pools(source))
    return Inputs(file.read_text(encoding="utf-8"), str(run), problems, source)


def _seeds_of(run: Path) -> str:
    """The seed pool that a run was evolved on, from its manifest."""
    from evosyn.pools import is_matrices_file
    from evosyn.rundir import RunDir

    if run.is_dir():
        source = RunDir(run).read_json("manifest.json").get("source")
        if isinstance(source, str) and not is_matrices_file(source):
            return source
    raise UsageError(f"RUN {run}: does not say which seed problems it was made from; name them with --seeds POOL")


def _synthesize(
    inputs: Inputs, config: SynthesizeConfig, out: Path, options: TeacherOptions, values: dict[str, Any], *, show: bool
) -> dict[str, Json]:
    from evosyn.cli._synthesis_view import watching
    from evosyn.crossexec.executor import CrossExecutor
    from evosyn.crossexec.judge import Judge
    from evosyn.crossexec.verdict_cache import SqliteVerdicts
    from evosyn.domains import Domains
    from evosyn.sandbox import open_sandbox
    from evosyn.strategies.running.sandboxed import SandboxedRunner
    from evosyn.synthesis.recipes.synthesize import SynthesisMachinery, synthesize
    from evosyn.synthesis.tally import RunTally

    domains = Domains()
    weak = values["allow_weak_sandbox"]
    tally = RunTally()
    with (
        open_sandbox(values["backend"], workers=values["workers"], allow_weak=weak) as sandbox,
        open_sandbox(values["backend"], workers=1, allow_weak=weak, numpy=True) as ranking,
    ):
        opened = partial(
            open_teacher,
            seed=config.seed,
            sandbox=sandbox,
            replies=out / "replies.sqlite",
            default="offline",
            budget=budget_of(options),
        )
        teacher = opened(options)
        others = tuple(opened(replace(options, model=name, teacher=None, strength=None)) for name in values["also"])
        machinery = SynthesisMachinery(
            teacher=teacher,
            others=others,
            domains=domains,
            crossexec=CrossExecutor(
                Judge(sandbox, domains, config.execute.limits, SqliteVerdicts(out / "verdicts.sqlite"))
            ),
            runner=SandboxedRunner(ranking),
            concurrency=options.model_calls,
            sandbox=f"{sandbox.protection.level} {sandbox.protection.backend}",
        )
        with watching(tally, show, f"{machinery.names}{' (a simulation)' if machinery.simulated else ''}"):
            return synthesize(inputs, config, machinery, out, tally)


def _estimate(
    inputs: Inputs, config: SynthesizeConfig, out: Path, options: TeacherOptions, values: dict[str, Any]
) -> dict[str, Json]:
    import asyncio

    from evosyn.domains import Domains
    from evosyn.sandbox import open_sandbox
    from evosyn.synthesis.estimate import estimate, sample

    with open_sandbox(values["backend"], workers=values["workers"], allow_weak=values["allow_weak_sandbox"]) as sandbox:
        teacher = open_teacher(
            options, seed=config.seed, sandbox=sandbox, replies=out / "replies.sqlite", default="offline"
        )
        sampled = asyncio.run(sample(inputs.seeds, Domains(), teacher, config))
    return {"teacher": teacher.name, **estimate(config, sampled, options.model_calls)}


def _show(value: dict[str, Json], as_json: bool) -> None:
    import json

    if as_json:
        click.echo(json.dumps(value, indent=2, ensure_ascii=False))
        return
    for name, what in value.items():
        click.echo(f"{name.replace('_', ' '):28} {what}")


def _summary(report: dict[str, Json], out: Path) -> None:
    from evosyn.cli._synthesis_view import funnel

    funnel(report)
    click.echo(f"dataset: {out}/dataset/{{evosyn,relaxed,random}}.parquet, card: {out}/README.md")
    click.echo(f"next:    evosyn inspect {out} --sample 1")
    click.echo(f"         evosyn train {out} --model builtin:tiny --out models/{out.name}")
