"""`evosyn export environments NAME...`: environments in another tool's format, without a dataset between."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from evosyn.cli._command import ConfiguredCommand
from evosyn.cli._output import echo
from evosyn.cli._programs import CONFIG, program_options

if TYPE_CHECKING:
    from evosyn.cli._configs import CheckConfig


@click.command("environments", cls=ConfiguredCommand, kind=CONFIG, short_help="Environments in another tool's format.")
@click.option("--format", "form", required=True, metavar="NAME", help="reasoning_gym, verifiers, trl, verl, ...")
@click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help="Directory to write to.")
@click.option("--per-env", type=click.IntRange(1), default=40, show_default=True, help="Rows of each; levels in turn.")
@click.option("--name", default="environments", show_default=True, help="Of the package, or of the data.")
@program_options
def command(
    config: CheckConfig,
    names: tuple[str, ...],
    form: str,
    out: Path,
    per_env: int,
    name: str,
    seed: int,
    as_json: bool,
) -> int:
    """Write environments that pass `evosyn env check` in the format of another tool. Ends with 1 if one does not pass.

    NAME is what `evosyn env` takes: a file, a directory of `env make` or `env evolve`, builtin:known, ...
    """
    import json

    from evosyn.cli._programs import made_rows
    from evosyn.synthesis.exports import claim_place, export_dataset, format_named
    from evosyn.workbench import Workbench

    form = format_named(form)
    claim_place(out)
    with Workbench(config.workbench) as workbench:
        made = made_rows(workbench, names, per_env, None, seed)
    exported = export_dataset(made.samples, form, out, name=name)
    dropped = made.dropped | exported.skipped
    if as_json:
        told = {"files": [str(path) for path in exported.files], "rows": exported.rows, "dropped": dropped}
        echo(json.dumps(told, indent=2))
    else:
        echo(f"{form}: {made.environments} environments, {len(made.samples)} rows in {out}")
        for reason, count in dropped.items():
            echo(f"  {count} left out: {reason}")
        echo(f"use: {exported.usage}")
    return 1 if made.rejects else 0
