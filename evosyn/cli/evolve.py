"""`evosyn evolve`: from seed problems to a filtering strategy, with the scores of train and held-out problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._workbench import sandbox_options, teacher_options, workbench_flags
from evosyn.errors import EXIT_BUDGET, CheckFailed, UsageError
from evosyn.pools import BUILTIN

if TYPE_CHECKING:
    from evosyn.records import Json
    from evosyn.synthesis.search.config import EvolveConfig

FILE = click.Path(dir_okay=False, path_type=Path)
SEARCHES = ("evolve", "genetic", "iid", "sequential", "hillclimb")
MODEL_ARMS = {"diff": 0.25, "rewrite": 0.15, "crossover": 0.1, "genetic": 0.5}
MODEL_PROPOSALS = 200
BUDGETS = frozenset({"model-calls", "cost", "time"})


@click.command(short_help="Evolve a filtering strategy on seed problems.")
@click.argument("source", required=False)
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Run directory.")
@click.option("-M", "m", type=click.IntRange(2), help="Solutions of a draw. [default: 16]")
@click.option("-N", "n", type=click.IntRange(2), help="Testings of a draw. [default: 16]")
@click.option("--evaluations", type=click.IntRange(1), help="Programs to evaluate. [default: 3000 without a model]")
@click.option(
    "--iterations",
    type=click.IntRange(1),
    help="Proposals to make; a genetic one is a burst of programs. [default: 200 with a model]",
)
@click.option("--continue", "more", type=click.IntRange(1), help="Add this many evaluations (or iterations) to a run.")
@click.option("--search", type=click.Choice(SEARCHES), help="evolve, or an equal-budget baseline. [default: evolve]")
@click.option("--engine", type=click.Choice(["evosyn", "openevolve"]), help="Who searches. [default: evosyn]")
@click.option(
    "--proposer",
    "arms",
    multiple=True,
    metavar="NAME[@MODEL][=SHARE]",
    help="genetic, diff, rewrite, explain, crossover, mailbox:DIR, or a dotted path; repeatable. "
    "[default: genetic; with a model also diff, rewrite and crossover]",
)
@click.option("--evolved", help="Not strategies but this plug-in: its name or dotted path.")
@click.option("--start", multiple=True, help="Known strategy or file to start from; the first is the one to beat.")
@click.option("--seed", type=int, help="Root of all random choices. [default: 0]")
@teacher_options
@sandbox_options
@click.option("--config", "file", type=FILE, help="YAML file, such as the config.yaml of a run; flags win over it.")
@click.option(
    "--set",
    "sets",
    multiple=True,
    metavar="KEY=VALUE",
    help="Any key of config.yaml: islands.exploration=0.3, stop.target=0.9, workbench.teacher.calls=8",
)
@click.option("--dry-run", is_flag=True, help="Say what it would take, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress.")
def command(
    source: str | None, out: Path, more: int | None, as_json: bool, quiet: bool, dry_run: bool, **values: Any
) -> int:
    """Evolve a filtering strategy.

    SOURCE is builtin:python-seeds, a pool file (with recorded solutions and testings, or without: then they are drawn
    from a teacher), a file of recorded matrices, or a directory that `evosyn crossexec` wrote; the config.yaml of a run
    names its own. The same command again resumes; on a finished run it shows the result. Ends with 1 if the winner does
    not beat the initial strategy on the held-out problems.
    """
    from evosyn.cli._evolve_view import show_report, watching
    from evosyn.synthesis.recipes.evolved import run_evolved
    from evosyn.synthesis.recipes.strategy import run_evolve
    from evosyn.synthesis.search.inputs import Source
    from evosyn.workbench import Workbench

    config = _config({**values, "source": source})
    if config.evolved.name is not None:
        with Workbench(config.workbench, out=out, seed=config.seed) as workbench:
            report = run_evolved(config, config.evolved.name, out, workbench, more=more or 0)
        click.echo(json.dumps(report, indent=2))
        return EXIT_BUDGET if report["stopped"] in BUDGETS else 0
    if config.source is None:
        raise UsageError("SOURCE: name what to evolve on, such as builtin:python-seeds, or give the --config of a run")
    opened = Source(config.source)
    if dry_run:
        _show_plan(opened, config, as_json)
        return 0
    default = "offline" if config.source.startswith(BUILTIN) else None
    with (
        watching(config, show=not (quiet or as_json)) as progress,
        Workbench(config.workbench, out=out, seed=config.seed, company=config.company, default=default) as workbench,
    ):
        report = run_evolve(config, opened, out, workbench, more=more or 0, progress=progress)
    click.echo(json.dumps(report, indent=2)) if as_json else show_report(report, out)
    if not report["beats_initial"]:
        raise CheckFailed(
            f"the winner does not beat the initial strategy on the held-out problems "
            f"({report['best']['heldout_score']:.3f} against {report['initial']['heldout_score']:.3f}); "
            f"everything is written to {out}. More problems, draws or evaluations may help"
        )
    return EXIT_BUDGET if report["stopped"] in BUDGETS else 0


def _config(values: Mapping[str, Any]) -> EvolveConfig:
    """What flags, keys and file say, over the defaults of a search with the model that they name, or of one without."""
    from evosyn.configs.loading import load_config
    from evosyn.synthesis.search.config import EvolveConfig

    search = values["search"]
    flags = {
        "seed": values["seed"],
        "scoring.M": values["m"],
        "scoring.N": values["n"],
        "stop.evaluations": values["evaluations"],
        "stop.proposals": values["iterations"],
        "islands.search": {"genetic": "evolve"}.get(search, search),
        "start": list(values["start"]) or None,
        "engine": values["engine"],
        "source": values["source"],
        "evolved.name": values["evolved"],
        **workbench_flags(values),
    }
    load = partial(load_config, EvolveConfig, file=values["file"], sets=values["sets"], flags=flags)
    given = load()
    has_model = given.workbench.teacher.model is not None
    limited = "stop" in given.model_fields_set and given.stop.model_fields_set & {"proposals", "evaluations"}
    limits = {"stop.proposals": MODEL_PROPOSALS} if has_model else {"stop.evaluations": 3000, "stop.plateau": 700}
    config = load(defaults={"scoring.M": 16, "scoring.N": 16, "scoring.draws": 8, **({} if limited else limits)})
    arms = dict(_arm(text) for text in values["arms"]) or ({"genetic": 1.0} if search == "genetic" else None)
    if arms is None and has_model and "arms" not in given.proposers.model_fields_set:
        arms = MODEL_ARMS
    return config if arms is None else config.model_copy(update={"proposers": _with_arms(config, arms)})


def _with_arms(config: EvolveConfig, arms: dict[str, float]) -> Any:
    return config.proposers.model_copy(update={"arms": arms})


def _arm(text: str) -> tuple[str, float]:
    name, equals, share = text.rpartition("=")
    if not equals:
        return text, 1.0
    try:
        weight = float(share)
    except ValueError:
        raise UsageError(f"--proposer {text!r}: the share after = must be a number") from None
    if not 0 < weight < 1e6:
        raise UsageError(f"--proposer {text!r}: the share must be above 0")
    return name, weight


def _show_plan(source: Any, config: EvolveConfig, as_json: bool) -> None:
    problems = len(source.pools) or len(source.matrices)
    solutions, testings = config.drawn
    drawn = 0 if source.recorded else problems * (solutions + testings)
    cells = sum(len(pool.solutions) * (len(pool.testings) + 1) for pool in source.pools)
    plan: dict[str, Json] = {
        "problems": problems,
        "replies_to_draw": drawn,
        "executions": cells if source.recorded else problems * solutions * (testings + 1),
        "evaluations": config.stop.evaluations,
        "proposals": config.stop.proposals,
        "proposers": config.proposers.arms,
    }
    if as_json:
        click.echo(json.dumps(plan, indent=2))
        return
    for name, value in plan.items():
        click.echo(f"{name:16} {value}")
