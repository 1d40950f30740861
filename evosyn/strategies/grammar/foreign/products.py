"""Products and quotients of values. What may be zero divides only behind a guard, or leaves holes.

A guard is a count that was kept above 0, as by `np.maximum(passed.sum(axis=0), 1)`. Bounds hold for at most `LARGEST`
solutions and testings. docs/evolve.md, "Bursts".
"""

from __future__ import annotations

import math
from dataclasses import replace

from evosyn.strategies.grammar.foreign.values import (
    Value,
    aligned,
    broadcast,
    made,
    single,
)
from evosyn.strategies.grammar.foreign.words import (
    LARGEST,
    NONE,
    Factor,
    Scaled,
    Unread,
    column_mean,
    contracted,
    is_binary,
    is_positive,
    is_turned,
    neg,
    node_of,
    power_of,
    rarity,
    rejected,
    scaled,
    times,
    total,
    turned,
)
from evosyn.strategies.grammar.grammar import Node

TINY = 1e-6
"""A guard below the least share that a problem can have."""


def multiplied(one: Value, other: Value) -> Value:
    """Their product, broadcast."""
    if not one.nodes:
        one, other = other, one
    ends = [0.0 if 0.0 in (a, b) else a * b for a in (one.low, one.high) for b in (other.low, other.high)]
    if not other.nodes:
        found = _by_numbers(one, other)
    elif (per := _word_of(other, "per")) is not None:
        found = divided(one, _guarded_again(per))
    elif (per := _word_of(one, "per")) is not None:
        found = divided(other, _guarded_again(per))
    else:
        term = _product(one, other)
        found = made((one, other), broadcast(one.axes, other.axes), {term.factor: term.node}, {})
    kind = "b" if one.kind == other.kind == "b" else found.kind
    return replace(found, kind=kind, low=min(ends), high=max(ends), holes=found.holes | one.holes | other.holes)


def _by_numbers(value: Value, by: Value) -> Value:
    """Times the same number for all items."""
    if not value.nodes or not by.numbers:
        numbers: dict[Factor, float] = {}
        for factor, constant in by.numbers.items():
            for mine, old in value.numbers.items():
                both = times(mine, factor)
                numbers[both] = numbers.get(both, 0.0) + old * constant
        return made((value, by), broadcast(value.axes, by.axes), {}, numbers)
    scale, constant = _scale(by)
    nodes = {times(factor, scale): _weighed(node, constant) for factor, node in value.nodes.items()}
    numbers = {times(factor, scale): old * constant for factor, old in value.numbers.items()}
    return made((value, by), aligned(value, by), nodes, numbers)


def _weighed(node: Node, constant: float) -> Node:
    match node:
        case Node("weighted", (Node() as matrix, Node() as of, float() as at)):
            return node_of("weighted", matrix, scaled(of, constant), at)
    return scaled(node, constant)


def _scale(value: Value) -> tuple[Factor, float]:
    """A number of the problem as a factor that is always above zero, and a constant."""
    if len(value.numbers) == 1:
        ((factor, constant),) = value.numbers.items()
        if is_positive(factor):
            return factor, constant
    if value.nodes or value.low <= 0:
        raise Unread("a scale that may be zero")
    return power_of("positive", frozenset(value.numbers.items())), 1.0


def _product(first: Value, second: Value) -> Scaled:
    """Of two trees."""
    if len(first.letters) < len(second.letters):
        first, second = second, first
    one, other = single(first), single(second)
    factor, letters = times(one.factor, other.factor), first.letters
    if letters == second.letters and aligned(first, second):
        if len(letters) == 1:
            return Scaled(factor, met(one.node, other.node))
        if letters == "MM":
            return Scaled(factor, node_of("mul", one.node, other.node))
        if one.node == other.node and is_binary(one.node):
            return Scaled(factor, one.node)
    places = {(letters[:1], "1"): 0.0, (letters[1:],): 1.0, ("1", letters[1:]): 1.0}
    if len(letters) != 2 or len(first.axes) != 2 or second.axes not in places or not set(letters) <= {"M", "N"}:
        raise Unread("a product of more than a matrix and a vector")
    return Scaled(factor, node_of("weighted", one.node, other.node, places[second.axes]))


def met(one: Node, other: Node) -> Node:
    """The product of two vectors, where it has a shorter name."""
    for first, second in ((one, other), (other, one)):
        match first, second:
            case Node("some", (Node() as matrix,)), Node("some", (Node() as rest,)) if rest == rejected(matrix):
                return node_of("choosy", rest if matrix.op == "rejected" else matrix)
            case Node("some" | "choosy", (Node() as of,)), Node("some", (Node() as of_,)) if of == of_:
                return first
    return node_of("mul", one, other)


def divided(one: Value, other: Value) -> Value:
    """Their quotient; by what may be zero only where that is guarded, or where it leaves holes."""
    exact = one.kind != "f" and other.kind != "f"
    if (guard := _word_of(other, "guard")) is not None:
        return replace(_over_guard(one, other, guard), exact=exact)
    if (guard := counts(other)) is not None:
        found = _over_guard(one, other, guard)
        return replace(found, exact=exact, holes=found.holes | {guard.node})
    if other.low <= 0:
        raise Unread("a quotient by what may be zero")
    ends = [a / b for a in (one.low, one.high) for b in (other.low, other.high)]
    nodes, numbers = _quotient(one, other) if other.nodes else _over_numbers(one, other)
    axes = aligned(one, other)
    return made((one, other), axes, nodes, numbers, kind="f", low=min(ends), high=max(ends), exact=exact)


