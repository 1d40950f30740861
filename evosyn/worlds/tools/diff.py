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

from evosyn.records import Json
from evosyn.worlds.tools.records import Column, Rows, ToolWorld, WorldTable

MOST_STEPS = 20_000
"""Tried pairs of new rows; beyond it a state is not the gold one."""
_SMALL = "a an the this that these those it its me is are be please kindly just also and so then"
SMALL = frozenset(_SMALL.split())
"""Words that may be added or left out: no negation, number, name, person, place, time or order is among them."""
_WORD = re.compile(r"\w+|%|[^\w\s]")
_LETTER = re.compile(r"\b[Aa]\b(?=\s*(?:[.,;:!?)]|\Z))|(?<=[a-z] )A\b")
"""No article: it ends what is said, or is a capital between words (`room A`)."""
_NUMBER = re.compile(r"(?:(?<!\w)-)?\d+(?:[.,:/]\d+)*")
"""With its sign; what stands between `room-4` and `2026-04-05` is none."""
_PLAIN = {ord("\N{MINUS SIGN}"): "-", ord("\N{RIGHT SINGLE QUOTATION MARK}"): "'"}
_NEGATED = {"can't": "can not", "won't": "will not", "cannot": "can not", "n't": " not"}
_SHORT = re.compile(r"\bcan't|\bwon't|\bcannot|n't")


@dataclass
class _Search:
    """The pairs of new rows that stand so far: for each table the key of a gold row by that of a final one."""

    world: ToolWorld
    steps: int = 0
    pairs: dict[str, dict[str, str]] = field(default_factory=dict)

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
            return similar(gold, final)
        return _same(column, gold, self.means(column, final))

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
    found = [one for table in differing for one in _settled(table, old_keys, initial, gold, final)]
    if found:
        return tuple(found)
    if _paired(search, new, 0, initial, gold, final):
        return ()
    if search.steps > MOST_STEPS:
        return ("too-many: new rows: they are too much alike to be told apart",)
    return (f"unmatched: {', '.join(sorted({table.name for table, _ in new})) or 'references'}: new rows differ",)


def unchanged(world: ToolWorld, initial: Rows, final: Rows) -> bool:
    """Whether a state is still what it was, in every column whatever its policy."""
    for table in world.ordered:
        old, now = _by_key(table, initial), _by_key(table, final)
        if old.keys() != now.keys() or not all(
            _same(column, row[column.name], now[key][column.name])
            for key, row in old.items()
            for column in table.columns
        ):
            return False
    return True


def _alike(one: Json, other: Json) -> bool:
    """Whether two parts of states are the same to the letter, 1 and 1.0 and true being three things; most are."""
    return repr(one) == repr(other)


def _settled(
    table: WorldTable, old_keys: Mapping[str, set[Json]], initial: Rows, gold: Rows, final: Rows
) -> Iterator[str]:
    """What can be seen without knowing which new row is which."""
    old, want, got = (_by_key(table, rows) for rows in (initial, gold, final))
    for key in old:
        if (key in want) != (key in got):
            yield f"{'kept' if key in got else 'deleted'}: {table.name}: {key}"
        elif key in want and not _alike(want[key], got[key]):
            yield from _changed(table, old[key], want[key], got[key])
    counts = [Counter(_signature(table, row, old_keys) for row in _new(table, initial, rows)) for rows in (gold, final)]
    if counts[0].total() != counts[1].total():
        yield f"count: {table.name}: {counts[1].total()} new rows, not {counts[0].total()}"
    elif counts[0] != counts[1]:
        yield f"new-row: {table.name}: {'; '.join(sorted(str(one) for one in counts[1] - counts[0]))[:200]}"


def _changed(
    table: WorldTable, old: Mapping[str, Json], want: Mapping[str, Json], got: Mapping[str, Json]
) -> Iterator[str]:
    """Columns of an old row; those that may name a new row are left to the search."""
    for column in table.columns[1:]:
        name, policy = column.name, table.policy(column)
        if policy in ("exempt", "clock") or (column.references and want[name] != old[name] and got[name] != old[name]):
            continue
        untouched = _same(column, want[name], old[name])
        right = (
            similar(want[name], got[name])
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
    """Whether two texts say the same: the same words and numbers one after the other, but for case, punctuation and
    words that decide nothing. An equivalence (ours); ScaleEnv asks for a fuzzy match."""
    return _told(gold) == _told(final)


def _told(value: Json) -> tuple[list[str], list[str]]:
    """What of a text decides: its words and signs (all, where there are small ones alone), and its numbers, of which
    points and signs are part."""
    text = unicodedata.normalize("NFKC", "" if value is None else str(value)).translate(_PLAIN)
    text = _LETTER.sub("letter_a", text)
    every = _WORD.findall(_SHORT.sub(lambda found: _NEGATED[found[0]], text.lower()))
    return [one for one in every if one not in SMALL and not _is_punctuation(one)] or every, _NUMBER.findall(text)


def _is_punctuation(sign: str) -> bool:
    return len(sign) == 1 and sign != "%" and unicodedata.category(sign).startswith("P")


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
