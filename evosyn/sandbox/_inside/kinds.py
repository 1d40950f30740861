"""Values beyond plain data that must mean in another process what Python means by them: taken apart, put together.

In the bytes such a value is a tuple that begins with Ellipsis, which no plain data holds, then its name here and its
parts: `(..., "range", 0, 3, 1)`. Only what can be represented faithfully has a place here; a subclass of a plain type
arrives as the data of that type, and only where it changes no meaning of it. `together` reads what an untrusted process
wrote: it builds these types and nothing else, in time linear in the parts, and raises nothing but `Malformed`.
"""

from __future__ import annotations

import importlib
import itertools
import math
import sys
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from evosyn.sandbox._inside.colliding import is_spread

RANGE_BITS, FRACTION_BITS, DECIMAL_CHARS = 256, 1 << 15, 2000
FIELDS, NAME_CHARS = 200, 100
MOST_ORDERED, TRIES = 1000, 4
"""Items of a set whose order is looked for, and how often in each way."""


MUTABLE: frozenset[type] = frozenset({list, dict, set, bytearray, deque, Counter, OrderedDict, defaultdict})
"""What a program may change in place when it is given as an argument."""
MUTABLE_NAMES = frozenset({"set", "bytearray", "deque", "counter", "ordered", "default"})
"""Of these, what those are called that are taken apart here."""
PLAIN: tuple[type, ...] = (bool, int, float, complex, str, bytes, list, tuple, dict, set, frozenset)


class NotPlain(Exception):
    """A value cannot be represented faithfully."""


class Malformed(ValueError):
    """Bytes that no honest encoder wrote."""


class IterationFailed(Exception):
    """What an iterator of a program raised on its way; the text is `Type: message`."""


class Items:
    """What an iterator gave, to be gone through any number of times; equal to nothing but itself, as iterators are.

    Attributes:
        error: what it raised after the last item, as `Type: message`; None where it just ended.
    """

    __slots__ = ("error", "items")

    def __init__(self, items: Sequence[Any], error: str | None = None) -> None:
        self.items, self.error = items, error

    def __iter__(self) -> Iterator[Any]:
        yield from self.items
        if self.error is not None:
            raise IterationFailed(self.error)


class Named(tuple[Any, ...]):
    """Stands for any namedtuple: a tuple whose items have names."""

    _fields: tuple[str, ...] = ()
    _name = "Named"

    def _asdict(self) -> dict[str, Any]:
        return dict(zip(self._fields, self, strict=True))

    def _replace(self, **changes: Any) -> Named:
        unknown = [name for name in changes if name not in self._fields]
        if unknown:
            raise ValueError(f"Got unexpected field names: {unknown!r}")
        return named(self._name, self._fields, tuple({**self._asdict(), **changes}.values()))

    def __repr__(self) -> str:
        return f"{self._name}({', '.join([f'{name}={item!r}' for name, item in self._asdict().items()])})"

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError("can't set attribute")


def named(name: str, fields: tuple[str, ...], items: tuple[Any, ...]) -> Named:
    made = Named(items)
    vars(made).update(zip(fields, items, strict=True), _fields=fields, _name=name)
    return made


def apart(value: Any, kind: type) -> tuple[Any, ...] | None:
    """Name and parts (tuples and scalars, values that are taken apart in turn), a plain value of the same meaning
    (alone in a tuple), or None for what is neither.

    Raises:
        NotPlain: it would be one of these, but is too large.
    """
    take = _APART.get(kind)
    if take is not None:
        return take(value)
    for module, name, take in (("fractions", "Fraction", _fraction), ("decimal", "Decimal", _decimal)):
        if module in sys.modules and kind is getattr(sys.modules[module], name, None):
            return take(value)
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        return (value.tolist(),)
    return _subclass(value, kind)


def together(name: Any, parts: Sequence[Any]) -> Any:
    """The value of these parts, which are values themselves.

    Raises:
        Malformed: for anything that `apart` would not have written.
    """
    make = _TOGETHER.get(name) if type(name) is str else None
    if make is None:
        raise Malformed("unknown kind of value")
    try:
        return make(*parts)
    except (TypeError, ValueError, ArithmeticError) as error:
        raise Malformed(f"not a {name}: {error}") from None


def distinct(keys: Sequence[Any], *, of_set: bool) -> None:
    """
    Raises:
        Malformed: a key cannot be hashed, or they were made to collide, which would cost quadratic time.
    """
    try:
        spread = is_spread(keys, of_set=of_set)
    except TypeError:
        raise Malformed("unhashable key") from None
    if not spread:
        raise Malformed("colliding keys")


