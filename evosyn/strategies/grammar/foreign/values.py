"""What an expression of a foreign program is worth, for every evidence at once: trees times factors, and numbers.

The value of an array is a sum of trees, each times a factor that one problem has for all its items (a product of its
sizes and of sums of its vectors), and of numbers times such factors. Pass counts are N times a mean, so is any sum; the
factors are equal in what can be added, and fall away where only the order counts. A factor that can be zero stands only
before a tree that is zero then. Trees may hold words of this package (`neg`, `inside`, ...), which the grammar lacks;
`single` and `ordered` put the grammar's own in their place. docs/evolve.md, "Bursts".
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from evosyn.strategies.grammar.foreign.words import (
    LARGEST,
    MOST_CONSTANT,
    NONE,
    ORDER_ONLY,
    Factor,
    Scaled,
    Unread,
    checked,
    column_mean,
    contracted,
    holds_rounded,
    inverted,
    is_positive,
    is_turned,
    neg,
    node_of,
    power_of,
    rejected,
    scaled,
    times,
    total,
)
from evosyn.strategies.grammar.grammar import Node

MOST_TERMS = 8


@dataclass(frozen=True, eq=False)
class Value:
    """
    Attributes:
        axes: M, N, K (single checks), or 1, as numpy has them.
        nodes: trees by their factors; without the axes of length 1 they have the same axes.
        numbers: what is added to every item, by factors.
        kind: b, i or f, as numpy has it.
        low: bounds of all items, high: likewise.
        exact: equal values are equal to the last bit.
        holes: matrices; where a column of one is empty the item is not a number.
        owner: what shares memory shares this.
    """

    axes: tuple[str, ...] = ()
    nodes: Mapping[Factor, Node] = field(default_factory=dict)
    numbers: Mapping[Factor, float] = field(default_factory=dict)
    kind: str = "f"
    low: float = -math.inf
    high: float = math.inf
    exact: bool = False
    holes: frozenset[Node] = frozenset()
    owner: object = field(default_factory=object)

    def __post_init__(self) -> None:
        largest = max(self.high, -self.low)
        if len(self.nodes) + len(self.numbers) > MOST_TERMS or (self.kind == "i" and 2**62 < largest < math.inf):
            raise Unread("too much at once")

    @property
    def letters(self) -> str:
        return "".join(self.axes).replace("1", "")


def number(value: float, kind: str = "f") -> Value:
    numbers = {NONE: float(value)} if value else {}
    return Value(numbers=numbers, kind=kind, low=value, high=value, exact=True)


def size(letter: str) -> Value:
    """How many solutions or testings there are."""
    if letter not in ("M", "N"):
        raise Unread("the size of something else")
    return Value(numbers={power_of("size", letter): 1.0}, kind="i", low=1, high=LARGEST, exact=True)


def added(one: Value, other: Value) -> Value:
    """Their sum, broadcast."""
    axes = aligned(one, other)
    if one.kind == other.kind == "b":
        raise Unread("truths do not add up")
    nodes, numbers = dict(one.nodes), dict(one.numbers)
    for factor, node in other.nodes.items():
        nodes[factor] = _joined(nodes[factor], node) if factor in nodes else node
    for factor, value in other.numbers.items():
        numbers[factor] = numbers.get(factor, 0.0) + value
    numbers = {factor: value for factor, value in numbers.items() if value}
    return made(
        (one, other), axes, *_complete(nodes, numbers), low=one.low + other.low, high=one.high + other.high,
    )  # fmt: skip


def negated(value: Value) -> Value:
    if value.kind == "b":
        raise Unread("minus a truth")
    nodes = {factor: neg(node) for factor, node in value.nodes.items()}
    numbers = {factor: -one for factor, one in value.numbers.items()}
    return made((value,), value.axes, nodes, numbers, low=-value.high, high=-value.low)


def complement(value: Value) -> Value:
    """1 minus it, of truths: what is not."""
    return replace(added(number(1, "i"), negated(replace(value, kind="i"))), kind=value.kind)


def made(
    parents: Iterable[Value],
    axes: tuple[str, ...],
    nodes: Mapping[Factor, Node],
    numbers: Mapping[Factor, float],
    *,
    kind: str | None = None,
    low: float = -math.inf,
    high: float = math.inf,
    exact: bool | None = None,
) -> Value:
    """A value that was reckoned from others: integers from integers, and missing where one of them is."""
    from_ = tuple(parents)
    found = kind or ("f" if any(one.kind == "f" for one in from_) else "i")
    holes = frozenset[Node]().union(*(one.holes for one in from_))
    same = found != "f" and all(one.exact for one in from_)
    return Value(axes, nodes, numbers, found, low, high, same if exact is None else exact, holes)


def aligned(*values: Value) -> tuple[str, ...]:
    """The axes of what numpy makes of values whose items stand beside each other.

    Raises:
        Unread: one is repeated along an axis, or they do not fit.
    """
    axes: tuple[str, ...] = ()
    for one in values:
        axes = broadcast(axes, one.axes)
    letters = "".join(axes).replace("1", "")
    if any(one.nodes and one.letters != letters for one in values):
        raise Unread("a value beside one of another shape")
    return axes


def broadcast(one: tuple[str, ...], other: tuple[str, ...]) -> tuple[str, ...]:
    """The axes of what numpy makes of both."""
    length = max(len(one), len(other))
    pairs = zip(("1",) * (length - len(one)) + one, ("1",) * (length - len(other)) + other, strict=True)
    if any(a != b and "1" not in (a, b) for a, b in pairs):
        raise Unread("arrays of different shape")
    pairs = zip(("1",) * (length - len(one)) + one, ("1",) * (length - len(other)) + other, strict=True)
    return tuple(b if a == "1" else a for a, b in pairs)


def _joined(one: Node, other: Node) -> Node:
    """The sum of two trees with the same factor."""
    match one, other:
        case Node("inside", (Node() as matrix, Node() as of)), Node("neg", (Node("inside", (Node() as rest, of_)),)):
            if of == of_ and rest == rejected(matrix):
                return _gap(matrix, of)
        case Node("neg"), Node("inside"):
            return _joined(other, one)
        case Node("common", (Node() as matrix,)), Node("common", (Node() as rest,)) if rest == rejected(matrix):
            return node_of("alike", rest if matrix.op == "rejected" else matrix)
    match one, other:
        case _, Node("neg", (Node() as inner,)):
            return node_of("sub", one, inner)
        case Node("neg", (Node() as inner,)), _:
            return node_of("sub", other, inner)
    return node_of("add", one, other)


def _gap(matrix: Node, of: Node) -> Node:
    if is_turned(matrix):
        inner = matrix.args[0]
        assert isinstance(inner, Node)
        return node_of("row_gap", inner, of)
    return node_of("gap", matrix, of)


def _complete(
    nodes: dict[Factor, Node], numbers: dict[Factor, float]
) -> tuple[dict[Factor, Node], dict[Factor, float]]:
    """Sums that have a name: a total without what is accepted of it is what is rejected; a gap without a testing's own
    passes is the fair one."""
    for factor, node in list(nodes.items()):
        match node:
            case Node("neg", (Node("accepted" | "vote" as op, (Node() as matrix, Node() as of)),)):
                rest = times(factor, total(of), -1.0)
                for whole in (factor, times(rest, power_of("sum", of))):
                    if numbers.get(whole) == 1.0 and ((("total", of), 1.0) in factor):
                        del numbers[whole]
                        nodes[factor] = node_of(op, rejected(matrix), of)
                        break
            case Node("gap", (Node() as matrix, Node("row_mean", (of_,)))) if matrix == of_ and matrix.op == "passed":
                once = times(factor, power_of("size", "N"), -1.0)
                if nodes.get(once) == neg(Node("some", (matrix,))):
                    del nodes[once], nodes[factor]
                    nodes[times(once, power_of("positive", "others of N"))] = node_of("fair_gap", matrix)
    return nodes, numbers


def single(value: Value) -> Scaled:
    """The value as one tree of the grammar times a factor.

    Raises:
        Unread: it is none.
    """
    terms = _lowered(value)
    if len(terms) != 1:
        raise Unread("trees with different factors")
    ((factor, node),) = terms.items()
    numbers = dict(value.numbers)
    constant = numbers.pop(factor, 0.0)
    if numbers or (constant and not is_positive(factor)):
        raise Unread("numbers with another factor")
    if len(value.letters) == 2:
        match node:
            case Node("neg", (Node() as inner,)) if constant == 1.0:
                return Scaled(factor, rejected(inner))
        if constant or node.op == "neg":
            raise Unread("a matrix that is moved")
        return Scaled(factor, node)
    match node:
        case Node("neg", (Node() as inner,)):
            if constant == 1.0:
                return Scaled(factor, inverted(inner))
            node = node_of("times", inner, -1.0)
    return Scaled(factor, node_of("plus", node, checked(constant)) if constant else node)


def affine(value: Value) -> Node:
    """A tree that the value is but for a positive factor and a number, both the same for all items.

    Raises:
        Unread: there is none.
    """
    terms = _lowered(value)
    if len(terms) != 1:
        raise Unread("trees with different factors")
    ((factor, node),) = terms.items()
    if not all(_is_small(constant, times(one, factor, -1.0)) for one, constant in value.numbers.items()):
        raise Unread("a constant beside which all scores are equal")
    if factor and holds_rounded(node):
        raise Unread("what was rounded on another scale")
    match node:
        case Node("neg", (Node() as inner,)):
            return node_of("times", inner, -1.0)
        case Node("times", (Node() as inner, float() as by)) if by > 0:
            return inner
    return node


def ordered(value: Value) -> Node:
    """A tree of the grammar in the order of the value.

    Raises:
        Unread: there is none.
    """
    node = affine(value)
    while True:
        match node:
            case Node("power", (Node() as inner, float() as exponent)) if exponent > 0:
                node = inner
            case Node(op, (Node() as inner,)) if op in ORDER_ONLY:
                node = inner
            case _:
                return node


def _is_small(constant: float, factor: Factor) -> bool:
    """Whether a number is not so large beside the scores that these are equal to rounding."""
    powers = [power if name in ("size", "total", "sum") else 0.0 for (name, _), power in factor]
    known = all(name != "positive" for (name, _), _ in factor)
    return known and sum(powers) <= 1 and abs(constant) <= MOST_CONSTANT


def _lowered(value: Value) -> dict[Factor, Node]:
    """The trees without the words of this package that change a factor."""
    terms: dict[Factor, Node] = {}
    for factor, node in value.nodes.items():
        found = lowered(Scaled(factor, node))
        terms[found.factor] = _joined(terms[found.factor], found.node) if found.factor in terms else found.node
    return terms


def lowered(term: Scaled) -> Scaled:
    """The same in words of the grammar, where there are some."""
    factor, node = term
    match node:
        case Node("neg", (Node() as inner,)):
            found = lowered(Scaled(factor, inner))
            return Scaled(found.factor, neg(found.node))
        case Node("times", (Node() as inner, float() as by)):
            found = lowered(Scaled(factor, inner))
            return Scaled(found.factor, scaled(found.node, by))
        case Node("inside", (Node() as matrix, Node() as of)):
            rows = power_of("size", "N" if is_turned(matrix) else "M", -1.0)
            mean = contracted(matrix, of)
            return Scaled(times(times(factor, mean.factor), rows), node_of("ratio", mean.node, column_mean(matrix)))
    return term
