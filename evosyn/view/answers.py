"""What the page may ask of a directory, and the rules that hold for every answer. It knows no kind of directory.

An answer is bounded, holds no text that could mislead a reader (control and direction characters are escaped, as in
`evosyn inspect`) and no number that is not JSON. docs/view.md lists the questions.
"""

from __future__ import annotations

import json
import math
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from evosyn.cli._inspect_data import safe
from evosyn.cli.inspect import _kind
from evosyn.errors import UsageError
from evosyn.records import Json

LISTED = 500
"""Rows of a list in one answer; a filter brings the others."""
DETAILED = 200
"""Candidates or problems that an export holds with everything about them."""
LONGEST = 20_000
"""Characters of one text in an answer."""
KINDS = ("evolve", "synthesize")

T = TypeVar("T")


class View(Protocol):
    """One directory as questions and answers.

    `answer` raises UsageError for a question that has no answer here. `contents` names the questions whose answers make
    a page that needs no server, the lists first.
    """

    def answer(self, question: str, query: Mapping[str, str]) -> Json: ...

    def contents(self) -> Iterator[str]: ...


def open_view(path: Path) -> View:
    """The view of a directory, by its kind.

    Raises:
        UsageError: it is no directory of ours, or of a kind that has no view.
    """
    if path.is_dir():
        held = [one for one in sorted(path.iterdir()) if one.is_dir() and _viewable(one)]
        if held and not _viewable(path):
            raise UsageError(f"{path}: holds several directories; give one: {', '.join(map(str, held[:5]))}")
    kind = _kind(path)
    if kind == "evolve":
        from evosyn.view.run import RunView

        return RunView(path)
    if kind == "synthesize":
        from evosyn.view.data import DataView

        return DataView(path)
    raise UsageError(
        f"{path}: is a directory of kind {kind!r}; the page shows those of `evosyn evolve` and `evosyn synthesize`. "
        f"Use: evosyn inspect {path}"
    )


class Fresh(Generic[T]):
    """A value made from a file, made again when the file has changed; safe for several threads."""

    def __init__(self, file: Path, make: Callable[[], T]) -> None:
        self._file, self._make, self._lock = file, make, threading.Lock()
        self._held: tuple[object, T] | None = None

    def get(self) -> T:
        with self._lock:
            stamp = self._stamp()
            if self._held is None or self._held[0] != stamp:
                self._held = (stamp, self._make())
            return self._held[1]

    def _stamp(self) -> object:
        try:
            status = self._file.stat()
        except FileNotFoundError:
            return None
        return status.st_size, status.st_mtime_ns


def listing(rows: Sequence[Mapping[str, Json]], query: Mapping[str, str], columns: Sequence[str]) -> dict[str, Json]:
    """The first rows in which every word of `query["q"]` stands in one of `columns`."""
    words = query.get("q", "").lower().split()
    found = [row for row in rows if _fits(row, words, columns)]
    return {"total": len(rows), "matching": len(found), "rows": found[:LISTED], "columns": list(columns)}


def cut(text: str) -> str:
    """A text shortened to what an answer may hold; it says so."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... ({len(text) - LONGEST} more characters)"


def encoded(value: Json) -> str:
    """An answer as ASCII JSON, its texts escaped and its numbers finite."""
    return json.dumps(_clean(value), allow_nan=False, separators=(",", ":"))


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return safe(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {safe(str(key)): _clean(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [_clean(one) for one in value]
    return value


def _fits(row: Mapping[str, Json], words: Sequence[str], columns: Sequence[str]) -> bool:
    if not words:
        return True
    text = " ".join(str(row.get(column) or "") for column in columns).lower()
    return all(word in text for word in words)


def _viewable(path: Path) -> bool:
    try:
        return _kind(path) in KINDS
    except UsageError:
        return False
