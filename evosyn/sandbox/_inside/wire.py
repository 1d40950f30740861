"""The bytes that leave the jail: plain data by exact type, and records of item outcomes.

Written by untrusted processes with `marshal` (version 2, which takes exact types only), read by us with the strict
decoder below, which builds nothing but plain data, raises nothing but `Malformed` and needs time linear in the bytes.
It is not a transport: frames and sockets belong to the zygote and to the worker that talks to it.
"""

from __future__ import annotations

import marshal
import struct
import sys
from collections.abc import Callable
from typing import Any, NamedTuple

MAX_DEPTH = 100
"""Nesting that plain data may have."""

OK, EXCEPTION, TIMEOUT, KILLED, LOAD_ERROR, NO_ENTRY, OUTPUT_LIMIT, NOT_PLAIN, TESTING_BROKEN, NOT_RUN, INFRA = range(
    11
)
"""Codes of `evosyn.jobs.Status`, in that order."""

RECORD = struct.Struct("<BdI")
"""Head of a record: code, seconds, length of what follows."""

SCALARS: frozenset[type] = frozenset({type(None), bool, int, float, complex, str, bytes})


class NotPlain(Exception):
    """A value is not plain data."""


class Malformed(ValueError):
    """Bytes that no honest encoder wrote."""


class Record(NamedTuple):
    """One item outcome as it travels: code, seconds, and the encoded value, raw output or detail text."""

    code: int
    seconds: float
    payload: bytes


def encode(value: Any) -> bytes:
    """The bytes of plain data, by exact type; a few dict types of `collections` go as dicts, dict key views as sets.

    Raises:
        NotPlain: something in it has another type, or it is nested deeper than `MAX_DEPTH`, or holds itself.
    """
    kind = type(value)
    if kind not in SCALARS:
        value = _plain(value, 0)
    try:
        return marshal.dumps(value, 2)
    except ValueError as error:
        raise NotPlain(str(error)) from None


