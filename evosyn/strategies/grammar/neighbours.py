"""What lies around a program: every constant moved, every sub-expression left out, every opening crossed in.

A burst around a program that a model has written takes these, the nearest first. Deterministic given the generator.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from functools import cache
from itertools import chain, zip_longest
from typing import NamedTuple, TypeVar

from evosyn.strategies.grammar.grammar import OPS, Node, Program, Type, type_of, uses_scores
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.terms import without_terms
from evosyn.strategies.grammar.trees import paths, replaced, tidy_constant

T = TypeVar("T")
FACTORS = (0.5, 0.8, 1.25, 2.0)


class Neighbour(NamedTuple):
    """A program and how it came about, in a word."""

    program: Program
    operator: str


def around(program: Program, rng: random.Random) -> Iterator[Neighbour]:
    """First all constants and sub-expressions in turn, then what openings bring, in random order; the last repeats
    itself where trees are alike."""
    moved = (Neighbour(one, "constant") for one in _moved(program))
    smaller = (Neighbour(one.program, "without") for one in without_terms(program))
    yield from by_turns([moved, smaller])
    kinds = [_exchanged(program), _joined(program), _crossed_in(program)]
    for found in kinds:
        rng.shuffle(found)
    yield from by_turns([iter(found) for found in kinds])


def by_turns(many: Iterable[Iterator[T]]) -> Iterator[T]:
    """One of each in turn, until all have ended."""
    return (one for one in chain.from_iterable(zip_longest(*many)) if one is not None)


def _moved(program: Program) -> Iterator[Program]:
    """Each constant on its own, moved to both sides by a little and by much."""
    for name, tree in program._asdict().items():
        for at, node in paths(tree):
            ranges = iter(OPS[node.op].constants) if node.args else iter(())
            for place, value in enumerate(node.args):
                if isinstance(value, Node):
                    continue
                high = next(ranges)[1]
                values = [value * factor for factor in FACTORS] if value else [high * factor for factor in FACTORS[:2]]
                for new in values:
                    args = (*node.args[:place], tidy_constant(new), *node.args[place + 1 :])
                    yield program._replace(**{name: replaced(tree, at, Node(node.op, args))})


def _exchanged(program: Program) -> list[Neighbour]:
    """One whole tree of an opening."""
    made = [program._replace(**{name: getattr(one, name)}) for one in OPENINGS.values() for name in program._fields]
    return [Neighbour(one, "opening") for one in made]


def _joined(program: Program) -> list[Neighbour]:
    """Ties broken by an idea, the top by one and the rest by the other, both weighed alike."""
    found = []
    for name, tree in program._asdict().items():
        for idea in _ideas(type_of(tree), name == "testings"):
            pairs = [("then", tree, idea), ("crown", tree, idea), ("crown", idea, tree)]
            made = [Node(op, (one, other)) for op, one, other in pairs]
            made.append(Node("add", (Node("standard", (tree,)), Node("standard", (idea,)))))
            found += [Neighbour(program._replace(**{name: new}), "joined") for new in made]
    return found


def _crossed_in(program: Program) -> list[Neighbour]:
    """An idea in the place of a sub-expression."""
    return [
        Neighbour(program._replace(**{name: replaced(tree, at, idea)}), "crossed-in")
        for name, tree in program._asdict().items()
        for at, node in paths(tree)
        if at
        for idea in _ideas(type_of(node), name == "testings")
    ]


@cache
def _ideas(kind: Type, scores: bool) -> tuple[Node, ...]:
    """The sub-expressions of openings of this type, each once."""
    trees = [tree for opening in OPENINGS.values() for tree in opening]
    found = dict.fromkeys(node for tree in trees for _, node in paths(tree) if type_of(node) is kind)
    return tuple(node for node in found if scores or not uses_scores(node))
