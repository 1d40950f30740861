"""`evosyn env make`: environments from keywords or examples, drafted, checked, judged and cross-executed."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand, flag, out_option, preset_option
from evosyn.cli._making import making_options, refuse_nothing, spent
from evosyn.cli._output import echo
from evosyn.cli._progress import line_of, watching

if TYPE_CHECKING:
    from evosyn.records import Json
    from evosyn.running.progress import RunProgress
    from evosyn.synthesis.environments.config import MakeConfig
    from evosyn.synthesis.environments.draft import Draft


@click.command("make", cls=ConfiguredCommand, kind="evosyn.synthesis.environments.config:MakeConfig", presets="env")
@out_option("Directory of the environments; the same command again resumes it.")
@flag(
    "--keywords",
    "author.keywords",
    "File of topics, one a line. [default: 103 of ours]",
    type=click.Path(dir_okay=False, path_type=Path),
)
@flag(
    "--per-keyword",
    "author.per_keyword",
    "Drafts of each topic, at most. [default: 8]",
    type=click.IntRange(1),
)
@click.option("--limit", type=click.IntRange(1), help="Drafts to ask for, at most. [default: 100]")
@flag(
    "--verifiers",
    "crosscheck.verifiers",
    "Verifiers of each draft, of which the cross-check chooses. [default: 1]",
    type=click.IntRange(1, 16),
)
@flag("--reviews", "judging.reviews", "Independent reviews, any of which rejects. [default: 0]", type=click.IntRange(0))
@flag("--strategy", "crosscheck.strategy", "Ranks verifiers: a name, a file or a RUN. [default: exclusion]")
@making_options("crosscheck.solvers=0", "Say what it would take, from a sample of two drafts, and stop.", preset_option)
def command(config: MakeConfig, out: Path, dry_run: bool, as_json: bool, quiet: bool) -> None:
    """Let a model write verifiable environments, and keep those that stand.

    Each draft climbs the ladder L1 to L5, is judged (and revised once), must be borne out by programs that solve from
    its questions alone, and must repeat nothing. The directory of --out gets programs/, environments.jsonl,
    rejects.jsonl, report.json and README.md, and is a NAME for `evosyn env check`, `run` and `rows`. Presets: `resyn`
    and `evoenv` are the papers' own steps; without one, the cross-check stands beside ReSyn's judges.
    """
    from evosyn.cli._tables import show_estimate, show_figures
    from evosyn.running.progress import RunProgress
    from evosyn.synthesis.environments.estimate import estimated
    from evosyn.synthesis.recipes.environments import make_environments
    from evosyn.workbench import Workbench

    limits = config.crosscheck.execute.limits
    with Workbench(config.workbench, out=out, seed=config.seed, limits=limits) as workbench:
        if dry_run:
            found = estimated(config, workbench)
            show_estimate(found, as_json=as_json, kept_in=out / "replies.sqlite", things="drafts")
            return
        progress: RunProgress[Draft] = RunProgress()
        with watching(partial(line_of, progress, "drafts"), show=not (quiet or as_json)):
            report = make_environments(config, workbench, out, progress)
    show_figures(report, as_json=True) if as_json else _summary(report, out)
    refuse_nothing(report, out, "drafts", "author", "environment")


def _summary(report: Mapping[str, Json], out: Path) -> None:
    echo(f"{'drafts':18}{report['asked']:>6}")
    for row in report["stages"]:
        if row["dropped"]:
            echo(f"  {row['stage']:16}{-row['dropped']:>6}")
    echo(f"{'kept':18}{report['kept']:>6}")
    echo(spent(report))
    if report["kept"]:
        echo(f"next:    evosyn inspect {out}")
        echo(f"         evosyn env rows {out} --out {out}-rows")
