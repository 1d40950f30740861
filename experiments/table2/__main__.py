"""`python -m experiments.table2`: the fields of `Table2Config` are its options."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from pathlib import Path
from typing import Literal, get_args, get_origin

import click

from evosyn.cli import main
from evosyn.cli._command import ConfiguredCommand, config_options, out_option, sandbox_options
from evosyn.cli._output import echo
from evosyn.cli._training import quiet_libraries, tty_note
from evosyn.configs.saving import save_config
from experiments.table2.config import ExperimentTools, SandboxOpener, Table2Config
from experiments.table2.table2 import create

PARTS = {"command", "workbench", "train", "distill"}
"""Fields that are no options: `--set` reaches the keys of the last three."""


def _options() -> list[click.Option]:
    found = []
    for key, field in Table2Config.model_fields.items():
        if key in PARTS:
            continue
        told = [field.description or ""]
        if field.default is not None:
            told.append(f"[default: {','.join(field.default) if isinstance(field.default, tuple) else field.default}]")
        kind = field.annotation
        typed = click.Choice(get_args(kind)) if get_origin(kind) is Literal else kind if kind is int else str
        found.append(click.Option([f"--{key.replace('_', '-')}"], type=typed, help=" ".join(told)))
    return found


@click.command(cls=ConfiguredCommand, kind=Table2Config, help=inspect.getdoc(Table2Config))
@sandbox_options
@config_options("train.KEY=VALUE or distill.KEY=VALUE (keys of evosyn train and distill, with --data)")
@out_option("Resumable directory.")
@click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output.")
def command(config: Table2Config, out: Path, as_json: bool) -> None:
    experiment = create(ExperimentTools(SandboxOpener(config.workbench.sandbox), tty_note), config)
    save_config(out, config)
    quiet_libraries()
    with contextlib.redirect_stdout(sys.stderr):  # libraries print; standard output is for the report
        found = experiment.run(out)
    echo(json.dumps(found.report, indent=2) if as_json else found.text)
    echo(f"wrote {out}", err=True)


command.params[:0] = _options()

if __name__ == "__main__":
    main(command=command, name="python -m experiments.table2")
