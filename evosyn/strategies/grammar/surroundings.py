"""What to try around a program that a model wrote, as texts, whether it can be read into the grammar or not.

One that is written in it is varied as a tree. Of any other its constants are moved, and the whole of it, unread, gives
its scores to trees that go on from them; where it ranks as some tree does (`foreign`), that tree is varied beside, and
where not, its terms are left out as text. Of a program of another form than `rank(evidence)` constants and terms alone.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from functools import partial
from typing import NamedTuple

from evosyn.strategies.grammar.constants import each_moved
from evosyn.strategies.grammar.cuts import cuts
from evosyn.strategies.grammar.foreign.program import read_foreign
from evosyn.strategies.grammar.grammar import Node, Program
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
    program = reader.read(text)
    if program is not None:
        yield from _written(program, reader.write, rng)
        return
    moved = (TextVariant(one, "constant") for one in each_moved(text, FACTORS))
    grafted = _written(_OWN, partial(graft, text=text), rng, prefix="grafted-")
    seen = {text}
    for one in by_turns([moved, _inner(text, reader, rng), grafted]):
        if one.text not in seen:
            seen.add(one.text)
            yield one


def _inner(text: str, reader: Reader, rng: random.Random) -> Iterator[TextVariant]:
    """What lies around the tree that ranks as a text does, or the text without each of its terms."""
    alike = read_foreign(text)
    if alike is None:
        return (TextVariant(one.text, "without") for one in cuts(text))
    return _written(linked(alike), reader.write, rng, prefix="read-")


def linked(program: Program) -> Program:
    """The program with its solutions' own scores in place of the same tree among its testings: both vary together."""

    def link(node: Node) -> Node:
        if node == program.solutions:
            return Node("solution_scores")
        return Node(node.op, tuple(link(arg) if isinstance(arg, Node) else arg for arg in node.args))

    return program._replace(testings=link(program.testings))


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
