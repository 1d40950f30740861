"""Comparisons, `np.where`, bounds, powers and logarithms of values. docs/evolve.md, "Bursts"."""

from __future__ import annotations

import math
from dataclasses import replace

from evosyn.strategies.grammar.foreign.products import (
    TINY,
    counts,
    divided,
    guarded,
    least_share,
    met,
    multiplied,
)
from evosyn.strategies.grammar.foreign.values import (
    Value,
    added,
    aligned,
    broadcast,
    made,
    number,
    single,
)
from evosyn.strategies.grammar.foreign.words import (
    LARGEST,
    NONE,
    Factor,
    Unread,
    checked,
    inverted,
    is_binary,
    is_positive,
    is_turned,
    node_of,
    power_of,
    rarity,
    rejected,
    times,
    turned,
)
from evosyn.strategies.grammar.grammar import Node

FLIPPED = {"<": ">", ">": "<", "<=": ">=", ">=": "<=", "==": "==", "!=": "!="}
NOTHING = {">": True, "!=": True, "==": False, "<=": False}
ONE_OF = {">=": True, "<": False}
WHOLE = {"==": True, ">=": True, "<": False, "!=": False}
"""Whether a comparison of a count with 0 or 1 says that there is one; with how many there are, that it is all."""
EXTREMES = (("max", ("==", ">="), "top"), ("min", ("==", "<="), "bottom"))


def compared(one: Value, sign: str, other: Value) -> Value:
    """A comparison, of what can be told apart: pairs of rows, a count with none or all, scores with their extremes."""
    if not one.nodes:
        one, sign, other = other, FLIPPED[sign], one
    condition = _equal_rows(one, sign, other) if other.nodes else _condition(one, sign, other)
    axes = broadcast(one.axes, other.axes) if other.nodes else aligned(one, other)
    return made((one, other), axes, {NONE: condition}, {}, kind="b", low=0.0, high=1.0, exact=True)


def _condition(one: Value, sign: str, other: Value) -> Node:
    if len(one.letters) != 1 or other.axes or len(other.numbers) > 1:
        raise Unread("a comparison")
    ((limit, constant),) = other.numbers.items() if other.numbers else ((NONE, 0.0),)
    counted = counts(one)
    if counted is not None and not is_turned(counted.node):
        some, rest = node_of("some", counted.node), node_of("some", rejected(counted.node))
        if limit == counted.factor and constant == 1.0 and sign in WHOLE:
            return inverted(rest) if WHOLE[sign] else rest
        signs = {0.0: NOTHING, 1.0: ONE_OF if counted.factor else {}}.get(constant, {}) if limit == NONE else {}
        if sign in signs:
            return some if signs[sign] else inverted(some)
    factor, node = single(one)
    for how, signs_, op in EXTREMES:
        if one.exact and sign in signs_ and constant == 1.0 and limit == times(factor, power_of(how, node)):
            return node_of(op, node)
    raise Unread("a comparison")


def _equal_rows(one: Value, sign: str, other: Value) -> Node:
    """Each two rows (or columns) of one matrix beside each other."""
    first, second, axes = single(one), single(other), broadcast(one.axes, other.axes)
    beside = [letter for letter in "MN" if axes.count(letter) == 2]
    alike = sign == "==" and first == second and not first.factor and one.letters == other.letters
    if not alike or len(axes) != 3 or len(beside) != 1 or len(set(axes)) != 2:
        raise Unread("a comparison of matrices")
    rows = first.node if one.letters[0] == beside[0] else turned(first.node, one.letters)
    if not is_binary(rows) and rows.op != "all_checks":
        raise Unread("a comparison of matrices")
    return node_of("pairs", rows)


