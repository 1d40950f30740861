"""The operators and builtins that may run in our own process on hostile values: bounded in what they make of them.

It knows nothing of expressions; `_expressions` builds on it.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterable

from evosyn.records import Json

MAX_SIZE = 1_000_000
"""Items, characters or bytes that a value may grow to."""
MAX_KEYS = 20_000
"""Keys of a set or dict made from returned values: keys can be chosen to collide."""


class TooLarge(ValueError):
    """A value would outgrow the bounds."""


def size_of(value: Json, limit: int = MAX_SIZE) -> int:
    """Items, characters and bytes in `value`, counted until `limit` is passed."""
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, int):
        return value.bit_length() // 8
    if isinstance(value, dict):
        total = len(value)
        for key, item in value.items():
            total += size_of(key, limit) + size_of(item, limit)
            if total > limit:
                break
        return total
    if isinstance(value, list | tuple | set | frozenset | range):
        total = len(value)
        for item in value:
            if total > limit:
                break
            total += size_of(item, limit - total)
        return total
    return 1


def _multiply(left: Json, right: Json) -> Json:
    for repeated, times in ((left, right), (right, left)):
        if isinstance(repeated, str | bytes | list | tuple) and isinstance(times, int):
            if size_of(repeated) * max(times, 0) > MAX_SIZE:
                raise TooLarge("repetition")
        elif isinstance(repeated, int) and repeated.bit_length() > 8 * 8192:
            raise TooLarge("integer")
    return left * right


def _power(left: Json, right: Json) -> Json:
    if isinstance(left, int) and isinstance(right, int) and left.bit_length() * max(right, 0) > 8 * 8192:
        raise TooLarge("integer")
    return left**right


def _divided(apply: Callable[[Json, Json], Json]) -> Callable[[Json, Json], Json]:
    def divide(left: Json, right: Json) -> Json:
        if isinstance(left, str | bytes):  # formatting: a width can ask for any amount of memory
            raise TooLarge("formatting")
        if size_of(left) > 8192:
            raise TooLarge("integer")
        return apply(left, right)

    return divide


def _round(value: Json, ndigits: Json = None) -> Json:
    if isinstance(ndigits, int) and abs(ndigits) > 400:
        raise TooLarge("digits")
    return round(value, ndigits)


def _range(*bounds: Json) -> Json:
    made = range(*bounds)
    try:
        size = len(made)
    except OverflowError:
        size = MAX_SIZE + 1
    if size > MAX_SIZE:
        raise TooLarge("range")
    return made


def _sum(values: Json) -> Json:
    return sum(values)


def _keyed(kind: Callable[[Json], Json]) -> Callable[..., Json]:
    def make(values: Json = ()) -> Json:
        if hasattr(values, "__len__") and len(values) > MAX_KEYS:
            raise TooLarge("keys")
        return kind(values)

    return make


def _listed(function: Callable[..., Iterable[Json]]) -> Callable[..., Json]:
    """Constants are evaluated once, so that no iterator may be one."""
    return lambda *values: list(function(*values))


def _divmod(left: Json, right: Json) -> Json:
    return _divided(divmod)(left, right)


TYPES: dict[str, type] = {
    kind.__name__: kind for kind in (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)
}
FUNCTIONS: dict[str, Callable[..., Json]] = {
    **{
        function.__name__: function
        for function in (abs, all, any, bool, chr, complex, float, int, len, list, max, min, ord, repr)
    },
    **{function.__name__: function for function in (sorted, str, tuple)},
    **{function.__name__: _listed(function) for function in (enumerate, reversed, zip)},
    "dict": _keyed(dict),
    "divmod": _divmod,
    "frozenset": _keyed(frozenset),
    "range": _range,
    "round": _round,
    "set": _keyed(set),
    "sum": _sum,
}
COMPARISONS: dict[type[ast.cmpop], Callable[[Json, Json], Json]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
    ast.In: lambda item, values: item in values,
    ast.NotIn: lambda item, values: item not in values,
}
UNARY: dict[type[ast.unaryop], Callable[[Json], Json]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
BINARY: dict[type[ast.operator], Callable[[Json, Json], Json]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _multiply,
    ast.Div: _divided(operator.truediv),
    ast.FloorDiv: _divided(operator.floordiv),
    ast.Mod: _divided(operator.mod),
    ast.Pow: _power,
    ast.BitAnd: operator.and_,
    ast.BitOr: operator.or_,
    ast.BitXor: operator.xor,
}
