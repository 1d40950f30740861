"""`evosyn evolve`: from seed problems to a filtering strategy, with the scores of train and held-out problems."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
from evosyn.cli._limits import limits_of, names_limit, require_run
from evosyn.cli._output import echo
from evosyn.errors import EXIT_BUDGET, CheckFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evosyn.records import Json
    from evosyn.synthesis.search.config import EvolveConfig
    from evosyn.synthesis.search.inputs import Source

SEARCHES = ("evolve", "genetic", "iid", "sequential", "hillclimb", "openevolve")
MODEL_ARMS = {"diff": 0.25, "rewrite": 0.15, "crossover": 0.1, "genetic": 0.5}
MODEL_PROPOSALS = 200
DEFAULTS = {"scoring.M": 16, "scoring.N": 16, "scoring.draws": 8}
BUDGETS = frozenset({"model-calls", "cost", "time"})


class EvolveCommand(ConfiguredCommand):
    """With defaults that depend on whether a model is asked."""

    def configuration(self, values: dict[str, Any], **given: Any) -> Any:
        if len(values["source"]) == 1:
            (values["source"],) = values["source"]
        search = values["islands__search"]
        if search in ("genetic", "openevolve"):
            values["islands__search"] = "evolve"
        if search == "openevolve":
            values["engine"] = search
        arms = dict(_arm(text) for text in values.pop("arms")) or ({"genetic": 1.0} if search == "genetic" else None)
        said = super().configuration(dict(values), **given)
        has_model = said.workbench.teacher.spec is not None
        first = {"stop.proposals": MODEL_PROPOSALS} if has_model else {"stop.evaluations": 3000, "stop.plateau": 700}
        limits = {} if names_limit(said) else limits_of(values["out"]) or first
        config = super().configuration(values, defaults={**DEFAULTS, **limits}, **given)
        if arms is None and has_model and "arms" not in said.proposers.model_fields_set:
            arms = MODEL_ARMS
        if arms is None:
            return config
        return config.model_copy(update={"proposers": config.proposers.model_copy(update={"arms": arms})})


@click.command(
    cls=EvolveCommand,
    kind="evosyn.synthesis.search.config:EvolveConfig",
    presets="evolve",
    short_help="Evolve a filtering strategy on seed problems.",
)
@click.argument("source", required=False, nargs=-1)
@out_option("Run directory.")
@flag("-M", "scoring.M", "Solutions of a draw. [default: 16]", type=click.IntRange(2))
@flag("-N", "scoring.N", "Testings of a draw. [default: 16]", type=click.IntRange(2))
@flag("--strict", "scoring.strict", "Leave out problems with fewer than M or N.", is_flag=True)
@flag(
    "--evaluations",
    "stop.evaluations",
    "Programs to evaluate; looked at between proposals, so a last burst may pass it. [default: 3000 without a model]",
    type=click.IntRange(1),
)
@flag(
    "--iterations",
    "stop.proposals",
    "Proposals to make; a genetic one is a burst of programs. [default: 200 with a model]",
    type=click.IntRange(1),
)
@click.option("--continue", "more", type=click.IntRange(1), help="Add this many evaluations (or iterations) to a run.")
@flag(
    "--search",
    "islands.search",
    "evolve, an equal-budget baseline, or OpenEvolve in place of our search. [default: evolve]",
    type=click.Choice(SEARCHES),
)
@click.option(
    "--proposer",
    "arms",
    multiple=True,
    metavar="NAME[@MODEL][=SHARE]",
    help="genetic, diff, rewrite, explain, crossover, mailbox:DIR, or a dotted path; repeatable. "
    "[default: genetic; with a model also diff, rewrite and crossover]",
)
@flag("--evolved", "evolved.name", "Not strategies but this plug-in: its name or dotted path.")
@click.option("--start", multiple=True, help="Known strategy or file to start from; the first is the one to beat.")
@click.option("--seed", type=int, help="Root of all random choices. [default: 0]")
@teacher_options
@flag("--agent", "workbench.agent.name", "Who works on tasks of agents: loop, or a dotted path. [default: loop]")
@sandbox_options
@config_options("islands.exploration=0.3, stop.target=0.9, workbench.teacher.calls=8")
@preset_option
@click.option("--dry-run", is_flag=True, help="Say what it would take, from a sample of two seeds, and stop.")
@click.option("--json", "as_json", is_flag=True, help="Print the report as JSON and nothing else.")
@click.option("--quiet", is_flag=True, help="No progress.")
def command(config: EvolveConfig, out: Path, more: int | None, as_json: bool, quiet: bool, dry_run: bool) -> int:
    """Evolve a filtering strategy.

    SOURCE is builtin:python-seeds, a pool file (with recorded solutions and testings, or without: then a teacher
    has to be named, from which they are drawn), a file of recorded matrices, or a directory that `evosyn crossexec`
    wrote; the config.yaml of a run names its own. Several are searched together: what two pools share is held out
    of both or of neither, and a winner may fall behind in none. The same command again resumes; on a finished run
    it shows the result. Ends with 1 if the winner does not beat the initial strategy on the held-out problems.
    """
    from evosyn.cli._evolve_view import SearchView, show_report
    from evosyn.cli._progress import watching
    from evosyn.cli._tables import show_taken
    from evosyn.synthesis.recipes.evolved import run_evolved
    from evosyn.synthesis.recipes.strategy import run_evolve
    from evosyn.synthesis.search.inputs import Source
    from evosyn.textual import score_text
    from evosyn.workbench import Workbench

    require_run(out, more)
    if config.evolved.name is not None:
        with Workbench(config.workbench, out=out, seed=config.seed) as workbench:
            report = run_evolved(config, config.evolved.name, out, workbench, more=more or 0)
        echo(json.dumps(report, indent=2))
        return EXIT_BUDGET if report["stopped"] in BUDGETS else 0
    if not config.sources:
        raise UsageError("SOURCE: name what to evolve on, such as builtin:python-seeds, or give the --config of a run")
    opened = Source(*config.sources)
    opened.check()
    if dry_run:
        for line in opened.notes(config.heldout):
            echo(f"warning: {line}", err=True)
        _show_plan(opened, config, out, as_json=as_json, show=not (quiet or as_json))
        return 0
    with Workbench(config.workbench, out=out, seed=config.seed, company=config.company) as workbench:
        view = SearchView(config.stop, workbench.replies)
        with watching(view, show=not (quiet or as_json), last=False) as view.say:
            asked = "" if opened.recorded else f"; replies of {config.workbench.teacher.spec}"
            view.say(f"{out}: {len(opened.pools) + len(opened.matrices):,} problems{asked}")
            report = run_evolve(config, opened, out, workbench, more=more or 0, progress=view)
    echo(json.dumps(report, indent=2)) if as_json else show_report(report, out)
    if not as_json:
        show_taken(report)
    if not report["beats_initial"]:
        raise CheckFailed(
            f"the winner does not beat the initial strategy on the held-out problems "
            f"({score_text(report['best']['heldout_score'])} against "
            f"{score_text(report['initial']['heldout_score'])}); "
            f"everything is written to {out}. {_advice(report)}"
        )
    return EXIT_BUDGET if report["stopped"] in BUDGETS else 0


def _advice(report: Mapping[str, Json]) -> str:
    """What may help a winner that did not win."""
    from evosyn.synthesis.search.seeds import FEW_HELD_OUT, few_held_out

    board = report["leaderboard"]["heldout"]
    held = board["tasks"]
    text = few_held_out(held) if held < FEW_HELD_OUT else "more problems, draws or evaluations may help"
    return text[0].upper() + text[1:]


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


def _show_plan(source: Source, config: EvolveConfig, out: Path, *, as_json: bool, show: bool) -> None:
    import asyncio

    from evosyn.cli._progress import watching
    from evosyn.cli._tables import keep_estimate, show_estimate
    from evosyn.synthesis.estimate import SamplingTeacher, foretold
    from evosyn.synthesis.recipes.strategy import see_all
    from evosyn.synthesis.search.estimate import estimate_search, sample_seeds
    from evosyn.workbench import Workbench

    sampled, calls = None, config.workbench.teacher.calls
    with (
        Workbench(config.workbench, out=out, seed=config.seed) as workbench,
        watching(lambda: "waiting for replies", show=show, last=False) as say,
    ):
        if not source.recorded:
            say(foretold(len(source.pools), *config.drawn, config.sampling.attempts))
        see_all(config, out, workbench)
        if not source.recorded:
            teacher = SamplingTeacher(workbench.teacher(), say)
            problems = [pool.problem for pool in source.pools]
            asyncio.run(sample_seeds(problems, workbench.domains, teacher, config))
            sampled = teacher.sampled(slots=workbench.slots)
    found = estimate_search(config, source, sampled, calls)
    keep_estimate(found, out)
    show_estimate(found, as_json=as_json, kept_in=None if sampled is None else out / "replies.sqlite")
