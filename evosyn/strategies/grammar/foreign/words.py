"""Factors and trees, and the words that foreign programs need beside the grammar's.

`neg` is minus a tree; `inside` the mean of a vector over the rows that each column accepts, 0 where it accepts nobody;
`guard` the share that it accepts, and something small where that is nobody; `per` one over that; `weighted` a matrix
with each row (0.0) or column (1.0) times an item of a vector; `pairs` each two rows side by side; `common` the share of
columns that both accept; `chosen` the rows of the best or the worst; `order` any value in the order of a tree, `rising`
a rising function of it, `tidied` the tree rounded as scores are. docs/evolve.md, "Bursts".
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import NamedTuple, TypeAlias

from evosyn.strategies.grammar.grammar import Node, size_of

Symbol: TypeAlias = tuple[str, Hashable]
"""`size`: of an axis; `total`: the sum of the absolute values of a tree; `sum`, `max`, `min`: of a tree; `positive`."""
Factor: TypeAlias = frozenset[tuple[Symbol, float]]

NONE: Factor = frozenset()
POSITIVE = frozenset({"size", "positive"})
LARGEST = 512
"""Solutions or testings of one problem at most, where bounds are reckoned."""
ORDER_ONLY = frozenset({"order", "rising", "tidied"})
"""Words around a tree of which only the order is known, or that keep it."""
MOST_NODES = 64
LEAST_CONSTANT, MOST_CONSTANT = 1e-3, 100.0
"""Outside these a constant meets the rounding of scores, here or there."""


class Unread(ValueError):
    """Something in the program is not understood."""


class Scaled(NamedTuple):
    """A factor times a tree."""

    factor: Factor
    node: Node


def power_of(name: str, of: Hashable, power: float = 1.0) -> Factor:
    return frozenset({((name, of), power)})


def times(one: Factor, other: Factor, power: float = 1.0) -> Factor:
    """The product with a power of the other."""
    powers = dict(one)
    for symbol, more in other:
        powers[symbol] = powers.get(symbol, 0.0) + more * power
    return frozenset((symbol, power) for symbol, power in powers.items() if power)


def is_positive(factor: Factor) -> bool:
    """Whether it is above zero for every evidence."""
    return all(symbol[0] in POSITIVE for symbol, _ in factor)


def node_of(op: str, *args: Node | float) -> Node:
    made = Node(op, args)
    if size_of(made) > MOST_NODES:
        raise Unread("a tree that is too large")
    return made


def neg(node: Node) -> Node:
    match node:
        case Node("neg", (Node() as inner,)):
            return inner
        case Node("sub", (Node() as one, Node() as other)):
            return node_of("sub", other, one)
    return node_of("neg", node)


def scaled(node: Node, constant: float) -> Node:
    """A tree times a number."""
    match node:
        case Node("neg", (Node() as inner,)):
            return scaled(inner, -constant)
        case Node("times", (Node() as inner, float() as before)):
            return scaled(inner, before * constant)
    if constant in (1.0, -1.0):
        return node if constant > 0 else neg(node)
    return node_of("times", node, checked(constant))


def checked(constant: float) -> float:
    if not LEAST_CONSTANT <= abs(constant) <= MOST_CONSTANT:
        raise Unread("a constant too near to nothing or to everything")
    return constant


def turned(matrix: Node, letters: str) -> Node:
    """Its axes exchanged; likenesses of pairs are the same either way."""
    if letters in ("MM", "NN"):
        return matrix
    match matrix:
        case Node("turned", (Node() as inner,)):
            return inner
    return node_of("turned", matrix)


def rejected(matrix: Node) -> Node:
    """1 minus it."""
    match matrix:
        case Node("rejected", (Node() as inner,)):
            return inner
        case Node("turned", (Node() as inner,)):
            return node_of("turned", rejected(inner))
    return node_of("rejected", matrix)


def is_binary(matrix: Node) -> bool:
    """Whether it is what passed, or what failed: zeros and ones."""
    while matrix.op in ("turned", "rejected"):
        inner = matrix.args[0]
        assert isinstance(inner, Node)
        matrix = inner
    return matrix.op == "passed"


def is_turned(matrix: Node) -> bool:
    """Whether its columns are solutions."""
    return matrix.op == "turned"


def column_mean(matrix: Node) -> Node:
    """Of zeros and ones by testings (or, turned, by solutions)."""
    inner = matrix.args[0] if is_turned(matrix) else node_of("turned", matrix)
    assert isinstance(inner, Node)
    return node_of("row_mean", inner)


def rarity(matrix: Node) -> Node:
    """One over the share of those that a column accepts, 0 where it accepts nobody."""
    return node_of("ratio", node_of("some", matrix), column_mean(matrix))


def inverted(condition: Node) -> Node:
    match condition:
        case Node("invert", (Node() as inner,)):
            return inner
    return node_of("invert", condition)


def total(node: Node) -> Factor:
    return power_of("total", node)


def contracted(matrix: Node, of: Node) -> Scaled:
    """The sum over the rows of a matrix, each times its item of a vector: a mean times the vector's total."""
    if is_turned(matrix):
        inner = matrix.args[0]
        assert isinstance(inner, Node)
        return Scaled(total(of), node_of("vote", inner, of))
    return Scaled(total(of), node_of("accepted", matrix, of))


def unrounded(tree: Node, then: Callable[[Node], Node]) -> Node:
    """The tree with something else in place of each part that is rounded as scores are."""
    if tree.op == "tidied" and isinstance(inner := tree.args[0], Node):
        return then(inner)
    return Node(tree.op, tuple(unrounded(arg, then) if isinstance(arg, Node) else arg for arg in tree.args))


def holds_rounded(tree: Node) -> bool:
    """Whether a part of it is rounded as scores are."""
    return tree.op == "tidied" or any(holds_rounded(arg) for arg in tree.args if isinstance(arg, Node))
