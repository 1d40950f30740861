"""The families of problems that the offline teacher can make: one module each in `families`, found by looking.

A family is a module with `DOMAIN`, `draw(rng) -> params` (plain JSON) and `build(params) -> Task`. `build` is pure, so
a problem is found again from its family's name and its params.
"""

from __future__ import annotations

import functools
import importlib
import pkgutil
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast

from evosyn.errors import UsageError
from evosyn.records import Json
from evosyn.simulation.author import families

Params = dict[str, Json]


@dataclass(frozen=True)
class FamilyTask:
    """One problem of a family, with its answer.

    Attributes:
        entry_point: function to call; None for a program that reads standard input.
        generator: source defining `generate(rng, size)`, size 0 (trivial) to 3 (large).
        difficulty: in [0, 1], for a small model.
    """

    title: str
    statement: str
    reference: str
    alternatives: tuple[str, ...]
    generator: str
    difficulty: float
    topic: str
    entry_point: str | None = None
    starter_code: str | None = None


def fill(template: str, **blanks: str | int) -> str:
    """The template with each `<<name>>` replaced.

    Raises:
        KeyError: a blank without a value, or a value without a blank.
    """
    wanted = set(re.findall(r"<<(\w+)>>", template))
    if wanted != set(blanks):
        raise KeyError(f"blanks {sorted(wanted ^ set(blanks))}")
    for name, text in blanks.items():
        template = template.replace(f"<<{name}>>", str(text))
    return template


class Family(Protocol):
    """What a module of `families` offers."""

    DOMAIN: str

    def draw(self, rng: random.Random) -> Params:
        """Parameters of one problem; different ones give semantically different problems."""
        ...

    def build(self, params: Mapping[str, Json]) -> FamilyTask:
        """The problem of these parameters; pure."""
        ...


@functools.cache
def family_names(domain: str | None = None) -> tuple[str, ...]:
    """Names of the families, sorted; of one domain, or all."""
    found = sorted(module.name for module in pkgutil.iter_modules(families.__path__) if module.name[0] != "_")
    return tuple(name for name in found if domain is None or domain == family(name).DOMAIN)


def family(name: str) -> Family:
    """The family of that name.

    Raises:
        UsageError: there is none.
    """
    known = {module.name for module in pkgutil.iter_modules(families.__path__) if module.name[0] != "_"}
    if name not in known:
        raise UsageError(f"offline teacher: unknown family {name!r}; one of {', '.join(sorted(known))}")
    return cast(Family, importlib.import_module(f"{families.__name__}.{name}"))


def is_ours(meta: Mapping[str, Json]) -> bool:
    """Whether these metadata name a family and its parameters."""
    return isinstance(meta.get("family"), str) and isinstance(meta.get("params"), Mapping)


def task_of(meta: Mapping[str, Json]) -> FamilyTask:
    """The problem that `meta.family` and `meta.params` describe.

    Raises:
        UsageError: unknown family, or parameters that the family does not take.
    """
    name, params = meta["family"], meta["params"]
    made_by = family(name)
    try:
        return made_by.build(params)
    except (KeyError, TypeError, ValueError, IndexError) as error:
        raise UsageError(
            f"offline teacher: family {name!r} does not take the parameters {params!r}: {error}"
        ) from error