def _over_numbers(one: Value, other: Value) -> tuple[dict[Factor, Node], dict[Factor, float]]:
    scale, constant = _scale(other)
    nodes = {times(factor, scale, -1.0): _weighed(node, 1.0 / constant) for factor, node in one.nodes.items()}
    return nodes, {times(factor, scale, -1.0): old / constant for factor, old in one.numbers.items()}


def _quotient(one: Value, other: Value) -> tuple[dict[Factor, Node], dict[Factor, float]]:
    """By a vector that is above zero everywhere."""
    by, below = single(other)
    if not is_positive(by) or len(other.letters) != 1:
        raise Unread("a quotient by what may be zero")
    if least_share(other, by) < 1e-3:
        raise Unread("a quotient by nearly nothing")
    if not one.nodes:
        scale, constant = _scale(one)
        return {times(scale, by, -1.0): scaled(node_of("fade", below, 1.0), constant)}, {}
    factor, above = single(one)
    match above:
        case Node("mul", (Node("row_mean") as whole, Node("smooth") as mean)) if whole == below:
            return {times(factor, by, -1.0): mean}, {}
    return {times(factor, by, -1.0): node_of("ratio", above, below)}, {}


def least_share(value: Value, factor: Factor) -> float:
    """What the tree of a value is at least, without its factor."""
    if any(name != "size" for (name, _), _ in factor):
        return 0.0
    return value.low / float(LARGEST) ** max(0.0, sum(power for _, power in factor))


def _over_guard(one: Value, other: Value, guard: Scaled) -> Value:
    """Over how many a column accepts, each part of the sum on its own; nothing where that is 0."""
    terms = [_part_over(Scaled(factor, node), guard) for factor, node in one.nodes.items()]
    for factor, constant in one.numbers.items():
        if not is_positive(factor):
            raise Unread("a total over a count")
        terms.append(Scaled(times(factor, guard.factor, -1.0), scaled(node_of("per", guard.node), constant)))
    if len({term.factor for term in terms}) < len(terms):
        raise Unread("two parts of one quotient")
    least = 1.0 if guard.factor else 1 / LARGEST
    least = min(least, other.low) if one.numbers and other.low > 0 else least
    return made(
        (one, other), aligned(one, other), dict(terms), {}, kind="f", low=min(0.0, one.low / least),
        high=max(0.0, one.high / least),
    )  # fmt: skip


def _part_over(term: Scaled, guard: Scaled) -> Scaled:
    matrix, factor = guard.node, times(term.factor, guard.factor, -1.0)
    match term.node:
        case Node("neg", (Node() as inner,)):
            found = _part_over(Scaled(term.factor, inner), guard)
            return Scaled(found.factor, neg(found.node))
        case Node("times", (Node() as inner, float() as by)):
            found = _part_over(Scaled(term.factor, inner), guard)
            return Scaled(found.factor, scaled(found.node, by))
        case Node("accepted" | "vote", (Node(), Node() as of)) if term.node == contracted(matrix, of).node:
            if dict(term.factor).get(("total", of)) == 1.0:
                whole = power_of("size", "N" if is_turned(matrix) else "M")
                return Scaled(times(times(factor, total(of), -1.0), whole), node_of("inside", matrix, of))
    if is_turned(matrix):
        raise Unread("a quotient by a count of testings")
    if term.node == column_mean(matrix):
        return Scaled(factor, node_of("some", matrix))
    if term.node == Node("some", (matrix,)):
        return Scaled(factor, rarity(matrix))
    raise Unread("a quotient that is something else where nobody is counted")


def counts(value: Value) -> Scaled | None:
    """The matrix of which a value counts the ones in each column, times the factor that it has beside their mean."""
    if len(value.letters) != 1 or len(value.nodes) != 1:
        return None
    ((factor, node),) = value.nodes.items()
    zeros = node.op == "neg"
    if value.numbers != ({factor: 1.0} if zeros else {}):
        return None
    match node.args[0] if zeros else node:
        case Node("row_mean", (Node() as rows,)) if is_binary(rows):
            matrix = turned(rows, "")
            if factor in (power_of("size", "N" if is_turned(matrix) else "M"), NONE):
                return Scaled(factor, rejected(matrix) if zeros else matrix)
    return None


def guarded(value: Value, least: float, kind: str) -> Value | None:
    """The greater of a count and a guard that is below all that it can be but 0."""
    found = counts(value)
    if found is None or not 0 < least <= (1.0 if found.factor else TINY):
        return None
    nodes = {found.factor: node_of("guard", found.node)}
    return made((value,), value.axes, nodes, {}, kind=kind, low=max(least, value.low), high=value.high)


def _word_of(value: Value, op: str) -> Scaled | None:
    if len(value.nodes) != 1 or value.numbers:
        return None
    ((factor, node),) = value.nodes.items()
    match node:
        case Node(name, (Node() as matrix,)) if name == op:
            return Scaled(factor, matrix)
    return None


def _guarded_again(per: Scaled) -> Value:
    """One over it."""
    axis = "M" if is_turned(per.node) else "N"
    nodes = {times(NONE, per.factor, -1.0): node_of("guard", per.node)}
    return Value((axis,), nodes, {}, "f", 0.0, math.inf)
