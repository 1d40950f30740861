"""The families of problems that the offline teacher can make: one YAML file each, in the folder of its domain.

A family says what is drawn (`params`) and, in texts with `<<blanks>>` (Jinja), what becomes of it: the statement, right
programs, a generator of inputs. `build` is pure, so a problem is found again from its family's name and its parameters.
The form of a file: simulation/README.md, "Adding a family".
"""

from __future__ import annotations

import functools
import random
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

import yaml

from evosyn.documents import LOADER
from evosyn.errors import UsageError
from evosyn.records import Json

if TYPE_CHECKING:
    from jinja2 import Environment, Template

Params = dict[str, Json]
FOLDER = resources.files(__package__) / "families"


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


@dataclass(frozen=True)
class Family:
    """One file; `told` is what it says."""

    name: str
    domain: str
    told: Mapping[str, Json]

    def draw(self, rng: random.Random) -> Params:
        """Parameters of one problem, plain JSON; different ones give semantically different problems."""
        return {name: _drawn(form, rng) for name, form in self.told["params"].items()}

    def build(self, params: Mapping[str, Json]) -> FamilyTask:
        """The problem of these parameters.

        Raises:
            ValueError: they are none that `draw` could give.
        """
        forms = self.told["params"]
        wrong = [name for name in {**forms, **params} if name not in forms or not _fits(forms[name], params.get(name))]
        if wrong:
            raise ValueError(f"wrong: {', '.join(wrong)}")
        values = dict(params)
        for name, form in forms.items():
            values |= _row(name, form, values)
        for name, text in self.told.get("let", {}).items():
            values[name] = _filled(text, values)
        text = {name: _filled(one, values) for name, one in self.told.items() if isinstance(one, str)}
        signature = text.get("signature")
        return FamilyTask(
            title=text["title"],
            statement=text["statement"],
            reference=f"\n{text['reference']}",
            alternatives=(f"\n{text['alternative']}",),
            generator=f"\n{text['generator']}",
            difficulty=float(_environment().compile_expression(text["difficulty"])(values) or 0.0),
            topic=text["topic"],
            entry_point=None if signature is None else str(params["name"]),
            starter_code=None if signature is None else f"def {signature}:\n    ...\n",
        )


def _drawn(form: Json, rng: random.Random) -> Json:
    """A value of a parameter: a range `a..b`, the chance of true, a list, a table, or some of these."""
    match form:
        case str():
            return rng.randint(*map(int, form.split("..")))
        case float():
            return rng.random() < form
        case {"each of": parts}:
            return [_drawn(part, rng) for part in parts]
        case {"sample": count, "of": of}:
            places = list(of)
            chosen = rng.sample(places, count if isinstance(count, int) else _drawn(count, rng))
            return sorted(chosen, key=places.index)
        case {"sequence": count, "longer": chance, "of": of}:
            chosen = rng.sample(list(of), count)
            return [*chosen, rng.choice(list(of))] if rng.random() >= 1 - chance else chosen
    return rng.choice(list(form))


def _fits(form: Json, value: Json) -> bool:
    """Whether `_drawn` could give this value."""
    match form:
        case str():
            low, high = map(int, form.split(".."))
            return type(value) is int and low <= value <= high
        case float():
            return isinstance(value, bool)
        case {"each of": parts}:
            return isinstance(value, list) and len(value) == len(parts) and all(map(_fits, parts, value))
        case {"of": of}:
            return isinstance(value, list) and all(one in list(of) for one in value)
    return value in list(form)


def _row(name: str, form: Json, values: Params) -> Params:
    """What the table of a parameter says of its value, as `PARAMETER_COLUMN`; a list for several values."""
    table = form.get("of", form) if isinstance(form, Mapping) else None
    if not isinstance(table, Mapping) or "each of" in table:
        return {}
    chosen = values[name] if isinstance(values[name], list) else [values[name]]
    rows = [table[one] for one in chosen]
    found = {f"{name}_{column}": [_filled(row[column], values) for row in rows] for column in rows[0]}
    return found if chosen is values[name] else {column: texts[0] for column, texts in found.items()}


def _filled(told: Json, values: Params) -> Json:
    """A text with its blanks filled; a list without the texts that come out empty; anything else as it is."""
    if isinstance(told, list):
        return [text for text in (_filled(one, values) for one in told) if text]
    return _template(told).render(values) if isinstance(told, str) else told


@functools.cache
def _environment() -> Environment:
    from jinja2 import Environment, StrictUndefined

    marks = ("<%", "%>", "<<", ">>", "<#", "#>")
    made = Environment(*marks, trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True)
    made.undefined = StrictUndefined
    made.filters["repr"] = repr
    return made


@functools.cache
def _template(text: str) -> Template:
    return _environment().from_string(text)


@functools.cache
def _files() -> Mapping[str, tuple[str, Traversable]]:
    """Domain and file of each family, by its name."""
    files = ((folder.name, file) for folder in FOLDER.iterdir() if folder.is_dir() for file in folder.iterdir())
    found = {file.name.removesuffix(".yaml"): (domain, file) for domain, file in files if file.name.endswith(".yaml")}
    return dict(sorted(found.items()))


def family_names(domain: str | None = None) -> tuple[str, ...]:
    """Names of the families, sorted; of one domain, or all."""
    return tuple(name for name, (own, _) in _files().items() if domain in (None, own))


@functools.cache
def family(name: str) -> Family:
    """The family of that name.

    Raises:
        UsageError: there is none.
    """
    if name not in _files():
        raise UsageError(f"offline teacher: unknown family {name!r}; one of {', '.join(_files())}")
    domain, file = _files()[name]
    return Family(name, domain, yaml.load(file.read_text(encoding="utf-8"), LOADER))


def is_ours(meta: Mapping[str, Json]) -> bool:
    """Whether these metadata name a family and its parameters."""
    return isinstance(meta.get("family"), str) and isinstance(meta.get("params"), Mapping)


def task_of(meta: Mapping[str, Json]) -> FamilyTask:
    """The problem that `meta.family` and `meta.params` describe.

    Raises:
        UsageError: unknown family, or parameters that the family does not take.
    """
    name, params = meta["family"], meta["params"]
    try:
        return family(name).build(params)
    except ValueError as error:
        raise UsageError(
            f"offline teacher: family {name!r} does not take the parameters {params!r}: {error}"
        ) from error
