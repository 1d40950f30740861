"""`evosyn synthesize`: new problems, M solutions and N testings each, executed, ranked, pruned, written down."""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import (
    ConfiguredCommand,
    config_options,
    flag,
    out_option,
    preset_option,
    sandbox_options,
    teacher_options,
)
from evosyn.cli._output import echo
from evosyn.errors import UsageError

if TYPE_CHECKING:
    from evosyn.records import Json, Unit
    from evosyn.synthesis.config import SynthesizeConfig
    from evosyn.synthesis.inputs import Inputs
    from evosyn.workbench import Workbench


@click.command(
    cls=ConfiguredCommand,
    kind="evosyn.synthesis.config:SynthesizeConfig",
    presets="synthesize",
    needs={"run": "RUN: name the directory that `evosyn evolve` wrote"},
    short_help="Make new problems, cross-execute, rank, prune; write a dataset.",
)
@click.argument("run", required=False)
@out_option("Dataset directory; the same command again resumes it.")
@click.option("--problems", type=click.IntRange(1), help="New problems to ask for. [default: 100]")
@click.option("-M", "solutions", type=click.IntRange(1), help="Solutions for each problem. [default: 16]")
@click.option("-N", "testings", type=click.IntRange(1), help="Testings for each problem. [default: 16]")
@click.option("--seeds", "seeds", help="Pool file of seed problems; by default the one that RUN was evolved on.")
@flag(
    "--decontaminate",
    "filter.decontaminate.files",
    "Benchmark to keep out (JSON lines or parquet).",
    multiple=True,
    metavar="FILE[::FIELD]",
)
@click.option("--seed", type=int, help="Root of all random choices. [default: 0]")
@teacher_options
@flag("--agent", "workbench.agent.name", "Who works on tasks of agents: loop, or a dotted path. [default: loop]")
@click.option("--also-model", "also", multiple=True, help="Further models that take turns at solutions and testings.")
@sandbox_options
@config_options("filter.dedup.threshold=0.7")
@preset_option
@flag(
    "--adaptive",
    "sampling.adaptive",
    "Start small, stop settled and hopeless problems, grow the others.",
    type=click.UNPROCESSED,
    flag_value={},
)
@flag("--shard-size", "shards.size", "Make it in shards of so many problems (docs/scale.md).", type=click.IntRange(1))
@click.option("--dry-run", is_flag=True, help="Say what it would take, from a sample of two problems, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress.")
def command(config: SynthesizeConfig, out: Path, dry_run: bool, as_json: bool, quiet: bool) -> None:
    """Synthesize a dataset with the strategy of RUN.

    RUN is a directory that `evosyn evolve` wrote, or the text of a strategy (a .py file; then give --seeds). The
    directory of --out gets problems.jsonl, candidates.jsonl, matrices.jsonl, rejects.jsonl, report.json, README.md and
    dataset/{evosyn,relaxed,random}.parquet.

    With --shard-size the work is done in shards, by `--set shards.workers=N` processes or with --runner ray by a worker
    a node; what is finished is kept in `shards.store`, a path or address (s3://bucket/run) that all of them reach.
    """
    from evosyn.cli._progress import line_of, watching
    from evosyn.cli._synthesis_view import warn
    from evosyn.cli._tables import keep_estimate, show_estimate, show_figures
    from evosyn.synthesis.progress import SynthesisProgress
    from evosyn.synthesis.recipes.problems import synthesize
    from evosyn.synthesis.recipes.shards import synthesize_shards
    from evosyn.synthesis.shards.work import on_this_machine
    from evosyn.workbench import Workbench

    inputs = _inputs(Path(str(config.run)), config.seeds, config.filter.unit)
    if inputs.standing is not None and inputs.standing.warning:
        echo(f"warning: {inputs.standing.warning}", err=True)
    known = None if config.sampling.adaptive is not None else inputs.evolved_on
    if known is not None and (unlike := known.unlike(config.solutions, config.testings)):
        echo(f"warning: {unlike}", err=True)
    limits = config.execute.limits
    own = config.workbench if config.shards.size is None else on_this_machine(config.workbench)
    with Workbench(own, out=out, seed=config.seed, limits=limits) as workbench:
        if dry_run:
            found = _estimate(inputs, config, workbench, show=not (quiet or as_json))
            keep_estimate(found, out)
            show_estimate(found, as_json=as_json, kept_in=out / "replies.sqlite")
            return
        if config.shards.size is not None:
            said = (lambda _: None) if quiet or as_json else partial(echo, err=True)
            report = synthesize_shards(inputs, config, workbench, out, tell=said)
        else:
            progress = SynthesisProgress()
            with watching(partial(line_of, progress, "problems"), show=not (quiet or as_json)) as say:
                say(
                    f"{out}: {config.problems:,} problems, {config.solutions} solutions and {config.testings} testings "
                    f"each; replies of {_asked(config)}"
                )
                report = synthesize(inputs, config, workbench, out, progress)
    show_figures(report, as_json=True) if as_json else _summary(report, out)
    warn(report)
    _refuse_nothing(report, out)


