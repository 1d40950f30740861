"""The worlds of `evosyn experiment worlds`: offices of the simulated author's grammar, with words of their own.

Their tools are right, for the grammar was written by hand; `drawn_tools` has what the author would have written in
their place, and which of it the cross-execution chooses. No noun of a world is one of another; statuses come in four
sets, so that a held-out world has those of worlds to train on, and verbs are the grammar's.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import NamedTuple, TypeAlias

import yaml

from evosyn.chat import Request
from evosyn.domains import Domains
from evosyn.domains.world_tool import NAME, ToolConditions, tool_problem
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Pool, Problem, Solution, Testing
from evosyn.simulation.experiment.search import StrategySearch
from evosyn.simulation.world_author.author import WorldAuthor
from evosyn.simulation.world_author.grammar import Office, furnished
from evosyn.simulation.world_author.replies import writable_tools
from evosyn.strategies import load_strategy
from evosyn.synthesis.worlds.choosing import ToolChooser
from evosyn.synthesis.worlds.config import ToolsConfig
from evosyn.synthesis.worlds.draft import world_of_parts
from evosyn.worlds.tools.records import ToolWorld

STATUSES = (
    ("active", "barred", "running", "done", "voided"),
    ("member", "paused", "out", "back", "dropped"),
    ("paying", "owing", "placed", "fetched", "cancelled"),
    ("trusted", "blocked", "agreed", "returned", "withdrawn"),
)
Programs: TypeAlias = Mapping[str, tuple[str, str]]
"""Of a world's tools by name: the text, and what it was meant to be."""
TRAIN, WARM, HELD = range(16), range(16, 24), range(24, 32)
"""Which words the worlds of each kind have: 16 to train on, 8 that the start has seen, 8 that nobody trains on."""


def office_of(number: int) -> tuple[Office, ToolWorld]:
    """An office by its number, and its world with right tools."""
    fine, barred, opened, done, void = STATUSES[number % len(STATUSES)]
    words = {
        "title": f"Office {number}",
        **{name: listed[number] for name, listed in _nouns().items()},
        "fine": fine,
        "barred": barred,
        "open": opened,
        "done": done,
        "void": void,
    }
    found = furnished(words, SeedTree(0).child("experiment office", number).random())
    world = world_of_parts(f"office_{number}", found.tools, found.tables)
    return found, with_sources(world, found.sources)


@functools.cache
def _nouns() -> Mapping[str, Sequence[str]]:
    text = resources.files(__package__).joinpath("tool_offices.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Sequence[str]] = yaml.safe_load(text)
    return found


def with_sources(world: ToolWorld, sources: Mapping[str, str]) -> ToolWorld:
    """The world of these programs; a tool without one is left out."""
    tools = [one.model_copy(update={"source": sources[one.name]}) for one in world.tools if one.name in sources]
    return world.model_copy(update={"tools": tuple(tools)})


@functools.cache
def is_ours(world: str, tool: str, source: str) -> bool:
    """Whether evosyn wrote a text for this tool of an office: the right one, or what the simulated author makes of it.

    No file is asked: what the author may write is derived again. A program that never ends is none of these.

    Args:
        world: the name of one of the offices, or of any other world, of which nothing is ours.
    """
    number = world.removeprefix("office_")
    if not number.isdecimal() or world != f"office_{int(number)}" or int(number) >= HELD.stop:
        return False
    office = office_of(int(number))[1]
    if tool not in office.tool:
        return False
    right = office.tool[tool].source
    return source == right or source in writable_tools(office, right)


class DrawnTool(NamedTuple):
    """What a simulated author wrote for one tool.

    Attributes:
        programs: those that can be read, each with what it was meant to be: `right`, or a class of mistake.
        chosen: place of the one that cross-execution and ranking choose; -1 where they drop the tool.
    """

    name: str
    programs: tuple[tuple[str, str], ...]
    chosen: int


def drawn_tools(number: int, sandbox: Sandbox, draws: int) -> list[DrawnTool]:
    """So many programs and testings for each tool of an office, cross-executed and ranked as `evosyn world make` does;
    without repairs (ours).
    """
    office, world = office_of(number)
    tree, config = SeedTree(0).child("experiment tools", number), ToolsConfig()
    author, domain = WorldAuthor(tree, "mixed", sandbox), Domains()[NAME]
    told = {one["name"]: one for one in office.tools["tools"]}
    pools, truths = list[Pool](), list[list[str]]()
    for tool in world.tools:
        conditions = ToolConditions(
            told[tool.name]["before"], told[tool.name]["after"], tuple(office.tables["uses"][tool.name]["writes"])
        )
        problem = tool_problem(world, tool, conditions, reference=tool.source)
        solutions, testings, truth = list[Solution](), list[Testing](), list[str]()
        for at in range(draws):
            for kind in ("solution", "testing"):
                reply = author.draw(_request(problem, kind, at))
                found = domain.read(kind, reply.text, problem).value
                if isinstance(found, Solution):
                    solutions.append(found)
                    truth.append(reply.truth)
                elif isinstance(found, Testing):
                    testings.append(found)
        pools.append(Pool(problem, tuple(solutions), tuple(testings)))
        truths.append(truth)
    search = StrategySearch(sandbox, 0)
    strategy = load_strategy(config.strategy)
    chooser = ToolChooser(search.crossexec, search.runner, strategy, config.agreement, tree.child("choose"))
    usable = [pool for pool in pools if pool.solutions and pool.testings]
    choices = dict(zip([pool.problem.id for pool in usable], chooser.choose(usable), strict=True))
    found_tools = []
    for tool, pool, truth in zip(world.tools, pools, truths, strict=True):
        choice = choices.get(pool.problem.id)
        chosen = -1 if choice is None or choice.reason else choice.solution
        programs = tuple(zip([one.text for one in pool.solutions], truth, strict=True))
        found_tools.append(DrawnTool(tool.name, programs, chosen))
    return found_tools


def _request(problem: Problem, kind: str, sample: int) -> Request:
    return Request((), kind, sample=sample, problem=problem)


def ranked(tools: Sequence[DrawnTool]) -> Programs:
    """The programs that are chosen, with what they were meant to be."""
    return {one.name: one.programs[one.chosen] for one in tools if one.chosen >= 0}


def first(tools: Sequence[DrawnTool]) -> Programs:
    """The programs that were written first, which nobody ran."""
    return {one.name: _ending(one)[0] for one in tools if _ending(one)}


def by_lot(tools: Sequence[DrawnTool], seeds: SeedTree) -> Programs:
    """One of the programs of each tool."""
    rng = seeds.random()
    return {one.name: rng.choice(_ending(one)) for one in tools if _ending(one)}


def _ending(tool: DrawnTool) -> list[tuple[str, str]]:
    """Programs that may run here, where nothing would end one that does not end by itself."""
    return [one for one in tool.programs if one[1] != "hang"]
