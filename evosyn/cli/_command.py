"""A command that stands on a configuration: its flags are short names of keys, the rest is `--set KEY=VALUE`.

One way in for all of them: preset, then `--config FILE`, then `--set`, then flags; the config.yaml that a run wrote is
such a file and repeats it. Who is asked and where programs run is its section `workbench`.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from evosyn.cli._output import echo
from evosyn.errors import OtherSettings, UsageError, nearest

if TYPE_CHECKING:
    from pydantic import BaseModel


Option = TypeVar("Option", bound=Callable[..., Any])


class NewFile(click.Path):
    """The type of an option that names a file to write: what no file can be is refused before anything is done."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from evosyn.rundir import require_file

        option = param.opts[0] if param else "FILE"
        if not str(value):
            raise UsageError(f"{option} '': is empty; name a file")
        try:
            require_file(Path(value))
        except UsageError as error:
            raise UsageError(f"{option} {error}") from error
        return super().convert(value, param, ctx)


def flag(option: str, key: str, told: str = "", **more: Any) -> Callable[[Any], Any]:
    """An option that stands for a dotted key."""
    return click.option(option, key.replace(".", "__"), help=told, **more)


_TEACHER = (
    flag("--model", "workbench.teacher.model", "A real model: provider/name in litellm's words, or local:PATH."),
    flag(
        "--teacher",
        "workbench.teacher.name",
        "local:PATH, mailbox:DIR, replay:FILE, replay:builtin:NAME, litellm:provider/name, or a dotted path.",
    ),
    flag(
        "--base-url", "workbench.teacher.base_url", "Endpoint of the model, such as http://localhost:8000/v1 for vLLM."
    ),
    flag(
        "--api-key-env", "workbench.teacher.api_key_env", "Environment variable with the model's key.", metavar="NAME"
    ),
    flag("--max-cost", "workbench.budget.max_cost", "Stop (resumable, exit 3) before more dollars.", type=float),
    flag("--max-calls", "workbench.budget.max_calls", "Stop (resumable, exit 3) before more model calls.", type=int),
)
_SANDBOX = (
    flag(
        "--sandbox",
        "workbench.sandbox.backend",
        "Where programs run: local, docker, or a dotted path. [default: local]",
    ),
    flag(
        "--runner",
        "workbench.sandbox.runner",
        "On this machine (local), or on every node of a Ray cluster: ray[:HOST:PORT]. [default: local]",
    ),
    flag("--workers", "workbench.sandbox.workers", "Programs at once. [default: one a core]", type=click.IntRange(1)),
    flag(
        "--allow-weak-sandbox", "workbench.sandbox.allow_weak", "Run even where it protects too little.", is_flag=True
    ),
)


SHOWN = "Show the whole configuration that this comes to, and stop."
SENTENCE = 200
"""Letters of a command's first sentence, which its group lists whole."""


class CommandGroup(click.Group):
    """A group that lists its commands with their first sentences, none of them cut."""

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        found = [(name, self.get_command(ctx, name)) for name in self.list_commands(ctx)]
        with formatter.section("Commands"):
            formatter.write_dl([(name, one.get_short_help_str(SENTENCE)) for name, one in found if one is not None])


