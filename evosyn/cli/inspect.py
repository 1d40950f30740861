"""`evosyn inspect`: what any directory that evosyn wrote holds, and why. The kind of the directory chooses the view."""

from __future__ import annotations

import importlib
import importlib.util
import json
from pathlib import Path
from typing import Any

import click

from evosyn.errors import UsageError


@click.command(short_help="Show any run directory: leaderboard, lineage, matrices, why.")
@click.argument("directory", type=click.Path(path_type=Path))
@click.option("--islands", is_flag=True, help="Run: the grid of every island.")
@click.option("--program", metavar="ID", help="Run: source, figures, evidence, difference to the parent.")
@click.option("--lineage", metavar="ID", help="Run: the ancestors of a candidate.")
@click.option("--diff", nargs=2, metavar="A B", help="Run: the difference between two candidates.")
@click.option("--prompt", metavar="ID", help="Run: the exact prompt and reply behind a candidate.")
@click.option("--matrix", metavar="PROBLEM", help="Run: a matrix with the ranking that --strategy gives it.")
@click.option("--strategy", help="With --matrix: candidate, known strategy or file. [default: the winner]")
@click.option(
    "--why", metavar="ID", help="Run: every decision about a candidate. Data: why a sample was kept or dropped."
)
@click.option("--sample", "samples", type=click.IntRange(1), help="Data: show so many samples.")
@click.option("--setting", default="evosyn", show_default=True, help="Data: which of the three settings.")
@click.option("--json", "as_json", is_flag=True, help="The same as JSON.")
def command(directory: Path, **options: Any) -> None:
    """Show what DIRECTORY holds: a run of `evosyn evolve`, a dataset of `evosyn synthesize`, or any other run.

    Candidates are named by their id, by the beginning of it, or as `best` and `initial`.
    """
    kind = _kind(directory)
    if kind == "evolve":
        _run(directory, options)
    elif kind == "synthesize":
        from evosyn.cli._inspect_data import show_data

        as_json, setting = options["as_json"], options["setting"]
        show_data(directory, why=options["why"], samples=options["samples"], as_json=as_json, setting=setting)
    else:
        _other(directory, kind, options["as_json"])


def _kind(directory: Path) -> str:
    """The kind that the manifest names, or that the files betray.

    Raises:
        UsageError: it is no directory of ours.
    """
    if not directory.is_dir():
        raise UsageError(f"{directory}: is not a directory; give one that an evosyn command wrote")
    for name in ("manifest.json", "report.json"):
        try:
            kind = json.loads((directory / name).read_text(encoding="utf-8")).get("kind")
        except (OSError, ValueError, AttributeError):
            continue
        if isinstance(kind, str):
            return kind
    if not (directory / "report.json").is_file():
        raise UsageError(f"{directory}: holds nothing that an evosyn command writes (no manifest.json, no report.json)")
    return "report"


def _run(directory: Path, options: dict[str, Any]) -> None:
    from evosyn.cli import _inspect_run as views
    from evosyn.cli._run_reader import Run

    run, as_json = Run(directory), options["as_json"]
    if options["matrix"]:
        from evosyn.cli._inspect_matrix import show_matrix

        show_matrix(run, options["matrix"], options["strategy"], as_json)
    elif options["diff"]:
        first, second = options["diff"]
        views.show_diff(run, first, second, as_json)
    elif options["islands"]:
        views.show_islands(run, as_json)
    else:
        for name in ("program", "lineage", "why", "prompt"):
            if options[name]:
                getattr(views, f"show_{name}")(run, options[name], as_json)
                return
        views.show_overview(run, as_json)


def _other(directory: Path, kind: str, as_json: bool) -> None:
    """A directory of another command: its own view if there is one, else its report."""
    module = f"evosyn.cli._inspect_{kind.replace('-', '_')}"
    if kind.replace("-", "_").isidentifier() and importlib.util.find_spec(module) is not None:
        importlib.import_module(module).show(directory, as_json=as_json)
        return
    file = directory / "report.json"
    if not file.is_file():
        raise UsageError(f"{directory}: has no report yet; repeat the command that writes it")
    report = json.loads(file.read_text(encoding="utf-8"))
    if as_json:
        click.echo(json.dumps(report, indent=2))
        return
    click.secho(f"{directory}: {kind}", bold=True)
    for key, value in report.items():
        shown = value if isinstance(value, str | int | float | bool | None) else json.dumps(value)
        click.echo(f"  {key}: {shown if len(str(shown)) < 200 else str(shown)[:197] + '...'}")
