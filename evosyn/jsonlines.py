"""JSON lines on disk, plain or gzip: read one line at a time with errors that name file and line, written atomically.

It knows nothing of what a line means; pools and matrices stand on it. DESIGN.md section 4.
"""

from __future__ import annotations

import gzip
import json
import re
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, NamedTuple

from evosyn.errors import InputError, told_type
from evosyn.nesting import DEEPEST_LINE, is_deep
from evosyn.records import Json, json_bytes
from evosyn.rundir import replacing

GZIP_MAGIC = b"\x1f\x8b"
ARRAY = re.compile(rb"\s*\[\s*(\{|$)")
"""How a file begins that is one array of objects."""


class Line(NamedTuple):
    """One parsed line: its number in the file (from 1) and its object."""

    number: int
    value: dict[str, Json]


def read_lines(path: Path) -> Iterator[Line]:
    """Every JSON object of the file, one a line; blank lines are skipped.

    Raises:
        InputError: no such file, a directory, not readable, empty, `.gz` that is not gzip, cut off, not JSON, not an
            object.
    """
    for line in scan_lines(path):
        if isinstance(line, InputError):
            raise line
        yield line


def scan_lines(path: Path) -> Iterator[Line | InputError]:
    """The same, but a bad line is given as its error, so that the lines after it are seen as well.

    Raises:
        InputError: what is wrong with the file as a whole.
    """
    empty = True
    with opened_for_reading(path) as file:
        for number, raw in enumerate(raw_lines(path, file), 1):
            if empty and ARRAY.match(raw):
                raise InputError(path, "is a JSON array", hint=f"Write one object a line: jq -c '.[]' {path}")
            empty = empty and not raw.strip()
            if raw.strip():
                try:
                    yield Line(number, _object(path, number, raw))
                except InputError as error:
                    yield error
    if empty:
        raise InputError(path, "is empty", hint="Write one JSON object a line")


def write_lines(path: Path, values: Iterable[Json]) -> int:
    """Write one canonical JSON text a line, gzip if the name ends with `.gz`, atomically; returns the number of lines.

    Raises:
        OSError: the disk is full or the directory cannot be written; the old file is untouched.
    """
    count = 0
    with replacing(path) as file:
        # No time stamp and no name inside: equal content gives an equal file.
        packed = gzip.GzipFile("", "wb", fileobj=file, mtime=0) if path.suffix == ".gz" else None
        target: IO[bytes] = packed or file  # type: ignore[assignment]
        for value in values:
            target.write(encode_line(value))
            count += 1
        if packed is not None:
            packed.close()
    return count


def encode_line(value: Json) -> bytes:
    """The bytes of one line, newline included."""
    return json_bytes(value) + b"\n"


def json_value(text: str) -> Json:
    """What a text of JSON says.

    Raises:
        ValueError: it is none, or has a key twice in an object.
        RecursionError: it is nested too deeply.
    """
    return json.loads(text, parse_constant=_no_constant, object_pairs_hook=_once)


def opened_for_reading(path: Path) -> IO[bytes]:
    """The bytes of a file, unpacked where it is gzip.

    Raises:
        InputError: no such file, a directory, not readable, `.gz` that is not gzip.
    """
    try:
        file = path.open("rb")
        magic = file.read(2)
        file.seek(0)
    except FileNotFoundError as error:
        raise InputError(path, "no such file", hint="Check the path, or use builtin:python-seeds") from error
    except IsADirectoryError as error:
        raise InputError(path, "is a directory, not a file of JSON lines", hint="Name the file in it") from error
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error
    if magic == GZIP_MAGIC:
        return gzip.GzipFile(fileobj=file, mode="rb")  # type: ignore[return-value]
    if path.suffix == ".gz" and magic:
        file.close()
        raise InputError(path, "is named .gz but is not gzip", hint="Rename it to .jsonl, or compress it with gzip")
    return file


def raw_lines(path: Path, file: IO[bytes]) -> Iterator[bytes]:
    """The lines of such a file.

    Raises:
        InputError: damaged gzip, or not readable.
    """
    try:
        yield from file
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise InputError(path, f"is damaged gzip: {error}", hint="Fetch or write the file again") from error
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}") from error


def _object(path: Path, number: int, raw: bytes) -> dict[str, Json]:
    try:
        text = raw.rstrip(b"\r\n").decode("utf-8-sig")
        value = json_value(text)
    except UnicodeDecodeError as error:
        raise InputError(path, f"is not UTF-8: {error.reason}", line=number, hint="Save the file as UTF-8") from error
    except RecursionError as error:
        raise InputError(path, "is not JSON: nested too deeply", line=number) from error
    except ValueError as error:
        text = raw[:60].decode("utf-8", "replace").rstrip()
        hint = "Each line must be one JSON object"
        where = f"{error.msg} (column {error.colno})" if isinstance(error, json.JSONDecodeError) else str(error)
        raise InputError(path, f"is not JSON: {where}", line=number, value=text, hint=hint) from error
    if is_deep(value, DEEPEST_LINE):
        raise InputError(path, "is not JSON: nested too deeply", line=number)
    if not isinstance(value, dict):
        raise InputError(path, f"must be a JSON object, not {told_type(value)}", line=number, value=value)
    return value


def _once(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    value = dict(pairs)
    if len(value) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the key {next(name for name in names if names.count(name) > 1)!r} stands twice in an object")
    return value


def _no_constant(name: str) -> Json:
    raise ValueError(f'{name} is not JSON (in a case write {{"python": "float({name.lower()!r})"}})')