def fill_set(made: set[Any], items: Sequence[Any]) -> None:
    """Put these into a set, nearly always so that it has their order: a set's order is a matter of what was added when,
    so a few ways are tried, in which those that stand too early are added later."""
    ways: tuple[Callable[[list[Any]], Iterable[Any]], ...] = (tuple, dict.fromkeys)
    for take, turn in itertools.product(ways, (0, 1)):
        order = list(items)
        for attempt in range(turn, turn + (TRIES if len(items) <= MOST_ORDERED else 1)):
            made.clear()
            made.update(take(order))
            wrong = next((pair for pair in zip(made, items, strict=True) if pair[0] is not pair[1]), None)
            if wrong is None:
                return
            order.sort(key=lambda one, later=wrong[attempt % 2]: one is later)  # type: ignore[misc]


# taking apart


def _integers(bits: int, *numbers: int) -> None:
    if any(type(number) is not int or number.bit_length() > bits for number in numbers):
        raise NotPlain("too large an integer in a value that is no integer")


def _range(value: range) -> tuple[Any, ...]:
    _integers(RANGE_BITS, value.start, value.stop, value.step)
    return ("range", value.start, value.stop, value.step)


def _fraction(value: Any) -> tuple[Any, ...]:
    _integers(FRACTION_BITS, value.numerator, value.denominator)
    return ("fraction", value.numerator, value.denominator)


def _decimal(value: Any) -> tuple[Any, ...]:
    text = str(value).replace("e+", "E+").replace("e-", "E-")  # a context with capitals=0 writes small letters
    if len(text) > DECIMAL_CHARS:
        raise NotPlain("a decimal number of too many digits")
    return ("decimal", text)


def _default(value: defaultdict[Any, Any]) -> tuple[Any, ...]:
    factory: Any = value.default_factory
    name = getattr(factory, "__name__", None)
    known = type(name) is str and _FACTORIES.get(name) is factory
    return ("default", name if known else factory, tuple(dict.items(value)))


_APART: dict[type, Callable[[Any], tuple[Any, ...]]] = {
    range: _range,
    bytearray: lambda value: ("bytearray", bytes(value)),
    deque: lambda value: ("deque", tuple(value), value.maxlen),
    Counter: lambda value: ("counter", tuple(dict.items(value))),
    OrderedDict: lambda value: ("ordered", tuple(value.items())),
    defaultdict: _default,
    Named: lambda value: ("named", value._name, value._fields, tuple(value)),
}
_EMPTY: tuple[dict[Any, Any], ...] = ({}, OrderedDict())
for _empty in _EMPTY:
    _APART[type(_empty.keys())] = lambda value: ("keys", tuple(value))
    _APART[type(_empty.values())] = lambda value: ("values", tuple(value))
    _APART[type(_empty.items())] = lambda value: ("items", tuple(value))

_BASES: dict[type, Callable[[Any], Any]] = {
    int: int.__int__,
    float: float.__float__,
    complex: complex.__complex__,
    str: str.__str__,
    bytes: lambda value: bytes.__getitem__(value, slice(None)),
    list: lambda value: list.__getitem__(value, slice(None)),
    tuple: lambda value: tuple.__getitem__(value, slice(None)),
    set: lambda value: set(set.__iter__(value)),
    frozenset: lambda value: frozenset(frozenset.__iter__(value)),
    dict: lambda value: {key: dict.__getitem__(value, key) for key in dict.__iter__(value)},
}
_NAMES = (
    "module doc qualname dict weakref slots init new annotations orig_bases parameters match_args getnewargs replace "
    "init_subclass class_getitem set_name reduce reduce_ex getstate setstate static_attributes firstlineno annotate"
)
_HARMLESS = frozenset(f"__{name}__" for name in _NAMES.split())
"""What a class may define without a change of what its instances mean."""
_SHOWS = frozenset({"__repr__", "__str__", "__format__"})


def is_member(kind: type) -> bool:
    """Whether the instances of this class are members of an enumeration."""
    return type(kind).__module__ == "enum"


def _subclass(value: Any, kind: type) -> tuple[Any, ...] | None:
    """The plain data of an instance of a subclass that leaves all operations as they were."""
    fields = getattr(kind, "_fields", None)
    harmless = _HARMLESS | _SHOWS if is_member(kind) or type(fields) is tuple else _HARMLESS
    for above in kind.__mro__:
        if above in _BASES:
            base = _BASES[above](value)
            if above is tuple and type(fields) is tuple:
                return ("named", kind.__name__, fields, base)
            return (base,)
        if above.__module__ == "enum":
            continue
        if any(name[:2] == "__" == name[-2:] and name not in harmless for name in vars(above).keys() - _of_enum(above)):
            return None
    return None


