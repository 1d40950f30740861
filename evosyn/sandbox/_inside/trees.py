"""Values on their way out of a process: turned into what `marshal` can write, by exact type, and encoded.

It runs in untrusted processes and trusts nothing of what it meets to be there unchanged on the other side: `wire` reads
what it writes, strictly.
"""

from __future__ import annotations

import itertools
import marshal
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from evosyn.sandbox._inside import kinds
from evosyn.sandbox._inside.kinds import NotPlain

MAX_DEPTH, ARGUMENT_DEPTH = 100, 200
"""Nesting that a value may have, and one that a testing gives as an argument."""
MAX_ITEMS = 20_000
"""What an iterator may give before it counts as endless."""
SCALARS: frozenset[type] = frozenset({type(None), bool, int, float, complex, str, bytes})


class Seen:
    """The mutable objects of an exchange, numbered on both sides in the order in which they are met; one that is met
    again is `(..., "same", number)`, so that what is one object here is one there.

    Args:
        given: those that both sides have already.

    Attributes:
        marked: something in what was encoded is no plain data.
    """

    __slots__ = ("_copied", "_places", "marked", "objects")

    def __init__(self, given: Sequence[Any] = ()) -> None:
        self.objects: list[Any] = [*given]
        self.marked = False
        self._places: dict[int, int] = dict(zip(map(id, given), itertools.count(), strict=False)) if given else {}
        self._copied: list[Any] = []

    def met(self, value: Any, kind: type) -> int | None:
        """Its number, if it was met before."""
        place = self._places.get(id(value))
        if place is None and kind in kinds.MUTABLE:
            self._places[id(value)] = len(self.objects)
            self.objects.append(value)
        elif place == _OPEN:
            raise NotPlain("a value that holds itself")
        return place

    def copied(self, value: Any) -> None:
        """A plain copy of it is met next, which stands for it."""
        self._places[id(value)] = len(self.objects)
        self._copied.append(value)  # no other object may get its identity

    def whole(self, value: Any, encode: Callable[[], Any]) -> Any:
        """What `encode` makes of one that cannot be put together before its parts are."""
        place = self._places.get(id(value))
        if place is None:
            return encode()
        self._places[id(value)] = _OPEN
        made = encode()
        self._places[id(value)] = place
        return made


_OPEN = -1


class Way(NamedTuple):
    """How values are encoded.

    Attributes:
        beyond: what stands for a value of another type, at this depth.
        seen: the objects that the other side has or gets.
        own_classes: what a class adds to a plain type means nothing to the other side.
        keeps: whether a function that makes the missing values of a `defaultdict` can be used from the other side.
    """

    beyond: Callable[[Any, int, Way], Any]
    seen: Seen | None = None
    own_classes: bool = True
    keeps: Callable[[Any], bool] = lambda _: False


def encode(value: Any, way: Way | None = None) -> bytes:
    """The bytes of a value, by exact type; what `kinds` can represent goes as that, an iterator as what it gives.

    Raises:
        NotPlain: something in it has another type, or it is nested deeper than `MAX_DEPTH`, or holds itself.
    """
    kind = type(value)
    if kind not in SCALARS:
        value = tree(value, 0, way or _TABLE)
    try:
        return marshal.dumps(value, 2)
    except ValueError as error:
        raise NotPlain(str(error)) from None


def tree(value: Any, depth: int, way: Way) -> Any:
    """The value as `marshal` can write it.

    Raises:
        NotPlain: as `encode`.
    """
    kind = type(value)
    if kind in SCALARS:
        return value
    if depth >= MAX_DEPTH:
        raise NotPlain("nested too deeply")
    seen = way.seen
    if seen is not None and (place := seen.met(value, kind)) is not None:
        seen.marked = True
        return (..., "same", place)
    if seen is not None and (kind is set or kind is frozenset):  # `marshal` would write them in an order of its own
        seen.marked = True
        return (..., kind.__name__, tuple([tree(item, depth + 1, way) for item in value]))
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        if SCALARS.issuperset(map(type, value)):
            return value
        return _hashed(kind, [tree(item, depth + 1, way) for item in value])
    if kind is dict:
        if SCALARS.issuperset(map(type, value.values())) and SCALARS.issuperset(map(type, value)):
            return value
        pairs = [(tree(key, depth + 1, way), tree(item, depth + 1, way)) for key, item in value.items()]
        return _hashed(dict, pairs)
    parts = kinds.apart(value, kind)
    adds = parts is not None and len(parts) == 1 and kind.__module__ != "numpy" and not kinds.is_member(kind)
    if seen is not None:
        seen.marked = seen.marked or parts is None or len(parts) > 1
    if parts is None or (adds and not way.own_classes):
        return way.beyond(value, depth, way)  # what a class of a testing's own would mean to a program, nobody knows
    if len(parts) == 1:
        if seen is not None and type(parts[0]) in kinds.MUTABLE:
            seen.copied(value)
        return tree(parts[0], depth + 1, way)
    if kind is defaultdict and callable(parts[1]) and not way.keeps(parts[1]):
        parts = (parts[0], None, *parts[2:])

    def taken() -> Any:
        return (..., parts[0], *[tree(part, depth + 1, way) for part in parts[1:]])

    return taken() if seen is None else seen.whole(value, taken)


def _hashed(kind: Callable[[Any], Any], items: list[Any]) -> Any:
    try:
        return kind(items)
    except TypeError:
        raise NotPlain("a key that cannot be represented") from None


def is_iterator(kind: type) -> bool:
    """Whether this is one of Python's own iterators, generators among them."""
    return kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__")


def given(value: Any, depth: int, way: Way) -> Any:
    """What an iterator gives; it has no meaning beyond that but its identity."""
    kind = type(value)
    if not is_iterator(kind):
        raise NotPlain(name_of(kind))
    items: list[Any] = []
    error = None
    try:
        for item in value:
            items.append(tree(item, depth + 1, way))
            if len(items) > MAX_ITEMS:
                raise NotPlain(f"an iterator that does not end within {MAX_ITEMS} items")
    except (NotPlain, MemoryError):
        raise
    except Exception as failed:  # noqa: BLE001 - the sandbox boundary
        error = f"{type(failed).__name__}: {failed}"[:400]
    return (..., "iterator", tuple(items), error)


_TABLE = Way(given)


def keeping() -> Way:
    """How a value is encoded for `wire.decode_live`, so that its parts are one object where they were one."""
    return _TABLE._replace(seen=Seen())


def holds_twice(value: Any) -> bool:
    """Whether one list, dict, set, ... stands in more than one place of a value."""
    met: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind in kinds.MUTABLE:
            if id(one) in met:
                return True
            met.add(id(one))
        if issubclass(kind, dict):
            one = tuple(dict.values(one))
        elif not issubclass(kind, list | tuple | deque):
            continue
        if not SCALARS.issuperset(map(type, one)):
            waiting += one
    return False


def name_of(kind: type) -> str:
    """What to say of a value of this type."""
    name = getattr(kind, "__name__", "")
    return f"{name[:80]!a} is not plain data" if type(name) is str else "not plain data"
