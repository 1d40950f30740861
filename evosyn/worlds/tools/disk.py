"""Reads the files of a world, each kind in one way: what cannot be read, or holds what no world holds, is an error with
its file, line and field. What the files mean stands in `files`; lines of tasks are read by `jsonlines`, YAML by
`documents`. docs/worlds.md.
"""

from __future__ import annotations

import json
import math
from pathlib import Path

from evosyn.errors import FormatError, InputError, told_type
from evosyn.jsonlines import json_value
from evosyn.records import Json

DEEPEST, LARGEST = 100, 2**63
"""Lists and objects within each other; integers below this are those of SQLite."""
ANEW = "Put back a copy of it, or make the world anew"


def text_of(path: Path) -> str:
    """The text of a file, lines ended by a line feed.

    Raises:
        InputError: it is missing, no file (a pipe would be waited for), not readable, or not UTF-8.
    """
    try:
        if not path.is_file():
            raise InputError(path, "is no file" if path.exists() else "is missing", hint=ANEW)
        raw = path.read_bytes()
    except OSError as error:
        raise InputError(path, f"cannot be read: {error.strerror or error}", hint=ANEW) from error
    try:
        return raw.decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise InputError(
            path, f"is not UTF-8: {error.reason}", line=line, value=raw[error.start : error.end], hint=ANEW
        ) from error


def json_of(path: Path) -> dict[str, Json]:
    """The object of a file of JSON.

    Raises:
        InputError: as `text_of`; it is not JSON, no object, or holds what no world holds.
    """
    text = text_of(path)
    try:
        value = json_value(text)
        require_plain(value)
    except json.JSONDecodeError as error:
        raise InputError(path, f"is not JSON: {error.msg}", line=error.lineno, hint=ANEW) from error
    except RecursionError as error:
        raise InputError(path, "is not JSON: nested too deeply", hint=ANEW) from error
    except FormatError as error:
        raise error.at(path, None) from error
    except ValueError as error:
        raise InputError(path, f"is not JSON: {error}", hint=ANEW) from error
    if not isinstance(value, dict):
        raise InputError(path, f"must be an object, not {told_type(value)}", hint=ANEW)
    return value


def require_plain(value: Json) -> None:
    """See that a value of JSON can be written, compared and put into a database.

    Raises:
        FormatError: it is nested too deeply, has a number that is too large, or a text that is none in UTF-8.
    """
    left: list[tuple[Json, str, int]] = [(value, "", 0)]
    while left:
        one, field, depth = left.pop()
        if depth > DEEPEST:
            raise FormatError(field[:80], f"is nested too deeply, more than {DEEPEST} levels")
        if isinstance(one, dict):
            for name in one:
                _require_text(name, field)
            left += [(part, f"{field}.{name}" if field else name, depth + 1) for name, part in one.items()]
        elif isinstance(one, list):
            left += [(part, f"{field}.{at}" if field else str(at), depth + 1) for at, part in enumerate(one)]
        elif isinstance(one, str):
            _require_text(one, field)
        elif isinstance(one, float) and not math.isfinite(one):
            raise FormatError(field, "must be a number with an end")
        elif isinstance(one, int) and not -LARGEST <= one < LARGEST:
            raise FormatError(field, "must be an integer of at most 64 bits")


def _require_text(text: str, field: str) -> None:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise FormatError(field, "must be a text in UTF-8, which has no half of a pair", text) from error
