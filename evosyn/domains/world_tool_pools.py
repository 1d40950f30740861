"""The tools of worlds as problems with human testings: `testings.yaml` of a world, and the pool `builtin:world-tools`.

A file has named states, and for each tool what it asks for (`before`), what it leaves (`after`), the tables that it
`writes`, and its cases (`worlds.tools.cases`). Rows are lists in the order of the columns. Nothing is executed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import yaml

from evosyn.documents import LOADER
from evosyn.domains.world_tool import STATES, ToolConditions, tool_problem
from evosyn.errors import InputError, UsageError
from evosyn.records import Json, Pool, Problem, Provenance, Testing
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
    given = _read(path)
    try:
        states = {name: _rows(world, rows) for name, rows in given["states"].items()}
        unknown = sorted(set(given["tools"]) - set(world.tool))
        if unknown:
            raise InputError(path, "is no tool of the world", field="tools", value=unknown[0])
        return [_problem(world, name, told, states) for name, told in given["tools"].items()]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(path, f"is no file of testings: {type(error).__name__}: {error}") from error


def _problem(world: ToolWorld, name: str, told: Mapping[str, Json], states: Mapping[str, Json]) -> Problem:
    conditions = ToolConditions(told["before"], told["after"], tuple(told.get("writes", ())))
    cases = list(told["cases"])
    used = {one["state"] for one in cases}
    body = {"states": {key: rows for key, rows in states.items() if key in used}, "cases": cases}
    human = Testing(STATES, body, Provenance(source="human"))
    return tool_problem(world, world.tool[name], conditions, human, world.tool[name].source)


def _rows(world: ToolWorld, given: Mapping[str, list[list[Json]]]) -> dict[str, list[dict[str, Json]]]:
    """
    Raises:
        KeyError, ValueError: no such table; a row of another length.
    """
    columns = {table.name: [one.name for one in table.columns] for table in world.tables}
    return {table: [dict(zip(columns[table], row, strict=True)) for row in rows] for table, rows in given.items()}


def _read(path: Path) -> Json:
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), LOADER)
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path}: cannot be read: {error}") from error
    except yaml.YAMLError as error:
        raise InputError(path, f"is not YAML: {str(error)[:200]}") from error
    if not isinstance(found, dict):
        raise InputError(path, "must be an object with `states` and `tools`")
    return found
