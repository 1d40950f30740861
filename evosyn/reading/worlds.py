"""A directory of `evosyn world tasks`, `rollout`, `make`: tools, tables, graph, tasks; episodes; what tools came to."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from evosyn.errors import UsageError
from evosyn.jsonlines import read_lines
from evosyn.reading.conclusions import Conclusion, of_rollout, of_world
from evosyn.reading.summaries import SHORT, SummaryReading, TableShown
from evosyn.reading.world_graph import GraphShown, shown_graph
from evosyn.records import Json, canonical_json
from evosyn.trajectories import told
from evosyn.worlds.tools.files import read_graph, read_tasks, read_world
from evosyn.worlds.tools.records import Parameter, WorldTable
from evosyn.worlds.tools.tasks import WorldTask

NO_TASK = "{!r}: no task of {}; name one by its id (k_...)"


@dataclass(frozen=True)
class ToldStory:
    """A task of a world, or its episodes, as people read it."""

    name: str
    lines: tuple[str, ...]


class WorldReading(SummaryReading):
    """Tasks are named by their id (`k_...`), the beginning of it, or their number."""

    made_by = "`evosyn world tasks`"
    asks = {"overview": (), "why": ("ID",), "graph": ()}  # noqa: RUF012

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        return super().conclude(report) if report is None else of_world(report)

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:  # noqa: ARG002
        """Its tools, its tables and its tasks."""
        world, tasks = read_world(str(self.path)), read_tasks(str(self.path))
        tools = [
            (one.name, ", ".join(_parameter(two) for two in one.parameters), ", ".join(one.raises), one.description)
            for one in world.tools
        ]
        tables = [
            (one.name, ", ".join(f"{two.name} ({one.policy(two)})" for two in one.columns), _refers(one))
            for one in world.tables
        ]
        asked = [
            (one.id, one.complexity, len(one.chain), len(one.shown), one.distractors, one.instruction) for one in tasks
        ]
        return (
            TableShown("tools", ("tool", "parameters", "refuses with", "what it does"), tuple(tools)),
            TableShown("tables", ("table", "columns (how states are compared)", "refers to"), tuple(tables)),
            TableShown("tasks", ("task", "complexity", "calls", "tools", "distractors", "instruction"), tuple(asked)),
        )

    def graph(self) -> GraphShown:
        """The graph of its tools, and where each stands in a picture.

        Raises:
            UsageError: it has none, or it is damaged.
        """
        return shown_graph(read_world(str(self.path)), read_graph(str(self.path)))

    def highlights(self, most: int) -> Iterator[str]:
        yield from ("overview", "graph", *(f"why/{one.id}" for one in read_tasks(str(self.path))[:most]))

    def why(self, name: str) -> ToldStory:
        """A task with the chain that solves it.

        Raises:
            UsageError: there is none of that name.
        """
        for task in read_tasks(str(self.path)):
            if task.id.startswith(name) or name == str(task.index):
                return ToldStory(task.id, tuple(_task(task)))
        raise UsageError(NO_TASK.format(name, self.path))


class WorldRolloutReading(SummaryReading):
    """Tasks are named by their id (`k_...`) or the beginning of it."""

    made_by = "`evosyn world rollout`"
    asks = {"overview": (), "why": ("ID",)}  # noqa: RUF012

    def conclude(self, report: Mapping[str, Json] | None) -> Conclusion:
        return super().conclude(report) if report is None else of_rollout(report)

    def tables(self, values: Mapping[str, Json]) -> tuple[TableShown, ...]:  # noqa: ARG002
        """A row a task: what its episodes were paid, and what the first one that was not lacked."""
        rows = []
        for name, found in self._by_task().items():
            known = [one["reward"] for one in found if one["reward"] is not None]
            calls = [len(one["trajectory"]["calls"]) for one in found if one["trajectory"] is not None]
            missed = next((str(one["detail"]) for one in found if one["reward"] != 1.0), "")
            rows.append((name, len(found), _mean(known), len(found) - len(known), _mean(calls), missed[:SHORT]))
        columns = ("task", "episodes", "paid", "unknown", "calls", "what was wrong first")
        return (TableShown("tasks", columns, tuple(rows)),) if rows else ()

    def why(self, name: str) -> ToldStory:
        """The episodes of a task.

        Raises:
            UsageError: there is none of that name.
        """
        for task, found in self._by_task().items():
            if task.startswith(name):
                return ToldStory(task, tuple(_episodes(found)))
        raise UsageError(NO_TASK.format(name, self.path))

    def highlights(self, most: int) -> Iterator[str]:
        yield from ("overview", *(f"why/{name}" for name in list(self._by_task())[:most]))

    def _by_task(self) -> dict[str, list[dict[str, Json]]]:
        found: dict[str, list[dict[str, Json]]] = {}
        path = self.path / "episodes.jsonl"
        for line in read_lines(path) if path.is_file() else ():
            found.setdefault(str(line.value["task"]), []).append(line.value)
        return found


def _mean(values: Sequence[float]) -> float | None:
    return round(sum(values) / len(values), 3) if values else None


def _parameter(one: Parameter) -> str:
    about = one.ref or one.column or one.type
    return f"{one.name}{'' if one.required else '?'}: {about}"


def _refers(table: WorldTable) -> str:
    return ", ".join(f"{one.name} -> {one.references}" for one in table.columns if one.references)


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
    stands = f"stands, agreement {row['agreement']:.2f}" if row["verdicts"] else "stands, not judged"
    what = f"dropped: {row['reason']}" if row["reason"] else stands
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


def _episodes(found: Sequence[Mapping[str, Json]]) -> Iterator[str]:
    for one in found:
        yield f"episode {one['sample']}: reward {one['reward']} {one['detail']}".rstrip()
        if one["trajectory"] is not None:
            yield from told(json.dumps(one["trajectory"])).splitlines()
