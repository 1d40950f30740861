"""One world from its name to its fate: the record that the journal keeps and all is made of. DESIGN.md section 7."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from evosyn.chat import Reply
from evosyn.dataset import Reject
from evosyn.domains.world_tool import ToolConditions, tool_problem
from evosyn.records import Json, Problem
from evosyn.running.progress import Usage, usage_of
from evosyn.synthesis.environments.draft import storable
from evosyn.synthesis.usable import named_reason
from evosyn.worlds.tools.records import ToolWorld

CLOCK = "2026-04-06T09:00:00"
"""When every episode of a made world begins."""


@dataclass(frozen=True)
class MadeTool:
    """A tool of a draft and what became of it.

    Attributes:
        source, testing: what was chosen; None and empty where the tool was dropped. Without a testing the program is
            one that nobody judged.
        agreement: share of all calls in which the chosen program does what most do.
        solutions, testings: how many could be used.
        verdicts: a row of letters for each solution.
        chosen: the places of both in that matrix.
        rounds: of debugging.
        reason: why it was dropped, as `name: detail`.
    """

    name: str
    source: str | None = None
    testing: Mapping[str, Json] = field(default_factory=dict)
    agreement: float = 0.0
    solutions: int = 0
    testings: int = 0
    verdicts: tuple[str, ...] = ()
    chosen: tuple[int, ...] = ()
    rounds: int = 0
    reason: str = ""


@dataclass(frozen=True)
class WorldDraft:
    """One world of a run.

    Attributes:
        index: its number, from 0; `name`: as it was asked for.
        schema: title and tools as they were read, without programs; `tables`: title of the world's tables and uses.
        tools: what became of each.
        facts: counts of graph and tasks.
        rejects: every reply that could not be used, every tool that was dropped, then what dropped the world.
        usage: model calls and executed cells.
    """

    index: int
    name: str
    schema: Mapping[str, Json] = field(default_factory=dict)
    tables: Mapping[str, Json] = field(default_factory=dict)
    tools: tuple[MadeTool, ...] = ()
    facts: Mapping[str, Json] = field(default_factory=dict)
    author: str = ""
    simulated: bool = False
    rejects: tuple[Reject, ...] = ()
    usage: Usage = field(default_factory=Usage)

    @property
    def ended(self) -> Reject | None:
        return next((reject for reject in self.rejects if reject.item == "world"), None)

    @property
    def slug(self) -> str:
        return slug_of(self.name)

    @property
    def kept(self) -> tuple[MadeTool, ...]:
        return tuple([one for one in self.tools if one.source is not None])

    def whole(self) -> ToolWorld:
        """All tools over all tables, without programs.

        Raises:
            ValueError: what was read does not fit together.
        """
        return world_of_parts(self.slug, self.schema, self.tables)

    def problems(self) -> list[Problem]:
        """The problem of each tool."""
        world, told = self.whole(), {one["name"]: one for one in self.schema["tools"]}
        uses = self.tables["uses"]
        return [
            tool_problem(
                world, tool, ToolConditions(told[tool.name]["before"], told[tool.name]["after"],
                                            tuple(uses[tool.name]["writes"]))
            )
            for tool in world.tools
        ]  # fmt: skip

    def left(self) -> ToolWorld:
        """The world of the tools that were kept, over the tables that they need."""
        world, kept = self.whole(), {one.name: one for one in self.kept}
        tools = [one.model_copy(update={"source": kept[one.name].source}) for one in world.tools if one.name in kept]
        uses = self.tables["uses"]
        needed = {name for one in kept for name in (*uses[one]["reads"], *uses[one]["writes"])}
        needed |= {one.ref for tool in tools for one in tool.parameters if one.ref}
        needed |= {one.column.partition(".")[0] for tool in tools for one in tool.parameters if one.column}
        while more := {one.references for table in world.tables if table.name in needed for one in table.columns
                       if one.references} - needed:  # fmt: skip
            needed |= more
        tables = tuple([one for one in world.tables if one.name in needed])
        return ToolWorld(name=world.name, title=world.title, clock=world.clock, tables=tables, tools=tuple(tools))

    def drop(self, stage: str, reason: str) -> WorldDraft:
        """The same, dropped for `name: detail`."""
        return replace(self, rejects=(*self.rejects, self._reject(stage, reason, "world", "")))

    def lost(self, tool: MadeTool) -> WorldDraft:
        """The same without a tool that was dropped."""
        return replace(self, rejects=(*self.rejects, self._reject("tool", tool.reason, "tool", tool.name)))

    def heard(self, kind: str, reply: Reply, reason: str = "") -> WorldDraft:
        """With the cost of a reply, and a reject of it where it could not be used."""
        spent = replace(self, usage=self.usage.plus(usage_of([reply])))
        if not reason:
            return spent
        made = replace(self._reject(kind, reason, "reply", ""), reply=reply.id)
        return replace(spent, rejects=(*self.rejects, made))

    def _reject(self, stage: str, reason: str, item: str, tool: str) -> Reject:
        name, detail = named_reason(storable(reason), "other")
        about = f"{self.name}/{tool}" if tool else self.name
        return Reject(stage, name, item, self.index, about, detail=detail)


def slug_of(name: str) -> str:
    """A name as worlds have it."""
    found = "".join(sign if sign.isalnum() and sign.isascii() else "_" for sign in name.lower()).strip("_")
    return (found if found[:1].isalpha() else f"w_{found}")[:40]


def world_of_parts(slug: str, schema: Mapping[str, Json], tables: Mapping[str, Json]) -> ToolWorld:
    """
    Raises:
        ValueError: they do not fit together.
    """
    tools = [{name: one[name] for name in one if name not in ("before", "after")} for one in schema["tools"]]
    parts: Sequence[Json] = tables["tables"]
    return ToolWorld.model_validate(
        {"name": slug, "title": schema["title"], "clock": CLOCK, "tables": parts, "tools": tools}
    )
