"""The reward of a task: whether a final state is the gold one, by the policies of its columns. No model, nothing runs.

Rows of the first state are matched by their keys. New rows are matched so that hard columns are equal, keys of other
new rows by their own match; it is searched with going back, so that the answer does not depend on the order of rows
(ours; a matching table by table can choose a parent whose children do not fit). ScaleEnv section 4.1.1; docs/worlds.md.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from evosyn.records import Json
from evosyn.worlds.tools.records import Column, Rows, ToolWorld, WorldTable

SIMILAR = 0.8
"""From this on two texts of a semantic column count as equal (the figure is ours)."""
MOST_STEPS = 20_000
"""Tried pairs of new rows; beyond it a state is not the gold one."""
MOST_LETTERS, LONGEST = 400_000, 2000
"""Of semantic texts that are compared letter by letter: in all, beyond which a state is not the gold one, and in one;
in longer ones words decide."""
_WORD = re.compile(r"\w+")
_NUMBER = re.compile(r"(?:(?<!\w)-)?\d+(?:[.,]\d+)*")
"""With its sign; what stands between `room-4` and `2026-04-05` is none."""


class _TooMuch(Exception):
    """What a comparison may take is spent."""


@dataclass
class _Search:
    """The pairs of new rows that stand so far: for each table the key of a gold row by that of a final one."""

    world: ToolWorld
    steps: int = 0
    letters: int = 0
    pairs: dict[str, dict[str, str]] = field(default_factory=dict)
    texts: dict[str, _Told] = field(default_factory=dict)

    def means(self, column: Column, final: Json) -> Json:
        """A value of the final state in the words of the gold one."""
        if column.references is None or not isinstance(final, str):
            return final
        return self.pairs.get(column.references, {}).get(final, final)

    def equal(self, table: WorldTable, column: Column, gold: Json, final: Json) -> bool:
        policy = table.policy(column)
        if policy in ("exempt", "clock"):
            return True
        if policy == "semantic":
            return self.similar(gold, final)
        return _same(column, gold, self.means(column, final))

    def similar(self, gold: Json, final: Json) -> bool:
        """`similar`, counted.

        Raises:
            _TooMuch: more letters than are compared.
        """
        first, second = self._told(gold), self._told(final)
        found = first.beside(second)
        if found is not None:
            return found
        self.letters += len(first.plain) + len(second.plain)
        if self.letters > MOST_LETTERS:
            raise _TooMuch
        return first.near(second)

    def _told(self, value: Json) -> _Told:
        text = "" if value is None else str(value)
        if text not in self.texts:
            self.texts[text] = _Told.of(text)
        return self.texts[text]

    def fits(self, table: WorldTable, gold: Mapping[str, Json], final: Mapping[str, Json]) -> bool:
        return all(self.equal(table, one, gold[one.name], final[one.name]) for one in table.columns[1:])


def differences(world: ToolWorld, initial: Rows, gold: Rows, final: Rows) -> tuple[str, ...]:
    """What keeps a final state from being the gold one, as `name: table: detail`; empty where the reward is 1.0.

    Args:
        initial, gold, final: states of the world; `gold` came from `initial`.
    """
    differing = [one for one in world.ordered if not _alike(gold.get(one.name), final.get(one.name))]
    if not differing:
        return ()
    old_keys, search = _old_keys(world, initial), _Search(world)
    new = [(table, row) for table in world.ordered for row in _new(table, initial, gold)]
    try:
        found = [one for table in differing for one in _settled(search, table, old_keys, initial, gold, final)]
        if found:
            return tuple(found)
        if _paired(search, new, 0, initial, gold, final):
            return ()
    except _TooMuch:
        return ("too-many: letters: the texts are too long, or too many, to be compared",)
    if search.steps > MOST_STEPS:
        return ("too-many: new rows: they are too much alike to be told apart",)
    return (f"unmatched: {', '.join(sorted({table.name for table, _ in new})) or 'references'}: new rows differ",)


def _alike(one: Json, other: Json) -> bool:
    """Whether two parts of states are the same to the letter, 1 and 1.0 and true being three things; most are."""
    return repr(one) == repr(other)


def _settled(
    search: _Search, table: WorldTable, old_keys: Mapping[str, set[Json]], initial: Rows, gold: Rows, final: Rows
) -> Iterator[str]:
    """What can be seen without knowing which new row is which."""
    old, want, got = (_by_key(table, rows) for rows in (initial, gold, final))
    for key in old:
        if (key in want) != (key in got):
            yield f"{'kept' if key in got else 'deleted'}: {table.name}: {key}"
        elif key in want and not _alike(want[key], got[key]):
            yield from _changed(search, table, old[key], want[key], got[key])
    counts = [Counter(_signature(table, row, old_keys) for row in _new(table, initial, rows)) for rows in (gold, final)]
    if counts[0].total() != counts[1].total():
        yield f"count: {table.name}: {counts[1].total()} new rows, not {counts[0].total()}"
    elif counts[0] != counts[1]:
        yield f"new-row: {table.name}: {'; '.join(sorted(str(one) for one in counts[1] - counts[0]))[:200]}"


def _changed(
    search: _Search, table: WorldTable, old: Mapping[str, Json], want: Mapping[str, Json], got: Mapping[str, Json]
) -> Iterator[str]:
    """Columns of an old row; those that may name a new row are left to the search."""
    for column in table.columns[1:]:
        name, policy = column.name, table.policy(column)
        if policy in ("exempt", "clock") or (column.references and want[name] != old[name] and got[name] != old[name]):
            continue
        untouched = _same(column, want[name], old[name])
        right = (
            search.similar(want[name], got[name])
            if policy == "semantic" and not untouched
            else _same(column, want[name], got[name])
        )
        if not right:
            yield f"{'collateral' if untouched else 'value'}: {table.name}.{name}: {got[name]!r}, not {want[name]!r}"


def _paired(
    search: _Search, new: list[tuple[WorldTable, dict[str, Json]]], at: int, initial: Rows, gold: Rows, final: Rows
) -> bool:
    """Whether the new rows from `at` on can be matched, those before being so."""
    if at == len(new):
        return _old_rows_fit(search, initial, gold, final)
    table, row = new[at]
    pairs = search.pairs.setdefault(table.name, {})
    for other in _new(table, initial, final):
        search.steps += 1
        if search.steps > MOST_STEPS:
            return False
        key = str(other[table.key])
        if key in pairs:
            continue
        pairs[key] = str(row[table.key])
        if search.fits(table, row, other) and _paired(search, new, at + 1, initial, gold, final):
            return True
        del pairs[key]
    return False


def _old_rows_fit(search: _Search, initial: Rows, gold: Rows, final: Rows) -> bool:
    for table in search.world.ordered:
        columns = [one for one in table.columns[1:] if one.references]
        want, got = _by_key(table, gold), _by_key(table, final)
        for key in _by_key(table, initial):
            if key in want and not all(
                search.equal(table, one, want[key][one.name], got[key][one.name]) for one in columns
            ):
                return False
    return True


def similar(gold: Json, final: Json) -> bool:
    """Whether two texts say the same: words in common, or letters in order, whichever is more; numbers must be the
    same, as they are written and one after the other (the measure is ours)."""
    first, second = _Told.of(gold), _Told.of(final)
    found = first.beside(second)
    return first.near(second) if found is None else found


class _Told(NamedTuple):
    """A semantic text.

    Attributes:
        plain: its words, lower case.
        numbers: before punctuation goes: points and signs are part of them.
    """

    text: str
    plain: str
    words: Counter[str]
    numbers: list[str]

    @classmethod
    def of(cls, value: Json) -> _Told:
        text = unicodedata.normalize("NFKC", "" if value is None else str(value))
        words = _WORD.findall(text.lower())
        return cls(text, " ".join(words), Counter(words), _NUMBER.findall(text.replace("\N{MINUS SIGN}", "-")))

    def beside(self, other: _Told) -> bool | None:
        """Whether it says the same, where that is seen without looking at letters."""
        if self.numbers != other.numbers:
            return False
        if not self.plain or not other.plain:
            return self.text == other.text
        shared = 2 * (self.words & other.words).total()
        if self.plain == other.plain or shared >= SIMILAR * (self.words.total() + other.words.total()):
            return True
        longest = max(len(self.plain), len(other.plain))
        apart = abs(len(self.plain) - len(other.plain)) > _edits_in(longest)
        return False if apart or longest > LONGEST else None

    def near(self, other: _Told) -> bool:
        """Whether its letters are, nearly."""
        return _edits(self.plain, other.plain) <= _edits_in(max(len(self.plain), len(other.plain)))


def _edits_in(letters: int) -> float:
    """That leave so many letters alike."""
    return (1 - SIMILAR) * letters + 1e-9


def _edits(first: str, second: str) -> int:
    """Levenshtein's distance of two texts that are not empty, a column of the table at a time as bits: where it grows
    downwards, and where it shrinks. Myers 1999; Hyyro 2001."""
    every, last = (1 << len(first)) - 1, 1 << (len(first) - 1)
    places: dict[str, int] = {}
    for at, letter in enumerate(first):
        places[letter] = places.get(letter, 0) | 1 << at
    grows, shrinks, distance = every, 0, len(first)
    for letter in second:
        equal = places.get(letter, 0)
        down = equal | shrinks
        across = ((equal & grows) + grows ^ grows) | equal
        more, less = shrinks | ~(across | grows) & every, grows & across
        distance += bool(more & last) - bool(less & last)
        more, less = (more << 1 | 1) & every, less << 1 & every
        grows, shrinks = less | ~(down | more) & every, more & down
    return distance


def close(gold: float, final: float) -> bool:
    """Whether two numbers are the same but for rounding; what is no number or endless equals nothing but itself."""
    if gold == final:
        return True
    try:
        first, second = float(gold), float(final)
    except OverflowError:
        return False
    return math.isfinite(first - second) and abs(first - second) <= 1e-9 * max(1.0, abs(first), abs(second))


def _same(column: Column, gold: Json, final: Json) -> bool:
    numbers = isinstance(gold, float) or (column.type == "number" and type(gold) is int)  # a rate may be written as 5
    if numbers and isinstance(final, int | float) and not isinstance(final, bool):
        return close(gold, final)
    if isinstance(gold, str) and isinstance(final, str):
        return _text(column, gold) == _text(column, final)
    return type(gold) is type(final) and bool(gold == final)


def _text(column: Column, value: str) -> str:
    """What of a hard text counts."""
    return value[:19] if column.type == "timestamp" else unicodedata.normalize("NFC", value)


def _by_key(table: WorldTable, rows: Rows) -> dict[str, dict[str, Json]]:
    return {str(row[table.key]): row for row in rows.get(table.name, ())}


def _new(table: WorldTable, initial: Rows, rows: Rows) -> list[dict[str, Json]]:
    old = {row[table.key] for row in initial.get(table.name, ())}
    return [row for row in rows.get(table.name, ()) if row[table.key] not in old]


def _old_keys(world: ToolWorld, initial: Rows) -> dict[str, set[Json]]:
    return {table.name: {row[table.key] for row in initial.get(table.name, ())} for table in world.tables}


def _signature(table: WorldTable, row: Mapping[str, Json], old: Mapping[str, set[Json]]) -> tuple[str, ...]:
    """What of a new row must be equal whatever other new rows are called."""
    told = []
    for column in table.columns[1:]:
        value = row[column.name]
        if table.policy(column) != "hard" or isinstance(value, float) or column.type == "number":
            continue
        if column.references and value is not None and value not in old[column.references]:
            value = "(a new row)"
        elif isinstance(value, str):
            value = _text(column, value)
        told.append(f"{column.name}={value!r}")
    return tuple(told)
