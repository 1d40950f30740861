"""Sums over an axis and products of matrices: numpy's reductions and its `@`. docs/evolve.md, "Bursts"."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from evosyn.strategies.grammar.foreign.products import divided, met, multiplied
from evosyn.strategies.grammar.foreign.values import (
    Value,
    added,
    complement,
    made,
    single,
)
from evosyn.strategies.grammar.foreign.words import (
    LARGEST,
    NONE,
    Factor,
    Scaled,
    Unread,
    contracted,
    is_binary,
    is_positive,
    is_turned,
    neg,
    node_of,
    power_of,
    rarity,
    times,
    turned,
)
from evosyn.strategies.grammar.grammar import Node

REFLEXIVE = frozenset({"same", "alike", "same_checks", "alike_checks", "twins"})
"""Likenesses of pairs in which each is wholly like itself."""


def matmul(one: Value, other: Value) -> Value:
    """numpy's `@` of a matrix with a vector, or with itself."""
    if one.kind == other.kind == "b":
        raise Unread("a product of truths is a truth")
    if not one.axes or not other.axes or not {*one.axes, *other.axes} <= {"M", "N"} or one.axes[-1] != other.axes[0]:
        raise Unread("a product of other shapes")
    match len(one.axes), len(other.axes):
        case 1, 2:
            return _contraction(other, 0, one)
        case 2, 1:
            return _contraction(one, 1, other)
        case 2, 2:
            return _common(one, other)
    raise Unread("a product of other shapes")


def _contraction(matrix: Value, axis: int, of: Value) -> Value:
    """The sum over an axis of a matrix, each row (or column) times its item of a vector."""
    factor, node = single(matrix)
    columns, summed = (node if axis == 0 else turned(node, matrix.letters)), matrix.letters[axis]
    terms, numbers = _parts(of)
    nodes: dict[Factor, Node] = {}
    for term in terms:
        found = _contracted(columns, matrix.letters, summed, term.node)
        both = times(times(factor, found.factor), term.factor)
        if both in nodes:
            raise Unread("two parts of one product")
        nodes[both] = found.node
    ends = [0.0, *(LARGEST * a * b for a in (matrix.low, matrix.high) for b in (of.low, of.high))]
    axes = (matrix.letters[1 - axis],)
    made_ = made((matrix, of), axes, nodes, {}, low=min(ends), high=max(ends))
    if not numbers:
        return made_
    rest = multiplied(reduced(matrix, "sum", axis), replace(of, axes=(), nodes={}, numbers=numbers))
    return replace(added(made_, rest) if nodes else rest, low=min(ends), high=max(ends), kind=made_.kind)


def _parts(of: Value) -> tuple[list[Scaled], dict[Factor, float]]:
    """A vector as one tree, or where it has none as several, with the numbers that are added to them."""
    if len(of.nodes) == 1 and not of.numbers:
        ((factor, node),) = of.nodes.items()
        if node.op == "per":
            return [Scaled(factor, node)], {}
    try:
        return [single(of)], {}
    except Unread:
        alone = [replace(of, nodes={factor: node}, numbers={}) for factor, node in of.nodes.items()]
        return [single(one) for one in alone], dict(of.numbers)


def _contracted(columns: Node, letters: str, summed: str, of: Node) -> Scaled:
    if (matrix := _rarity_of(of)) is not None and columns == turned(matrix, ""):
        both = times(power_of("size", "M"), power_of("size", summed))
        return Scaled(both, node_of("row_mean", node_of("rare", matrix)))
    if letters in ("MM", "NN"):
        mean = node_of("mul", node_of("row_mean", columns), node_of("smooth", columns, of))
        return Scaled(power_of("size", summed), mean)
    return contracted(columns, of)


def _rarity_of(of: Node) -> Node | None:
    """The matrix of solutions by testings of whose counts it is one over each."""
    match of:
        case Node("per", (Node() as matrix,)) | Node("ratio", (Node("some", (Node() as matrix,)), _)):
            if not is_turned(matrix) and (of.op == "per" or of == rarity(matrix)):
                return matrix
    return None


def _common(one: Value, other: Value) -> Value:
    """A matrix times itself turned: what each two rows pass together."""
    first, second = single(one), single(other)
    if second.node != turned(first.node, one.letters) or first.factor or second.factor or one.letters in ("MM", "NN"):
        raise Unread("a product of two matrices")
    nodes = {power_of("size", one.axes[1]): node_of("common", first.node)}
    high = LARGEST * one.high * other.high
    return made((one, other), (one.axes[0], other.axes[1]), nodes, {}, low=0.0, high=high)


def reduced(value: Value, how: str, axis: int | None, *, keep: bool = False) -> Value:
    """numpy's `sum`, `mean`, `max`, `min`, `all` or `any` over an axis, or over all."""
    if axis is None and len(value.axes) == 2 and how in ("sum", "mean") and not keep:
        return reduced(reduced(value, how, 0), how, 0)
    if axis is None and len(value.axes) == 1:
        axis = 0
    if axis is None or not -len(value.axes) <= axis < len(value.axes):
        raise Unread("an axis that is not there")
    axis %= len(value.axes)
    before, letter, after = value.axes[:axis], value.axes[axis], value.axes[axis + 1 :]
    if letter == "1" or "1" in (*before, *after):
        raise Unread("a reduction of a repeated array")
    found = _REDUCTIONS[how](value, axis)
    return replace(found, axes=(*before, *(("1",) if keep else ()), *after))