def _inputs(run: Path, seeds: str | None, unit: Unit | None) -> Inputs:
    from evosyn.domains import load_pools
    from evosyn.names import bound_names
    from evosyn.parsing import tree_or_none
    from evosyn.strategies import load_strategy, unit_of
    from evosyn.strategies.genome import ENTRY_POINTS
    from evosyn.synthesis.inputs import Inputs, standing_of
    from evosyn.synthesis.shift import read_evolved_on

    file = run if run.suffix == ".py" else run / "strategy.py"
    if not file.is_file():
        lacks = "has no strategy.py" if run.is_dir() else "is no strategy file" if run.exists() else "no such directory"
        raise UsageError(
            f"RUN {run}: {lacks}; give a directory that `evosyn evolve SEEDS --out RUN` wrote, or a strategy file"
        )
    text = load_strategy(run)
    run, report = _made_by(run, file, text)
    source = seeds or _seeds_of(run)
    problems = tuple(pool.problem for pool in load_pools(source))
    tree = tree_or_none(text)
    nodes = [] if tree is None else [node for node in ast.walk(tree) if isinstance(node, ast.stmt)]
    if not any(bound_names(node) & {*ENTRY_POINTS} for node in nodes):
        lacks = "does not parse" if tree is None else f"defines none of {', '.join(ENTRY_POINTS)}"
        raise UsageError(f"RUN {file}: is no strategy: it {lacks}; try it with `evosyn score --strategy {file}`")
    evolved_on = read_evolved_on(report)
    return Inputs(text, str(run), problems, source, standing_of(report), evolved_on, unit or unit_of(text))


def _made_by(run: Path, file: Path, text: str) -> tuple[Path, dict[str, Json]]:
    """The run that a strategy is the winner of, and its report; the file alone, and nothing, where none lies there."""
    from evosyn.rundir import RunDir
    from evosyn.strategies import strategy_id

    report = RunDir(file.parent).read_json("report.json") if (file.parent / "report.json").is_file() else {}
    if run.is_dir():
        return run, report
    best = report.get("best")
    is_winner = isinstance(best, dict) and best.get("id") == strategy_id(text)
    return (file.parent, report) if is_winner else (run, {})


def _seeds_of(run: Path) -> str:
    """The seed pool that a run was evolved on, from its manifest."""
    from evosyn.matrices import is_matrices_file
    from evosyn.rundir import RunDir

    if run.is_dir():
        manifest = RunDir(run).read_json("manifest.json")
        if str(manifest.get("kind")).startswith("synthesize"):
            made = manifest.get("strategy_from")
            raise UsageError(
                f"RUN {run}: is a dataset; name the run of `evosyn evolve` that made its strategy ({made})"
            )
        source = manifest.get("source")
        if isinstance(source, str) and "pools" in manifest:
            told = f"was evolved on several pools together ({source}), and seeds are of one"
        elif isinstance(source, str) and (is_matrices_file(source) or Path(source).is_dir()):
            told = f"was evolved on recorded matrices ({source}), which hold no problem to ask for more of"
        elif isinstance(source, str):
            return source
        else:
            told = "its manifest.json does not say which seed problems it was made from"
        raise UsageError(f"RUN {run}: {told}; name seed problems with --seeds POOL")
    raise UsageError(f"RUN {run}: a strategy file alone says of no seed problems; name them with --seeds POOL")


def _asked(config: SynthesizeConfig) -> str:
    """Who is asked, for the progress line."""
    teacher = config.workbench.teacher
    return ", ".join((teacher.spec or "", *config.also))


def _estimate(inputs: Inputs, config: SynthesizeConfig, workbench: Workbench, *, show: bool) -> dict[str, Json]:
    import asyncio

    from evosyn.cli._progress import watching
    from evosyn.synthesis.estimate import SamplingTeacher, asks_for_inputs, estimate, foretold, sample

    with watching(lambda: "waiting for replies", show=show, last=False) as say:
        say(foretold(config.problems, config.solutions, config.testings, config.sampling.attempts, makes=True))
        teacher = SamplingTeacher(workbench.teacher(), say)
        asyncio.run(sample(inputs.seeds, workbench.domains, teacher, config))
    large = asks_for_inputs(config, inputs.seeds, workbench.domains)
    sampled = teacher.sampled(large=large, slots=workbench.slots)
    return {"teacher": teacher.name, **estimate(config, sampled, config.workbench.teacher.calls)}


def _summary(report: dict[str, Json], out: Path) -> None:
    from evosyn.cli._synthesis_view import funnel
    from evosyn.cli._tables import show_taken
    from evosyn.dataset import SETTINGS, parquet_path

    funnel(report)
    show_taken(report)
    if not report["kept"]:
        return
    parts = "" if parquet_path(out).stem in SETTINGS else "-*"
    echo(f"dataset: {out}/dataset/{{{','.join(SETTINGS)}}}{parts}.parquet, card: {out}/README.md")
    echo(f"next:    evosyn inspect {out} --sample 1")
    echo(f"         evosyn train {out} --model builtin:tiny --out models/{out.name}")


def _refuse_nothing(report: dict[str, Json], out: Path) -> None:
    """
    Raises:
        CheckFailed: not a single problem was kept.
        TeacherUnavailable: because the teacher gave no reply to any request.
    """
    from evosyn.cli._making import nothing_kept

    if report["kept"]:
        return
    dropped = ", ".join(f"{count} {reason}" for reason, count in report["dropped"].items())
    unusable = ", ".join(f"{count} {reason}" for reason, count in report["unusable_replies"].items())
    said = f"none of {report['asked']} problems was kept: {dropped}" + (
        f"; unusable replies: {unusable}" if unusable else ""
    )
    see = f"See why: evosyn inspect {out} --why syn-000000, and {out}/rejects.jsonl"
    raise nothing_kept(said, report["dropped"].keys(), "problem", see)
