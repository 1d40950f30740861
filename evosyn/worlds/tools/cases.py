"""One case of a testing of a single tool: a state, arguments, and what must come of it. Nothing is run here.

A state stands once in a testing and is named by its cases; `set` and `changes` are patches of rows, by table and key: a
row in part is changed, a row of a new key is added, null takes one away. ScaleEnv section 4.1.2; the form is ours.
"""

from __future__ import annotations

import functools
import json
import sqlite3
from collections.abc import Iterator, Mapping
from typing import Annotated, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

from evosyn.records import Json, canonical_json
from evosyn.worlds.tools.ddl import statements
from evosyn.worlds.tools.diff import close, differences
from evosyn.worlds.tools.playing import CallOutcome
from evosyn.worlds.tools.records import Rows, ToolSpec, ToolWorld, state_text

Patch: TypeAlias = dict[str, dict[str, dict[str, Json] | None]]
MOST_CASES, MOST_ROWS = 12, 300
"""Of one testing; of one state."""


class ToolCase(BaseModel):
    """A call and what must come of it.

    Attributes:
        state: name of the state that it begins with, `set` what is other in it.
        returns, changes: of a call that works.
        refuses: the declared refusal that must be raised; "" for a call that works.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    state: str
    set: Patch = {}
    args: dict[str, Json]
    returns: Json = None
    changes: Patch = {}
    refuses: str = ""


class StatesBody(BaseModel):
    """The body of a testing of a tool."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    states: Annotated[dict[str, dict[str, list[dict[str, Json]]]], Field(min_length=1)]
    cases: Annotated[tuple[ToolCase, ...], Field(min_length=1, max_length=MOST_CASES)]


def begun(body: StatesBody, case: ToolCase, world: ToolWorld) -> Rows:
    """The state that a case begins with.

    Raises:
        ValueError: there is none; says why.
    """
    if case.state not in body.states:
        raise ValueError(f"no state {case.state!r}; there are {', '.join(body.states)}")
    whole = {table.name: body.states[case.state].get(table.name, []) for table in world.tables}
    if unknown := sorted(set(body.states[case.state]) - set(whole)):
        raise ValueError(f"no table {unknown[0]!r}")
    return patched(world, whole, case.set)


def patched(world: ToolWorld, rows: Rows, patch: Patch) -> Rows:
    """A state with rows changed, added and taken away.

    Raises:
        ValueError: what is patched is not there, or a new row is not whole.
    """
    found = dict(rows)
    for name, by_key in patch.items():
        if name not in world.table:
            raise ValueError(f"no table {name!r}")
        table = world.table[name]
        held = {str(row.get(table.key)): row for row in found[name]}
        for key, values in by_key.items():
            if values is None:
                if held.pop(key, None) is None:
                    raise ValueError(f"{name}: no row {key} to take away")
            else:
                held[key] = {**_whole(world, name, key, held.get(key)), **values, table.key: key}
                lacking = [one.name for one in table.columns if one.name not in held[key]]
                if lacking or len(held[key]) > len(table.columns):
                    raise ValueError(f"{name}: {key}: {lacking or sorted(held[key])}: a new row has every column")
        found[name] = [held[key] for key in sorted(held)]
    return found


def _whole(world: ToolWorld, name: str, key: str, row: Mapping[str, Json] | None) -> Mapping[str, Json]:
    """A row, or what of a new one need not be said."""
    if row is not None:
        return row
    table = world.table[name]
    clock = {one.name: world.clock for one in table.columns if table.policy(one) == "clock"}
    return {**{one.name: None for one in table.columns if one.nullable}, **clock, table.key: key}