def _sum(value: Value, axis: int) -> Value:
    whole = power_of("size", value.axes[axis])
    if value.axes[axis] == "C":
        raise Unread("a sum over some")
    low = LARGEST * min(value.low, 0.0) + max(value.low, 0.0)
    high = LARGEST * max(value.high, 0.0) + min(value.high, 0.0)
    nodes: dict[Factor, Node] = {}
    numbers = {times(factor, whole): constant for factor, constant in value.numbers.items()}
    if len(value.axes) == 1 and value.nodes:
        factor, node = single(value)
        numbers = {times(factor, power_of("total" if value.low >= 0 else "sum", node)): 1.0}
    elif value.nodes:
        for factor, node in value.nodes.items():
            found = _summed(node, value, axis)
            both = times(factor, found.factor)
            if both in nodes:
                raise Unread("two parts of one sum")
            nodes[both] = found.node
            low = max(low, 1.0) if node.op in REFLEXIVE and factor == NONE and not value.numbers else low
    kind = "i" if value.kind == "b" else value.kind
    return made((value,), (), nodes, numbers, kind=kind, low=low, high=high)


def _summed(node: Node, value: Value, axis: int) -> Scaled:
    """The sum over an axis of one tree of a matrix, or of pairs."""
    letters, whole = value.letters, power_of("size", value.axes[axis])
    match node:
        case Node("neg", (Node() as inner,)):
            found = _summed(inner, value, axis)
            return Scaled(found.factor, neg(found.node))
        case Node("weighted", (Node() as matrix, Node() as of, float() as at)):
            if axis == at:
                columns = matrix if axis == 0 else turned(matrix, letters)
                return _contracted(columns, letters, letters[axis], of)
            rows = matrix if axis == 1 else turned(matrix, letters)
            return Scaled(whole, met(of, node_of("row_mean", rows)))
        case Node("pairs", (Node() as rows,)):
            return Scaled(whole, _paired(rows, value, axis, "alike"))
        case Node("all_checks") if axis == 1:
            return Scaled(whole, Node("checks"))
    if not set(letters) <= {"M", "N"} or len(letters) != 2:
        raise Unread("a sum over another axis")
    return Scaled(whole, node_of("row_mean", node if axis == 1 else turned(node, letters)))


def _paired(rows: Node, value: Value, axis: int, op: str) -> Node:
    """Likeness of each two rows, where this is the axis along which they were compared."""
    if len(value.axes) != 3 or value.axes.count(value.axes[axis]) != 1:
        raise Unread("pairs along another axis")
    return Node(f"{op}_checks") if rows.op == "all_checks" else node_of(op, rows)


def _mean(value: Value, axis: int) -> Value:
    if value.axes[axis] == "C":
        nodes = {factor: _of_chosen(node) for factor, node in value.nodes.items()}
        return made((value,), (), nodes, value.numbers, kind="f", low=value.low, high=value.high)
    whole = Value(numbers={power_of("size", value.axes[axis]): 1.0}, kind="i", low=1.0, high=LARGEST)
    return replace(divided(_sum(value, axis), whole), low=value.low, high=value.high)


def _of_chosen(node: Node) -> Node:
    match node:
        case Node("neg", (Node() as inner,)):
            return neg(_of_chosen(inner))
        case Node("chosen", (Node() as matrix, Node() as of)):
            return node_of("accepted", matrix, of)
    raise Unread("a mean over some")


def _extreme(how: str, value: Value, _axis: int) -> Value:
    factor, node = single(value)
    if len(value.axes) != 1 or not is_positive(factor):
        raise Unread("an extreme of each row")
    numbers = {times(factor, power_of(how, node)): 1.0}
    return made((value,), (), {}, numbers, kind=value.kind, low=value.low, high=value.high, exact=value.exact)


def _every(value: Value, axis: int) -> Value:
    match list(value.nodes.values()):
        case [Node("pairs", (Node() as rows,))] if value.kind == "b" and not value.numbers:
            nodes = {NONE: _paired(rows, value, axis, "same")}
            return made((value,), (), nodes, {}, kind="b", low=0.0, high=1.0)
    return complement(_any(complement(value), axis))


def _any(value: Value, axis: int) -> Value:
    factor, matrix = single(value)
    columns = matrix if axis == 0 else turned(matrix, value.letters)
    if value.kind != "b" or factor or not is_binary(columns) or is_turned(columns):
        raise Unread("whether any is true")
    return made((value,), (), {NONE: node_of("some", columns)}, {}, kind="b", low=0.0, high=1.0)


_REDUCTIONS: dict[str, Callable[[Value, int], Value]] = {
    "sum": _sum,
    "mean": _mean,
    "max": partial(_extreme, "max"),
    "min": partial(_extreme, "min"),
    "all": _every,
    "any": _any,
}