def _plain(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind in SCALARS:
        return value
    if depth >= MAX_DEPTH:
        raise NotPlain("nested too deeply")
    if kind is list or kind is tuple or kind is set or kind is frozenset:
        if SCALARS.issuperset(map(type, value)):
            return value
        return kind([_plain(item, depth + 1) for item in value])
    if kind is dict:
        if SCALARS.issuperset(map(type, value.values())) and SCALARS.issuperset(map(type, value)):
            return value
        return {_plain(key, depth + 1): _plain(item, depth + 1) for key, item in value.items()}
    if kind in _dict_types():
        return _plain({key: dict.__getitem__(value, key) for key in dict.__iter__(value)}, depth)
    if kind is _DICT_KEYS:
        return _plain(set(value), depth)
    if kind is bytearray:
        return bytes(value)
    if kind.__module__ == "numpy" and hasattr(value, "tolist"):
        return _plain(value.tolist(), depth + 1)
    raise NotPlain(_name(kind))


_DICT_KEYS: type = type({}.keys())


def _dict_types() -> tuple[type, ...]:
    module = sys.modules.get("collections")
    if module is None:
        return ()
    return (module.Counter, module.defaultdict, module.OrderedDict)


def _name(kind: type) -> str:
    name = getattr(kind, "__name__", "")
    return f"{name[:80]!a} is not plain data" if type(name) is str else "not plain data"


def record(code: int, seconds: float, payload: bytes) -> bytes:
    return RECORD.pack(code, seconds, len(payload)) + payload


def read_records(data: bytes, limit: int) -> list[Record]:
    """The records at the front of `data`, at most `limit`; ends at the first that is torn or not a record."""
    found: list[Record] = []
    position, end = 0, len(data)
    while len(found) < limit and position + RECORD.size <= end:
        code, seconds, length = RECORD.unpack_from(data, position)
        start = position + RECORD.size
        if code > INFRA or start + length > end:
            break
        if not 0.0 <= seconds < 1e6:
            seconds = 0.0
        found.append(Record(code, seconds, data[start : start + length]))
        position = start + length
    return found


def decode(data: bytes) -> Any:
    """The plain data that `encode` wrote.

    Raises:
        Malformed: for any bytes that it did not write.
    """
    if len(data) <= 16 and data[:1] not in _CONTAINERS:
        known = _scalars.get(data, _MISSING)
        if known is not _MISSING:
            return known
    value, position = _read(data, 0, 0)
    if position != len(data):
        raise Malformed("bytes after the value")
    if len(data) <= 16 and data[:1] not in _CONTAINERS:
        if len(_scalars) > 4096:
            _scalars.clear()
        _scalars[data] = value
    return value


_CONTAINERS = (b"[", b"(", b"{", b"<", b">", b"")
_MISSING = object()
_scalars: dict[bytes, Any] = {}
_I32 = struct.Struct("<i")
_F64 = struct.Struct("<d")
_C128 = struct.Struct("<dd")
_END = object()


def _read(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    reader = _READERS.get(data[position : position + 1])
    if reader is None:
        raise Malformed("unknown tag")
    return reader(data, position + 1, depth)


def _read_int32(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
    return _int32(data, position), position + 4


def _int32(data: bytes, position: int) -> int:
    if position + 4 > len(data):
        raise Malformed("cut off")
    value: int = _I32.unpack_from(data, position)[0]
    return value


def _read_long(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
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


def _read_float(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
    if position + 8 > len(data):
        raise Malformed("cut off")
    return _F64.unpack_from(data, position)[0], position + 8


def _read_complex(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
    if position + 16 > len(data):
        raise Malformed("cut off")
    return complex(*_C128.unpack_from(data, position)), position + 16


def _sized(data: bytes, position: int) -> tuple[int, int]:
    size = _int32(data, position)
    if size < 0 or position + 4 + size > len(data):
        raise Malformed("size")
    return size, position + 4


def _read_bytes(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
    size, start = _sized(data, position)
    return data[start : start + size], start + size


def _read_text(data: bytes, position: int, _depth: int) -> tuple[Any, int]:
    size, start = _sized(data, position)
    try:
        return data[start : start + size].decode("utf-8", "surrogatepass"), start + size
    except UnicodeDecodeError:
        raise Malformed("text") from None


def _items(data: bytes, position: int, depth: int) -> tuple[list[Any], int]:
    if depth > MAX_DEPTH:
        raise Malformed("nested too deeply")
    size, position = _sized(data, position)  # every item takes at least one byte
    items: list[Any] = []
    append = items.append
    for _ in range(size):
        value, position = _read(data, position, depth + 1)
        append(value)
    return items, position


def _read_list(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    return _items(data, position, depth)


def _read_tuple(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    items, position = _items(data, position, depth)
    return tuple(items), position


def _read_set(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    items, position = _items(data, position, depth)
    _hashable(items)
    return set(items), position


def _read_frozenset(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    items, position = _items(data, position, depth)
    _hashable(items)
    return frozenset(items), position


def _read_dict(data: bytes, position: int, depth: int) -> tuple[Any, int]:
    if depth > MAX_DEPTH:
        raise Malformed("nested too deeply")
    keys: list[Any] = []
    values: list[Any] = []
    while True:
        if data[position : position + 1] == b"0":
            break
        key, position = _read(data, position, depth + 1)
        value, position = _read(data, position, depth + 1)
        keys.append(key)
        values.append(value)
    _hashable(keys)
    return dict(zip(keys, values, strict=True)), position + 1


def _hashable(items: list[Any]) -> None:
    """Refuses what cannot be hashed, and keys made to collide, which would cost quadratic time."""
    try:
        hashes = list(map(hash, items))
    except TypeError:
        raise Malformed("unhashable key") from None
    if len(items) > 1000 and (
        len(set(map(_spread, hashes))) < len(items) // 2 or len({value & 0xFFFF for value in hashes}) < 64
    ):
        raise Malformed("colliding keys")


def _spread(value: int) -> int:
    return (value * 0x9E3779B97F4A7C15) & 0xFFFFFFFFFFFFFFFF


_READERS: dict[bytes, Callable[[bytes, int, int], tuple[Any, int]]] = {
    b"N": lambda _data, position, _depth: (None, position),
    b"T": lambda _data, position, _depth: (True, position),
    b"F": lambda _data, position, _depth: (False, position),
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
