"""A command that stands on a configuration: its flags are short names of keys, the rest is `--set KEY=VALUE`.

One way in for all of them: preset, then `--config FILE`, then `--set`, then flags; the config.yaml that a run wrote is
such a file and repeats it. Who is asked and where programs run is its section `workbench`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from evosyn.errors import UsageError

if TYPE_CHECKING:
    from pydantic import BaseModel

Option = TypeVar("Option", bound=Callable[..., Any])

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
_TEACHER_KEYS = {
    "model": "workbench.teacher.model",
    "teacher": "workbench.teacher.name",
    "base_url": "workbench.teacher.base_url",
    "api_key_env": "workbench.teacher.api_key_env",
    "max_cost": "workbench.budget.max_cost",
}
_SANDBOX_KEYS = {
    "sandbox": "workbench.sandbox.backend",
    "workers": "workbench.sandbox.workers",
    "allow_weak_sandbox": "workbench.sandbox.allow_weak",
}


class ConfiguredCommand(click.Command):
    """A command whose function gets `config` in place of the parameters that are keys of it.

    Args:
        kind: `module:Class` of the configuration, loaded when the command runs, or the class.
        keys: keys of the parameters that are not named like one; `KEY=VALUE` for a flag that stands for that.
        needs: what is said where a key has no value, by key.
        moved: keys that stand for options of former versions under another name.
    """

    def __init__(
        self,
        *args: Any,
        kind: str | type[BaseModel],
        keys: Mapping[str, str] | None = None,
        needs: Mapping[str, str] | None = None,
        moved: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._kind, self._keys, self._needs, self._moved = kind, keys or {}, needs or {}, moved or {}

    @property
    def kind(self) -> type[BaseModel]:
        found: type[BaseModel] = pkgutil.resolve_name(self._kind) if isinstance(self._kind, str) else self._kind
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            self._refuse(error, ctx.command_path)

    def invoke(self, ctx: click.Context) -> Any:
        config = self.configuration(ctx.params)
        for key, told in self._needs.items():
            if not getattr(config, key):
                raise UsageError(f"{told}, or give the --config of a run")
        ctx.params["config"] = config
        return super().invoke(ctx)

    def configuration(self, values: dict[str, Any], *, preset: str | None = None, base: tuple[str, ...] = ()) -> Any:
        """The configuration that a command line means; takes the parameters that are keys out of `values`.

        Args:
            preset: below everything.
            base: `KEY=VALUE` above a file, but below all that is said on the line.
        """
        from evosyn.configs.loading import load_config

        keys = self._all_keys()
        said = {key: values.pop(name) for name, key in keys.items() if name in values}
        given = {key: value for key, value in said.items() if value is not None and value is not False and value != ()}
        flags = {key: list(value) if isinstance(value, tuple) else value for key, value in given.items()}
        pairs = [key for key in flags if "=" in key]
        return load_config(
            self.kind,
            preset=preset,
            file=values.pop("file"),
            sets=[*base, *values.pop("sets"), *pairs],
            flags={key: value for key, value in flags.items() if key not in pairs},
        )

    def _all_keys(self) -> dict[str, str]:
        """By parameter."""
        fields = self.kind.model_fields
        own = {str(each.name): str(each.name) for each in self.params if each.name in fields}
        bench = {**_TEACHER_KEYS, **_SANDBOX_KEYS} if "workbench" in fields else {}
        return {**{name: key for name, key in bench.items() if name not in own}, **own, **self._keys}

    def _refuse(self, error: click.NoSuchOption, command: str) -> NoReturn:
        """
        Raises:
            UsageError: the option is a key; says how to set it.
            click.NoSuchOption: it is none.
        """
        from evosyn.configs.loading import dotted_keys

        name = error.option_name.lstrip("-").replace("-", "_")
        moved = self._moved.get(name)
        keys = [moved] if moved else [key for key in dotted_keys(self.kind) if key.rpartition(".")[2] == name]
        if not keys:
            raise error
        ways = " or ".join(f"--set {key}=VALUE" for key in keys)
        raise UsageError(f"{error.option_name}: is no option of `{command}`; it is a key of its configuration: {ways}")


def teacher_options(command: Option) -> Option:
    """Add the options that say who is asked."""
    return with_options(command, _TEACHER)


def sandbox_options(command: Option) -> Option:
    """Add the options that say where programs run."""
    return with_options(command, _SANDBOX)


def out_option(told: str) -> Callable[[Option], Option]:
    """Add `--out`, the directory of a run."""
    return click.option("--out", type=click.Path(file_okay=False, path_type=Path), required=True, help=told)


def config_options(example: str) -> Callable[[Option], Option]:
    """Add `--config` and `--set`, with an example of a key."""
    told = f"Any key of the configuration, such as {example}; repeatable."
    options = (
        click.option(
            "--config",
            "file",
            type=click.Path(dir_okay=False, path_type=Path),
            help="YAML file, such as the config.yaml of a run; flags win over it.",
        ),
        click.option("--set", "sets", multiple=True, metavar="KEY=VALUE", help=told),
    )
    return lambda command: with_options(command, options)


def with_options(command: Option, options: tuple[Callable[[Any], Any], ...]) -> Option:
    """The command with these options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command