def chosen(condition: Value, one: Value, other: Value) -> Value:
    """`np.where` of a vector of truths."""
    axes = aligned(condition, one, other)
    factor, when = single(condition)
    if condition.kind != "b" or factor or len(axes) != 1:
        raise Unread("a choice by something else")
    kinds = {one.kind, other.kind}
    kind = "f" if "f" in kinds else "i" if "i" in kinds else "b"
    branches = [(when, _filled(one, when)), (inverted(when), _filled(other, inverted(when)))]
    guard = _guard(branches, kind) or _guard(branches[::-1], kind)
    if guard is not None:
        return guard
    found = _mixed(branches, axes)
    apart = _apart(branches) or _apart(branches[::-1])
    if apart is not None and (found is None or not _is_single(found)):
        found = apart
    if found is None:
        raise Unread("a choice between two with different factors")
    holes = branches[0][1].holes | branches[1][1].holes
    low, high = min(one.low, other.low), max(one.high, other.high)
    exact = kind != "f" and one.exact and other.exact
    return replace(found, axes=axes, kind=kind, low=low, high=high, exact=exact, holes=holes, owner=object())


Branch = tuple[Node, Value]


def _guard(branches: list[Branch], kind: str) -> Value | None:
    """A count where it is not 0, else something small."""
    (truth, value), (_, constant) = branches
    found = counts(value)
    if found is None or constant.nodes or set(constant.numbers) != {NONE} or truth != Node("some", (found.node,)):
        return None
    return guarded(value, constant.numbers[NONE], kind)


def _mixed(branches: list[Branch], axes: tuple[str, ...]) -> Value | None:
    """Each branch times its condition, added."""
    try:
        parts = [_masked(truth, value, axes) for truth, value in branches if value.nodes or value.numbers]
        return added(*parts) if len(parts) == 2 else parts[0] if parts else None
    except Unread:
        return None


def _masked(truth: Node, value: Value, axes: tuple[str, ...]) -> Value:
    """A value where something is true, else 0."""
    value = replace(value, kind="f")
    matrices, nodes = full_where(truth), value.nodes
    for matrix in matrices:
        if not value.numbers and all(_is_nothing_where_empty(node, matrix, truth) for node in nodes.values()):
            return value
        if not value.numbers and truth.op == "some" and list(nodes.values()) == [Node("per", (matrix,))]:
            return replace(value, nodes={factor: rarity(matrix) for factor in nodes}, low=0.0)
    return multiplied(Value(axes, {NONE: truth}, {}, "f", 0.0, 1.0), value)


def _is_nothing_where_empty(node: Node, matrix: Node, truth: Node) -> bool:
    """Whether it is 0 wherever this condition on a matrix does not hold."""
    match node:
        case Node("neg" | "times", (Node() as inner, *_)):
            return _is_nothing_where_empty(inner, matrix, truth)
        case Node("inside", (Node() as of, *_)) if of == matrix:
            return truth == Node("some", (matrix,))
    return truth == Node("some", (matrix,)) and node in (truth, rarity(matrix))


def full_where(condition: Node) -> tuple[Node, ...]:
    """The matrices of which no column is empty where this is true."""
    match condition:
        case Node("some", (Node() as matrix,)):
            return (matrix,)
        case Node("choosy", (Node() as matrix,)):
            return (matrix, rejected(matrix))
    return ()


def _filled(value: Value, when: Node) -> Value:
    return replace(value, holes=value.holes - set(full_where(when)))


def _apart(branches: list[Branch]) -> Value | None:
    """The order of a choice between a value and a number above or below all of it, where that can be said."""
    (truth, value), (_, constant) = branches
    if constant.nodes or not constant.numbers or not value.nodes:
        return None
    margin = TINY * max(1.0, abs(constant.low), abs(constant.high))
    first = truth if value.low - constant.high > margin else inverted(truth)
    if not (value.low - constant.high > margin or constant.low - value.high > margin):
        return None
    try:
        order = node_of("order", node_of("then", first, met(truth, single(value).node)))
    except Unread:
        return None
    return Value(value.axes, {NONE: order}, {}, "f")


def _is_single(value: Value) -> bool:
    try:
        return bool(single(value))
    except Unread:
        return False


