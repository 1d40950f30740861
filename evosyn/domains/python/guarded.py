"""The operators and builtins that may run in our own process on hostile values: each pays a budget before it works.

They mean what Python means by them, or raise `TooLarge`. It knows nothing of expressions; `expressions` builds on it.
"""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Sequence
from decimal import Decimal
from fractions import Fraction

from evosyn.domains.python.budget import (
    INT_BITS,
    ITEMS,
    KEYS,
    WIDE,
    TooLarge,
    WorkBudget,
    bits,
    length,
    measure,
    room,
)
from evosyn.domains.python.equality import equal
from evosyn.records import Json
from evosyn.sandbox._inside.colliding import FEW_KEYS, is_spread
from evosyn.sandbox._inside.kinds import Items

MAX_DIGITS = 400
_WORD = 1 << 63
_DECIMAL_POWER = 50_000
_SET_LIKE = (set, frozenset, KEYS, ITEMS)
_TEXTS = (str, bytes, bytearray)


def is_flat(value: Json) -> bool:
    """Whether all work on the number costs nothing worth counting."""
    kind = type(value)
    return kind is float or kind is bool or (kind is int and -_WORD < value < _WORD)


# operators


def _charged(apply: Callable[[Json, Json], Json]) -> Callable[[WorkBudget, Json, Json], Json]:
    """An operator whose result is no larger than its operands together."""

    def charged(budget: WorkBudget, left: Json, right: Json) -> Json:
        if not (is_flat(left) and is_flat(right)):
            budget.weigh(left, right)
            budget.make(room(left) + room(right))
            _pay_for_keys(budget, left, right)
            _pay_for_numbers(budget, left, right)
        return apply(left, right)

    return charged


