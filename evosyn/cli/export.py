"""`evosyn export`: a dataset or environments in another tool's format, or the strategy of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from evosyn.cli._export_environments import command as environments
from evosyn.cli._export_run import COMMANDS as RUN_EXPORTS
from evosyn.cli._export_run import export_held
from evosyn.cli._output import echo
from evosyn.errors import UsageError

FORMATS = "trl, verl, openrlhf, verifiers, sft, dpo or jsonl; of environments also reasoning_gym"
OTHERS = {**RUN_EXPORTS, "environments": environments}
DIRECTORY = click.Path(file_okay=False, path_type=Path)


class Exports(click.Group):
    """`evosyn export DATA --format F`; `evosyn export environments NAME...`, `strategy RUN`, `openevolve RUN` and
    `replies RUN...`."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return ["data", *OTHERS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name == "data":
            return data
        return OTHERS.get(cmd_name)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        if args and (args[0] not in self.list_commands(ctx) or _means_directory(args)):
            return "data", data, args
        return super().resolve_command(ctx, args)


def _means_directory(args: list[str]) -> bool:
    """Whether a word that is a command as well names a dataset: there is such a directory, and a format and nothing
    else follows."""
    if not Path(args[0]).is_dir():
        return False
    try:
        given, _, _ = data.make_parser(click.Context(data)).parse_args(args=args[1:])
    except click.UsageError:
        return False
    return isinstance(given.get("form"), str) and not isinstance(given.get("directory"), str)


@click.group(cls=Exports, short_help="Write a dataset or a strategy in another tool's format.")
def command() -> None:
    """Write a dataset in another tool's format: evosyn export DATA --format trl|verl|openrlhf|verifiers|sft|dpo|jsonl;
    one of environments also reasoning_gym."""


@click.command("data", short_help="A dataset in another tool's format.")
@click.argument("directory", type=DIRECTORY)
@click.option("--format", "form", metavar="NAME", help=f"{FORMATS}. [required]")
@click.option("--out", type=DIRECTORY, help="Directory to write to. [default: DATA/export/FORMAT]")
@click.option("--setting", type=click.Choice(["evosyn", "relaxed", "random"]), default="evosyn", show_default=True)
@click.option(
    "--holdout", type=click.FloatRange(0, 1, max_open=True), default=0.0, help="Share of the problems for a test split."
)
@click.option("--band", metavar="A:B", help="Only rows with a solve rate in it, such as .1:.9 (evosyn calibrate).")
@click.option("--student", metavar="NAME", help="With --band: whose solve rate, where there are several.")
@click.option("--name", help="Name of the data; a package name for verifiers. [default: that of DATA]")
@click.option("--reasoning", default="auto", metavar="NAME", help="How the models to train mark reasoning; for tasks.")
@click.option("--push", metavar="REPO", help="Also upload the dataset with its card to this repository of the hub.")
@click.option("--private/--public", default=True, show_default=True, help="With --push: who can see it.")
@click.option("--json", "as_json", is_flag=True, help="Print what was written as JSON.")
def data(directory: Path, form: str | None, out: Path | None, setting: str, as_json: bool, **options: Any) -> None:
    """Write the dataset DIRECTORY in the format of another tool; of `evosyn coevolve` what is held, as a pool."""
    from evosyn.dataset import read_dataset
    from evosyn.reading.opening import kind_of
    from evosyn.synthesis.exports import export_dataset, format_named
    from evosyn.text.reasoning import form_named

    if form is None:
        raise UsageError(f"--format: name one of {FORMATS}")
    name = options["name"] or directory.resolve().name
    target = out or directory / "export" / form
    if directory.is_dir() and kind_of(directory) == "coevolve":
        export_held(directory, form, target, as_json=as_json)
        return
    form, reasoning = format_named(form), form_named(options["reasoning"], "--reasoning")
    samples = read_dataset(directory, setting)
    if options["band"]:
        from evosyn.rates import in_band

        samples = in_band(samples, directory, setting, options["band"], options["student"])
    exported = export_dataset(samples, form, target, name=name, holdout=options["holdout"], reasoning=reasoning)
    url = None
    if options["push"]:
        from evosyn.synthesis.push import push_dataset

        url = push_dataset(directory, options["push"], private=options["private"])
    if as_json:
        import json

        shown = {"files": [str(path) for path in exported.files], "rows": exported.rows, "skipped": exported.skipped}
        echo(json.dumps({**shown, "pushed": url}, indent=2))
        return
    rows = ", ".join(f"{count} {split}" for split, count in exported.rows.items())
    echo(f"{form}: {rows} rows in {target}")
    for reason, count in exported.skipped.items():
        echo(f"  {count} left out: {reason}")
    echo(f"use: {exported.usage}")
    if url:
        echo(f"pushed to {url}")
