"""What functions of numpy, methods of arrays and functions of the grammar make of values, in tables.

docs/evolve.md, "Bursts".
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TypeAlias

from evosyn.strategies.grammar.foreign.choices import chosen, lesser, logarithm, raised_to, risen
from evosyn.strategies.grammar.foreign.products import divided, multiplied
from evosyn.strategies.grammar.foreign.sums import matmul, reduced
from evosyn.strategies.grammar.foreign.values import (
    Value,
    added,
    complement,
    made,
    negated,
    number,
    ordered,
    single,
)
from evosyn.strategies.grammar.foreign.words import (
    LARGEST,
    NONE,
    Unread,
    node_of,
    turned,
)
from evosyn.strategies.grammar.grammar import OPS, TERMINALS, Node


@dataclass(frozen=True)
class Word:
    """What a name stands for that is no value: a module, a type, a function."""

    kind: str
    name: str = ""


@dataclass(frozen=True, eq=False)
class Method:
    """A method of an array."""

    value: Value
    name: str


Thing: TypeAlias = Value | Word | Method | tuple["Thing", ...]
Keywords: TypeAlias = Mapping[str, Thing]
Function: TypeAlias = Callable[[Sequence[Thing], Keywords], Thing]

TYPES = {"float": "f", "float64": "f", "int": "i", "int64": "i", "bool": "b", "bool_": "b"}
NOTHING = Word("none")
ALL_CHECKS = Value(("M", "K"), {NONE: Node("all_checks")}, {}, "b", 0.0, 1.0, exact=True)


def value_of(thing: Thing) -> Value:
    if not isinstance(thing, Value):
        raise Unread("something else than an array")
    return thing


def constant_of(thing: Thing) -> float:
    """A number that is the same for every problem."""
    value = value_of(thing)
    if value.nodes or value.axes or set(value.numbers) - {NONE} or value.low != value.high:
        raise Unread("a number that is not known")
    return value.numbers.get(NONE, 0.0)


def subtracted(one: Value, other: Value) -> Value:
    if one.kind == other.kind == "b":
        raise Unread("truths have no difference")
    return added(one, negated(replace(other, kind="i") if other.kind == "b" else other))


def both(one: Value, other: Value) -> Value:
    """Whether one truth and the other hold."""
    if one.kind != "b" or other.kind != "b":
        raise Unread("bits of numbers")
    return multiplied(one, other)


def denied(value: Value) -> Value:
    if value.kind != "b":
        raise Unread("bits of numbers")
    return complement(value)


def either(one: Value, other: Value) -> Value:
    return denied(both(denied(one), denied(other)))


def powered(one: Value, other: Value) -> Value:
    return raised_to(one, constant_of(other), other.kind)


def cast(value: Value, to: Thing) -> Value:
    """An array in another type, where nothing is lost."""
    kind = TYPES.get(to.name) if isinstance(to, Word) and to.kind == "type" else None
    if kind is None or "bif".index(kind) < "bif".index(value.kind):
        raise Unread("another type")
    return value if kind == value.kind else replace(value, kind=kind, owner=object())


def transposed(value: Value) -> Value:
    """The same memory seen the other way."""
    if len(value.axes) != 2:
        if len(value.axes) < 2:
            return value
        raise Unread("other axes")
    if "1" in value.axes:
        return replace(value, axes=value.axes[::-1])
    return replace(
        value, axes=value.axes[::-1], nodes={f: _turned(node, value.letters) for f, node in value.nodes.items()}
    )


def _turned(node: Node, letters: str) -> Node:
    match node:
        case Node("neg", (Node() as inner,)):
            return node_of("neg", turned(inner, letters))
        case Node(op, _) if op in OPS or op in TERMINALS:
            return turned(node, letters)
    raise Unread("other axes")


def rounded(value: Value, decimals: float, *, exactly: bool = False) -> Value:
    """Rounded so little that only noise goes: to the ninth decimal, where it can be said what is rounded."""
    if decimals < 9:
        raise Unread("rounded scores")
    if value.kind != "f":
        return replace(value, owner=object())
    try:
        factor, node = single(value)
        word = Node("order", (node,)) if factor or not exactly else Node("tidied", (node,))
    except Unread:
        word = Node("order", (ordered(value),))
    return made((value,), value.axes, {NONE: word}, {}, low=value.low, high=value.high)


def without_nan(value: Value) -> Value:
    """`np.nan_to_num`: a mean over nobody becomes 0, as here."""
    match list(value.nodes.values()):
        case [Node("inside", (Node() as matrix, _))] if not value.numbers and value.holes == {matrix}:
            return replace(value, holes=frozenset(), owner=object())
    if value.holes:
        raise Unread("what is not a number")
    return replace(value, owner=object())


def _bound(names: Sequence[str], given: Sequence[Thing], keywords: Keywords) -> dict[str, Thing]:
    """Arguments by their names; the first goes by its place alone."""
    options = dict(zip(names, given, strict=False))
    if len(given) > len(names) or {*options, names[0]} & set(keywords) or not set(keywords) <= set(names):
        raise Unread("another argument")
    return options | dict(keywords)


def _reduction(how: str, given: Sequence[Thing], keywords: Keywords) -> Thing:
    keep = keywords.get("keepdims", Word("truth", "False"))
    rest = {name: one for name, one in keywords.items() if name != "keepdims"}
    options = _bound(("x", "axis"), given, rest)
    axis = options.get("axis", NOTHING)
    if not isinstance(keep, Word) or keep.kind != "truth":
        raise Unread("another argument")
    along = None if axis == NOTHING else int(constant_of(axis))
    return reduced(value_of(options["x"]), how, along, keep=keep.name == "True")


def _plain(function: Callable[..., Value], given: Sequence[Thing], keywords: Keywords) -> Thing:
    """A function of arrays alone."""
    if keywords:
        raise Unread("an option")
    return function(*map(value_of, given))


def _array(given: Sequence[Thing], keywords: Keywords, *, copies: bool = False) -> Thing:
    options = _bound(("x", "dtype"), given, keywords)
    value = value_of(options["x"])
    found = cast(value, options["dtype"]) if "dtype" in options else value
    return replace(found, owner=object()) if copies else found


def _clipped(given: Sequence[Thing], keywords: Keywords) -> Thing:
    options = _bound(("x", "a_min", "a_max"), given, keywords)
    found, low, high = value_of(options["x"]), options["a_min"], options["a_max"]
    found = found if low == NOTHING else lesser(found, value_of(low), "high")
    return found if high == NOTHING else lesser(found, value_of(high), "low")


def _rounding(given: Sequence[Thing], keywords: Keywords) -> Thing:
    options = _bound(("x", "decimals"), given, keywords)
    decimals = constant_of(options["decimals"])
    return rounded(value_of(options["x"]), decimals, exactly=decimals == 9)


def _quotient(given: Sequence[Thing], keywords: Keywords) -> Thing:
    """`np.divide`, also with zeros where a condition does not hold."""
    one, other = map(value_of, given)
    if not keywords:
        return divided(one, other)
    if set(keywords) != {"out", "where"}:
        raise Unread("an option of a quotient")
    out, where = value_of(keywords["out"]), value_of(keywords["where"])
    if out.nodes or out.numbers or out.kind != "f" or out.axes != where.axes:
        raise Unread("what stands where nothing is divided")
    return chosen(where, divided(one, other), number(0.0))


def _filled(by: float, given: Sequence[Thing], keywords: Keywords) -> Thing:
    """`np.zeros` or `np.ones` of so many."""
    kind = cast(number(0, "b"), keywords["dtype"]).kind if "dtype" in keywords else "f"
    if set(keywords) - {"dtype"} or len(given) != 1:
        raise Unread("an option of a constant array")
    return replace(number(by, kind), axes=_axes_of(given[0]))


def _axes_of(shape: Thing) -> tuple[str, ...]:
    if isinstance(shape, tuple):
        return tuple(axis for one in shape for axis in _axes_of(one))
    for factor, constant in value_of(shape).numbers.items():
        match list(factor):
            case [(("size", str() as letter), 1.0)] if constant == 1.0 and len(value_of(shape).numbers) == 1:
                return (letter,)
    raise Unread("an array of another size")


def _filled_like(by: float, given: Sequence[Thing], keywords: Keywords) -> Thing:
    (like,) = map(value_of, given)
    kind = cast(number(0, "b"), keywords["dtype"]).kind if "dtype" in keywords else like.kind
    if set(keywords) - {"dtype"} or "1" in like.axes:
        raise Unread("an option of a constant array")
    return replace(number(by, kind), axes=like.axes)


def _concatenated(given: Sequence[Thing], keywords: Keywords) -> Thing:
    options = _bound(("of", "axis"), given, keywords)
    if options["of"] != Word("cases") or constant_of(options["axis"]) != 1:
        raise Unread("other arrays in a row")
    return replace(ALL_CHECKS, owner=object())


def _stacked(given: Sequence[Thing], keywords: Keywords) -> Thing:
    """Vectors side by side, which `np.unique` numbers: the first decides, the others break its ties."""
    if (
        len(given) != 1
        or set(keywords) != {"axis"}
        or constant_of(keywords["axis"]) != 1
        or not isinstance(given[0], tuple)
    ):
        raise Unread("other stacks")
    values = [value_of(one) for one in given[0]]
    if len({one.axes for one in values}) != 1 or not all(one.exact for one in values) or len(values[0].axes) != 1:
        raise Unread("a stack of other arrays")
    return (Word("stack"), *values)


def _numbered(given: Sequence[Thing], keywords: Keywords) -> Thing:
    options = dict(keywords)
    inverse = options.pop("return_inverse", NOTHING)
    if (
        len(given) != 1
        or inverse != Word("truth", "True")
        or set(options) != {"axis"}
        or constant_of(options["axis"]) != 0
    ):
        raise Unread("other unique rows")
    match given[0]:
        case (Word("stack"), *values):
            nodes = [ordered(value_of(one)) for one in values]
            while len(nodes) > 1:
                nodes[-2:] = [node_of("then", *nodes[-2:])]
            first = value_of(values[0])
            holes = frozenset[Node]().union(*(value_of(one).holes for one in values))
            found = Value(
                first.axes, {NONE: node_of("order", nodes[0])}, {}, "i", 0.0, LARGEST, exact=True, holes=holes
            )
            return (Word("rows"), found)
    raise Unread("unique values of something else")


NUMPY: dict[str, Function] = {
    **{name: partial(_reduction, name) for name in ("sum", "mean", "max", "min", "all", "any")},
    "amax": partial(_reduction, "max"),
    "amin": partial(_reduction, "min"),
    **{name: partial(_plain, matmul) for name in ("dot", "matmul")},
    "add": partial(_plain, added),
    "subtract": partial(_plain, subtracted),
    "multiply": partial(_plain, multiplied),
    "divide": _quotient,
    "true_divide": _quotient,
    "negative": partial(_plain, negated),
    "minimum": partial(_plain, lambda one, other: lesser(one, other, "low")),
    "maximum": partial(_plain, lambda one, other: lesser(one, other, "high")),
    "where": partial(_plain, chosen),
    "clip": _clipped,
    "log": partial(_plain, logarithm),
    "log1p": partial(_plain, lambda one: risen(one, 0.0, math.log1p(max(one.high, 0.0)))),
    "sqrt": partial(_plain, lambda one: raised_to(one, 0.5)),
    "square": partial(_plain, lambda one: raised_to(one, 2.0, "i")),
    "power": partial(_plain, powered),
    "asarray": _array,
    "array": partial(_array, copies=True),
    "nan_to_num": partial(_plain, without_nan),
    "round": _rounding,
    "around": _rounding,
    "logical_and": partial(_plain, both),
    "logical_or": partial(_plain, either),
    "logical_not": partial(_plain, denied),
    "transpose": partial(_plain, transposed),
    "zeros": partial(_filled, 0.0),
    "ones": partial(_filled, 1.0),
    "zeros_like": partial(_filled_like, 0.0),
    "ones_like": partial(_filled_like, 1.0),
    "concatenate": _concatenated,
    "stack": _stacked,
    "unique": _numbered,
}


def _astype(given: Sequence[Thing], keywords: Keywords) -> Thing:
    value, to = given
    if keywords:
        raise Unread("an option of a type")
    return replace(cast(value_of(value), to), owner=object())


def _flat(given: Sequence[Thing], keywords: Keywords) -> Thing:
    value, *size = given
    if keywords or len(value_of(value).axes) != 1 or [constant_of(one) for one in size] not in ([], [-1.0]):
        raise Unread("another shape")
    return value


METHODS: dict[str, Function] = {
    **{name: NUMPY[name] for name in ("sum", "mean", "max", "min", "all", "any", "dot", "clip", "round", "transpose")},
    "astype": _astype,
    "copy": partial(_array, copies=True),
    "reshape": _flat,
    "ravel": _flat,
}
BUILTINS: dict[str, Function] = {
    "max": lambda given, keywords: _of_two(given, keywords, "high"),
    "min": lambda given, keywords: _of_two(given, keywords, "low"),
    "float": lambda given, keywords: _scalar(_plain(lambda one: replace(one, kind="f"), given, keywords)),
}


def _of_two(given: Sequence[Thing], keywords: Keywords, op: str) -> Thing:
    one, other = map(_scalar, given)
    if keywords:
        raise Unread("an option")
    return lesser(one, other, op)


def _scalar(thing: Thing) -> Value:
    value = value_of(thing)
    if value.axes or value.nodes:
        raise Unread("one number of an array")
    return value
