"""The domain of single tools of a world: `world-tool`. A solution is a tool's source, a testing is calls over states.

A tool runs in the sandbox, one call for each different state and arguments of all its testings; what is expected of a
call stays here. Texts are read by `worlds.tools.gate` before anything of them runs. ScaleEnv 4.1.2; docs/worlds.md.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from pydantic import BaseModel, ConfigDict, field_validator

from evosyn.chat import Message, Parsed, Purpose
from evosyn.domains.base import BaseDomain, model_of
from evosyn.domains.python.lifting import STATUS_VERDICTS
from evosyn.domains.python.table import verdict_of
from evosyn.domains.python.value_digests import digest_of_text
from evosyn.domains.replies import defines, sets_of_blocks
from evosyn.errors import FormatError, SandboxUnavailable
from evosyn.jobs import CallsJob, CellResult, ItemOutcome, Limits, Status
from evosyn.parsing import same_program
from evosyn.ports import DomainTools, PluginConfig
from evosyn.records import (
    Json,
    ParsedCall,
    ParsedCalls,
    Problem,
    Provenance,
    Solution,
    Testing,
    Verdict,
    canonical_json,
)
from evosyn.worlds.tools.cases import StatesBody, ToolCase, begun, matches, misfit_of
from evosyn.worlds.tools.ddl import schema
from evosyn.worlds.tools.diff import unchanged
from evosyn.worlds.tools.faults import silenced
from evosyn.worlds.tools.gate import fault
from evosyn.worlds.tools.playing import CallOutcome, ToolCalled, apart_job, played
from evosyn.worlds.tools.records import Rows, ToolSpec, ToolWorld, state_id, world_from

NAME = "world-tool"
STATES = "states"
LONGEST_CALL = 900
"""Characters of what `calls` says."""
NOTHING = "raise NotImplementedError"


def create(tools: DomainTools, config: PluginConfig) -> WorldToolDomain:  # noqa: ARG001
    """The domain, ready to use."""
    return WorldToolDomain()


class ToolProblem(BaseModel):
    """The payload.

    Attributes:
        world: a tool world with this tool alone, without its source.
        writes: tables that the tool changes; empty for one that reads.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: dict[str, Json]
    writes: tuple[str, ...] = ()

    @field_validator("world")
    @classmethod
    def _is_one(cls, given: dict[str, Json]) -> dict[str, Json]:
        if len(world_from(canonical_json(given)).tools) != 1:
            raise ValueError("has one tool")
        return given


def world_of(problem: Problem) -> ToolWorld:
    """The world with the one tool of a problem."""
    return world_from(canonical_json(problem.payload["world"]))


def with_source(world: ToolWorld, source: str) -> ToolWorld:
    """The same, and the tool's program."""
    (tool,) = world.tools
    return world.model_copy(update={"tools": (tool.model_copy(update={"source": source}),)})


class ToolConditions(NamedTuple):
    """What a tool asks for and what it leaves, in words; `writes`: the tables that it changes."""

    before: str
    after: str
    writes: tuple[str, ...] = ()


def tool_problem(
    world: ToolWorld, tool: ToolSpec, told: ToolConditions, human: Testing | None = None, reference: str | None = None
) -> Problem:
    """The problem of writing one tool of a world."""
    alone = world.model_copy(update={"tools": (tool.model_copy(update={"source": "", "request": ""}),), "rules": ""})
    payload = {
        "world": json.loads(alone.model_dump_json(exclude_defaults=True)),
        **({"writes": list(told.writes)} if told.writes else {}),
    }
    meta = {"world": world.name, "tool": tool.name}
    made = Provenance(source=f"world {world.name}")
    name = f"{world.name}-{tool.name.replace('_', '-')}"
    return Problem(name, NAME, _statement(alone, told), payload, human, reference, meta, made)


def _statement(world: ToolWorld, told: ToolConditions) -> str:
    (tool,) = world.tools
    types = {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}
    takes = ", ".join(f"{one.name}: {types[one.type]}{'' if one.required else ' = ...'}" for one in tool.parameters)
    lines = [
        f"- {one.name}: {one.description}{'' if one.required else ' (may be left out)'}" for one in tool.parameters
    ]
    parts = [
        f"The tool `{tool.name}` of this world: {world.title}. {tool.description}",
        f"Signature: def {tool.name}(db, *, {takes})" if takes else f"Signature: def {tool.name}(db)",
        "\n".join(lines),
        f"Refusals, in this order: {told.before}" if tool.raises else "It refuses nothing.",
        f"Result: {told.after}",
        f"The tables:\n{schema(world)}\nKeys that the world makes: "
        + ", ".join(f"{one.prefix}0001 ({one.name})" for one in world.tables),
        f"Clock when the call is made: one minute after {world.clock}.",
    ]
    return "\n\n".join(part for part in parts if part)


