"""Finding a part by name: a module of its folder, an entry point, or a dotted path. There is no central list.

Each kind of part has a home package or more; a part is one module there that defines `create`. Nothing is imported
before it is asked for. DESIGN.md section 3.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
from collections.abc import Callable
from importlib import metadata
from pathlib import Path
from typing import Any

from evosyn.errors import UsageError

HOMES: dict[str, tuple[str, ...]] = {
    "domains": ("evosyn.domains",),
    "recipes": ("evosyn.synthesis.recipes",),
    "proposers": ("evosyn.evolve.proposers", "evosyn.strategies.proposers"),
    "sandboxes": ("evosyn.sandbox",),
    "teachers": ("evosyn.teachers", "evosyn.simulation"),
    "axes": ("evosyn.evaluators.axes",),
    "experiments": ("evosyn.simulation.experiment",),
}
"""For each kind the packages that hold its parts; no name stands in two of them."""


def names(kind: str) -> list[str]:
    """The names that `factory(kind, name)` accepts here: modules of the home packages, then entry points.

    Raises:
        UsageError: `kind` is not one of `HOMES`.
    """
    specs = [importlib.util.find_spec(home) for home in _homes(kind)]
    folders = [Path(folder) for spec in specs if spec is not None for folder in spec.submodule_search_locations or ()]
    parts = [
        file.stem.replace("_", "-")
        for folder in folders
        for file in folder.glob("[!_]*.py")
        if "\ndef create(" in file.read_text(encoding="utf-8")
    ]
    return sorted(parts) + sorted(point.name for point in metadata.entry_points(group=f"evosyn.{kind}"))


def factory(kind: str, name: str) -> Callable[..., Any]:
    """The `create` function of the part `name`.

    Args:
        kind: one of `HOMES`.
        name: a module of a home package (dashes for underscores), an entry point of the group `evosyn.<kind>`, or a
            dotted path `package.module:attribute`.

    Raises:
        UsageError: nothing of that name; the message offers the nearest names.
    """
    homes = _homes(kind)
    if ":" in name:
        return _dotted(kind, name)
    file = name.replace("-", "_")
    for module_name in [f"{home}.{file}" for home in homes if file.isidentifier()]:
        if importlib.util.find_spec(module_name) is not None:
            module = importlib.import_module(module_name)
            if hasattr(module, "create"):
                return module.create  # type: ignore[no-any-return]
    for point in metadata.entry_points(group=f"evosyn.{kind}"):
        if point.name == name:
            return point.load()  # type: ignore[no-any-return]
    known = names(kind)
    near = difflib.get_close_matches(name, known, n=3)
    hint = f"did you mean {', '.join(near)}?" if near else f"known: {', '.join(known)}"
    raise UsageError(f"{kind}: nothing is named {name!r}; {hint} (or give a dotted path package.module:attribute)")


def _dotted(kind: str, path: str) -> Callable[..., Any]:
    module_name, _, attribute = path.partition(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)  # type: ignore[no-any-return]
    except (ImportError, AttributeError) as error:
        raise UsageError(f"{kind}: cannot load {path!r}: {error}") from error


def _homes(kind: str) -> tuple[str, ...]:
    if kind not in HOMES:
        raise UsageError(f"registry: unknown kind {kind!r}; one of {', '.join(HOMES)}")
    return HOMES[kind]
