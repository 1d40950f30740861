"""`evosyn env evolve`: environments that a student learns most from, searched for by islands of archives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from evosyn.cli._command import ConfiguredCommand, flag, out_option
from evosyn.cli._limits import limits_of, names_limit, require_run
from evosyn.cli._making import making_options, refuse_nothing
from evosyn.cli._output import echo
from evosyn.cli._progress import watching
from evosyn.errors import EXIT_BUDGET

if TYPE_CHECKING:
    from evosyn.synthesis.environments.config import EnvironmentSearchConfig

BUDGETS = frozenset({"model-calls", "cost", "time"})


class SearchCommand(ConfiguredCommand):
    """With the limits of the run that it goes on with."""

    def configuration(self, values: dict[str, Any], **given: Any) -> Any:
        said = super().configuration(dict(values), **given)
        limits = {} if names_limit(said) else limits_of(values["out"])
        return super().configuration(values, defaults=limits, **given)


@click.command("evolve", cls=SearchCommand, kind="evosyn.synthesis.environments.config:EnvironmentSearchConfig")
@out_option("Directory of the environments; the same command again resumes it.")
@click.option(
    "--from", "start", multiple=True, metavar="NAME", help="What to start from; repeatable. [default: ten bundled ones]"
)
@flag("--student", "student.model", "Who answers: a model as of --model. [default: the same]")
@flag("--per-level", "student.per_level", "Answers of each level. [default: 16]", type=click.IntRange(2))
@flag(
    "--objective",
    "student.objective",
    "What is worth most. [default: learnability]",
    type=click.Choice(["learnability", "target", "band"]),
)
@flag(
    "--evaluations",
    "stop.evaluations",
    "Candidates to evaluate; looked at between proposals, so that a few more may be. [default: 200]",
    type=click.IntRange(1),
)
@click.option("--continue", "more", type=click.IntRange(1), help="Add this many evaluations to those of a run.")
@flag("--reviews", "judging.reviews", "Independent reviews, any of which rejects. [default: 3]", type=click.IntRange(0))
@making_options(
    "proposers.arms='{knobs: 3, rewrite: 1}', crosscheck.solvers=4",
    "Say what it would take, from a sample of two candidates, and stop.",
)
def command(
    config: EnvironmentSearchConfig, out: Path, more: int | None, dry_run: bool, as_json: bool, quiet: bool
) -> int:
    """Search for environments that a student learns from: neither always nor never solved, harder with each level,
    unlike each other.

    Candidates come from KNOBS tables varied without a model and from a model that is shown a parent; each climbs the
    ladder, is reviewed, and is answered by the student (--student). The directory of --out gets what `evosyn env make`
    writes and calibration.jsonl, and is a NAME for `evosyn env check`, `run`, `rows` and `evolve`. Another --student in
    the same directory goes on from there: what the archive holds is measured anew. Ends with 1 if nothing is kept.
    """
    from evosyn.cli._evolve_view import SearchView
    from evosyn.cli._inspect_environment_search import print_overview
    from evosyn.cli._tables import show_estimate, show_figures
    from evosyn.reading.environment_search import EnvironmentSearchReading
    from evosyn.reading.opening import open_directory
    from evosyn.synthesis.environments.search_estimate import estimated_search
    from evosyn.synthesis.recipes.environment_search import evolve_environments
    from evosyn.workbench import Workbench

    require_run(out, more)
    limits = config.crosscheck.execute.limits
    given: dict[str, Any] = {"limits": limits, "own": config.student.own}
    with Workbench(config.workbench, out=out, seed=config.seed, **given) as workbench:
        if dry_run:
            found = estimated_search(config, workbench)
            show_estimate(found, as_json=as_json, kept_in=out / "replies.sqlite", things="candidates")
            return 0
        view = SearchView(config.stop, workbench.replies, "evaluating what the search starts from")
        with watching(view, show=not (quiet or as_json)) as view.say:
            watched: dict[str, Any] = {"on_commit": view.committed, "on_limits": view.limited}
            report = evolve_environments(config, workbench, out, more=more or 0, **watched)
    if as_json:
        show_figures(report, as_json=True)
    else:
        reading = open_directory(out)
        assert isinstance(reading, EnvironmentSearchReading)
        print_overview(reading.overview())
        echo(f"written: {out}/programs, environments.jsonl, calibration.jsonl; look closer with: evosyn inspect {out}")
        echo(f"next:    evosyn env rows {out} --out {out}-rows")
    refuse_nothing(report, out, "candidates")
    return EXIT_BUDGET if report["stopped"] in BUDGETS else 0
