"""Values on their way out of a process: turned into what `marshal` can write, by exact type, and encoded.

It runs in untrusted processes and trusts nothing of what it meets to be there unchanged on the other side: `wire` reads
what it writes, strictly.
"""

from __future__ import annotations

import marshal
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from evosyn.sandbox._inside import kinds
from evosyn.sandbox._inside.kinds import NotPlain

MAX_DEPTH = 100
"""Nesting that a value may have."""
MAX_ITEMS = 20_000
"""What an iterator may give before it counts as endless."""
SCALARS: frozenset[type] = frozenset({type(None), bool, int, float, complex, str, bytes})


class Seen:
    """The mutable objects of an exchange, in the order in which they were met.

    Attributes:
        twice: one was met again.
    """

    def __init__(self) -> None:
        self.objects: list[Any] = []
        self.places: dict[int, int] = {}
        self.twice = False


class Shared:
    """The mutable objects that stand in a value more than once, to be sent once: `(..., "shared", object)`, and then
    `(..., "same", number)`, numbered in the order in which they are complete."""

    def __init__(self, value: Any) -> None:
        self.waiting = several(value)
        self.places: dict[int, int] = {}

    def tree(self, value: Any, depth: int, way: Way) -> Any:
        """What stands for it; None for an object that stands there once."""
        place = self.places.get(id(value))
        if place is not None:
            return (..., "same", place)
        if id(value) not in self.waiting:
            return None
        self.waiting.discard(id(value))
        part = tree(value, depth + 1, way)
        self.places[id(value)] = len(self.places)
        return (..., "shared", part)


class Way(NamedTuple):
    """How values are encoded.

    Attributes:
        beyond: what stands for a value of another type, at this depth.
        seen: the objects that the other side has; they are referred to by their number.
        adding: mutable objects are added to `seen` when they are met.
        shared: what is one object stays one.
    """

    beyond: Callable[[Any, int], Any]
    seen: Seen | None = None
    adding: bool = False
    shared: Shared | None = None


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
    if way.seen is not None and kind in kinds.MUTABLE:
        place = _met(value, way.seen, way.adding)
        if place is not None:
            return (..., "same", place)
    if way.shared is not None and kind in kinds.MUTABLE and (part := way.shared.tree(value, depth, way)) is not None:
        return part
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
    if parts is None or (way.adding and len(parts) == 1 and kind.__module__ != "numpy" and not kinds.is_member(kind)):
        return way.beyond(value, depth)  # what a class of a testing's own would mean to a program, nobody knows
    if len(parts) == 1:
        return tree(parts[0], depth + 1, way)
    return (..., parts[0], *[tree(part, depth + 1, way) for part in parts[1:]])


def _met(value: Any, seen: Seen, adding: bool) -> int | None:
    place = seen.places.get(id(value))
    if place is None and adding:
        seen.places[id(value)] = len(seen.objects)
        seen.objects.append(value)
    elif place is not None:
        seen.twice = True
    return place


def _hashed(kind: Callable[[Any], Any], items: list[Any]) -> Any:
    try:
        return kind(items)
    except TypeError:
        raise NotPlain("a key that cannot be represented") from None


def is_iterator(kind: type) -> bool:
    """Whether this is one of Python's own iterators, generators among them."""
    return kind.__module__ in ("builtins", "itertools") and hasattr(kind, "__next__")


def given(value: Any, depth: int) -> Any:
    """What an iterator gives; it has no meaning beyond that but its identity."""
    kind = type(value)
    if not is_iterator(kind):
        raise NotPlain(name_of(kind))
    items: list[Any] = []
    error = None
    try:
        for item in value:
            items.append(tree(item, depth + 1, _TABLE))
            if len(items) > MAX_ITEMS:
                raise NotPlain(f"an iterator that does not end within {MAX_ITEMS} items")
    except (NotPlain, MemoryError):
        raise
    except Exception as failed:  # noqa: BLE001 - the sandbox boundary
        error = f"{type(failed).__name__}: {failed}"[:400]
    return (..., "iterator", tuple(items), error)


_TABLE = Way(given)


def keeping(value: Any) -> Way:
    """How a value is encoded for `wire.decode_live`, so that its parts are one object where they were one."""
    return _TABLE._replace(shared=Shared(value))


def several(value: Any) -> set[int]:
    """Identities of the lists, dicts, sets, ... that stand in more than one place of a value."""
    met: set[int] = set()
    found: set[int] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        kind = type(one)
        if kind in kinds.MUTABLE:
            if id(one) in met:
                found.add(id(one))
                continue
            met.add(id(one))
        if issubclass(kind, dict):
            one = tuple(dict.values(one))
        elif not issubclass(kind, list | tuple | deque):
            continue
        if not SCALARS.issuperset(map(type, one)):
            waiting += one
    return found


def name_of(kind: type) -> str:
    """What to say of a value of this type."""
    name = getattr(kind, "__name__", "")
    return f"{name[:80]!a} is not plain data" if type(name) is str else "not plain data"
