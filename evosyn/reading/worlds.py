"""A directory of `evosyn world tasks`, `rollout` or `make`: its report, a task with its chain, episodes, tools."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.jsonlines import read_lines
from evosyn.reading.summaries import SummaryReading
from evosyn.records import Json, canonical_json
from evosyn.trajectories import told
from evosyn.worlds.tools.files import read_tasks
from evosyn.worlds.tools.tasks import WorldTask


class ToldStory(NamedTuple):
    """A task of a world, or its episodes, as people read it."""

    name: str
    lines: tuple[str, ...]


class WorldReading(SummaryReading):
    """Tasks are named by their id (`k_...`), the beginning of it, or their number."""

    made_by = "`evosyn world`"
    asks = {"overview": (), "why": ("ID",)}  # noqa: RUF012

    def __init__(self, path: Path, kind: str) -> None:
        super().__init__(path, kind)
        self._rollout = kind == "world-rollout"

    def why(self, name: str) -> ToldStory:
        """A task with the chain that solves it; of a rollout its episodes.

        Raises:
            UsageError: there is none of that name.
        """
        if self._rollout:
            lines = [line.value for line in read_lines(self.path / "episodes.jsonl")]
            found = [one for one in lines if str(one["task"]).startswith(name)]
            if found:
                return ToldStory(str(found[0]["task"]), tuple(_episodes(found)))
        else:
            for task in read_tasks(str(self.path)):
                if task.id.startswith(name) or name == str(task.index):
                    return ToldStory(task.id, tuple(_task(task)))
        raise UsageError(f"{name!r}: no task of {self.path}; name one by its id (k_...)")


class MadeWorldsReading(SummaryReading):
    """Worlds are named as they were asked for, or by their directory; tools by their name."""

    made_by = "`evosyn world make`"
    asks = {"overview": (), "why": ("NAME",)}  # noqa: RUF012

    def why(self, name: str) -> ToldStory:
        """The tools of a world, or one tool of all worlds, each with the matrix that decided it.

        Raises:
            UsageError: there is none of that name.
        """
        file = self.path / "tools.jsonl"
        rows = [line.value for line in read_lines(file)] if file.is_file() else []
        slug = "".join(sign if sign.isalnum() else "_" for sign in name.lower())
        found = [one for one in rows if slug == one["world"] or name == one["tool"]]
        if not found:
            known = ", ".join(sorted({str(one["world"]) for one in rows})) or "none yet"
            raise UsageError(f"{name!r}: no world or tool of {self.path}; worlds: {known}")
        return ToldStory(name, tuple(line for one in found for line in _tool(one)))


def _tool(row: dict[str, Json]) -> Iterator[str]:
    """A tool, its matrix, and what was chosen."""
    sizes = f"{row['solutions']} programs, {row['testings']} testings, {row['rounds']} repairs"
    what = f"dropped: {row['reason']}" if row["reason"] else f"stands, agreement {row['agreement']:.2f}"
    yield f"{row['world']}/{row['tool']}: {what} ({sizes})"
    program, testing = row["chosen"] or (-1, -1)
    for number, letters in enumerate(row["verdicts"]):
        yield f"  {letters}" + (f"  <- chosen, by testing {testing + 1}" if number == program else "")


def _task(task: WorldTask) -> Iterator[str]:
    yield f"{task.instruction}"
    yield f"complexity {task.complexity}, {task.distractors} distractors, {task.misses} near misses, none paid"
    for number, (name, args) in enumerate(task.chain):
        yield f"{number}: {name} {canonical_json(args)}"
    yield f"tools that are shown: {', '.join(task.shown)}"


def _episodes(found: list[dict[str, object]]) -> Iterator[str]:
    for one in found:
        yield f"episode {one['sample']}: reward {one['reward']} {one['detail']}".rstrip()
        if one["trajectory"] is not None:
            yield from told(json.dumps(one["trajectory"])).splitlines()
