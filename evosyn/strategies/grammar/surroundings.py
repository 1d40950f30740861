"""What to try around a program that a model wrote, as texts, whether it can be read into the grammar or not.

One that is put in its notation is varied as a tree; where it may do more than that says, the tree itself comes first.
Of any other its constants are moved, and the whole of it, unread, gives its scores to trees that go on from them; its
terms are left out as text, and the tree that is nearest to it (`nearest`) is varied beside. Of a program of another
form than `rank(evidence)` constants and terms alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from evosyn.strategies.grammar.constants import each_moved
from evosyn.strategies.grammar.cuts import cuts
from evosyn.strategies.grammar.grammar import Node, Program
from evosyn.strategies.grammar.nearest import nearest
from evosyn.strategies.grammar.neighbours import FACTORS, around, by_turns
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.simplify import simplified
from evosyn.strategies.grammar.source import graft
from evosyn.strategies.grammar.trees import fits

_OWN = Program(Node("own_solutions"), Node("own_testings"))


class TextVariant(NamedTuple):
    """A text and how it came about, in a word."""

    text: str
    operator: str


def surroundings(text: str, reader: Reader, rng: random.Random) -> Iterator[TextVariant]:
    """The variants of a program, no two alike and none like it, the nearest first."""
    program = reader.meant(text)
    if program is not None:
        if reader.read(text) is None:
            yield TextVariant(reader.write(program), "near")
        yield from _written(program, reader.write, rng)
        return
    moved = (TextVariant(one, "constant") for one in each_moved(text, FACTORS))
    smaller = (TextVariant(one.text, "without") for one in cuts(text))
    grafted = _written(_OWN, partial(graft, text=text), rng, prefix="grafted-")
    seen = {text}
    for one in by_turns([_near(text, reader, rng), moved, smaller, grafted]):
        if one.text not in seen:
            seen.add(one.text)
            yield one


def _near(text: str, reader: Reader, rng: random.Random) -> Iterator[TextVariant]:
    """The nearest tree of a text and what lies around it."""
    program = nearest(text)
    if program is not None:
        yield TextVariant(reader.write(program), "near")
        yield from _written(program, reader.write, rng, prefix="near-")


def _written(
    program: Program, write: Callable[[Program], str | None], rng: random.Random, prefix: str = ""
) -> Iterator[TextVariant]:
    """What lies around a program, as texts."""
    tried = {simplified(program)}
    for new, operator in around(program, rng):
        smaller = simplified(new)
        if smaller in tried or not fits(smaller):
            continue
        tried.add(smaller)
        written = write(smaller)
        if written is not None:
            yield TextVariant(written, prefix + operator)
