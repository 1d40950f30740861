"""`evosyn evolve`: from seed problems to a filtering strategy, with the scores of train and held-out problems."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._teacher import TeacherOptions, budget_of, open_teacher, teacher_options
from evosyn.errors import EXIT_BUDGET, CheckFailed, UsageError

if TYPE_CHECKING:
    from evosyn.ports import Sandbox, Teacher
    from evosyn.records import Json
    from evosyn.strategies.running.sandboxed import SandboxedRunner
    from evosyn.synthesis.recipes._evolve_config import EvolveConfig
    from evosyn.synthesis.recipes.evolve import Machinery, Progress
    from evosyn.teachers.budget import Budget

FILE = click.Path(dir_okay=False, path_type=Path)
SEARCHES = ("evolve", "genetic", "iid", "sequential", "hillclimb")
MODEL_ARMS = {"diff": 0.25, "rewrite": 0.15, "crossover": 0.1, "genetic": 0.5}
MODEL_PROPOSALS = 200
BUDGETS = frozenset({"model-calls", "cost", "time"})


@click.command(short_help="Evolve a filtering strategy on seed problems.")
@click.argument("source")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Run directory.")
@click.option("-M", "m", type=click.IntRange(2), help="Solutions of a draw. [default: 16]")
@click.option("-N", "n", type=click.IntRange(2), help="Testings of a draw. [default: 16]")
@click.option("--draws", type=click.IntRange(1), help="M x N draws from each problem's pool. [default: 8]")
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
@click.option("--start", multiple=True, help="Known strategy or file to start from; the first is the one to beat.")
@click.option("--split-testings", is_flag=True, help="Make every single case or assert a testing of its own.")
@click.option("--islands", type=click.IntRange(1), help="Islands. [default: 4]")
@click.option("--heldout", type=float, help="Share of problems that only the report looks at. [default: 0.4]")
@click.option("--target", type=float, help="Stop at this score.")
@click.option(
    "--plateau",
    type=click.IntRange(1),
    help="Stop after so many evaluations without a better best. [default: 700 without a model]",
)
@click.option("--timeout", type=float, help="Stop (resumable, exit 3) after this many seconds of search.")
@click.option("--lag", type=click.IntRange(1), help="Proposals drawn ahead of the commits. [default: 8]")
@click.option("--concurrency", type=click.IntRange(1), help="Proposals in the making at once. [default: 8]")
@click.option("--seed", type=int, help="Root of all random choices. [default: 0]")
@teacher_options
@click.option("--sandbox", "backend", default="local", show_default=True, help="Where programs are executed.")
@click.option("--workers", type=click.IntRange(1), help="Sandbox processes. [default: one a core]")
@click.option("--allow-weak-sandbox", is_flag=True, help="Run even where the sandbox cannot protect this machine well.")
@click.option("--config", "file", type=FILE, help="YAML file; flags win over it.")
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="Any configuration key: islands.exploration=0.3"
)
@click.option("--dry-run", is_flag=True, help="Say what it would take, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress.")
def command(source: str, out: Path, more: int | None, as_json: bool, quiet: bool, dry_run: bool, **values: Any) -> int:
    """Evolve a filtering strategy.

    SOURCE is builtin:python-seeds, a pool file (with recorded solutions and testings, or without: then they are drawn
    from a teacher), a file of recorded matrices, or a directory that `evosyn crossexec` wrote. The same command again
    resumes; on a finished run it shows the result. Ends with 1 if the winner does not beat the initial strategy on the
    held-out problems.
    """
    from evosyn.cli._evolve_view import show_report, watching
    from evosyn.sandbox import open_sandbox
    from evosyn.sharing import Company
    from evosyn.strategies.running.sandboxed import SandboxedRunner
    from evosyn.synthesis.recipes._evolve_inputs import Source
    from evosyn.synthesis.recipes.evolve import run_evolve

    options = TeacherOptions.take_from(values)
    config = _config(values, has_model=bool(options.model))
    opened = Source(source)
    if dry_run:
        _show_plan(opened, config, as_json)
        return 0
    weak = values["allow_weak_sandbox"]
    with (
        watching(config, show=not (quiet or as_json)) as progress,
        open_sandbox(values["backend"], workers=values["workers"], allow_weak=weak, numpy=True) as sandbox,
    ):
        runner = SandboxedRunner(sandbox, company=Company(share=config.company))
        machinery = _machinery(runner, options, opened.name, out, config.seed, progress)
        report = run_evolve(config, opened, out, machinery, more=more or 0)
    click.echo(json.dumps(report, indent=2)) if as_json else show_report(report, out)
    if not report["beats_initial"]:
        raise CheckFailed(
            f"the winner does not beat the initial strategy on the held-out problems "
            f"({report['best']['heldout_score']:.3f} against {report['initial']['heldout_score']:.3f}); "
            f"everything is written to {out}. More problems, draws or evaluations may help"
        )
    return EXIT_BUDGET if report["stopped"] in BUDGETS else 0


def _config(values: Mapping[str, Any], *, has_model: bool) -> EvolveConfig:
    from evosyn.configs.loading import load_config
    from evosyn.synthesis.recipes._evolve_config import EvolveConfig

    search = values["search"]
    arms = dict(_arm(text) for text in values["arms"]) or None
    if arms is None and search == "genetic":
        arms = {"genetic": 1.0}
    if arms is None and has_model and values["file"] is None:
        arms = MODEL_ARMS
    flags = {
        "seed": values["seed"],
        "heldout": values["heldout"],
        "scoring.M": values["m"],
        "scoring.N": values["n"],
        "scoring.draws": values["draws"],
        "stop.evaluations": values["evaluations"],
        "stop.proposals": values["iterations"],
        "stop.target": values["target"],
        "stop.plateau": values["plateau"],
        "stop.seconds": values["timeout"],
        "loop.lag": values["lag"],
        "loop.concurrency": values["concurrency"],
        "islands.count": values["islands"],
        "islands.search": {"genetic": "evolve"}.get(search, search),
        "start": list(values["start"]) or None,
        "engine": values["engine"],
        "split_testings": values["split_testings"] or None,
    }
    base = []
    if values["iterations"] is None and values["evaluations"] is None:
        base = [f"stop.proposals={MODEL_PROPOSALS}"] if has_model else ["stop.evaluations=3000", "stop.plateau=700"]
    base += ["stop.evaluations=null"] if has_model or values["iterations"] is not None else []
    own = [*base, "scoring.M=16", "scoring.N=16", "scoring.draws=8"] if values["file"] is None else []
    sets = [*own, *values["sets"]]
    config = load_config(EvolveConfig, file=values["file"], sets=sets, flags=flags)
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


def open_model(
    options: TeacherOptions,
    name: str | None,
    *,
    seed: int,
    sandbox: Sandbox,
    replies: Path,
    budget: Budget | None = None,
) -> Teacher:
    """The teacher that a proposer asks: the model `name`, or for None the one that the options stand for.

    Args:
        budget: shared with the other models of the run; by default one of its own, from the options.

    Raises:
        UsageError: there is none; the offline teacher proposes no strategies.
    """
    if name is not None:
        options = replace(options, model=name, teacher=None)
    elif options.model is None and options.teacher in (None, "offline"):
        raise UsageError("--proposer: this proposer asks a model; name one with --model provider/name")
    return open_teacher(options, seed=seed, sandbox=sandbox, replies=replies, budget=budget)


def _machinery(
    runner: SandboxedRunner, options: TeacherOptions, source: str, out: Path, seed: int, progress: Progress
) -> Machinery:
    from evosyn.crossexec.executor import CrossExecutor
    from evosyn.crossexec.judge import Judge
    from evosyn.crossexec.verdict_cache import SqliteVerdicts
    from evosyn.synthesis.recipes._evolve_inputs import Makers
    from evosyn.synthesis.recipes._openevolve import ModelEndpoint
    from evosyn.synthesis.recipes.evolve import Machinery

    sandbox = runner.sandbox
    given: dict[str, Any] = {"seed": seed, "sandbox": sandbox, "replies": out / "replies.sqlite"}
    given["budget"] = budget_of(options)

    def teacher(default: str | None) -> Any:
        return open_teacher(options, **given, default=default)

    def model(name: str | None) -> Any:
        return open_model(options, name, **given)

    def endpoint() -> ModelEndpoint:
        provider, _, name = (options.model or "").partition("/")
        if not name or (provider != "openai" and options.base_url is None):
            raise UsageError(
                "--engine openevolve asks an OpenAI-compatible endpoint: give --model openai/NAME, "
                "or --model provider/NAME with --base-url"
            )
        url = options.base_url or "https://api.openai.com/v1"
        return ModelEndpoint(name, url, options.api_key_env or "OPENAI_API_KEY")

    from evosyn.domains import Domains

    domains = Domains()
    builtin = "offline" if source.startswith("builtin:") else None
    makers = Makers(
        teacher=lambda: teacher(builtin),
        crossexec=lambda: CrossExecutor(Judge(sandbox, domains, cache=SqliteVerdicts(out / "verdicts.sqlite"))),
        domain=lambda name: domains[name],
    )
    return Machinery(runner, model, makers, endpoint, progress)


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
