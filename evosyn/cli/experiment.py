"""`evosyn experiment NAME`: arms compared over seeds. The fields of an experiment's config are its options."""

from __future__ import annotations

import contextlib
import functools
import inspect
import json
import sys
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import click
from pydantic.fields import FieldInfo

from evosyn import registry
from evosyn.cli._train_common import quiet_libraries, tty_note


class _Experiments(click.Group):
    """The experiments that the registry finds, each a command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return registry.names("experiments")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return _command(cmd_name, registry.find("experiments", cmd_name))


@click.group(cls=_Experiments, short_help="Compare data settings by training on each.")
def command() -> None:
    """Experiments that train arms which differ in one thing, over several seeds, with the same budget."""


def _command(name: str, plugin: registry.Plugin) -> click.Command:
    fields = plugin.config.model_fields
    parts = [key for key in fields if isinstance(fields[key].get_default(call_default_factory=True), dict)]
    told = "; ".join(f"{key}.KEY: {fields[key].description}" for key in parts)
    options: list[click.Parameter] = [
        *(_option(key, field) for key, field in fields.items() if key not in parts),
        click.Option(["--set", "sets"], multiple=True, metavar="KEY=VALUE", help=f"Any of these keys. {told}".strip()),
        click.Option(
            ["--out"], type=click.Path(file_okay=False, path_type=Path), required=True, help="Resumable run directory."
        ),
        click.Option(["--allow-weak-sandbox"], is_flag=True),
        click.Option(["--json", "as_json"], is_flag=True, help="The report as JSON on standard output."),
    ]
    run = functools.partial(_run, plugin)
    return click.Command(name, params=options, callback=run, help=inspect.getdoc(plugin.config))


def _option(key: str, field: FieldInfo) -> click.Option:
    kind = field.annotation
    told = [field.description or ""]
    if field.default is not None:
        told.append(f"[default: {','.join(field.default) if isinstance(field.default, tuple) else field.default}]")
    return click.Option(
        [f"--{key.replace('_', '-')}"],
        type=click.Choice(get_args(kind)) if get_origin(kind) is Literal else int if kind is int else str,
        help=" ".join(told).strip(),
    )


def _run(
    plugin: registry.Plugin,
    *,
    sets: tuple[str, ...],
    out: Path,
    allow_weak_sandbox: bool,
    as_json: bool,
    **flags: Any,
) -> None:
    from evosyn.configs.loading import load_config
    from evosyn.ports import ExperimentTools
    from evosyn.sandbox import open_sandbox

    opener = functools.partial(open_sandbox, "local", allow_weak=allow_weak_sandbox)
    config = load_config(plugin.config, sets=sets, flags=flags)
    experiment = plugin.create(ExperimentTools(opener, tty_note), config)
    quiet_libraries()
    with contextlib.redirect_stdout(sys.stderr):  # libraries print; standard output is for the report
        found = experiment.run(out)
    click.echo(json.dumps(found.report, indent=2) if as_json else found.text)
    click.echo(f"wrote {out}", err=True)
