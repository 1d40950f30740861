"""What the page may ask of a directory, and the rules that hold for every answer. It knows no kind of directory.

An answer is bounded, holds no text that could mislead a reader (control and direction characters are escaped, as in
`evosyn inspect`) and no number that is not JSON. docs/view.md lists the questions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from evosyn.errors import UsageError
from evosyn.escaping import safe
from evosyn.reading.base import Listed, Reading, WaitingReading
from evosyn.reading.opening import is_awaited, open_directory
from evosyn.reading.plain import plain
from evosyn.records import Json

LISTED = 500
"""Rows of a list in one answer; a filter brings the others."""
DETAILED = 200
"""Candidates or problems that an export holds with everything about them."""
LONGEST = 20_000
"""Characters of one text in an answer."""
ORDERS = ("score", "newest", "oldest")


class View:
    """One directory as questions and answers in JSON; a run that is waited for is opened when it has begun."""

    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    @property
    def waits(self) -> bool:
        """Whether there is nothing to see yet."""
        return isinstance(self._reading, WaitingReading)

    def answer(self, question: str, query: Mapping[str, str]) -> Json:
        """
        Args:
            question: one that the reading answers, what must be given after slashes, such as `candidate/ID`.
            query: of a list: `q`, words that must all occur, and `sort`, one of `ORDERS`.

        Raises:
            UsageError: the question has no answer here.
        """
        if self.waits and not is_awaited(self._reading.path):
            self._reading = open_directory(self._reading.path)
        what, *rest = question.split("/", 1)
        parts = len(self._reading.asks.get(what, ()))  # the name of a problem may hold slashes of its own
        found = self._reading.answer(what, *(rest[0].split("/", parts - 1) if rest else ()))
        return _listing(found, query) if isinstance(found, Listed) else plain(found)

    def contents(self) -> Iterator[str]:
        """The questions whose answers make a page that needs no server, the lists first."""
        return self._reading.highlights(DETAILED)


def open_view(path: Path, *, wait: bool = False) -> View:
    """The view of a directory.

    Args:
        wait: an empty directory, and one that is not there, is of a run that will begin.

    Raises:
        UsageError: it is no directory of ours.
    """
    return View(WaitingReading(path, "waiting") if wait and is_awaited(path) else open_directory(path))


def encoded(value: Json) -> str:
    """An answer as ASCII JSON, its texts escaped and cut."""
    return json.dumps(_clean(plain(value)), allow_nan=False, separators=(",", ":"))


def cut(text: str) -> str:
    """A text shortened to what an answer may hold; it says so."""
    return text if len(text) <= LONGEST else f"{text[:LONGEST]}\n... ({len(text) - LONGEST} more characters)"


def _listing(found: Listed[object], query: Mapping[str, str]) -> dict[str, Json]:
    """The first rows in which every word of `query["q"]` stands in one of the columns."""
    rows, words = _sorted([plain(row) for row in found.rows], query.get("sort")), query.get("q", "").lower().split()
    fitting = [row for row in rows if _fits(row, words, found.columns)]
    return {"total": len(rows), "matching": len(fitting), "rows": fitting[:LISTED], "columns": list(found.columns)}


def _sorted(rows: list[Json], order: str | None) -> list[Json]:
    """Rows with a score by it, or by their number; other rows as they are."""
    if order not in (None, "", *ORDERS):
        raise UsageError(f"sort={order!r}: one of {', '.join(ORDERS)}")
    if not rows or "score" not in rows[0] or order == "oldest":
        return rows
    if order == "newest":
        return rows[::-1]
    return sorted(rows, key=lambda row: (row["score"] is None, -(row["score"] or 0.0), row["number"]))


def _fits(row: Mapping[str, Json], words: Sequence[str], columns: Sequence[str]) -> bool:
    if not words:
        return True
    text = " ".join(str(row.get(column) or "") for column in columns).lower()
    return all(word in text for word in words)


def _clean(value: Json) -> Json:
    if isinstance(value, str):
        return safe(cut(value))
    if isinstance(value, dict):
        return {safe(key): _clean(one) for key, one in value.items()}
    return [_clean(one) for one in value] if isinstance(value, list) else value
