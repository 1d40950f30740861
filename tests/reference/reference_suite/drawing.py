"""Drawing pairs of a program and a testing from families of templates, all from one seed.

A family is a handful of programs (right and wrong ones) and testings (such that hold, such that fail, such that cannot
run) over names whose values are drawn. Where evosyn is documented to mean something else than Python, the testing
carries the name of that class of difference.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import Template
from typing import NamedTuple

STARTER = "def f(*args, **kwargs):"


class Pair(NamedTuple):
    """One program and one testing.

    Attributes:
        kind, texts: of the testing: `asserts` and each of them, `program` and its code, or, for `cases` and `stdin`, the
            source of its pairs: arguments and value, input and output.
        difference: the documented class in which evosyn may differ from Python; "" where it must agree.
    """

    family: str
    starter: str
    program: str
    kind: str
    texts: tuple[str, ...]
    difference: str = ""
    entry_point: str = "f"


class Data(NamedTuple):
    """A testing that is data: an expression over the drawn names, of pairs: arguments (a list, or a dict of names) and
    the value that a function must give, or an input and the output that a script must print."""

    pairs: str


@dataclass(frozen=True)
class Said:
    """A testing of which a class of difference is known."""

    text: str | tuple[str, ...] | Data
    difference: str


@dataclass(frozen=True)
class Family:
    """Templates with `$name` where a value is drawn.

    Attributes:
        testings: a text that defines `check` is a program; any other is one assert, a tuple of texts several.
    """

    name: str
    programs: tuple[str, ...]
    testings: tuple[str | tuple[str, ...] | Data | Said, ...]
    values: Mapping[str, Sequence[object]]
    starter: str = STARTER
    entry_point: str = "f"


FAMILIES: list[Family] = []


def family(
    name: str,
    programs: Sequence[str],
    testings: Sequence[str | tuple[str, ...] | Data | Said],
    starter: str = STARTER,
    **values: Sequence[object],
) -> None:
    """Add a family; values are drawn by `repr`, texts as they are where their name ends in an underscore."""
    FAMILIES.append(Family(name, tuple(programs), tuple(testings), values, starter))


def draw(seed: str, count: int) -> list[Pair]:
    """Pairs of all families in turn, each once, until there are so many that must agree; the same for the same seed."""
    rng = random.Random(seed)
    order = list(FAMILIES)
    pairs: dict[Pair, None] = {}
    while sum(not pair.difference for pair in pairs) < count:
        rng.shuffle(order)
        pairs |= dict.fromkeys(_pair(rng, one) for one in order)
    return list(pairs)


def _pair(rng: random.Random, one: Family) -> Pair:
    drawn = {name: rng.choice(choices) for name, choices in one.values.items()}
    return filled(one, rng.choice(one.programs), rng.choice(one.testings), drawn)


def filled(
    one: Family, program: str, testing: str | tuple[str, ...] | Data | Said, drawn: Mapping[str, object]
) -> Pair:
    """A program and a testing of a family with these values."""
    shown = {name: value if name.endswith("_") else repr(value) for name, value in drawn.items()}
    program = Template(program).substitute(shown)
    text, difference = (testing.text, testing.difference) if isinstance(testing, Said) else (testing, "")
    if isinstance(text, Data):
        pairs = eval(text.pairs, dict(drawn))
        kind = "stdin" if all(isinstance(given, str) for given, _ in pairs) else "cases"
        return Pair(one.name, one.starter, program, kind, (repr(pairs),), difference, one.entry_point)
    texts = tuple(Template(part).substitute(shown) for part in ((text,) if isinstance(text, str) else text))
    kind = "program" if len(texts) == 1 and "def check(" in texts[0] else "asserts"
    return Pair(one.name, one.starter, program, kind, texts, difference, one.entry_point)
