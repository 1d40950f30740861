"""Smaller trees that rank alike: rewriting rules, each exact up to ties by rounding.

Of the tree at the root only the order counts, so what keeps every order is dropped there.
"""

from __future__ import annotations

from functools import lru_cache

from evosyn.strategies.grammar.grammar import Node, Program, uses_scores
from evosyn.strategies.grammar.trees import tidy_constant

KEEP_ORDER = frozenset({"spread", "place", "standard"})
"""Operations that keep the order and the ties of any vector."""

SCALE_FREE = frozenset({"spread", "place", "standard", "top", "bottom", "at_least", "then"})
"""Operations whose value does not change when the first argument is moved or stretched (keeping its sign)."""

IDEMPOTENT = frozenset({"spread", "place", "standard", "top"})


def simplified(program: Program) -> Program:
    """The program without operations that cannot matter."""
    testings = _at_root(simplified_tree(program.testings))
    solutions = simplified_tree(program.solutions)
    return Program(solutions if uses_scores(testings) else _at_root(solutions), testings)


@lru_cache(maxsize=50_000)
def simplified_tree(node: Node) -> Node:
    """The same values (up to rounding) by fewer operations."""
    args = tuple(simplified_tree(arg) if isinstance(arg, Node) else arg for arg in node.args)
    return _rewritten(Node(node.op, args))


def _at_root(node: Node) -> Node:
    while True:
        inner = node.args[0] if node.args else None
        if not isinstance(inner, Node):
            return node
        factor = node.args[1] if len(node.args) > 1 else None
        keeps = node.op in KEEP_ORDER or node.op == "plus" or (node.op == "then" and inner == factor)
        if not keeps and node.op in {"times", "power"} and isinstance(factor, float):
            keeps = factor > 0
        if not keeps:
            return node
        node = inner


def _rewritten(node: Node) -> Node:
    first = node.args[0] if node.args else None
    if not isinstance(first, Node):
        return node
    if node.op in SCALE_FREE:
        return _scale_free(node, first)
    if node.op in {"low", "high"} and first == node.args[1]:
        return first
    if node.op in {"invert", "rejected", "turned"} and first.op == node.op:
        inner = first.args[0]
        assert isinstance(inner, Node)
        return inner
    if node.op == "add" and first == node.args[1]:
        return Node("times", (first, 2.0))
    if node.op in {"times", "plus", "power"}:
        return _constants(node, first)
    return node


def _scale_free(node: Node, first: Node) -> Node:
    inner = first.args[0] if first.args else None
    if not isinstance(inner, Node):
        return node
    if node.op in IDEMPOTENT and first.op == node.op:
        return first
    factor = first.args[1] if len(first.args) > 1 else None
    moved = first.op in {"plus", "spread", "standard"} or (
        first.op == "times" and isinstance(factor, float) and factor > 0
    )
    ranks_only = node.op in {"place", "top", "bottom", "then"}
    if moved or (ranks_only and first.op == "place"):
        return _rewritten(Node(node.op, (inner, *node.args[1:])))
    return node


def _constants(node: Node, first: Node) -> Node:
    value = node.args[1]
    assert isinstance(value, float)
    neutral = 0.0 if node.op == "plus" else 1.0
    if value == neutral:
        return first
    if first.op == node.op and isinstance(first.args[1], float):
        both = value + first.args[1] if node.op == "plus" else value * first.args[1]
        return _rewritten(Node(node.op, (first.args[0], tidy_constant(both))))
    return node
