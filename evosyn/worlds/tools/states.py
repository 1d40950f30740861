"""Draws states of a world: rows that keep to its schema, rows that are nearly others, and arguments of its tools.

Everything comes from the generator that is passed in; the sandbox has the last word on whether a state is one. Word
lists and rates are ours. ScaleEnv section 4.2.1.
"""

from __future__ import annotations

import datetime
import operator
import random
from collections.abc import Callable, Mapping

from evosyn.records import Json
from evosyn.worlds.tools.records import Column, Parameter, Rows, ToolSpec, ToolWorld, WorldTable
from evosyn.worlds.tools.words import WORDS

COMMON = 0.65
"""Share of rows whose status (or other word of a list) is the first that is allowed."""
TRIES, DAYS = 40, 30
_DO: dict[str, Callable[..., Json]] = {
    "=": operator.eq, "<>": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
    "+": operator.add, "*": operator.mul, "-": lambda a, *b: a - b[0] if b else -a,
    "not": operator.not_,
}  # fmt: skip


def draw_state(world: ToolWorld, counts: Mapping[str, int], rng: random.Random) -> dict[str, list[dict[str, Json]]]:
    """A state with so many rows in each table, or fewer where no more can be drawn.

    Keys are spread over a wide range and the highest is kept, so that further rows do not change what keys the world
    makes.
    """
    rows: dict[str, list[dict[str, Json]]] = {table.name: [] for table in world.tables}
    for table in world.ordered:
        numbers = sorted(rng.sample(range(1000, 9000), counts[table.name]))
        for number in numbers:
            row = draw_row(world, table, rows, rng, f"{table.prefix}{number}")
            if row is not None:
                rows[table.name].append(row)
    return rows


def draw_row(
    world: ToolWorld,
    table: WorldTable,
    rows: Rows,
    rng: random.Random,
    key: str,
    near: Mapping[str, Json] | None = None,
) -> dict[str, Json] | None:
    """A further row of a table that keeps to its checks; None where none was found.

    Args:
        near: a row that it is to resemble: each column is its own with an even chance, or nearly so.
    """
    for _ in range(TRIES):
        row: dict[str, Json] = {table.key: key}
        for column in table.columns[1:]:
            row[column.name] = _value(world, column, rows, rng, None if near is None else near[column.name])
        taken = any(
            row[one.name] == other[one.name] for one in table.columns if one.unique for other in rows[table.name]
        )
        lacking = any(row[one.name] is None and not one.nullable for one in table.columns)
        if not taken and not lacking and all(_kept(check, row) for check in table.checks):
            return row
    return None


def free_key(table: WorldTable, rows: Rows, rng: random.Random) -> str:
    """A key of nobody, below the highest one."""
    found = {str(row[table.key]) for row in rows[table.name]}
    top = max([int(one[len(table.prefix) :]) for one in found], default=9000)
    keys = (f"{table.prefix}{rng.randrange(100, max(top, 101))}" for _ in range(10_000))
    return next(key for key in keys if key not in found)


def _value(world: ToolWorld, column: Column, rows: Rows, rng: random.Random, near: Json) -> Json:
    if near is not None and not column.unique and rng.random() < 0.5:
        return near
    if column.references is not None:
        keys = [row[world.table[column.references].key] for row in rows[column.references]]
        if not keys or (column.nullable and rng.random() < 0.5):
            return None
        return rng.choice(keys)
    if column.nullable and rng.random() < 0.3:
        return None
    if column.type == "timestamp":
        return (_clock(world) - datetime.timedelta(minutes=rng.randrange(60, 60 * 24 * DAYS))).isoformat()
    return drawn(column, world, rng, near)


def drawn(form: Column | Parameter, world: ToolWorld, rng: random.Random, near: Json = None) -> Json:
    """A value of a column or a parameter that refers to nothing; near another one where that can be."""
    if form.values:
        return form.values[0] if isinstance(form, Column) and rng.random() < COMMON else rng.choice(form.values)
    if form.type in ("integer", "number"):
        low = form.minimum
        if low is None:
            low = 0 if form.maximum is None or form.maximum >= 0 else form.maximum - 9
        number = rng.randint(low, low + 9 if form.maximum is None else form.maximum)
        return float(number) if form.type == "number" else number
    if form.type == "date":
        return (_clock(world).date() + datetime.timedelta(days=rng.randint(1, DAYS))).isoformat()
    if form.type == "boolean":
        return rng.random() < 0.5
    listed = WORDS[form.draw or "remark"]
    if isinstance(near, str):
        like = [one for one in listed if one != near and set(one.split()) & set(near.split()) - {"The"}]
        return rng.choice(like or listed)
    return rng.choice(listed)


def draw_args(
    world: ToolWorld,
    tool: ToolSpec,
    rows: Rows,
    rng: random.Random,
    focus: Mapping[str, str] | None = None,
    whole: bool = False,
) -> dict[str, Json] | None:
    """Arguments that fit a state: keys of its rows, values of its columns, words of a list; None where a table that
    must be referred to is empty. What may be left out is left out half of the time.

    Args:
        focus: keys by table that are taken where they fit.
        whole: leave nothing out.
    """
    found: dict[str, Json] = {}
    for one in tool.parameters:
        if not one.required and not whole and rng.random() < 0.5:
            continue
        if one.ref is not None:
            keys = [str(row[world.table[one.ref].key]) for row in rows[one.ref]]
            if not keys:
                return None
            key = (focus or {}).get(one.ref)
            found[one.name] = key if key in keys else rng.choice(keys)
        elif one.column is not None:
            table, _, column = one.column.partition(".")
            values = [row[column] for row in rows[table] if row[column] is not None]
            if not values:
                return None
            name, wanted = world.table[table].key, (focus or {}).get(table)
            held = [row[column] for row in rows[table] if row[name] == wanted and row[column] is not None]
            found[one.name] = held[0] if held else rng.choice(values)
        else:
            found[one.name] = drawn(one, world, rng)
    return found


def _kept(check: Json, row: Mapping[str, Json]) -> bool:
    """Whether a row keeps to a check: as in SQL, one that cannot be decided is kept."""
    held = _held(check, row)
    return held is None or bool(held)


def _held(check: Json, row: Mapping[str, Json]) -> Json:
    """What SQL makes of an expression, None being its NULL."""
    if isinstance(check, str):
        return row[check]
    if isinstance(check, int):
        return check
    name, parts = check[0], [_held(one, row) for one in check[1:]]
    if name in ("and", "or"):
        decides = name == "or"
        if any(one is not None and bool(one) is decides for one in parts):
            return decides
        return None if None in parts else not decides
    if None in parts:
        return None
    found = _DO[name](*parts)
    return float(found) if isinstance(found, int) and abs(found) >= 2**63 else found  # as SQLite does


def _clock(world: ToolWorld) -> datetime.datetime:
    return datetime.datetime.fromisoformat(world.clock)