class _AskedCase(NamedTuple):
    """A case, the state that it begins with, and the place of its call."""

    case: ToolCase
    rows: Rows
    place: int


@dataclass(frozen=True)
class StatesPlan:
    """Implements `ports.Plan`: each different call is made once, whichever testings ask for it.

    Attributes:
        columns: for each testing its cases, or what it gets whatever happens.
        given: the verdict of all cases, where nothing is run.
    """

    world: ToolWorld
    columns: tuple[tuple[_AskedCase, ...] | CellResult, ...]
    jobs: tuple[CallsJob, ...]
    given: CellResult | None = None

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:
        items = outcomes[0] if outcomes else ()
        return tuple([one if isinstance(one, CellResult) else self._cell(one, items) for one in self.columns])

    def _cell(self, asked: Sequence[_AskedCase], items: Sequence[ItemOutcome]) -> CellResult:
        if self.given is not None:
            return CellResult(self.given.verdict, (self.given.verdict,) * len(asked), 0.0, self.given.detail)
        found = [self._case(one, items[one.place]) for one in asked]
        cases = tuple([one.verdict for one in found])
        detail = next((one.detail for one in found if one.verdict is not Verdict.PASS), "")
        values = tuple([one.values[0] if one.values else 0 for one in found])
        return CellResult(verdict_of(cases), cases, sum(one.seconds for one in found), detail, values)

    def _case(self, asked: _AskedCase, item: ItemOutcome) -> CellResult:
        def told(verdict: Verdict, detail: str = "", values: tuple[int, ...] = ()) -> CellResult:
            return CellResult(verdict, (verdict,), item.seconds, detail[:300], values)

        if item.status is not Status.OK:
            return told(STATUS_VERDICTS[item.status], item.detail)
        try:
            (found,) = played(item, asked.rows)
        except SandboxUnavailable as error:
            return told(Verdict.UNKNOWN, str(error))
        if found.lost or len(found.calls) != 1:  # states were looked at before: whatever it says of them is forged
            return told(Verdict.ERROR, found.lost or "forged: not the one call")
        called, want = found.calls[0], asked.case.refuses
        if called.outcome == "failed":
            return told(Verdict.ERROR, called.detail)
        values = (_digest([called.outcome, called.exception, called.value, state_id(found.rows)]),)
        try:
            if called.outcome == "rejected" or want:
                wrong = _refusal(called, want)
                if not wrong and not unchanged(self.world, asked.rows, found.rows):
                    wrong = f"refuses: {want}, and leaves other rows than before"
            else:
                wrong = matches(self.world, asked.rows, asked.case, called, found.rows)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            return told(Verdict.ERROR, f"forged: no state of this world: {error!r}")
        return told(Verdict.FAIL if wrong else Verdict.PASS, wrong, values)


def _refusal(called: CallOutcome, want: str) -> str:
    """How a call differs from the refusal that is wanted ("" for none), or ""."""
    if called.outcome != "rejected":
        return f"works, not {want}"
    return "" if called.exception == want else f"refuses: {called.exception}"


def _digest(value: Json) -> int:
    return digest_of_text(canonical_json(value))


