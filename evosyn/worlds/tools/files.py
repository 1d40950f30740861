"""A world on disk: world.json, schema.sql, tools/NAME.py, policy.md, graph.json, tasks.jsonl, digests.json.

Those that come with evosyn are named `builtin:NAME`. What each file is stands in docs/worlds.md; nothing is run here.
"""

from __future__ import annotations

import difflib
import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import evosyn.builtin
from evosyn.codec import load
from evosyn.configs.loading import validated
from evosyn.errors import FormatError, InputError, UsageError
from evosyn.jsonlines import read_lines
from evosyn.records import Json, canonical_json
from evosyn.rundir import write_atomic
from evosyn.worlds.tools.ddl import schema
from evosyn.worlds.tools.graph import Edge, ToolGraph
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.tasks import WorldTask

BUILTIN = "builtin:"
DIGESTS = "digests.json"
SEALED = frozenset({".json", ".jsonl", ".md", ".py", ".sql", ".parquet", ".yaml"})
HAND = ("world.json", "policy.md", "testings.yaml")
"""What people write, beside the tools."""


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
            near = difflib.get_close_matches(name, known, n=1)
            raise UsageError(
                f"{source}: no such world; " + (f"did you mean {near[0]}?" if near else f"known: {', '.join(known)}")
            )
        return known[name]
    if not Path(source, "world.json").is_file():
        raise UsageError(f"{source}: has no world.json; `evosyn world list` names the worlds that come with evosyn")
    return Path(source)


def read_world(source: str) -> ToolWorld:
    """The world of a source.

    Raises:
        UsageError: there is none, or it is none; names file, field, value and rule.
    """
    folder = folder_of(source)
    path = folder / "world.json"
    try:
        given = json.loads(path.read_text(encoding="utf-8"))
        tools = [dict(one) for one in given["tools"]]
        names = [str(one["name"]) for one in tools]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(path, f"is no world: {type(error).__name__}: {error}") from error
    for name, tool in zip(names, tools, strict=True):
        tool["source"] = _text(folder, f"tools/{Path(name).name}.py")
    extra = sorted(one.name for one in (folder / "tools").iterdir() if one.suffix == ".py" and one.stem not in names)
    if extra:
        raise InputError(folder / "tools" / extra[0], "is a tool that world.json does not name")
    return validated(ToolWorld, {**given, "tools": tools, "rules": _text(folder, "policy.md").strip()}, str(path))


def read_tasks(source: str) -> list[WorldTask]:
    """The tasks of a source, in order.

    Raises:
        UsageError: it has none, or a line is none; names line and field.
    """
    return list(_lines(folder_of(source) / "tasks.jsonl"))


def _lines(path: Path) -> Iterator[WorldTask]:
    if not path.is_file():
        raise UsageError(f"{path.parent}: has no tasks; make some: evosyn world tasks {path.parent} --out DIR")
    for number, value in read_lines(path):
        try:
            name = value.pop("id", None)
            task = load(WorldTask, value)
            if task.id != name:
                raise FormatError("id", f"does not name what the line holds, which is {task.id}", name)
        except FormatError as error:
            raise error.at(path, number) from error
        yield task


def read_graph(source: str) -> ToolGraph:
    """The graph of a source.

    Raises:
        UsageError: it has none, or it is none.
    """
    path = folder_of(source) / "graph.json"
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        edges = [Edge(**{**one, "states": tuple(one["states"])}) for one in found["edges"]]
        return ToolGraph(tuple(edges), tuple(found["wrote"]))
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(path, f"is no graph: {error}", hint="`evosyn world tasks` writes one") from error


def write_world(source: str, out: Path, graph: ToolGraph, tasks: Iterable[WorldTask]) -> None:
    """Write a world with its graph and tasks to a directory; `seal` it when all is there."""
    folder = folder_of(source)
    world = read_world(source)
    files = {name: _text(folder, name) for name in HAND if (folder / name).is_file()}
    files |= {f"tools/{one.name}.py": one.source for one in world.tools}
    files["schema.sql"] = schema(world)
    files["graph.json"] = _indented(
        {"v": 1, "edges": [one._asdict() for one in graph.edges], "wrote": list(graph.wrote)}
    )
    files["tasks.jsonl"] = "".join(canonical_json(one.to_json()) + "\n" for one in tasks)
    for name, text in files.items():
        write_atomic(out / name, text)


def seal(out: Path) -> None:
    """Write the digest of each file of a world."""
    write_atomic(out / DIGESTS, _indented({name: _digest((out / name).read_bytes()) for name in _files(out)}))


def _files(folder: Path) -> list[str]:
    found = [
        one for one in sorted(folder.rglob("*")) if one.suffix in SEALED and one.name not in (DIGESTS, "report.json")
    ]
    return [str(one.relative_to(folder)) for one in found if one.is_file()]


def changed_files(folder: Path) -> Mapping[str, str]:
    """Files that are not what `write_world` wrote, with the reason.

    Raises:
        UsageError: there are no digests.
    """
    path = folder / DIGESTS
    try:
        text = path.read_text(encoding="utf-8")
        known = dict(json.loads(text))
    except (OSError, ValueError, TypeError) as error:
        raise InputError(path, f"cannot be read: {error}", hint="`evosyn world tasks` writes it") from error
    found = {} if text == _indented(known) else {DIGESTS: "was written by hand"}
    for name, digest in known.items():
        file = folder / name
        if not file.is_file():
            found[name] = "is missing"
        elif _digest(file.read_bytes()) != digest:
            found[name] = f"is not what {DIGESTS} says"
    return {**found, **{name: f"is not in {DIGESTS}" for name in _files(folder) if name not in known}}


def _digest(raw: bytes) -> str:
    return hashlib.sha256(raw).hexdigest()


def _indented(value: Json) -> str:
    return json.dumps(value, indent=1, ensure_ascii=False, sort_keys=True) + "\n"


def _text(folder: Path, name: str) -> str:
    try:
        return (folder / name).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(folder / name, f"cannot be read: {error}") from error