def _of_enum(kind: type) -> set[str]:
    """What stands in a class only since `enum` puts it into every class of flags."""
    of_enum = [vars(above) for above in kind.__mro__ if above.__module__ == "enum"]
    return {name for name, method in vars(kind).items() if any(above.get(name) is method for above in of_enum)}


# putting together


def _make_range(*bounds: Any) -> range:
    if len(bounds) != 3 or any(type(one) is not int or one.bit_length() > RANGE_BITS for one in bounds):
        raise ValueError("bounds")
    return range(*bounds)


def _make_fraction(numerator: Any, denominator: Any) -> Any:
    for number in (numerator, denominator):
        if type(number) is not int or number.bit_length() > FRACTION_BITS:
            raise ValueError("numbers")
    if denominator < 1 or math.gcd(numerator, denominator) != 1:
        raise ValueError("not in its lowest terms")
    return importlib.import_module("fractions").Fraction(numerator, denominator)


def _make_decimal(text: Any) -> Any:
    if type(text) is not str or len(text) > DECIMAL_CHARS:
        raise ValueError("text")
    made = importlib.import_module("decimal").Decimal(text)
    if str(made) != text:
        raise ValueError("text")
    return made


def _make_named(name: Any, fields: Any, items: Any) -> Named:
    words = (name, *fields) if type(fields) is tuple else ()
    if type(items) is not tuple or len(items) != len(fields) or not words or len(fields) > FIELDS:
        raise ValueError("fields")
    for word in words:
        if type(word) is not str or len(word) > NAME_CHARS or not word.isidentifier():
            raise ValueError("names")
    if len(set(fields)) != len(fields) or any(word[0] == "_" for word in fields):
        raise ValueError("names")
    return named(name, fields, items)


def _pairs(items: Any) -> tuple[tuple[Any, Any], ...]:
    if type(items) is not tuple or any(type(pair) is not tuple or len(pair) != 2 for pair in items):
        raise ValueError("items")
    distinct([key for key, _ in items], of_set=False)
    return items


def _mapping(items: Any) -> dict[Any, Any]:
    made = dict(_pairs(items))
    if len(made) != len(items):
        raise ValueError("equal keys")
    return made


def _make_keys(items: Any) -> Any:
    if type(items) is not tuple:
        raise ValueError("keys")
    return _mapping(tuple([(key, None) for key in items])).keys()


def _make_values(items: Any) -> Any:
    if type(items) is not tuple:
        raise ValueError("values")
    return dict(enumerate(items)).values()


def _make_counter(items: Any) -> Counter[Any]:
    made: Counter[Any] = Counter()
    dict.update(made, _mapping(items))
    return made


def _make_default(factory: Any, items: Any) -> defaultdict[Any, Any]:
    if type(factory) is str:
        factory = _FACTORIES.get(factory, factory)
    if factory is not None and not callable(factory):  # what is read gives functions only where an exchange has some
        raise ValueError("factory")
    return defaultdict(factory, _mapping(items))


def _make_deque(items: Any, maxlen: Any) -> deque[Any]:
    if type(items) is not tuple or (
        maxlen is not None and (type(maxlen) is not int or not len(items) <= maxlen < 2**62)
    ):
        raise ValueError("items")
    return deque(items, maxlen)


def _make_set(items: Any) -> set[Any]:
    if type(items) is not tuple:
        raise ValueError("items")
    distinct(items, of_set=True)
    made: set[Any] = set()
    fill_set(made, items)
    return made


def _make_bytearray(data: Any) -> bytearray:
    if type(data) is not bytes:
        raise ValueError("bytes")
    return bytearray(data)


def _make_items(items: Any, error: Any) -> Items:
    if type(items) is not tuple or (error is not None and type(error) is not str):
        raise ValueError("items")
    return Items(items, error)


_FACTORIES: dict[str, Callable[[], Any]] = {
    kind.__name__: kind for kind in (*PLAIN, Counter, OrderedDict, deque, defaultdict)
}
_TOGETHER: dict[str, Callable[..., Any]] = {
    "set": _make_set,
    "frozenset": lambda items: frozenset(_make_set(items)),
    "range": _make_range,
    "fraction": _make_fraction,
    "decimal": _make_decimal,
    "named": _make_named,
    "keys": _make_keys,
    "values": _make_values,
    "items": lambda items: _mapping(items).items(),
    "counter": _make_counter,
    "ordered": lambda items: OrderedDict(_mapping(items)),
    "default": _make_default,
    "deque": _make_deque,
    "bytearray": _make_bytearray,
    "iterator": _make_items,
}
