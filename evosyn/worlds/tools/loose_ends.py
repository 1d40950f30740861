"""What keeps the parts of a tool world from holding together: names, references, checks, bounds, placeholders.

A model may have written any of it, and our own process draws states and instructions from it: what is accepted here
cannot make that fail or grow. Nothing is run; programs are read by `gate`. docs/worlds.md; the rules are ours.
"""

from __future__ import annotations

import string
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from evosyn.records import Json
from evosyn.trajectories import FINISH
from evosyn.worlds.tools.users import ASK
from evosyn.worlds.tools.words import WORDS

if TYPE_CHECKING:
    from evosyn.worlds.tools.records import Column, Parameter, ToolSpec, ToolWorld, WorldTable

RESERVED = (FINISH, ASK)
"""Names that no tool may have: agents end a task and speak to the user by them."""
TAKES: dict[str, tuple[int, ...]] = {
    **dict.fromkeys(("=", "<>", "<", "<=", ">", ">=", "+", "*", "and", "or"), (2,)),
    "-": (1, 2),
    "not": (1,),
}
"""How many parts each operator of a check takes (ours)."""
ALIKE = ("=", "<>", "<", "<=", ">", ">=")
"""Operators that compare two numbers or two texts; all others take numbers."""
LARGEST, DEEPEST, LONGEST = 2**53, 20, 2000
"""Number that a schema may hold; parts of a check inside each other; characters of how a row is called."""


def loose_ends(world: ToolWorld) -> Iterator[str]:
    """What does not hold together, the first of it being true whatever else is wrong."""
    names = [one.name for one in world.tables]
    tools = [one.name for one in world.tools]
    yield from (f"the table {name!r} stands twice" for name in _twice(names))
    yield from (f"the tool {name!r} stands twice" for name in _twice(tools))
    for table in world.tables:
        yield from _of_table(table, names)
    if circle := _circle(world):
        yield f"the tables {', '.join(circle)} refer to each other in a circle"
    yield from _too_long(world)
    columns = {f"{table.name}.{one.name}" for table in world.tables for one in table.columns}
    for tool in world.tools:
        yield from tool_faults(tool)
        for one in tool.parameters:
            if one.ref is not None and one.ref not in names:
                yield f"{tool.name}.{one.name} refers to {one.ref!r}, which is no table"
            if one.column is not None and one.column not in columns:
                yield f"{tool.name}.{one.name} is looked up in {one.column!r}, which is no column"


def tool_faults(tool: ToolSpec) -> Iterator[str]:
    """What is wrong with a tool whatever the tables are."""
    if tool.name in RESERVED:
        yield f"the tool {tool.name!r}: {' and '.join(RESERVED)} are how agents end and ask; give it another name"
    names = [one.name for one in tool.parameters]
    yield from (f"{tool.name}: the parameter {name!r} stands twice" for name in _twice(names))
    for one in tool.parameters:
        yield from (f"{tool.name}.{one.name}: {reason}" for reason in _unlike(one))
    if reason := _unfilled(tool.request, names):
        yield f"{tool.name}: request: {reason}"
    elif tool.request and (unsaid := [name for name in names if name not in placeholders(tool.request)]):
        yield f"{tool.name}: request: does not say {{{unsaid[0]}}}; it names every parameter"


def placeholders(text: str) -> list[str]:
    """The names in braces of a text that is sound."""
    return [name for _, name, _, _ in string.Formatter().parse(text) if name]


def _of_table(table: WorldTable, tables: Collection[str]) -> Iterator[str]:
    names = [one.name for one in table.columns]
    if table.name.startswith("sqlite_"):
        yield f"the table {table.name!r}: SQLite keeps such names for itself"
    yield from (f"{table.name}: the column {name!r} stands twice" for name in _twice(names))
    unknown = [ref for ref in table.references if ref not in tables]
    yield from (f"the table {table.name!r} refers to {ref!r}, which is no table" for ref in unknown)
    for one in table.columns:
        yield from (f"{table.name}.{one.name}: {reason}" for reason in _unlike(one))
    for check in table.checks:
        if reason := _no_check(check, table):
            yield f"a check of the table {table.name!r}: {reason}"
    if reason := _unfilled(table.called, names):
        yield f"the table {table.name!r}: called: {reason}"


