"""The tools of worlds as problems with human testings: `testings.yaml` of a world, and the pool `builtin:world-tools`.

A file has named states, and for each tool what it asks for (`before`), what it leaves (`after`), the tables that it
`writes`, and its cases (`worlds.tools.cases`). Rows are lists in the order of the columns. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from evosyn.codec import load
from evosyn.documents import scan_documents
from evosyn.domains.world_tool import STATES, ToolConditions, tool_problem
from evosyn.errors import FormatError, InputError
from evosyn.jsonlines import Line
from evosyn.records import Json, Pool, Problem, Provenance, Testing
from evosyn.worlds.tools.disk import ANEW, require_plain
from evosyn.worlds.tools.files import BUILTIN, bundled, folder_of, read_world
from evosyn.worlds.tools.records import ToolWorld

FILE = "testings.yaml"


def scan_tools() -> Iterator[Pool]:
    """Every tool of every bundled world, with its human testing and its source as the reference."""
    for name in bundled():
        for problem in tool_problems(f"{BUILTIN}{name}"):
            yield Pool(problem, (), ())


def tool_problems(source: str) -> list[Problem]:
    """The tools of a world that have human testings.

    Raises:
        UsageError: there is no such world, or its file of testings is none; names file and field.
    """
    world, path = read_world(source), folder_of(source) / FILE
    line = _read(path)
    try:
        require_plain(line.value)
        given = load(_Testings, line.value)
        states = {name: _rows(world, name, rows) for name, rows in given.states.items()}
        if unknown := sorted(set(given.tools) - set(world.tool)):
            raise FormatError("tools", "is no tool of the world", unknown[0])
        return [_problem(world, name, told, states) for name, told in given.tools.items()]
    except FormatError as error:
        raise InputError(
            path, f"is no file of testings: {error.reason}", field=error.field, value=error.value, hint=error.hint
        ) from error


@dataclass(frozen=True)
class _Tested:
    """A tool and its testing; cases as `worlds.tools.cases.ToolCase`."""

    before: str
    after: str
    cases: tuple[dict[str, Json], ...]
    writes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Testings:
    """The file: rows of states by table, and the tools."""

    states: dict[str, dict[str, list[list[Json]]]]
    tools: dict[str, _Tested]


def _problem(world: ToolWorld, name: str, told: _Tested, states: Mapping[str, Json]) -> Problem:
    conditions = ToolConditions(told.before, told.after, told.writes)
    used = [one.get("state") for one in told.cases]
    body = {"states": {key: rows for key, rows in states.items() if key in used}, "cases": list(told.cases)}
    human = Testing(STATES, body, Provenance(source="human"))
    return tool_problem(world, world.tool[name], conditions, human, world.tool[name].source)


def _rows(world: ToolWorld, state: str, given: Mapping[str, list[list[Json]]]) -> dict[str, list[dict[str, Json]]]:
    """
    Raises:
        FormatError: no such table; a row of another length.
    """
    found: dict[str, list[dict[str, Json]]] = {}
    for table, rows in given.items():
        if table not in world.table:
            raise FormatError(f"states.{state}", "is no table of the world", table)
        columns = [one.name for one in world.table[table].columns]
        for at, row in enumerate(rows):
            if len(row) != len(columns):
                raise FormatError(f"states.{state}.{table}.{at}", f"has the columns {', '.join(columns)}", row)
        found[table] = [dict(zip(columns, row, strict=True)) for row in rows]
    return found


def _read(path: Path) -> Line:
    """The one document of a file.

    Raises:
        UsageError: there is none, or several, or something else than JSON has; names file and line.
    """
    if not path.is_file():
        raise InputError(path, "is no file" if path.exists() else "is missing", hint=ANEW)
    found = []
    for line in scan_documents(path):
        if isinstance(line, InputError):
            raise line
        found.append(line)
    if len(found) != 1:
        hint = "Write `states` and `tools`, and no `---` between them"
        raise InputError(path, f"must hold one object, not {len(found)}", hint=hint)
    return found[0]
