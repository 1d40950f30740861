"""The options that choose who is asked and where programs run, the same for every command: the flags of the section
`workbench` of a configuration. What has no flag is set with `--set workbench.KEY=VALUE`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from evosyn.records import Json

if TYPE_CHECKING:
    from evosyn.workbench import Workbench

Command = TypeVar("Command", bound=Callable[..., Any])

_TEACHER = (
    click.option("--model", help="A real model: provider/name in litellm's words, or local:PATH (transformers, vLLM)."),
    click.option("--teacher", help="offline (a simulation), mailbox:DIR, replay:FILE, or package.module:factory."),
    click.option("--base-url", help="Endpoint of the model, such as http://localhost:8000/v1 for vLLM."),
    click.option("--api-key-env", metavar="NAME", help="Environment variable that holds the key of the model."),
    click.option("--max-cost", type=float, help="Stop (resumable, exit 3) after this many dollars."),
)
_SANDBOX = (
    click.option("--sandbox", help="Where programs run: local, docker, or a dotted path. [default: local]"),
    click.option("--workers", type=click.IntRange(1), help="Programs that run at once. [default: one a core]"),
    click.option("--allow-weak-sandbox", is_flag=True, help="Run even where the sandbox protects too little."),
)
_KEYS = {
    "model": "teacher.model",
    "teacher": "teacher.name",
    "base_url": "teacher.base_url",
    "api_key_env": "teacher.api_key_env",
    "max_cost": "budget.max_cost",
    "sandbox": "sandbox.backend",
    "workers": "sandbox.workers",
    "allow_weak_sandbox": "sandbox.allow_weak",
}


def teacher_options(command: Command) -> Command:
    """Add the options that say who is asked."""
    return _added(command, _TEACHER)


def sandbox_options(command: Command) -> Command:
    """Add the options that say where programs run."""
    return _added(command, _SANDBOX)


def workbench_flags(values: Mapping[str, Any], section: str = "workbench.") -> dict[str, Json]:
    """The configuration keys of those of these options that were given."""
    return {f"{section}{key}": values[name] or None for name, key in _KEYS.items() if name in values}


def workbench_of(values: Mapping[str, Any], **given: Any) -> Workbench:
    """The workbench that the flags of a command name; `given` as for `Workbench`."""
    from evosyn.configs.loading import load_config
    from evosyn.workbench import Workbench, WorkbenchConfig

    return Workbench(load_config(WorkbenchConfig, flags=workbench_flags(values, "")), **given)


def _added(command: Command, options: tuple[Callable[[Command], Command], ...]) -> Command:
    for option in reversed(options):
        command = option(command)
    return command
