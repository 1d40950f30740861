"""Judges the tools of a world on disk by their testings, and compares its dataset with its tasks, as `evosyn world
check` does. docs/worlds.md, "Single tools".

The program is the one that the world has now, whatever was chosen when it was made. What is judged is judged by the one
Judge; nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Iterator

from evosyn.crossexec.judge import Cell, Judge
from evosyn.dataset import read_dataset
from evosyn.domains.world_tool_pools import FILE
from evosyn.environments.rows import SETTING
from evosyn.errors import UsageError
from evosyn.ports import Domain
from evosyn.records import Solution, Verdict
from evosyn.synthesis.recipes.worlds import rows_of_world
from evosyn.synthesis.worlds.planting import MADE, tested_tools
from evosyn.worlds.tools.checking import WorldFault
from evosyn.worlds.tools.files import folder_of, read_world, scan_tasks
from evosyn.worlds.tools.tasks import WorldTask


def testing_faults(source: str, judge: Judge) -> Iterator[WorldFault]:
    """Tools that their testings do not accept; nothing where the world has no testings.

    Raises:
        UsageError: there is no such world.
        SandboxUnavailable: a tool could not be judged.
    """
    world, folder = read_world(source), folder_of(source)
    name = next((one for one in (MADE, FILE) if (folder / one).is_file()), None)
    if name is None:
        return
    try:
        tools = {str(one.problem.meta["tool"]): one for one in tested_tools(source)}
    except UsageError as error:
        yield WorldFault(name, str(error))
        return
    yield from (WorldFault(name, f"{one}: is no tool of the world") for one in sorted(set(tools) - set(world.tool)))
    kept = {one: tested for one, tested in tools.items() if one in world.tool}
    cells = [Cell(one.problem, Solution(world.tool[tool].source), one.testing) for tool, one in kept.items()]
    for tool, result in zip(kept, judge.decided(cells), strict=True):
        if result.verdict is not Verdict.PASS:
            file = name if result.verdict is Verdict.BROKEN else f"tools/{tool}.py"
            yield WorldFault(file, f"{tool}: its testing says {result.verdict.name}: {result.detail}")


def dataset_faults(source: str, domain: Domain) -> Iterator[WorldFault]:
    """What of a world's dataset its tasks do not give; nothing where it has none, or where a task is none.

    Args:
        domain: that of `tool-use`.

    Raises:
        UsageError: there is no such world.
    """
    world, folder = read_world(source), folder_of(source)
    files = sorted(str(one.relative_to(folder)) for one in (folder / "dataset").glob("*"))
    own = f"dataset/{SETTING}.parquet"
    yield from (WorldFault(one, f"is no dataset of a world, which is in {own}") for one in files if one != own)
    lines = [one for _, one in scan_tasks(source, world)] if own in files else []
    tasks = [one for one in lines if isinstance(one, WorldTask)]
    if own not in files or len(tasks) < len(lines):
        return
    try:
        held = read_dataset(folder / own)
    except UsageError as error:
        yield WorldFault(own, str(error))
        return
    rows = rows_of_world(world, tasks, domain)
    other = next((at for at, (one, row) in enumerate(zip(held, rows, strict=False), 1) if one != row), 0)
    if other:
        yield WorldFault(own, f"row {other} is not what the task {tasks[other - 1].id} gives")
    elif len(held) != len(rows):
        yield WorldFault(own, f"has {len(held)} rows; the tasks give {len(rows)}")