def _unlike(one: Column | Parameter) -> Iterator[str]:
    """What of a column or a parameter could not be drawn."""
    if one.minimum is not None and one.maximum is not None and one.minimum > one.maximum:
        yield f"minimum {one.minimum} is above maximum {one.maximum}"
    if one.draw is not None and one.draw not in WORDS:
        yield f"draw {one.draw!r} is none of {', '.join(WORDS)}"
    kind = int if one.type in ("integer", "number") else str
    if wrong := [value for value in one.values if one.type == "boolean" or not isinstance(value, kind)]:
        yield f"the value {wrong[0]!r} is not of type {one.type}"
    elif any(isinstance(value, str) and "\0" in value for value in one.values):
        yield f"a value of {one.name} holds the character 0, which no statement of SQL can"
    elif any(isinstance(value, int) and abs(value) > LARGEST for value in one.values):
        yield f"a value of {one.name} is beyond {LARGEST}, the largest number of a world"


def _unfilled(text: str, names: Sequence[str]) -> str:
    """Why not every placeholder of a text is one of these names and nothing besides, or ""; such a text may be filled
    by `str.format`, which takes attributes, items and widths of any size."""
    try:
        parts = list(string.Formatter().parse(text))
    except ValueError as error:
        return f"{text[:60]!r}: {error}"
    for _, name, form, conversion in parts:
        if name is not None and (name not in names or form or conversion):
            told = f"{name}{f'!{conversion}' if conversion else ''}{f':{form}' if form else ''}"
            return f"{{{told[:60]}}} is none of {', '.join(f'{{{one}}}' for one in names) or 'no parameters'}"
    return ""


def _too_long(world: ToolWorld) -> Iterator[str]:
    """How rows are called that are called by others, whose names stand for how those are called."""
    tables = {one.name: one for one in world.tables}
    sizes: dict[str, int] = {}

    def size(table: WorldTable) -> int:
        if table.name not in sizes:
            refers = {one.name: one.references for one in table.columns}
            used = [refers[name] for name in placeholders(table.called)]
            sizes[table.name] = len(table.called) + sum(size(tables[one]) for one in used if one)
        return sizes[table.name]

    for table in world.tables:
        itself = [one.name for one in table.columns if one.references == table.name]
        if set(itself) & set(placeholders(table.called)):
            yield f"the table {table.name!r}: called: a row is called by another of the same table"
    for table in world.tables:
        if size(table) > LONGEST:
            yield f"the table {table.name!r}: called: more than {LONGEST} characters, with what it refers to"


def _no_check(check: Json, table: WorldTable) -> str:
    """Why an expression is no condition on a row, or ""."""
    numbers = ("integer", "number")
    kinds = {one.name: "number" if one.type in numbers else "text" for one in table.columns}
    try:
        _kind_of(check, kinds, 0)
    except ValueError as error:
        return str(error)
    return "" if isinstance(check, list | tuple) else f"{check!r} alone is no condition"


def _kind_of(check: Json, kinds: Mapping[str, str], depth: int) -> str:
    """What an expression comes to, `number` or `text`.

    Raises:
        ValueError: it is none; says why.
    """
    if isinstance(check, str):
        if check not in kinds:
            raise ValueError(f"{check[:60]!r} is no column")
        return kinds[check]
    if isinstance(check, int) and not isinstance(check, bool) and abs(check) <= LARGEST:
        return "number"
    name, *parts = check if isinstance(check, list | tuple) and check else [None]
    if not isinstance(name, str) or name not in TAKES:
        told = f"{name[:60]!r}" if isinstance(name, str) else f"a part ({type(check).__name__})"
        raise ValueError(f"{told} is none of: a column, an integer, [OPERATOR, ...] of {sorted(TAKES)}")
    if depth >= DEEPEST:
        raise ValueError(f"more than {DEEPEST} operators inside each other")
    if len(parts) not in TAKES[name]:
        raise ValueError(f"{name!r} takes {' or '.join(map(str, TAKES[name]))} parts, not {len(parts)}")
    found = {_kind_of(one, kinds, depth + 1) for one in parts}
    if found != {"number"} and (name not in ALIKE or len(found) > 1):
        raise ValueError(f"{name!r} takes {'two numbers or two texts' if name in ALIKE else 'numbers'}")
    return "number"


def _circle(world: ToolWorld) -> list[str]:
    reached: set[str] = set()
    while more := {one.name for one in world.tables if reached.issuperset({*one.references} - {one.name})} - reached:
        reached |= more
    return sorted({one.name for one in world.tables} - reached)


def _twice(names: Sequence[str]) -> list[str]:
    return [name for name in names if names.count(name) > 1]
