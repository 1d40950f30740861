"""What the parts of a program that are no calls stand for: evidence, constants, operators, attributes.

docs/evolve.md, "Bursts".
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import replace

from evosyn.strategies.grammar.foreign.calls import (
    NOTHING,
    Method,
    Thing,
    Word,
    both,
    constant_of,
    either,
    powered,
    subtracted,
    transposed,
    value_of,
)
from evosyn.strategies.grammar.foreign.products import divided, multiplied
from evosyn.strategies.grammar.foreign.sums import matmul
from evosyn.strategies.grammar.foreign.values import Value, added, number, size
from evosyn.strategies.grammar.foreign.words import NONE, Unread, neg, node_of
from evosyn.strategies.grammar.grammar import Node

READ_ONLY = object()
RISKY = {"copies": (-1e6, 1e6), "kin": (-1e3, 1e3), "testing_kin": (-1e3, 1e3)}
"""Bounds of what was recorded; all other parts of the evidence lie between 0 and 1."""
EVIDENCE: dict[str, Thing] = {
    "passed": Value(("M", "N"), {NONE: Node("passed")}, {}, "b", 0.0, 1.0, exact=True, owner=READ_ONLY),
    "copies": Value(("M",), {NONE: Node("copies")}, {}, "i", *RISKY["copies"], exact=True, owner=READ_ONLY),
    "cases": Word("cases"),
}
OPERATORS: dict[type[ast.operator], Callable[[Value, Value], Value]] = {
    ast.Add: added,
    ast.Sub: subtracted,
    ast.Mult: multiplied,
    ast.Div: divided,
    ast.MatMult: matmul,
    ast.Pow: powered,
    ast.BitAnd: both,
    ast.BitOr: either,
}
SIGNS: dict[type[ast.cmpop], str] = {
    ast.Lt: "<",
    ast.Gt: ">",
    ast.LtE: "<=",
    ast.GtE: ">=",
    ast.Eq: "==",
    ast.NotEq: "!=",
}


def literal(constant: object) -> Thing:
    if constant is None:
        return NOTHING
    if isinstance(constant, bool):
        return Word("truth", str(constant))
    if isinstance(constant, int | float) and abs(constant) <= 1e12:
        return number(float(constant), "i" if isinstance(constant, int) else "f")
    raise Unread("another constant")


def attribute(of: Thing, name: str) -> Thing:
    match of:
        case Word("evidence"):
            return EVIDENCE[name]
        case Word("numpy"):
            found = {"newaxis": NOTHING, **{one: Word("type", one) for one in ("float64", "int64", "bool_")}}
            return found[name] if name in found else Word("of numpy", name)
        case Value() if name == "T":
            return transposed(of)
        case Value() if name == "shape":
            return tuple(size(axis) for axis in of.axes)
        case Value() if name == "size":
            sizes = [size(axis) for axis in of.axes]
            return multiplied(*sizes) if len(sizes) == 2 else sizes[0]
        case Value():
            return Method(of, name)
    raise Unread("an attribute of something else")


def operate(operator: ast.operator, one: Value, other: Value) -> Value:
    if type(operator) not in OPERATORS:
        raise Unread("another operator")
    return OPERATORS[type(operator)](one, other)


def part_of(thing: Thing, places: list[Thing]) -> Thing:
    """A size from a shape, an array with new axes of length 1, or the rows of the best or worst."""
    if isinstance(thing, tuple):
        (place,) = places
        return thing[int(constant_of(place))]
    value = value_of(thing)
    match places:
        case [Value() as condition]:
            return _chosen(value, condition)
    if not set(places) <= {NOTHING, Word("all")} or places.count(Word("all")) > len(value.axes):
        raise Unread("another part of an array")
    axes = iter(value.axes)
    return replace(value, axes=(*("1" if one == NOTHING else next(axes) for one in places), *axes))


def _chosen(value: Value, condition: Value) -> Value:
    """The rows of the best or of the worst, of which there is always one."""
    match list(condition.nodes.values()):
        case [Node("top" | "bottom") as of] if not condition.numbers and condition.kind == "b":
            if value.axes == ("M", "N") and condition.axes == ("M",):
                nodes = {factor: _rows_of(node, of) for factor, node in value.nodes.items()}
                holes = value.holes | condition.holes
                return replace(value, axes=("C", "N"), nodes=nodes, owner=object(), holes=holes)
    raise Unread("some rows")


def _rows_of(node: Node, of: Node) -> Node:
    match node:
        case Node("neg", (Node() as inner,)):
            return neg(_rows_of(inner, of))
    return node_of("chosen", node, of)


def shares(thing: Thing, owner: object) -> bool:
    if isinstance(thing, tuple):
        return any(shares(one, owner) for one in thing)
    value = thing.value if isinstance(thing, Method) else thing
    return isinstance(value, Value) and value.owner is owner
