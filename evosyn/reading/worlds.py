"""A directory of `evosyn world tasks` or `evosyn world rollout`: its report, a task with its chain, its episodes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from evosyn.errors import UsageError
from evosyn.jsonlines import read_lines
from evosyn.reading.summaries import SummaryReading
from evosyn.records import canonical_json
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
