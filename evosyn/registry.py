"""Plug-ins of every kind, found by name and made in one way: `create(tools, config)`. There is no central list.

A plug-in is named by a module of a home package of its kind, an entry point of the group `evosyn.<kind>`, or a dotted
path `package.module:attribute`; what it takes as its own argument follows after a colon (`mailbox:DIR`). Nothing is
imported before it is asked for. The form of `create` stands in `evosyn.ports.plugins`. DESIGN.md section 3.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, get_type_hints

from evosyn.configs.loading import validated
from evosyn.errors import UsageError, nearest
from evosyn.ports.plugins import TOOLS, Argument, PluginConfig
from evosyn.records import Json

HOMES: dict[str, tuple[str, ...]] = {
    "domains": ("evosyn.domains",),
    "proposers": ("evosyn.evolve.proposers", "evosyn.strategies.proposers", "evosyn.environments.proposers"),
    "evolved": (),
    "sandboxes": ("evosyn.sandbox",),
    "worlds": ("evosyn.worlds",),
    "agents": ("evosyn.agents",),
    "teachers": ("evosyn.teachers",),
    "axes": ("evosyn.evaluators.axes",),
}
"""For each kind the packages that hold its parts; no name stands in two of them."""


@dataclass(frozen=True)
class Plugin:
    """A plug-in that was found and has the right form.

    Attributes:
        text: as it was named, with its argument.
        tools: the type that its `create` names: what it is to be lent.
        config: its options.
        argument: what the name gives of the options.
    """

    kind: str
    text: str
    create: Callable[..., Any]
    tools: type
    config: type[PluginConfig]
    argument: Mapping[str, Json]

    def make(self, tools: object, options: Mapping[str, Json] | None = None) -> Any:
        """The part itself.

        Raises:
            UsageError: an option that it does not know, or that does not fit.
        """
        return self.create(tools, self.configured(options or {}))

    def configured(self, options: Mapping[str, Json], beside: Iterable[str] = ()) -> PluginConfig:
        """Its config with these options.

        Args:
            beside: other keys that stand where these do.

        Raises:
            UsageError: as `make`.
        """
        return validated(self.config, {**options, **self.argument}, f"{self.kind} {self.text!r}", beside)

    @property
    def argument_field(self) -> str | None:
        """The option that is given after the name; None where nothing is."""
        fields = self.config.model_fields.items()
        return next((name for name, field in fields if any(isinstance(one, Argument) for one in field.metadata)), None)

    def shared(self, options: Mapping[str, Json]) -> dict[str, Json]:
        """Those of the options of several plug-ins that this one knows."""
        return {key: value for key, value in options.items() if key in self.config.model_fields}


def names(kind: str) -> list[str]:
    """The names that a kind is found under here: modules of the home packages, then entry points.

    Raises:
        UsageError: `kind` is not one of `HOMES`.
    """
    specs = [importlib.util.find_spec(home) for home in _homes(kind)]
    folders = [Path(folder) for spec in specs if spec is not None for folder in spec.submodule_search_locations or ()]
    parts = [
        (file.parent if file.stem == "__init__" else file).stem.replace("_", "-")
        for folder in folders
        for file in [*folder.glob("[!_]*.py"), *folder.glob("[!_]*/__init__.py")]
        if "\ndef create(" in file.read_text(encoding="utf-8")
    ]
    return sorted(parts) + sorted(point.name for point in metadata.entry_points(group=f"evosyn.{kind}"))


def is_plugin(kind: str, text: str) -> bool:
    """Whether a text names a plug-in by its form: by a name that is found here, or by a dotted path."""
    name, _, attribute = text.partition(":")
    dotted = "." in name and all(part.isidentifier() for part in (*name.split("."), attribute.partition(":")[0]))
    return dotted or name in names(kind)


def make(kind: str, text: str, tools: object, options: Mapping[str, Json] | None = None) -> Any:
    """The plug-in that `text` names, made with these tools and options; as `find`, then `Plugin.make`."""
    return find(kind, text).make(tools, options)


def find(kind: str, text: str) -> Plugin:
    """The plug-in that `text` names, which is `NAME`, `NAME:ARGUMENT`, or `package.module:attribute[:ARGUMENT]`.

    Raises:
        UsageError: nothing of that name (the message offers the nearest names), its `create` has another form, or it
            is an entry point that cannot be imported.
    """
    name, colon, rest = text.partition(":")
    create = _named(kind, name)
    if create is not None:
        found = plugin(kind, text, create)
        if not colon or found.argument_field:
            return _with_argument(found, rest)
    if not colon:
        raise UsageError(f"{kind}: nothing is named {text!r}; {_near(kind, name)}")
    attribute, _, argument = rest.partition(":")
    try:
        create = getattr(importlib.import_module(name), attribute)
    except Exception as error:  # whatever a module raises while it is imported
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"{kind}: cannot load {text!r}: {why}; {_near(kind, name)}") from error
    return _with_argument(plugin(kind, text, create), argument)


def plugin(kind: str, text: str, create: Any) -> Plugin:
    """`create` as a plug-in, named `text` in messages.

    Raises:
        UsageError: it is not of the form that the kind asks for.
    """
    try:
        parameters, hints = list(inspect.signature(create).parameters), get_type_hints(create)
        tools, config = hints.get("tools"), hints.get("config")
    except (TypeError, ValueError, NameError) as error:
        raise _misfit(kind, text, f"it cannot be read: {error}") from error
    if parameters != ["tools", "config"]:
        raise _misfit(kind, text, f"it takes ({', '.join(parameters)})")
    if not isinstance(tools, type) or tools is object or not issubclass(TOOLS[kind], tools):
        raise _misfit(kind, text, f"its tools are {getattr(tools, '__name__', 'not annotated')}")
    if not isinstance(config, type) or not issubclass(config, PluginConfig):
        raise _misfit(kind, text, f"its config is {getattr(config, '__name__', 'not annotated')}")
    return Plugin(kind, text, create, tools, config, {})


def _misfit(kind: str, text: str, what: str) -> UsageError:
    form = f"create(tools: {TOOLS[kind].__name__}, config: CONFIG), CONFIG a subclass of evosyn.ports.PluginConfig"
    return UsageError(f"{kind}: {text!r} does not name a plug-in of this kind: {what}. The form is {form}")


def _with_argument(found: Plugin, argument: str) -> Plugin:
    """
    Raises:
        UsageError: it needs an argument and has none, or has one and takes none.
    """
    field = found.argument_field
    if field is None and argument:
        raise UsageError(f"{found.kind}: {found.text!r}: takes nothing after its name")
    if field is None or not argument:
        return found
    return Plugin(found.kind, found.text, found.create, found.tools, found.config, {field: argument})


def _named(kind: str, name: str) -> Any:
    """The `create` of a home package or an entry point; None where there is none."""
    file = name.replace("-", "_")
    for module_name in [f"{home}.{file}" for home in _homes(kind) if file.isidentifier()]:
        if importlib.util.find_spec(module_name) is not None:
            module = importlib.import_module(module_name)
            if hasattr(module, "create"):
                return module.create
    for point in metadata.entry_points(group=f"evosyn.{kind}"):
        if point.name == name:
            return _loaded(kind, point)
    return None


def _loaded(kind: str, point: metadata.EntryPoint) -> Any:
    """
    Raises:
        UsageError: it cannot be imported; says whose it is and why.
    """
    try:
        return point.load()
    except Exception as error:
        whose = f"{point.dist.name} {point.dist.version}" if point.dist else "no distribution"
        raise UsageError(
            f"{kind}: the entry point {point.name!r} ({point.value}) of {whose} cannot be loaded: "
            f"{type(error).__name__}: {error}. Mend or reinstall it, or uninstall it if nothing needs it; "
            f'`python -c "import {point.module}"` shows where it fails'
        ) from error


def _near(kind: str, name: str) -> str:
    return f"{nearest(name, names(kind))} (or give a dotted path package.module:attribute)"


def _homes(kind: str) -> tuple[str, ...]:
    if kind not in HOMES:
        raise UsageError(f"registry: unknown kind {kind!r}; one of {', '.join(HOMES)}")
    return HOMES[kind]