class WorldToolDomain(BaseDomain):
    """Implements `ports.Domain`; see there for the contracts."""

    name = NAME
    Payload = ToolProblem
    kinds: ClassVar[Mapping[str, type[BaseModel]]] = {STATES: StatesBody}
    prompts = "world_tool_"
    asks: ClassVar[tuple[Purpose, ...]] = ("solution", "testing")

    def check_testing(self, problem: Problem, testing: Testing) -> str | None:
        misfit = super().check_testing(problem, testing)
        if misfit is not None:
            return misfit
        writes = bool(problem.payload.get("writes"))
        return _misfit(canonical_json(problem.payload["world"]), writes, canonical_json(testing.body)) or None

    def blanks(self, what: Purpose, problem: Problem | None, examples: Sequence[Problem]) -> dict[str, str]:
        return {name: text for name, text in super().blanks(what, problem, examples).items() if name != "kinds"}

    def same(self, problem: Problem, solution: Solution) -> str:  # noqa: ARG002
        return same_program(solution.text)

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:
        """The last block that defines the tool, if it is one."""
        if problem is None:
            return Parsed(None, "no-problem: a tool is read for the sake of its problem")
        world = world_of(problem)
        name = world.tools[0].name
        read = ([one.text for one in blocks if defines(one.text, name)] for blocks in sets_of_blocks(text))
        blocks = next((blocks for blocks in read if blocks), [])
        if not blocks:
            return Parsed(None, f"no-function: no block of Python defines {name}")
        wrong = fault(with_source(world, blocks[-1]).tools[0])
        return Parsed(None, wrong) if wrong else Parsed(Solution(blocks[-1].strip() + "\n"))

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        return (Message("assistant", f"```python\n{solution.text.strip()}\n```"),)

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> StatesPlan:
        world = with_source(world_of(problem), solution.text)
        places: dict[str, int] = {}
        calls: list[tuple[Rows, ToolCalled]] = []
        columns: list[tuple[_AskedCase, ...] | CellResult] = []
        for testing in testings:
            if misfit := self.check_testing(problem, testing):
                columns.append(CellResult(Verdict.BROKEN, (Verdict.BROKEN,), detail=misfit))
                continue
            column = []
            for case, rows, name in _cases(canonical_json(problem.payload["world"]), canonical_json(testing.body)):
                if name not in places:
                    places[name] = len(calls)
                    calls.append((rows, ToolCalled(world.tools[0].name, case.args, 1)))
                column.append(_AskedCase(case, rows, places[name]))
            columns.append(tuple(column))
        if wrong := fault(world.tools[0]):
            return StatesPlan(world, tuple(columns), (), CellResult(Verdict.ERROR, detail=wrong))
        return StatesPlan(world, tuple(columns), (apart_job(world, calls, limits),) if calls else ())

    def canaries(self, problem: Problem, testings: Sequence[Testing]) -> tuple[Solution, ...]:  # noqa: ARG002
        """A tool that is not there, and the reference without what it writes. One that refuses everything is refused by
        every testing that is one: each has a call that works."""
        unwritten = silenced(problem.reference_solution or "")
        texts = [tool_text(world_of(problem).tools[0], NOTHING), *([unwritten] if unwritten else [])]
        return tuple([Solution(one) for one in texts])

    def calls(self, problem: Problem, testing: Testing) -> ParsedCalls | None:
        if self.check_testing(problem, testing) is not None:
            return None
        told = _cases(canonical_json(problem.payload["world"]), canonical_json(testing.body))
        return tuple([_parsed(case, rows) for case, rows, _ in told])


def tool_text(tool: ToolSpec, does: str) -> str:
    """A tool that does one thing whatever it is given."""
    takes = "".join(f", {one.name}{'' if one.required else '=None'}" for one in tool.parameters)
    return f"def {tool.name}(db{', *' if takes else ''}{takes}):\n    {does}\n"


def _parsed(case: ToolCase, rows: Rows) -> ParsedCall:
    asked = canonical_json(case.args)
    want = case.refuses or canonical_json([case.returns, case.changes])
    return ParsedCall(_short(f"{state_id(rows)} {asked}"), _short(want))


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_CALL else f"{text[:LONGEST_CALL]} {_digest(text):016x}"


@functools.lru_cache(maxsize=4096)
def _misfit(world: str, writes: bool, body: str) -> str:
    whole = world_from(world)
    return misfit_of(whole, whole.tools[0], StatesBody.model_validate_json(body), writes)


@functools.lru_cache(maxsize=4096)
def _cases(world: str, body: str) -> tuple[tuple[ToolCase, Rows, str], ...]:
    """The cases of a testing that is one, their states, and what names their calls."""
    whole, given = world_from(world), StatesBody.model_validate_json(body)
    found = [(case, begun(given, case, whole)) for case in given.cases]
    return tuple([(case, rows, f"{state_id(rows)} {canonical_json(case.args)}") for case, rows in found])


def body_of(testing: Testing) -> StatesBody:
    """The body of a testing.

    Raises:
        FormatError: it is none.
    """
    found = model_of(StatesBody, testing.body)
    if not isinstance(found, StatesBody):
        raise FormatError("body", "is none of a tool's testings")
    return found