def raised_to(value: Value, exponent: float, kind: str = "f") -> Value:
    """A power of what is nowhere below 0."""
    if exponent == -1.0:
        return divided(number(1.0), value)
    if not 0.05 <= exponent <= 4 or value.low < 0 or value.kind == "b":
        raise Unread("such a power")
    if exponent < 1 and not is_apart_from_noise(value):
        raise Unread("a root of noise")
    nodes: dict[Factor, Node] = {}
    numbers: dict[Factor, float] = {}
    if value.nodes:
        factor, node = single(value)
        if len(value.letters) != 1 and value.letters not in ("MM", "NN"):
            raise Unread("a power of a matrix")
        if not _is_moderate(value, factor):
            raise Unread("a power of something large")
        op = "power" if len(value.letters) == 1 else "sharpen"
        nodes = {times(NONE, factor, exponent): node_of(op, node, checked(exponent))}
    elif len(value.numbers) == 1:
        ((factor, constant),) = value.numbers.items()
        numbers = {times(NONE, factor, exponent): constant**exponent}
    else:
        raise Unread("a power of a sum")
    low, high = value.low**exponent, value.high**exponent
    kind = "i" if kind == value.kind == "i" else "f"
    return made((value,), value.axes, nodes, numbers, kind=kind, low=low, high=high)


def is_apart_from_noise(value: Value) -> bool:
    """Whether it is exactly 0 where it should be: a root makes much of the last bits there."""
    return value.exact or value.low >= 1e-3


def _is_moderate(value: Value, factor: Factor) -> bool:
    """Whether the tree itself stays within a million."""
    below = -sum(min(power, 0.0) for _, power in factor)
    return all(name != "positive" for (name, _), _ in factor) and value.high * LARGEST**below <= 1e6


def lesser(one: Value, other: Value, op: str) -> Value:
    """`np.minimum` (`low`) or `np.maximum` (`high`)."""
    if not one.nodes:
        one, other = other, one
    if one.kind == other.kind == "b":
        raise Unread("the greater of two truths")
    kind, pick = "f" if "f" in (one.kind, other.kind) else "i", min if op == "low" else max
    axes, low, high = aligned(one, other), pick(one.low, other.low), pick(one.high, other.high)
    if other.nodes:
        first, second = single(one), single(other)
        if first.factor != second.factor or len(axes) != 1:
            raise Unread("the greater of two with different factors")
        nodes = {first.factor: node_of(op, first.node, second.node)}
        return made((one, other), axes, nodes, {}, kind=kind, low=low, high=high)
    if other.low >= one.high if op == "low" else other.high <= one.low:
        return replace(one, kind=kind, axes=axes, owner=object(), exact=kind != "f" and one.exact)
    guard = guarded(one, other.numbers.get(NONE, 0.0), kind) if op == "high" and len(other.numbers) == 1 else None
    if guard is None or other.axes:
        return _bounded(one, other, op, kind)
    return guard


def _bounded(one: Value, other: Value, op: str, kind: str) -> Value:
    """The greater (or the lesser) of two numbers of the problem."""
    if one.nodes or one.axes or other.axes:
        raise Unread("a bound")
    name, pick = ("least", min) if op == "low" else ("greatest", max)
    low, high = pick(one.low, other.low), pick(one.high, other.high)
    of = frozenset({frozenset(one.numbers.items()), frozenset(other.numbers.items())})
    numbers = {power_of("positive" if low > 0 else name, (name, of)): 1.0}
    return made((one, other), (), {}, numbers, kind=kind, low=low, high=high)


def logarithm(value: Value) -> Value:
    """Of what is nowhere 0."""
    factor, node = single(value)
    if len(value.letters) != 1 or least_share(value, factor) < 1e-5 or not _is_moderate(value, factor):
        raise Unread("a logarithm of what may be nearly nothing")
    if not is_positive(factor):
        raise Unread("a logarithm of what may be nothing")
    numbers = {power_of("log", factor): 1.0} if factor else {}
    nodes, low, high = {NONE: node_of("logarithm", node)}, math.log(value.low), math.log(value.high)
    return made((value,), value.axes, nodes, numbers, kind="f", low=low, high=high)


def risen(value: Value, low: float, high: float) -> Value:
    """A function that rises everywhere, and keeps apart what is."""
    if value.low < 0 or value.high > (1e6 if value.kind == "i" else 1e3) or len(value.axes) != 1:
        raise Unread("a function beyond what is known of it")
    nodes = {NONE: node_of("rising", single(value).node)}
    return made((value,), value.axes, nodes, {}, kind="f", low=low, high=high)
