"""Functions of the grammar that a program calls as they stand there: what their arguments may be scaled by.

docs/evolve.md, "Bursts".
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from evosyn.strategies.grammar.foreign.calls import Thing, constant_of, value_of
from evosyn.strategies.grammar.foreign.choices import is_apart_from_noise
from evosyn.strategies.grammar.foreign.values import Value, affine, made, ordered, single
from evosyn.strategies.grammar.foreign.words import NONE, Factor, Unread, is_positive, node_of, times, unrounded
from evosyn.strategies.grammar.grammar import OPS, type_of

SHIFT_FREE = dict.fromkeys(("spread", "standard", "at_least"), (0, 1)) | {"follow": (1,)}
ORDERS = dict.fromkeys(("place", "top", "bottom", "then", "crown"), (0, 1))
SCALE_FREE = {"accepted": (1,), "vote": (1,), "smooth": (0,)}
LINEAR = {"gap": 1, "row_gap": 1, "smooth": 1}
"""Which arguments of the grammar's functions may have a factor: it does not matter, or stands before the result."""
UNIT_OPS = frozenset({
    *("spread", "place", "top", "bottom", "at_least", "some", "choosy", "likely", "half", "alike", "same", "latent"),
})  # fmt: skip


def of_grammar(op: str, given: Sequence[Thing]) -> Value:
    """A function of the grammar, called by a program as it stands there."""
    constants = len(OPS[op].constants)
    values = [value_of(one) for one in given[: len(given) - constants]]
    if any("1" in one.axes or not one.axes or one.kind == "b" for one in values):
        raise Unread("an array of another shape, or of truths")
    factor, args = NONE, []
    for place, one in enumerate(values):
        if place in ORDERS.get(op, ()):
            args.append(ordered(one))
        elif place in SHIFT_FREE.get(op, ()):
            args.append(affine(one))
        else:
            found = single(one)
            args.append(found.node)
            if LINEAR.get(op) == place:
                factor = found.factor
            elif place not in SCALE_FREE.get(op, ()):
                factor = _factor_of(op, place, found.factor, given[-1], factor)
    if op == "power":
        _check_power(values[0], constant_of(given[-1]))
    node = node_of(op, *args, *(constant_of(one) for one in given[len(given) - constants :]))
    if op == "power" and values[0].letters in ("MM", "NN"):
        node = node_of("sharpen", *node.args)
    kind = type_of(unrounded(node, lambda inner: inner)).value
    low, high = (0.0, 1.0) if op in UNIT_OPS else _bounds(op, values)
    found_ = made(values, tuple(kind), {factor: node}, {}, kind="f", low=low, high=high)
    return replace(found_, owner=values[0].owner) if op == "turned" else found_


def _check_power(value: Value, exponent: float) -> None:
    """
    Raises:
        Unread: the power is not that of a value without its factor, or of its last bits.
    """
    if exponent < 0 or max(value.high, -value.low) > 1e6 or (exponent < 1 and not is_apart_from_noise(value)):
        raise Unread("such a power")


def _factor_of(op: str, place: int, factor: Factor, last: Thing, before: Factor) -> Factor:
    """The factor that an argument leaves before the result."""
    if not factor:
        return before
    if op == "ratio" and is_positive(factor):
        return times(before, factor, 1.0 if place == 0 else -1.0)
    if op == "power" and is_positive(factor):
        return times(before, factor, constant_of(last))
    raise Unread("a function of something that is scaled")


def _bounds(op: str, values: Sequence[Value]) -> tuple[float, float]:
    last = values[-1]
    least, most = min(last.low, 0.0), max(last.high, 0.0)
    if op in ("gap", "row_gap"):
        return least - most, most - least
    if op in ("accepted", "vote"):
        return (-1.0 if least else 0.0), 1.0
    return (least, most) if op == "smooth" else (-1e9, 1e9)
