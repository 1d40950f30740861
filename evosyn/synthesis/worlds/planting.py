"""Plants faults into right tools and counts what their testings catch. What is judged is judged by the one Judge.

Faults are of `worlds.tools.faults`, apart in two halves by a hash of their text: one to look at while testings are
written, the other for the figures. One that is missed and does what the right tool does in 200 drawn calls is no fault,
and told apart. Untouched tools, also in other words, must be accepted.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains import load_pools
from evosyn.domains.world_tool import NAME, with_source, world_of
from evosyn.domains.world_tool_pools import tool_problems
from evosyn.errors import InputError
from evosyn.parsing import parsed
from evosyn.randomness import SeedTree
from evosyn.records import Json, Pool, Problem, Solution, Testing, Verdict
from evosyn.worlds.tools.faults import FAULTS, plantings
from evosyn.worlds.tools.files import BUILTIN, bundled, folder_of
from evosyn.worlds.tools.playing import Player
from evosyn.worlds.tools.probing import alike

LEAST: dict[str, float] = {**dict.fromkeys(FAULTS, 0.95), "wrong-comparison": 0.8, "second-table": 0.8}
"""Share of a class that must be caught (ours)."""
MOST_REFUSED = 0.02
"""Share of untouched tools that may be refused."""
UNDECIDED = (Verdict.UNKNOWN, Verdict.NOT_RUN)
"""A machine without time for a tool has refused none."""
HELD_OUT, LOOKED_AT = "held-out", "looked-at"
ALL = f"{BUILTIN}all"
MADE = "testings.jsonl"
"""Of a world that was made: its tools as pools, the chosen source and testing of each."""


class ExaminedTool(NamedTuple):
    """A right tool and the testing that is examined."""

    problem: Problem
    source: str
    testing: Testing


class PlantedFault(NamedTuple):
    """A fault in a tool; `half`: whether whoever wrote the testings may have looked at it."""

    tool: ExaminedTool
    kind: str
    source: str
    half: str


def tested_tools(source: str) -> list[ExaminedTool]:
    """The tools of a world with their testings: those written by hand, or those that were chosen when it was made.

    Raises:
        UsageError: there is no such world, or it has no testings.
    """
    if source == ALL:
        return [one for name in bundled() for one in tested_tools(f"{BUILTIN}{name}")]
    made = folder_of(source) / MADE
    if made.is_file():
        return [_examined(made, one) for one in load_pools(made)]
    found = [(one, one.reference_solution, one.human_testing) for one in tool_problems(source)]
    return [ExaminedTool(one, text, testing) for one, text, testing in found if text and testing is not None]


def _examined(path: Path, pool: Pool) -> ExaminedTool:
    """
    Raises:
        InputError: a row is no tool of a world with its program and its testing.
    """
    if pool.problem.domain != NAME or not isinstance(pool.problem.meta.get("tool"), str):
        raise InputError(path, "is no tool of a world", value=pool.problem.problem_id)
    if not pool.solutions or not pool.testings:
        raise InputError(path, "must have the program and the testing of each tool", value=pool.problem.problem_id)
    return ExaminedTool(pool.problem, pool.solutions[0].text, pool.testings[0])


def planted(tools: Sequence[ExaminedTool], per_class: int, seeds: SeedTree) -> list[PlantedFault]:
    """So many faults of each class and half, or all that there are; drawn from all places of all tools."""
    found: list[PlantedFault] = []
    every = [(one, plantings(with_source(world_of(one.problem), one.source), one.source)) for one in tools]
    for kind in FAULTS:
        places = [PlantedFault(one, kind, text, _half(text)) for one, by_kind in every for text in by_kind[kind]]
        for half in (HELD_OUT, LOOKED_AT):
            some = [one for one in places if one.half == half]
            found += seeds.child("faults", kind, half).random().sample(some, min(per_class, len(some)))
    return found


def fault_figures(
    judge: Judge, player: Player, tools: Sequence[ExaminedTool], faults: Sequence[PlantedFault]
) -> dict[str, Json]:
    """What is caught, by class; `kept`: whether the goals are met on the half that nobody looked at.

    Raises:
        SandboxUnavailable: from the sandbox.
    """
    untouched = [(one, text) for one in tools for text in _untouched(one.source)]
    cells = [Cell(one.tool.problem, Solution(one.source), one.tool.testing) for one in faults]
    cells += [Cell(one.problem, Solution(text), one.testing) for one, text in untouched]
    results = judge.verify(cells)
    unknown = sum(one.verdict in UNDECIDED for one in results)
    passed = [one for one, result in zip(faults, results, strict=False) if result.verdict is Verdict.PASS]
    none = [one for one in passed if _is_none(player, one)]
    faults, missed = [one for one in faults if one not in none], [one for one in passed if one not in none]
    refused = [
        one.problem.problem_id
        for (one, _), result in zip(untouched, results[-len(untouched) :], strict=True)
        if result.verdict is not Verdict.PASS and result.verdict not in UNDECIDED
    ]
    classes = {
        kind: {**_figures(kind, faults, missed), "none": sum(one.kind == kind for one in none)} for kind in FAULTS
    }
    share = len(refused) / len(untouched) if untouched else 0.0
    short = [kind for kind, one in classes.items() if one[HELD_OUT] is not None and one[HELD_OUT] < one["least"]]
    return {
        "tools": len(tools),
        "classes": classes,
        "missed": [{"tool": one.tool.problem.problem_id, "class": one.kind, "half": one.half, "source": one.source}
                   for one in missed],
        "untouched": {"count": len(untouched), "refused": sorted(set(refused)), "share": round(share, 4)},
        "short": short,
        "unknown": unknown,
        "kept": not short and share <= MOST_REFUSED and not unknown,
    }  # fmt: skip


def _figures(kind: str, faults: Sequence[PlantedFault], missed: Sequence[PlantedFault]) -> dict[str, Json]:
    found: dict[str, Json] = {"least": LEAST[kind]}
    for half in (HELD_OUT, LOOKED_AT):
        count = sum(one.kind == kind and one.half == half for one in faults)
        lost = sum(one.kind == kind and one.half == half for one in missed)
        found[f"{half}-planted"] = count
        found[half] = round((count - lost) / count, 4) if count else None
    return found


def _is_none(player: Player, fault: PlantedFault) -> bool:
    world = world_of(fault.tool.problem)
    pair = [with_source(world, text) for text in (fault.tool.source, fault.source)]
    return alike(player, pair[0], pair[1:], SeedTree(0).child("probes", fault.tool.problem.problem_id))[0]


def _half(text: str) -> str:
    return HELD_OUT if hashlib.sha256(text.encode()).digest()[0] % 2 else LOOKED_AT


class _Renamed(ast.NodeTransformer):
    """Other names for what a tool binds itself."""

    def __init__(self, names: set[str]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(f"its_{node.id}", node.ctx) if node.id in self.names else node


def _untouched(source: str) -> tuple[str, str]:
    """A tool as it is, and the same in other words."""
    tree = parsed(source)
    bound = {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Store)}
    return source, ast.unparse(ast.fix_missing_locations(_Renamed(bound).visit(tree))) + "\n"
