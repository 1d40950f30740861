"""What to try around a program that a model wrote, as texts, whether it can be read into the grammar or not.

One that can is varied as a tree. Of any other its constants are moved; what of it can be read stands beside trees of
openings; and the whole of it, unread, gives its scores to trees that go on from them. A program of another form than
`rank(evidence)` has its constants moved, no more.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
from typing import NamedTuple

from evosyn.strategies.grammar.constants import each_moved
from evosyn.strategies.grammar.grammar import Node, Program, Type, type_of
from evosyn.strategies.grammar.neighbours import FACTORS, around, by_turns
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.pieces import pieces_of
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.grammar.simplify import simplified
from evosyn.strategies.grammar.source import graft
from evosyn.strategies.grammar.trees import fits

_OWN = Program(Node("own_solutions"), Node("own_testings"))
_BESIDE = OPENINGS["agreement-gap"]
"""Stands in for a tree that could not be read."""
MOST_BASES = 4


class TextVariant(NamedTuple):
    """A text and how it came about, in a word."""

    text: str
    operator: str


def surroundings(text: str, reader: Reader, rng: random.Random) -> Iterator[TextVariant]:
    """The variants of a program, no two alike and none like it, the nearest first."""
    program = reader.read(text)
    if program is not None:
        yield from _written(program, reader.write, rng)
        return
    moved = (TextVariant(one, "constant") for one in each_moved(text, FACTORS))
    read = by_turns([_written(one, reader.write, rng, base=True) for one in _bases(text)])
    grafted = _written(_OWN, partial(graft, text=text), rng, prefix="grafted-")
    seen = {text}
    for one in by_turns([moved, read, grafted]):
        if one.text not in seen:
            seen.add(one.text)
            yield one


def _written(
    program: Program,
    write: Callable[[Program], str | None],
    rng: random.Random,
    *,
    base: bool = False,
    prefix: str = "",
) -> Iterator[TextVariant]:
    """What lies around a program, as texts.

    Args:
        base: the program itself as well.
    """
    tried = set() if base else {simplified(program)}
    for new, operator in chain([(program, "read")], around(program, rng)):
        smaller = simplified(new)
        if smaller in tried or not fits(smaller):
            continue
        tried.add(smaller)
        written = write(smaller)
        if written is not None:
            yield TextVariant(written, prefix + operator)


def _bases(text: str) -> list[Program]:
    """Programs of the grammar that hold what could be read: the scores first, then what was computed on the way."""
    found = pieces_of(text)
    whole = Program(found.solutions or _BESIDE.solutions, found.testings or _BESIDE.testings)
    parts = [
        whole._replace(solutions=one) if type_of(one) is Type.M else whole._replace(testings=one)
        for one in reversed(found.parts)
    ]
    read = [whole] if found.solutions or found.testings else []
    return list(dict.fromkeys(one for one in (*read, *parts) if fits(one)))[:MOST_BASES]
