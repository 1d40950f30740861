"""The stage that makes a directory of a world: its files, the graph of its tools, tasks, and rows of them.

All of it is a function of the draft and the seed, and each file is written atomically: a kill in here costs nothing.
"""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from evosyn.dataset import write_dataset
from evosyn.domains.tool_use import NAME
from evosyn.environments.rows import SETTING
from evosyn.jsonlines import write_lines
from evosyn.pools import pool_to_json
from evosyn.ports import Domain
from evosyn.randomness import SeedTree
from evosyn.records import Json, canonical_json
from evosyn.rundir import write_atomic
from evosyn.running.batches import in_thread
from evosyn.synthesis.recipes.worlds import rows_of_world
from evosyn.synthesis.worlds.draft import WorldDraft
from evosyn.synthesis.worlds.making import tools_of
from evosyn.synthesis.worlds.planting import MADE
from evosyn.worlds.tools.ddl import schema
from evosyn.worlds.tools.files import read_world, seal, write_world
from evosyn.worlds.tools.graph import ToolGraph, find_graph
from evosyn.worlds.tools.playing import Player
from evosyn.worlds.tools.records import ToolWorld
from evosyn.worlds.tools.tasks import MadeTasks, TaskPlan, make_tasks


class FinishWorld:
    """Writes what stands of a draft.

    Args:
        out: directory of the run; each world gets one below it.
        tasks: how many are wanted.
        plan: how they are made.
    """

    name = "task"
    concurrency = 2

    def __init__(
        self, out: Path, tasks: int, plan: TaskPlan, player: Player, domains: Mapping[str, Domain], tree: SeedTree
    ) -> None:
        self._out, self._tasks, self._plan = out, tasks, plan
        self._player, self._domains, self._tree = player, domains, tree

    async def run(self, draft: WorldDraft) -> WorldDraft:
        return await in_thread(lambda: self._written(draft))

    def _written(self, draft: WorldDraft) -> WorldDraft:
        world, seeds = draft.left(), self._tree.child("world", draft.slug)
        graph, made = ToolGraph((), ()), MadeTasks((), Counter())
        if self._tasks:
            graph = find_graph(world, self._player, seeds)
            made = make_tasks(world, graph, self._player, self._tasks, seeds, self._plan)
        facts: dict[str, Json] = {
            "edges": len(graph.edges),
            "density": round(graph.density(len(world.tools)), 4),
            "tasks": len(made.tasks),
            "attempts": dict(sorted(made.dropped.items())),
        }
        if not self._plan.executed:
            facts["failing"] = round(made.failing_share, 4)
        draft = replace(draft, facts=facts)
        if self._tasks and not made.tasks:
            return draft.drop(self.name, "no-task: no chain of calls became one")
        folder = self._out / draft.slug
        shutil.rmtree(folder, ignore_errors=True)  # of a run that was killed in here
        write_files(folder, world)
        world = read_world(str(folder))  # with its policy.md, which agents are told
        write_world(str(folder), folder, graph, made.tasks)
        if judged := tools_of(draft):
            write_lines(folder / MADE, (pool_to_json(one) for one in judged))
        write_dataset(folder, SETTING, rows_of_world(world, made.tasks, self._domains[NAME]))
        report = {"kept": len(made.tasks), "dropped": facts["attempts"], "world": world.id, "edges": facts["edges"]}
        write_atomic(folder / "report.json", canonical_json(report) + "\n")
        write_atomic(folder / "manifest.json", canonical_json({"kind": "world", "world": world.id}) + "\n")
        seal(folder)
        return draft


def write_files(folder: Path, world: ToolWorld) -> None:
    """A world as people write one."""
    for tool in world.tools:
        write_atomic(folder / "tools" / f"{tool.name}.py", tool.source)
    bare = world.model_dump(
        mode="json", exclude_defaults=True, exclude={"rules": True, "tools": {"__all__": {"source"}}}
    )
    write_atomic(folder / "world.json", canonical_json({"v": 1, **bare}) + "\n")
    write_atomic(folder / "policy.md", "Do what is asked, all of it, and nothing besides.\n")
    write_atomic(folder / "schema.sql", schema(world))