class ConfiguredCommand(click.Command):
    """A command whose function gets `config` in place of the parameters that are keys of it.

    A parameter is named for its key, with two underscores for a dot: `scoring__draws`. What was not given, a flag
    that is off included, is left to the file.

    Args:
        kind: `module:Class` of the configuration, loaded when the command runs, or the class.
        needs: what is said where a key has no value, by key.
        presets: how the files of its presets begin.
    """

    def __init__(
        self,
        *args: Any,
        kind: str | type[BaseModel],
        needs: Mapping[str, str] | None = None,
        presets: str = "",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        if not any("--print-config" in option.opts for option in self.params):
            self.params.insert(self._after_sets(), click.Option(["--print-config", "shown"], is_flag=True, help=SHOWN))
        self._presets = presets
        self._kind, self._needs = kind, needs or {}

    def _after_sets(self) -> int:
        names = [option.name for option in self.params]
        return names.index("sets") + 1 if "sets" in names else len(names)

    @property
    def kind(self) -> type[BaseModel]:
        found: type[BaseModel] = pkgutil.resolve_name(self._kind) if isinstance(self._kind, str) else self._kind
        return found

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            self._refuse(error, ctx.command_path)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        for option in self.params:
            if option.name == "preset" and isinstance(option, click.Option):
                option.help = f"Settings to start from, below all that is given: {', '.join(self._known())}."
        super().format_options(ctx, formatter)

    def invoke(self, ctx: click.Context) -> Any:
        shown, config = ctx.params.pop("shown", False), self.configuration(ctx.params)
        if shown:
            from evosyn.configs.saving import as_yaml

            echo(as_yaml(config), nl=False)
            return 0
        for key, told in self._needs.items():
            if not getattr(config, key):
                raise UsageError(f"{told}, or give the --config of a run")
        ctx.params["config"] = config
        try:
            return super().invoke(ctx)
        except OtherSettings as error:
            named = self._options_named(error.keys)
            if not named:
                raise
            raise UsageError(f"{error} ({named})") from error

    def configuration(
        self, values: dict[str, Any], *, preset: str | None = None, defaults: Mapping[str, Any] | None = None
    ) -> Any:
        """The configuration that a command line means; takes the parameters that are keys out of `values`.

        Args:
            preset: below all but the defaults.
            defaults: dotted keys below everything.
        """
        from evosyn.configs.loading import load_config

        named = values.pop("preset", None)
        if named is not None:
            preset = self._preset(named)
        fields = self.kind.model_fields
        keys = {name: values.pop(name) for name in list(values) if name.partition("__")[0] in fields}
        given = {name: value for name, value in keys.items() if value is not False and value != ()}
        flags = {
            name.replace("__", "."): list(value) if isinstance(value, tuple) else value for name, value in given.items()
        }
        given_keys = {"sets": values.pop("sets"), "flags": flags, "defaults": defaults}
        return load_config(self.kind, preset=preset, file=values.pop("file"), **given_keys)

    def _options_named(self, keys: Iterable[str]) -> str:
        """The options of this command that set some of the keys in which a run has other settings."""
        changed = {key.removeprefix("config.") for key in keys}
        options = [((option.name or "").replace("__", "."), option.opts[0]) for option in self.params]
        return ", ".join(f"{key} is the option {name}" for key, name in options if key in changed)

    def _preset(self, name: str) -> str:
        """The file of a preset of this command.

        Raises:
            UsageError: there is no such one.
        """
        known = self._known()
        if name not in known:
            raise UsageError(f"--preset {name!r}: no such preset of this command; {nearest(name, known)}")
        return f"{self._presets}-{name}"

    def _known(self) -> list[str]:
        """The presets of this command."""
        from evosyn.configs.loading import preset_names

        own = f"{self._presets}-"
        return [one.removeprefix(own) for one in preset_names() if one.startswith(own)]

    def _refuse(self, error: click.NoSuchOption, command: str) -> NoReturn:
        """
        Raises:
            UsageError: the option is a key; says how to set it, and which options are like it.
            click.NoSuchOption: it is none.
        """
        from evosyn.configs.loading import dotted_keys

        name = error.option_name.lstrip("-").replace("-", "_")
        keys = [key for key in dotted_keys(self.kind) if key.rpartition(".")[2] == name]
        if not keys:
            raise error
        ways = " or ".join(f"--set {key}=VALUE" for key in keys)
        near = nearest(error.option_name, (name for option in self.params for name in option.opts), "")
        told = f"{error.option_name}: is no option of `{command}`; {near}".rstrip()
        raise UsageError(f"{told} {'It' if near else 'it'} is a key of its configuration: {ways}")


def teacher_options(command: Option) -> Option:
    """Add the options that say who is asked."""
    return with_options(command, _TEACHER)


def student_options(model: str) -> Callable[[Option], Option]:
    """The same for commands that measure a model.

    Args:
        model: what --model is there.
    """
    return lambda command: with_options(command, (flag("--model", "workbench.teacher.model", model), *_TEACHER[1:]))


def mutator_options(command: Option) -> Option:
    """The same for commands whose --model is the one that is trained."""
    told = "Who mutates: self (the model in training), mailbox:DIR, replay:FILE, litellm:provider/name, "
    named = flag("--teacher", "workbench.teacher.name", told + "local:PATH, or package.module:factory.")
    return with_options(command, (named, *_TEACHER[2:]))


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


preset_option = click.option("--preset", metavar="NAME")
"""What is given beside a preset stands over it; the command says which there are."""


def with_options(command: Option, options: tuple[Callable[[Any], Any], ...]) -> Option:
    """The command with these options, in this order."""
    for option in reversed(options):
        command = option(command)
    return command
