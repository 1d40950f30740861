"""The database of a world as SQL, written by us: no model writes any. Needs SQLite 3.37 (`STRICT`)."""

from __future__ import annotations

from evosyn.records import Json
from evosyn.worlds.tools.records import Column, ToolWorld, WorldTable

_TYPES = {"text": "TEXT", "integer": "INTEGER", "number": "REAL", "date": "TEXT", "timestamp": "TEXT"}
LARGEST_REAL = "1.7976931348623157e308"
_DIGIT = "[0-9]"
_DATE = f"{_DIGIT * 4}-{_DIGIT * 2}-{_DIGIT * 2}"
_FORMS = {"date": _DATE, "timestamp": f"{_DATE}T{_DIGIT * 2}:{_DIGIT * 2}:{_DIGIT * 2}"}


def schema(world: ToolWorld) -> str:
    """All tables, those that others refer to first."""
    return "\n".join(f"{_table(one)};" for one in world.ordered) + "\n"


def statements(world: ToolWorld) -> list[str]:
    """What makes the tables. Numbers without end, which no JSON holds, are refused beside what is shown."""
    return [_table(one, finite=True) for one in world.ordered]


def _table(table: WorldTable, *, finite: bool = False) -> str:
    lines = [_column(table, one) for one in table.columns]
    if finite:
        numbers = [_name(one.name) for one in table.columns if one.type == "number"]
        lines += [f"CHECK ({name} BETWEEN -{LARGEST_REAL} AND {LARGEST_REAL})" for name in numbers]
    lines += [f"CHECK {_expression(check)}" for check in table.checks]
    return f"CREATE TABLE {_name(table.name)} (\n  " + ",\n  ".join(lines) + "\n) STRICT"


def _column(table: WorldTable, column: Column) -> str:
    name = _name(column.name)
    parts = [name, _TYPES[column.type]]
    if column is table.columns[0]:
        parts.append("PRIMARY KEY NOT NULL")
    elif not column.nullable:
        parts.append("NOT NULL")
    if column.unique:
        parts.append("UNIQUE")
    if column.references:
        parts.append(f"REFERENCES {_name(column.references)}")
    rules = []
    if column.values:
        rules.append(f"{name} IN ({', '.join(_literal(one) for one in column.values)})")
    if column.minimum is not None:
        rules.append(f"{name} >= {column.minimum}")
    if column.maximum is not None:
        rules.append(f"{name} <= {column.maximum}")
    if column.type in _FORMS:
        rules.append(f"{name} GLOB '{_FORMS[column.type]}'")
    return " ".join([*parts, *(f"CHECK ({rule})" for rule in rules)])


def _expression(check: Json) -> str:
    if isinstance(check, str):
        return _name(check)
    if isinstance(check, int):
        return str(check)
    operator, *parts = check
    told = [_expression(one) for one in parts]
    return f"({operator.upper()} {told[0]})" if len(told) == 1 else f"({told[0]} {operator.upper()} {told[1]})"


def _name(name: str) -> str:
    return f'"{name}"'


def _literal(value: str | int) -> str:
    return str(value) if isinstance(value, int) else "'" + value.replace("'", "''") + "'"
