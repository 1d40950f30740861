"""A world on disk: world.json, schema.sql, tools/NAME.py, policy.md, graph.json, tasks.jsonl, digests.json.

Those that come with evosyn are named `builtin:NAME`. What each file is stands in docs/worlds.md; nothing is run here.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import evosyn.builtin
from evosyn.codec import dump, load
from evosyn.configs.loading import validated
from evosyn.errors import FormatError, InputError, UsageError, nearest
from evosyn.jsonlines import scan_lines
from evosyn.randomness import SeedTree
from evosyn.records import Json, canonical_json
from evosyn.rundir import write_atomic
from evosyn.worlds.tools.ddl import schema
from evosyn.worlds.tools.disk import ANEW, json_of, require_plain, text_of
from evosyn.worlds.tools.graph import Edge, ToolGraph
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.tasks import WorldTask

_log = logging.getLogger(__name__)
BUILTIN = "builtin:"
DIGESTS = "digests.json"
SEALED = frozenset({".json", ".jsonl", ".md", ".py", ".sql", ".parquet", ".yaml"})
HAND = ("world.json", "policy.md", "testings.yaml", "testings.jsonl")
"""What people write, or a model in their place, beside the tools."""

Cell = str | int | float | None
"""What a row holds in a column."""


def bundled() -> dict[str, Path]:
    """The worlds that come with evosyn, by name."""
    home = Path(evosyn.builtin.__file__).parent / "worlds"
    return {path.parent.name: path.parent for path in sorted(home.glob("*/world.json"))}


def folder_of(source: str) -> Path:
    """Where a world lies: a directory, or builtin:NAME.

    Raises:
        UsageError: there is none of that name.
    """
    name = source.removeprefix(BUILTIN)
    known = bundled()
    if source.startswith(BUILTIN):
        if name not in known:
            raise UsageError(f"{source}: no such world; {nearest(name, known)}")
        return known[name]
    if not Path(source, "world.json").is_file():
        raise UsageError(f"{source}: has no world.json; `evosyn world list` names bundled ones: builtin:NAME")
    return Path(source)


def read_world(source: str) -> ToolWorld:
    """The world of a source.

    Raises:
        UsageError: there is none, or it is none; names file, field, value and rule.
    """
    folder = folder_of(source)
    path = folder / "world.json"
    given = json_of(path)
    try:
        tools = [dict(one) for one in given["tools"]]
        names = [str(one["name"]) for one in tools]
        strange = [name for name in names if not name.isidentifier()]
        present = [one.name for one in (folder / "tools").iterdir() if one.suffix == ".py"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(path, f"is no world: {type(error).__name__}: {error}") from error
    if strange:
        raise InputError(path, "is no name of a tool", field="tools", value=strange[0])
    for name, tool in zip(names, tools, strict=True):
        if f"{name}.py" not in present:
            raise InputError(
                path, f"names a tool whose file is missing: tools/{name}.py", field="tools", value=name, hint=ANEW
            )
        tool["source"] = text_of(folder / "tools" / f"{name}.py")
    extra = sorted(name for name in present if name.removesuffix(".py") not in names)
    if extra:
        raise InputError(folder / "tools" / extra[0], "is a tool that world.json does not name")
    return validated(ToolWorld, {**given, "tools": tools, "rules": text_of(folder / "policy.md").strip()}, str(path))


def read_tasks(source: str) -> list[WorldTask]:
    """The tasks of a source, in order.

    Raises:
        UsageError: it has none, or a line is none of its world; names line and field.
    """
    tasks = []
    for _, found in scan_tasks(source, read_world(source)):
        if isinstance(found, InputError):
            raise found
        tasks.append(found)
    return tasks


def scan_tasks(source: str, world: ToolWorld) -> Iterator[tuple[int, WorldTask | InputError]]:
    """The same with their lines, but one that is none of this world is given as its error.

    Raises:
        UsageError: it has none, or what is there is no file.
    """
    path = folder_of(source) / "tasks.jsonl"
    if path.exists() and not path.is_file():
        raise InputError(path, "is no file", hint=ANEW)
    if not path.is_file():
        raise UsageError(f"{path.parent}: has no tasks; make some: evosyn world tasks {path.parent} --out DIR")
    for line in scan_lines(path):
        if isinstance(line, InputError):
            yield line.line or 0, line
            continue
        try:
            yield line.number, _task(world, line.value)
        except FormatError as error:
            yield line.number, error.at(path, line.number)


def _task(world: ToolWorld, value: dict[str, Json]) -> WorldTask:
    """
    Raises:
        FormatError: it is none of this world.
    """
    require_plain(value)
    name = value.pop("id", None)
    task = load(WorldTask, value)
    chain, reference = ([tool for tool, _ in calls] for calls in (task.chain, task.reference))
    for field, tools in (("chain", chain), ("reference", reference), ("shown", task.shown)):
        for at, tool in enumerate(tools):
            if tool not in world.tool:
                raise FormatError(f"{field}.{at}", "is no tool of the world", tool)
    for field, rows in (("state", task.state), ("gold", task.gold)):
        if strange := sorted(set(rows) ^ set(world.table)):
            raise FormatError(field, "has the tables of the world, all and no others", strange[0])
        for table in world.tables:
            columns = {one.name for one in table.columns}
            for at, row in enumerate(rows[table.name]):
                if set(row) != columns:
                    raise FormatError(f"{field}.{table.name}.{at}", f"has the columns {', '.join(sorted(columns))}")
                if odd := next((one for one in row if not isinstance(row[one], Cell)), ""):
                    raise FormatError(f"{field}.{table.name}.{at}.{odd}", "must be a text, a number or null", row[odd])
    for at, (tool, args) in enumerate(task.chain):
        if tool not in task.shown:
            raise FormatError("shown", f"must have the tools of the chain, also {tool}", list(task.shown))
        for parameter, source in args.items():
            if not _is_source(source):
                rule = "must be {know, is}, {say} or {from: [step, path]}"
                raise FormatError(f"chain.{at}.1.{parameter}", rule, source)
    _require_same(value, task)
    if task.id != name:
        raise FormatError("id", f"does not name what the line holds, which is {task.id}", name)
    return task


def _require_same(value: Mapping[str, Json], record: object) -> None:
    """See that nothing was taken for what it is not, such as "3" for 3.

    Raises:
        FormatError: something was.
    """
    held = dump(record, defaults=True)
    if other := next((name for name in value if value[name] != held[name]), ""):
        raise FormatError(other, "must have texts as texts and numbers as numbers", value[other])


def _is_source(given: Json) -> bool:
    """Whether it says where an argument of a chain comes from."""
    if not isinstance(given, dict):
        return False
    if set(given) == {"from"}:
        step = given["from"]
        return isinstance(step, list) and [type(one) for one in step] == [int, str]
    return set(given) in ({"know", "is"}, {"say"}) and all(isinstance(one, Cell) for one in given.values())


@dataclass(frozen=True)
class _EdgeHeld:
    """An edge as graph.json has it; see `graph.Edge`."""

    kind: Literal["data", "pre", "state"]
    first: str
    then: str
    parameter: str = ""
    path: str = ""
    states: tuple[str, ...] = ()


@dataclass(frozen=True)
class _SeedsHeld:
    root: int
    path: tuple[str | int, ...]


@dataclass(frozen=True)
class _GraphHeld:
    """What graph.json holds; see `graph.ToolGraph`."""

    edges: tuple[_EdgeHeld, ...]
    wrote: tuple[str, ...]
    seeds: _SeedsHeld | None = None
    v: Literal[1] = 1


def read_graph(source: str) -> ToolGraph:
    """The graph of a source.

    Raises:
        UsageError: it has none, or it is none.
    """
    path = folder_of(source) / "graph.json"
    given = json_of(path)
    try:
        found = load(_GraphHeld, given)
        _require_same(given, found)
    except FormatError as error:
        raise InputError(
            path, f"is no graph: {error.reason}", field=error.field, value=error.value,
            hint="`evosyn world tasks` writes one",
        ) from error  # fmt: skip
    seeds = None if found.seeds is None else SeedTree(found.seeds.root, found.seeds.path)
    return ToolGraph(tuple([Edge(**vars(one)) for one in found.edges]), found.wrote, seeds)


def require_same_world(world: ToolWorld, source: str, out: Path, held: Json) -> None:
    """See that a directory holds this world or none: files of two would be none of either.

    Args:
        held: id of the world that its manifest names, None where it names none.

    Raises:
        UsageError: it holds another one, or a tool that this one has not.
    """
    if folder_of(source).resolve() == out.resolve():
        return
    if held in (None, world.id) and (out / "world.json").is_file():
        try:
            held = read_world(str(out)).id
        except InputError:
            _log.debug("%s: holds a part of a world, of a command that was killed", out)
    strange = sorted(one.name for one in (out / "tools").glob("*.py") if one.stem not in world.tool)
    other = f"the world {held}" if held not in (None, world.id) else f"tools/{strange[0]}" if strange else ""
    if other:
        told = f"holds {other}, which is none of {world.name} ({world.id})"
        raise UsageError(f"--out {out}: {told}; choose another directory")


def write_world(source: str, out: Path, graph: ToolGraph, tasks: Iterable[WorldTask]) -> None:
    """Write a world with its graph and tasks to a directory, where nothing is left of what the world had before; `seal`
    it when all is there."""
    folder = folder_of(source)
    world = read_world(source)
    files = {name: text_of(folder / name) for name in HAND if (folder / name).is_file()}
    files |= {f"tools/{one.name}.py": one.source for one in world.tools}
    files["schema.sql"] = schema(world)
    shown = {"v": 1, "edges": [one._asdict() for one in graph.edges], "wrote": list(graph.wrote)}
    seeds = {} if graph.seeds is None else {"seeds": {"root": graph.seeds.root, "path": list(graph.seeds.path)}}
    files["graph.json"] = _indented({**shown, **seeds})
    files["tasks.jsonl"] = "".join(canonical_json(one.to_json()) + "\n" for one in tasks)
    for name, text in files.items():
        write_atomic(out / name, text)
    for name in (*HAND, DIGESTS):
        if name not in files:
            (out / name).unlink(missing_ok=True)


def seal(out: Path) -> None:
    """Write the digest of each file of a world."""
    write_atomic(out / DIGESTS, _indented({name: _digest((out / name).read_bytes()) for name in _files(out)}))


def _files(folder: Path) -> list[str]:
    found = [one for one in sorted(folder.rglob("*")) if one.suffix in SEALED and one.is_file()]
    names = [str(one.relative_to(folder)) for one in found]
    return [one for one in names if one != DIGESTS]


def changed_files(folder: Path) -> Mapping[str, str]:
    """Files that are not what `write_world` wrote, with the reason.

    Raises:
        UsageError: there are no digests.
    """
    known = json_of(folder / DIGESTS)
    if wrong := next((name for name, one in known.items() if not isinstance(one, str)), None):
        raise InputError(folder / DIGESTS, "must be a digest", field=wrong, value=known[wrong])
    found = {} if text_of(folder / DIGESTS) == _indented(known) else {DIGESTS: "was written by hand"}
    for name, digest in known.items():
        held = _held(folder / name)
        if held is None:
            found[name] = "is missing"
        elif _digest(held) != digest:
            found[name] = f"is not what {DIGESTS} says"
    return {**found, **{name: f"is not in {DIGESTS}" for name in _files(folder) if name not in known}}


def _held(path: Path) -> bytes | None:
    """The bytes of a file, None where there is none that can be read."""
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _indented(value: Json) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"
