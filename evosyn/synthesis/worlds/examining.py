"""Judges the tools of a world on disk by their testings, as `evosyn world check` does. docs/worlds.md, "Single tools".

The program is the one that the world has now, whatever was chosen when it was made. What is judged is judged by the one
Judge; nothing is repaired.
"""

from __future__ import annotations

from collections.abc import Iterator

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains.world_tool_pools import FILE
from evosyn.errors import SandboxUnavailable, UsageError
from evosyn.records import Solution, Verdict
from evosyn.synthesis.worlds.planting import MADE, UNDECIDED, tested_tools
from evosyn.worlds.tools.checking import WorldFault
from evosyn.worlds.tools.files import folder_of, read_world


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
    for tool, result in zip(kept, judge.verify(cells), strict=True):
        if result.verdict in UNDECIDED:
            raise SandboxUnavailable(f"the tool {tool!r} could not be judged: {result.detail}")
        if result.verdict is not Verdict.PASS:
            file = name if result.verdict is Verdict.BROKEN else f"tools/{tool}.py"
            yield WorldFault(file, f"{tool}: its testing says {result.verdict.name}: {result.detail}")