def _pay_for_keys(budget: WorkBudget, left: Json, right: Json) -> None:
    """Keys of both are looked up in each other."""
    if isinstance(left, (*_SET_LIKE, dict)):
        budget.step(length(left) * length(right) // 4)


def _pay_for_numbers(budget: WorkBudget, left: Json, right: Json) -> None:
    one, other = bits(left), bits(right)
    if one > INT_BITS or other > INT_BITS:
        raise TooLarge("integer")
    budget.step(one * other >> 12)


def _multiply(budget: WorkBudget, left: Json, right: Json) -> Json:
    for repeated, times in ((left, right), (right, left)):
        if isinstance(times, int) and not isinstance(repeated, int | float | complex | Fraction | Decimal):
            budget.make(room(repeated) * max(times, 0))
            budget.step(room(repeated) * max(times, 0))
            return left * right
    _pay_for_numbers(budget, left, right)
    return left * right


def _power(budget: WorkBudget, left: Json, right: Json) -> Json:
    """What Python makes of whole and real exponents; how it raises decimal numbers to others knows no bounds."""
    _pay_for_numbers(budget, left, right)
    whole = int(right) if isinstance(right, Fraction) and right.denominator == 1 else right
    if isinstance(left, int | Fraction) and isinstance(whole, int):
        if bits(left) * abs(whole) > INT_BITS and left not in (-1, 0, 1):
            raise TooLarge("integer")
    elif isinstance(left, Decimal):
        if not isinstance(right, int) or not -_WORD < right < _WORD:
            raise TooLarge("power of a decimal number")
        budget.step(_DECIMAL_POWER)
    elif not (
        isinstance(left, int | float | complex | Fraction) and isinstance(right, float | complex | int | Fraction)
    ):
        raise TooLarge("power")
    return left**right


def _divided(apply: Callable[[Json, Json], Json]) -> Callable[[WorkBudget, Json, Json], Json]:
    charged = _charged(apply)

    def divide(budget: WorkBudget, left: Json, right: Json) -> Json:
        if isinstance(left, _TEXTS):  # formatting: a width can ask for any amount of memory
            raise TooLarge("formatting")
        return charged(budget, left, right)

    return divide


def _signed(apply: Callable[[Json], Json]) -> Callable[[WorkBudget, Json], Json]:
    charged = _charged(lambda value, _: apply(value))
    return lambda budget, value: charged(budget, value, 0)


_add = _charged(operator.add)

# comparisons


def _equals(budget: WorkBudget, left: Json, right: Json) -> bool:
    if is_flat(left) and is_flat(right):
        return bool(left == right)
    return equal(left, right) if _weighed(budget, left, right) > WIDE else bool(left == right)


def _weighed(budget: WorkBudget, left: Json, right: Json) -> int:
    """Pay for comparing the two; keys of the largest set or dict in each of them."""
    one, other = budget.weigh(left), budget.weigh(right)
    if not one._replace(bits=max(one.bits, other.bits), decimals=one.decimals or other.decimals).mixes():
        raise TooLarge("integer beside a decimal number")
    return min(one.widest, other.widest)


def _pay_for_order(budget: WorkBudget, items: Sequence[Json], comparisons: int = 1) -> None:
    """Fractions are ordered by products of their parts."""
    if any(isinstance(item, Fraction) for item in items):
        most = max(map(bits, items))
        budget.step(comparisons * (most * most >> 12))


def _ordered(apply: Callable[[Json, Json], Json]) -> Callable[[WorkBudget, Json, Json], Json]:
    def ordered(budget: WorkBudget, left: Json, right: Json) -> Json:
        if not (is_flat(left) and is_flat(right)):
            widest = _weighed(budget, left, right)
            _pay_for_order(budget, (left, right))
            if isinstance(left, _SET_LIKE):
                budget.step(length(left) * length(right) // 4)
            elif widest > WIDE:
                raise TooLarge("keys")
        return apply(left, right)

    return ordered


def _contains(budget: WorkBudget, item: Json, values: Json) -> bool:
    if type(values) is range and type(item) in (int, bool):
        return item in values
    widest = _weighed(budget, item, values)
    if isinstance(values, _TEXTS):
        budget.step(length(values) + 16 * length(item))
    elif not isinstance(values, (*_SET_LIKE, dict, range)) and widest > WIDE:
        return any(one is item or equal(one, item) for one in values)
    return item in values


# builtins


def _plain(apply: Callable[..., Json], most: int) -> Callable[..., Json]:
    """A builtin that goes through its arguments once and makes nothing large."""

    def plain(budget: WorkBudget, *values: Json, **named: Json) -> Json:
        if len(values) > most:
            raise TooLarge("arguments")
        if not all(map(is_flat, values)):
            budget.weigh(*values)
        return apply(*values, **named)

    return plain


def _instant(apply: Callable[..., Json]) -> Callable[..., Json]:
    return lambda _, *values: apply(*values)


def _listed(apply: Callable[..., Json]) -> Callable[..., Json]:
    """A builtin that makes a sequence of its one argument."""

    def listed(budget: WorkBudget, *values: Json) -> Json:
        budget.step(sum(map(length, values)))
        budget.make(8 + sum(map(length, values)))
        return apply(*values)

    return listed


def _iterated(apply: Callable[..., Json]) -> Callable[..., Json]:
    """A builtin that makes an iterator of tuples or items."""

    def iterated(budget: WorkBudget, *values: Json) -> Json:
        count = max(map(length, values), default=0)
        budget.step(count * (1 + len(values)))
        budget.make(count * (9 + len(values)))
        return Items(list(apply(*values)))

    return iterated


def _keyed(kind: Callable[[Json], Json], *, of_set: bool) -> Callable[..., Json]:
    def keyed(budget: WorkBudget, *values: Json) -> Json:
        if not values:
            return kind(())
        (given,) = values
        budget.make(16 + 14 * length(given))
        budget.weigh(given)
        if not of_set and isinstance(given, dict):
            return kind(given)
        items = list(given)
        check_keys(items if of_set else [key for key, _ in items], of_set=of_set)
        return kind(items)

    return keyed


def check_keys(keys: list[Json], *, of_set: bool) -> None:
    """
    Raises:
        TooLarge: a set or dict of these would take long to make.
        TypeError: one cannot be hashed.
    """
    if len(keys) > FEW_KEYS and not is_spread(keys, of_set=of_set):
        raise TooLarge("keys that collide")
    if not all(map(is_flat, keys)) and not measure(*keys).mixes():
        raise TooLarge("integer beside a decimal number")


def _sorted(budget: WorkBudget, values: Json, *, reverse: Json = False) -> Json:
    count = length(values)
    budget.make(8 + count)
    items = list(values)
    size = budget.weigh(*items)
    if size.widest > FEW_KEYS:
        raise TooLarge("an order of sets")
    budget.step(size.parts * count.bit_length())
    _pay_for_order(budget, items, count * count.bit_length())
    return sorted(items, reverse=reverse)


def _extreme(apply: Callable[..., Json]) -> Callable[..., Json]:
    def extreme(budget: WorkBudget, *values: Json, **named: Json) -> Json:
        inside = [item for value in values for item in _items(budget, value)] if len(values) == 1 else values
        if not all(map(is_flat, inside)):
            if budget.weigh(*inside).widest > FEW_KEYS:
                raise TooLarge("an order of sets")
            _pay_for_order(budget, inside, len(inside))
        return apply(inside, **named) if len(values) == 1 else apply(*values, **named)

    return extreme


def _items(budget: WorkBudget, value: Json) -> list[Json]:
    budget.step(length(value))
    budget.make(8 + length(value))
    return list(value)


def _sum(budget: WorkBudget, values: Json, *start: Json) -> Json:
    """Item by item where items are not all plain numbers: what a sum costs depends on what it has come to so far."""
    items = _items(budget, values)
    if all(isinstance(item, int | float | complex) for item in (*items, *start)):
        longest = max(map(bits, (*items, *start)), default=0)
        if longest > INT_BITS:
            raise TooLarge("integer")
        budget.step(len(items) * (longest >> 9))
        return sum(items, *start)
    total = sum((), *start)
    for item in items:
        total = _add(budget, total, item)
    return total


def _written(apply: Callable[[Json], str]) -> Callable[[WorkBudget, Json], Json]:
    def written(budget: WorkBudget, value: Json) -> Json:
        if type(value) is str and apply is str:
            return value
        parts = budget.weigh(value).parts
        budget.step(64 * 10 * parts)
        budget.make(8 * 10 * parts)
        return apply(value)

    return written


def _int(budget: WorkBudget, *values: Json) -> Json:
    if any(isinstance(value, Decimal) and value.is_finite() and value.adjusted() > MAX_DIGITS for value in values):
        raise TooLarge("integer")
    budget.weigh(*values)
    budget.step(64 * sum(map(length, values)))
    return int(*values)


def _float(budget: WorkBudget, *values: Json) -> Json:
    budget.weigh(*values)
    return float(*values)


def _round(budget: WorkBudget, value: Json, ndigits: Json = None) -> Json:
    if isinstance(ndigits, int) and abs(ndigits) > MAX_DIGITS:
        raise TooLarge("digits")
    if isinstance(value, Decimal) and value.is_finite() and value.adjusted() > MAX_DIGITS:
        raise TooLarge("integer")
    _pay_for_numbers(budget, value, 1)
    return round(value, ndigits)


TYPES: dict[str, type] = {
    kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
}
FUNCTIONS: dict[str, Callable[..., Json]] = {
    **{function.__name__: _plain(function, 1) for function in (abs, all, any, chr, complex, ord)},
    **{function.__name__: _instant(function) for function in (bool, len)},
    **{function.__name__: _listed(function) for function in (list, tuple)},
    **{function.__name__: _iterated(function) for function in (enumerate, reversed, zip)},
    **{function.__name__: _extreme(function) for function in (max, min)},
    **{function.__name__: _written(function) for function in (repr, str)},
    "dict": _keyed(dict, of_set=False),
    "divmod": _divided(divmod),
    "float": _float,
    "frozenset": _keyed(frozenset, of_set=True),
    "int": _int,
    "range": _plain(range, 3),
    "round": _round,
    "set": _keyed(set, of_set=True),
    "sorted": _sorted,
    "sum": _sum,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[WorkBudget, Json, Json], Json]] = {
    ast.Eq: _equals,
    ast.NotEq: lambda budget, left, right: not _equals(budget, left, right),
    ast.Lt: _ordered(operator.lt),
    ast.LtE: _ordered(operator.le),
    ast.Gt: _ordered(operator.gt),
    ast.GtE: _ordered(operator.ge),
    ast.Is: lambda _, left, right: left is right,
    ast.IsNot: lambda _, left, right: left is not right,
    ast.In: _contains,
    ast.NotIn: lambda budget, item, values: not _contains(budget, item, values),
}
UNARY: dict[type[ast.unaryop], Callable[[WorkBudget, Json], Json]] = {
    ast.Not: lambda _, value: not value,
    ast.USub: _signed(operator.neg),
    ast.UAdd: _signed(operator.pos),
    ast.Invert: _signed(operator.invert),
}
BINARY: dict[type[ast.operator], Callable[[WorkBudget, Json, Json], Json]] = {
    ast.Add: _add,
    ast.Sub: _charged(operator.sub),
    ast.Mult: _multiply,
    ast.Div: _divided(operator.truediv),
    ast.FloorDiv: _divided(operator.floordiv),
    ast.Mod: _divided(operator.mod),
    ast.Pow: _power,
    ast.BitAnd: _charged(operator.and_),
    ast.BitOr: _charged(operator.or_),
    ast.BitXor: _charged(operator.xor),
}


def subscript(budget: WorkBudget, value: Json, index: Json) -> Json:
    if isinstance(index, slice):
        budget.step(length(value))
        budget.make(room(value))
    elif not is_flat(index):
        _weighed(budget, index, value if isinstance(value, dict) else 0)
    if isinstance(value, dict):
        budget.step(length(value))
    if isinstance(value, defaultdict) and value.default_factory is not None and index not in value:
        return value.default_factory()  # nothing is added: other asserts look at this value too
    return value[index]
