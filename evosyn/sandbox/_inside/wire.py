"""The bytes that leave the jail: values by exact type, and records of item outcomes.

Written by untrusted processes with `marshal` (version 2, which takes exact types only), read by us with the strict
decoder below, which builds nothing but plain data and the types of `kinds`, raises nothing but `Malformed` and needs
time and memory linear in the bytes. It is not a transport: frames and sockets belong to the supervisor and to the
worker that talks to it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from typing import Any, NamedTuple, TypeAlias

from evosyn.sandbox._inside import kinds
from evosyn.sandbox._inside.kinds import Malformed, NotPlain
from evosyn.sandbox._inside.trees import MAX_DEPTH, encode

__all__ = ["Malformed", "NotPlain", "encode"]

FREE_PARTS, PART_BYTES = 250_000, 10
"""Lists, dicts and their like that a value may have besides one for so many bytes: empty ones weigh most in memory."""

OK, EXCEPTION, TIMEOUT, KILLED, LOAD_ERROR, NO_ENTRY, OUTPUT_LIMIT, NOT_PLAIN, TESTING_BROKEN, NOT_RUN, INFRA = range(
    11
)
"""Codes of `evosyn.jobs.Status`, in that order."""

OF_PROGRAMS = frozenset({OK, EXCEPTION, TIMEOUT, KILLED, LOAD_ERROR, NO_ENTRY, OUTPUT_LIMIT, NOT_PLAIN})
"""What the process of a program may say of itself."""
OF_TESTINGS = OF_PROGRAMS | {TESTING_BROKEN}
"""What the process of a testing may say; NOT_RUN and INFRA only the supervisor and our own process can."""
OF_SUPERVISORS = OF_TESTINGS | {NOT_RUN, INFRA}

RECORD = struct.Struct("<BdI")
"""Head of a record: code, seconds, length of what follows."""


class Record(NamedTuple):
    """One item outcome as it travels: code, seconds, and the encoded value, raw output or detail text."""

    code: int
    seconds: float
    payload: bytes


def record(code: int, seconds: float, payload: bytes) -> bytes:
    return RECORD.pack(code, seconds, len(payload)) + payload


def read_records(data: bytes, limit: int, allowed: frozenset[int]) -> list[Record]:
    """The records at the front of `data`, at most `limit`; ends at the first that is torn or not a record.

    Args:
        allowed: codes that the writer may use; with any other one the writer has lied, which is its own end: KILLED.
    """
    found: list[Record] = []
    position, end = 0, len(data)
    while len(found) < limit and position + RECORD.size <= end:
        code, seconds, length = RECORD.unpack_from(data, position)
        start = position + RECORD.size
        if code not in allowed:
            found.append(Record(KILLED, 0.0, b"wrote a record that is not its to write"))
            break
        if start + length > end:
            break
        if not 0.0 <= seconds < 1e6:
            seconds = 0.0
        found.append(Record(code, seconds, data[start : start + length]))
        position = start + length
    return found


Hook: TypeAlias = Callable[[str, list[Any]], Any]
"""Builds what only one exchange knows, from a name and parts; raises Malformed."""


class _WireReading:
    """What the decoder keeps count of while it reads one value."""

    __slots__ = ("deeper", "hook", "objects", "parts")

    def __init__(self, size: int, hook: Hook | None, objects: list[Any] | None, depth: int) -> None:
        self.deeper, self.parts, self.hook, self.objects = depth + 1, FREE_PARTS + size // PART_BYTES, hook, objects

    def meet(self, made: Any) -> Any:
        if self.objects is not None:
            self.objects.append(made)
        return made


def decode(data: bytes, hook: Hook | None = None, objects: list[Any] | None = None, depth: int = MAX_DEPTH) -> Any:
    """The value that `encode` wrote.

    Args:
        hook: for names that `kinds` does not know; without it they are malformed.
        objects: the mutable ones that this side has already, as `trees.Seen` numbers them; it gets the others. None
            where nothing may stand in two places: our own process, whose work on a value is paid by its size.
        depth: nesting that it may have.

    Raises:
        Malformed: for any bytes that it did not write.
    """
    if len(data) <= 16 and data[:1] not in _CONTAINERS:
        known = _scalars.get(data, _MISSING)
        if known is not _MISSING:
            return known
    value, position = _read(data, 0, _WireReading(len(data), hook, objects, depth))
    if position != len(data):
        raise Malformed("bytes after the value")
    if len(data) <= 16 and data[:1] not in _CONTAINERS and value == value:  # each NaN is its own object
        if len(_scalars) > 4096:
            _scalars.clear()
        _scalars[data] = value
    return value


def decode_live(
    data: bytes, hook: Hook = kinds.together, objects: list[Any] | None = None, depth: int = MAX_DEPTH
) -> Any:
    """The same for a process that runs a program: iterators are iterators, and one object stays one.

    Raises:
        Malformed: as `decode`.
    """

    def live(name: str, parts: list[Any]) -> Any:
        made = hook(name, parts)
        return iter(made) if type(made) is kinds.Items else made

    return decode(data, live, [] if objects is None else objects, depth)


_CONTAINERS = (b"[", b"(", b"{", b"<", b">", b"")
_MISSING = object()
_scalars: dict[bytes, Any] = {}
_I32 = struct.Struct("<i")
_F64 = struct.Struct("<d")
_C128 = struct.Struct("<dd")


def _read(data: bytes, position: int, reading: _WireReading) -> tuple[Any, int]:
    reader = _READERS.get(data[position : position + 1])
    if reader is None:
        raise Malformed("unknown tag")
    return reader(data, position + 1, reading)


def _read_int32(data: bytes, position: int, _reading: _WireReading) -> tuple[Any, int]:
    return _int32(data, position), position + 4


def _int32(data: bytes, position: int) -> int:
    if position + 4 > len(data):
        raise Malformed("cut off")
    value: int = _I32.unpack_from(data, position)[0]
    return value


def _read_long(data: bytes, position: int, _reading: _WireReading) -> tuple[Any, int]:
    digits = _int32(data, position)
    count = abs(digits)
    start, end = position + 4, position + 4 + 2 * count
    if end > len(data):
        raise Malformed("cut off")
    parts = struct.unpack_from(f"<{count}H", data, start)
    if count == 0 or parts[-1] == 0 or max(parts) > 0x7FFF:
        raise Malformed("long integer")
    value = int("".join([format(part, "015b") for part in reversed(parts)]), 2)
    return (-value if digits < 0 else value), end


def _read_float(data: bytes, position: int, _reading: _WireReading) -> tuple[Any, int]:
    if position + 8 > len(data):
        raise Malformed("cut off")
    return _F64.unpack_from(data, position)[0], position + 8


def _read_complex(data: bytes, position: int, _reading: _WireReading) -> tuple[Any, int]:
    if position + 16 > len(data):
        raise Malformed("cut off")
    return complex(*_C128.unpack_from(data, position)), position + 16


def _sized(data: bytes, position: int) -> tuple[int, int]:
    size = _int32(data, position)
    if size < 0 or position + 4 + size > len(data):
        raise Malformed("size")
    return size, position + 4


def _read_bytes(data: bytes, position: int, _reading: _WireReading) -> tuple[Any, int]:
    size, start = _sized(data, position)
    return data[start : start + size], start + size


def _read_text(data: bytes, position: int, _reading: _WireReading) -> tuple[Any, int]:
    size, start = _sized(data, position)
    try:
        return data[start : start + size].decode("utf-8", "surrogatepass"), start + size
    except UnicodeDecodeError:
        raise Malformed("text") from None


def _opened(reading: _WireReading) -> None:
    reading.deeper -= 1
    reading.parts -= 1
    if reading.deeper < 0:
        raise Malformed("nested too deeply")
    if reading.parts < 0:
        raise Malformed("too many parts")


def _items(data: bytes, position: int, size: int, reading: _WireReading, items: list[Any]) -> tuple[list[Any], int]:
    _opened(reading)
    append = items.append
    for _ in range(size):
        value, position = _read(data, position, reading)
        append(value)
    reading.deeper += 1
    return items, position


def _read_list(data: bytes, position: int, reading: _WireReading) -> tuple[Any, int]:
    size, position = _sized(data, position)  # every item takes at least one byte
    return _items(data, position, size, reading, reading.meet([]))


def _read_tuple(data: bytes, position: int, reading: _WireReading) -> tuple[Any, int]:
    size, position = _sized(data, position)
    if data[position : position + 1] != b".":
        items, position = _items(data, position, size, reading, [])
        return tuple(items), position
    name, position = _read(data, position + 1, reading)
    if size < 2 or type(name) is not str:
        raise Malformed("a value without a kind")
    objects = reading.objects
    place = -1 if objects is None else len(objects)
    if name in kinds.MUTABLE_NAMES:
        reading.meet(None)
    parts, position = _items(data, position, size - 2, reading, [])
    if name == "same" and objects is not None:
        return _met(parts, objects), position
    made = (reading.hook or kinds.together)(name, parts)
    if name in kinds.MUTABLE_NAMES and objects is not None:
        objects[place] = made
    return made, position


def _met(parts: list[Any], objects: list[Any]) -> Any:
    """Never one that can be a key: then finding keys could take work without end."""
    place = parts[0] if len(parts) == 1 else None
    if type(place) is not int or not 0 <= place < len(objects) or objects[place] is None:
        raise Malformed("no such object")
    return objects[place]


def _read_set(data: bytes, position: int, reading: _WireReading) -> tuple[Any, int]:
    made: set[Any] = reading.meet(set())
    size, position = _sized(data, position)
    items, position = _items(data, position, size, reading, [])
    kinds.distinct(items, of_set=True)
    made.update(items)
    return made, position


def _read_frozenset(data: bytes, position: int, reading: _WireReading) -> tuple[Any, int]:
    size, position = _sized(data, position)
    items, position = _items(data, position, size, reading, [])
    kinds.distinct(items, of_set=True)
    return frozenset(items), position


def _read_dict(data: bytes, position: int, reading: _WireReading) -> tuple[Any, int]:
    _opened(reading)
    made: dict[Any, Any] = reading.meet({})
    keys: list[Any] = []
    values: list[Any] = []
    while data[position : position + 1] != b"0":
        key, position = _read(data, position, reading)
        value, position = _read(data, position, reading)
        keys.append(key)
        values.append(value)
    reading.deeper += 1
    kinds.distinct(keys, of_set=False)
    made.update(zip(keys, values, strict=True))
    return made, position + 1


_READERS: dict[bytes, Callable[[bytes, int, _WireReading], tuple[Any, int]]] = {
    b"N": lambda _data, position, _reading: (None, position),
    b"T": lambda _data, position, _reading: (True, position),
    b"F": lambda _data, position, _reading: (False, position),
    b"i": _read_int32,
    b"l": _read_long,
    b"g": _read_float,
    b"y": _read_complex,
    b"s": _read_bytes,
    b"u": _read_text,
    b"[": _read_list,
    b"(": _read_tuple,
    b"{": _read_dict,
    b"<": _read_set,
    b">": _read_frozenset,
}
