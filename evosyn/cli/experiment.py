"""`evosyn experiment NAME`: arms compared over seeds. The fields of an experiment's config are its options."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args, get_origin

import click
from pydantic import BaseModel, create_model
from pydantic.fields import FieldInfo

from evosyn import registry
from evosyn.cli._command import CommandGroup, ConfiguredCommand, config_options, out_option, sandbox_options
from evosyn.cli._output import echo
from evosyn.cli._training import quiet_libraries, tty_note
from evosyn.workbench import SandboxConfig, WorkbenchConfig, sandbox_of

if TYPE_CHECKING:
    from evosyn.ports import Sandbox

GPU = "gpu"
TOYS = frozenset({"coevolve", "environments", "worlds"})
"""Experiments whose policy is a toy: a graphics card would change nothing, and --size does not offer one."""


class _Experiments(CommandGroup):
    """The experiments that the registry finds, each a command."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return registry.names("experiments")

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        return _command(cmd_name, registry.find("experiments", cmd_name))


class SandboxOpener(NamedTuple):
    """Opens the sandbox of a configuration; implements `ports.OpenSandbox`, so it travels between processes."""

    config: SandboxConfig

    def __call__(self, *, workers: int | None, packages: tuple[str, ...] | None = None, hash_seed: int = 0) -> Sandbox:
        return sandbox_of(self.config, workers=workers or self.config.workers, packages=packages, hash_seed=hash_seed)


@click.group(cls=_Experiments, short_help="Compare data settings by training on each.")
def command() -> None:
    """Experiments that train arms which differ in one thing, over several seeds, with the same budget."""


def _command(name: str, plugin: registry.Plugin) -> click.Command:
    fields = plugin.config.model_fields
    parts = [key for key in fields if isinstance(fields[key].get_default(call_default_factory=True), dict)]
    told = "; ".join(f"{key}.KEY: {fields[key].description}" for key in parts)

    @sandbox_options
    @config_options(f"these ({told})" if told else "workbench.sandbox.workers=4")
    @out_option("Resumable directory.")
    @click.option("--json", "as_json", is_flag=True, help="The report as JSON on standard output.")
    def run(config: BaseModel, out: Path, as_json: bool) -> None:
        _run(plugin, config, out, as_json=as_json)

    own = [_option(name, key, field) for key, field in fields.items() if key not in parts]
    made = click.command(
        name, cls=ConfiguredCommand, kind=_whole(name, plugin.config), help=inspect.getdoc(plugin.config)
    )(run)
    made.params[:0] = own
    return made


def _whole(name: str, config: type[BaseModel]) -> type[BaseModel]:
    """The configuration of an experiment with what every run's has."""
    command = f"experiment {name}"
    more: dict[str, Any] = {
        "command": (Literal[command], command),
        "workbench": (WorkbenchConfig, WorkbenchConfig()),
    }
    whole: type[BaseModel] = create_model(config.__name__, __base__=config, **more)
    return whole


def _option(experiment: str, key: str, field: FieldInfo) -> click.Option:
    kind, name = field.annotation, key.replace("_", "-")
    told = [field.description or ""]
    if field.default is not None and kind is not bool:
        told.append(f"[default: {','.join(field.default) if isinstance(field.default, tuple) else field.default}]")
    text = " ".join(told).strip()
    if kind is bool:
        text = f"{text} [default: {'' if field.default else 'no-'}{name}]"
        return click.Option([f"--{name}/--no-{name}"], default=None, callback=_said, help=text)
    choices = [one for one in get_args(kind) if key != "size" or one != GPU or experiment not in TOYS]
    typed = click.Choice(choices) if get_origin(kind) is Literal else kind if kind in (int, float) else str
    return click.Option([f"--{name}"], type=typed, help=text)


def _said(ctx: click.Context, option: click.Parameter, value: bool | None) -> str | None:  # noqa: ARG001
    """As a file would say it: a flag that is switched off is said as well."""
    return None if value is None else str(value).lower()


def _run(plugin: registry.Plugin, config: Any, out: Path, *, as_json: bool) -> None:
    from evosyn.configs.saving import save_config
    from evosyn.ports import ExperimentTools

    experiment = plugin.create(ExperimentTools(SandboxOpener(config.workbench.sandbox), tty_note), config)
    save_config(out, config)
    quiet_libraries()
    with contextlib.redirect_stdout(sys.stderr):  # libraries print; standard output is for the report
        found = experiment.run(out)
    echo(json.dumps(found.report, indent=2) if as_json else found.text)
    echo(f"wrote {out}", err=True)