def misfit_of(world: ToolWorld, tool: ToolSpec, body: StatesBody, writes: bool) -> str:
    """Why a testing is none of a tool, as `name: case N: detail`, or "".

    Args:
        writes: whether the tool changes anything.
    """
    wrote = False
    for number, case in enumerate(body.cases, 1):
        if reason := tool.misfit(case.args):
            return f"bad-arguments: case {number}: {reason}"
        if case.refuses and (case.refuses not in tool.raises or case.changes or case.returns is not None):
            return f"bad-refusal: case {number}: {case.refuses!r}: one that is declared, and nothing beside it"
        try:
            rows = begun(body, case, world)
            gold = patched(world, rows, case.changes)
        except (ValueError, TypeError) as error:
            return f"bad-state: case {number}: {error}"
        if broken := broken_by(world, rows):
            return f"bad-state: case {number}: {broken}"
        if broken := broken_by(world, gold):
            return f"bad-changes: case {number}: {broken}"
        wrote |= bool(differences(world, rows, gold, rows))
    if all(case.refuses for case in body.cases):
        return "uncovered: no call that works"
    if left := sorted(set(tool.raises) - {case.refuses for case in body.cases}):
        return f"uncovered: no call is refused by {left[0]}"
    return "blind: no case in which anything changes" if writes and not wrote else ""


def broken_by(world: ToolWorld, rows: Rows) -> str:
    """What of the schema a state breaks, or ""."""
    if sum(map(len, rows.values())) > MOST_ROWS:
        return f"more than {MOST_ROWS} rows"
    return breaks(world, rows)


def breaks(world: ToolWorld, rows: Rows) -> str:
    """The same of a state of any size."""
    return _broken_by(world, state_text(rows))


@functools.lru_cache(maxsize=4096)
def _broken_by(world: ToolWorld, text: str) -> str:
    rows = json.loads(text)
    base, place = sqlite3.connect(":memory:", isolation_level=None), "the schema"
    try:
        for statement in _schema(world):
            base.execute(statement)
        base.execute("PRAGMA foreign_keys=ON")
        for table in world.ordered:
            columns, place = [one.name for one in table.columns], table.name
            for row in rows.get(table.name, ()):
                if set(row) != set(columns):
                    return f"{table.name}: a row has the columns {', '.join(columns)}"
                marks = ", ".join("?" * len(columns))
                base.execute(f'INSERT INTO "{table.name}" VALUES ({marks})', [row[one] for one in columns])
    except (sqlite3.Error, OverflowError, UnicodeEncodeError, TypeError) as error:
        return f"{place}: {error}"
    finally:
        base.close()
    return ""


@functools.lru_cache(maxsize=64)
def _schema(world: ToolWorld) -> tuple[str, ...]:
    return tuple(statements(world))


def matches(world: ToolWorld, rows: Rows, case: ToolCase, called: CallOutcome, final: Rows) -> str:
    """How what came of a call that worked differs from what a case expects, or ""."""
    gold = patched(world, rows, case.changes)
    if wrong := differences(world, rows, gold, final):
        return f"changes: {'; '.join(wrong)}"
    names = dict(_new_keys(world, rows, gold, final))
    return "" if _equal(case.returns, called.value, names) else f"returns: {canonical_json(called.value)[:200]}"


def _new_keys(world: ToolWorld, rows: Rows, gold: Rows, final: Rows) -> Iterator[tuple[str, str]]:
    """Keys of new rows, with what the case calls them."""
    for table in world.tables:
        old = {row[table.key] for row in rows.get(table.name, ())}
        told = [[str(row[table.key]) for row in one.get(table.name, ()) if row[table.key] not in old]
                for one in (final, gold)]  # fmt: skip
        yield from zip(*told, strict=False)


def _equal(gold: Json, got: Json, names: Mapping[str, str]) -> bool:
    if isinstance(gold, dict) and isinstance(got, dict):
        return gold.keys() == got.keys() and all(_equal(one, got[key], names) for key, one in gold.items())
    if isinstance(gold, list) and isinstance(got, list):
        return len(gold) == len(got) and all(_equal(one, other, names) for one, other in zip(gold, got, strict=True))
    if isinstance(gold, str) and isinstance(got, str):
        return gold == names.get(got, got)
    numbers = [isinstance(one, int | float) and not isinstance(one, bool) for one in (gold, got)]
    if all(numbers):
        return close(gold, got)
    return type(gold) is type(got) and bool(gold == got)
