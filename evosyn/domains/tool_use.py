"""The domain of tasks in a tool world: `tool-use`. What counts is the state that the calls leave, by column policy.

A solution is a trajectory (`trajectories`); one that nobody has run is a plan, whose arguments may refer to what
earlier calls give. Its calls are played in the sandbox, what is left is compared here. docs/worlds.md; ScaleEnv 4.1.1.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field, field_validator

from evosyn.chat import Message, Parsed, Purpose
from evosyn.domains.base import BaseDomain
from evosyn.domains.python.lifting import STATUS_VERDICTS
from evosyn.errors import FormatError
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits, Status
from evosyn.ports import DomainTools, PluginConfig
from evosyn.records import Json, Problem, Solution, Testing, Verdict, canonical_json
from evosyn.text.tool_calls import OPEN, ToolCall, heard_all, spoken
from evosyn.text.tool_dialects import ToolDialect
from evosyn.thinking import answer_in
from evosyn.trajectories import FINISH, ToolUse, Trajectory, trajectory_of
from evosyn.worlds.tools.diff import differences
from evosyn.worlds.tools.kind import OK, ToolPlace
from evosyn.worlds.tools.playing import A_PLAY, LIMITS, ToolCalled, play_job, played
from evosyn.worlds.tools.records import world_from
from evosyn.worlds.tools.users import ASK

NAME = "tool-use"
FINAL_STATE = "final-state"
ROUNDS = 30
MOST_CALLS = 60
PLAN = """## How to act
Write all calls in one reply, one after the other, each as
<tool_call>
{"name": NAME, "arguments": {...}}
</tool_call>
You see no results. Where an argument is what an earlier call gives, write {"from": [N, "PATH"]} in its place: N counts
the calls from 0, PATH leads into its result, such as "0.member_id" for the first of a list."""


def create(tools: DomainTools, config: PluginConfig) -> ToolUseDomain:  # noqa: ARG001
    """The domain, ready to use."""
    return ToolUseDomain()


class ToolTask(BaseModel):
    """The payload.

    Attributes:
        world: a tool world with its programs.
        state: what it is before the first call.
        shown: the tools that may be called.
        rounds: replies that an agent has; no more than calls that may be judged.
        requests: of a user, who is asked by `ask_user`; none where the statement says all.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: dict[str, Json]
    state: dict[str, list[dict[str, Json]]]
    shown: tuple[str, ...] = Field(min_length=1)
    rounds: int = Field(default=ROUNDS, ge=1, le=MOST_CALLS)
    requests: tuple[str, ...] = ()

    @field_validator("world")
    @classmethod
    def _is_one(cls, given: dict[str, Json]) -> dict[str, Json]:
        world_from(canonical_json(given))
        return given


class GoldBody(BaseModel):
    """The body of a testing: the rows that must be there at the end."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    gold: dict[str, list[dict[str, Json]]]


def place_in(problem: Problem) -> ToolPlace:
    """Where a task takes place."""
    payload = problem.payload
    world = world_from(canonical_json(payload["world"]))
    return ToolPlace(world, payload["state"], tuple(payload["shown"]), tuple(payload.get("requests") or ()))


def played_calls(place: ToolPlace, run: Trajectory) -> tuple[ToolCalled, ...]:
    """The calls of a trajectory that can have left something, each in the minute in which it was made; all calls of a
    plan, those that are none by an empty name, so that references keep their places."""
    found, minute = [], 0
    for call in run.calls:
        if call.tool in (ASK, FINISH):
            continue
        minute += 1
        planned = call.out is None
        tool = place.world.tool[call.tool] if call.tool in place.shown else None
        args = tool.fitted(call.args) if tool else {}
        fits = tool is not None and not tool.misfit(args, linked=planned)
        if planned:
            found.append(ToolCalled(call.tool if fits else "", args if fits else {}, minute))
        elif fits and call.status == OK:
            found.append(ToolCalled(call.tool, args, minute))
    return tuple(found)


@dataclass(frozen=True)
class FinalStatePlan:
    """Implements `ports.Plan`: the calls are played once, and each testing looks at what is left.

    Attributes:
        given: the verdict of all, where nothing is to be played.
    """

    place: ToolPlace
    against: tuple[Testing, ...]
    misfits: tuple[str | None, ...]
    jobs: tuple[Job, ...]
    given: CellResult | None = None

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:
        return tuple(
            [
                _result(Verdict.BROKEN, misfit) if misfit else self.given or self._cell(testing, outcomes[0][0])
                for testing, misfit in zip(self.against, self.misfits, strict=True)
            ]
        )

    def _cell(self, testing: Testing, outcome: ItemOutcome) -> CellResult:
        if outcome.status is not Status.OK:
            return _result(STATUS_VERDICTS[outcome.status], outcome.detail, outcome.seconds)
        (found,) = played(outcome, self.place.state)
        if found.lost:
            return _result(Verdict.BROKEN, found.lost, outcome.seconds)
        try:
            wrong = differences(self.place.world, self.place.state, testing.body["gold"], found.rows)
        except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
            return _result(Verdict.BROKEN, f"gold: not a state of this world: {error!r}", outcome.seconds)
        return _result(Verdict.FAIL if wrong else Verdict.PASS, "; ".join(wrong)[:400], outcome.seconds)


class ToolUseDomain(BaseDomain):
    """Implements `ports.Domain`; see there for the contracts."""

    name = NAME
    actor = "tools"
    Payload = ToolTask
    kinds: ClassVar[Mapping[str, type[BaseModel]]] = {FINAL_STATE: GoldBody}
    prompts = "tool_use_"
    asks: ClassVar[tuple[Purpose, ...]] = ("solution",)

    def blanks(self, what: Purpose, problem: Problem | None, examples: Sequence[Problem]) -> dict[str, str]:
        if what != "solution" or problem is None:
            return super().blanks(what, problem, examples)
        place = place_in(problem)
        tools = [place.world.tool[name].function["function"] for name in place.shown]
        told = {"title": place.world.title, "rules": place.world.rules, "clock": place.world.clock}
        return {**told, "tools": "\n".join(map(canonical_json, tools)), "statement": problem.statement.strip()}

    def same(self, problem: Problem, solution: Solution) -> str:
        try:
            run = trajectory_of(solution.text)
            return canonical_json([run.ended, [list(one) for one in played_calls(place_in(problem), run)]])
        except FormatError:
            return solution.text

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:
        """A plan: all calls of a reply; one that cannot be read keeps its place, so that references keep theirs."""
        found = heard_all(text, tools=_linkable(place_in(problem)) if problem else ())
        read = [call for call in found if call is not None]
        if len(read) < len(found):
            return Parsed(None, "cut-in-call: the reply ends within a call")
        calls = [ToolUse(call.name, call.arguments, say=call.say) for call in read if call.name != FINISH]
        if len(calls) > MOST_CALLS or len(found) > MOST_CALLS + 1:
            return Parsed(None, f"too-long: more than {MOST_CALLS} calls")
        if not any(call.tool for call in calls):
            return Parsed(None, "no-call: no call that can be read")
        return Parsed(Solution(Trajectory(tuple(calls), FINISH).text))

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        """Calls and what came of them; a plan as one message."""
        try:
            run = trajectory_of(solution.text)
        except FormatError:
            return (Message("assistant", solution.text),)
        if run.calls and all(one.out is None for one in run.calls):
            text = "\n".join(spoken(ToolCall(one.tool, one.args, one.say)) for one in run.calls)
            return (Message("assistant", text),)
        turns: list[Message] = []
        for call in run.calls:
            turns.append(Message("assistant", spoken(ToolCall(call.tool, call.args, call.say))))
            if call.out is not None:
                turns.append(Message("tool", call.out))
        return tuple(turns)

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> FinalStatePlan:
        misfits = tuple([self.check_testing(problem, one) for one in testings])
        place = place_in(problem)
        try:
            run = trajectory_of(solution.text)
            wrong = "" if run.ended else f"the episode ended by {run.end}"
        except FormatError as error:
            run, wrong = Trajectory((), "unknown"), str(error)
        calls = played_calls(place, run)
        if len(calls) > MOST_CALLS:
            wrong = f"{len(calls)} calls; at most {MOST_CALLS}"
        if wrong:
            return FinalStatePlan(place, tuple(testings), misfits, (), _result(Verdict.ERROR, wrong))
        job = play_job(place.world, place.state, [calls], roomy(limits, len(calls)))
        return FinalStatePlan(place, tuple(testings), misfits, (job,))

    def canaries(self, problem: Problem, testings: Sequence[Testing]) -> tuple[Solution, ...]:  # noqa: ARG002
        return (Solution(Trajectory((), FINISH).text),)


def _linkable(place: ToolPlace) -> list[Json]:
    """The tools of a place as endpoints take them, where any value may be a reference as well."""
    tools = [place.world.tool[name].function for name in place.shown]
    for shape in [one for tool in tools for one in tool["function"]["parameters"]["properties"].values()]:
        shape["type"] = ["object", shape["type"]]
    return tools


def respelled(problem: Problem, text: str, dialect: ToolDialect) -> str:
    """The plan of a reply that writes its calls in one dialect, and what is none in that is left out."""
    calls = heard_all(answer_in(text), dialect, _linkable(place_in(problem)))
    return "\n".join(f"{OPEN}\n{{" if call is None else spoken(call) for call in calls)


def roomy(limits: Limits, calls: int) -> Limits:
    """Limits under which all calls of an episode can be played that its session took one by one."""
    most = {name: max(getattr(limits, name), getattr(LIMITS, name)) for name in ("budget_s", "memory_mb", "output_kb")}
    return replace(limits, cpu_s=max(limits.cpu_s, LIMITS.cpu_s) + A_PLAY * calls, wall_s=0.0, **most)


def _result(verdict: Verdict, detail: str = "", seconds: float = 0.0) -> CellResult:
    return CellResult(verdict, (verdict,), seconds, detail)


def task_payload(place: ToolPlace) -> dict[str, Json]:
    """The payload of a task there: it holds all of the world that its tools need, and the row alone pays a reward."""
    world = place.world.model_dump(mode="json", exclude_defaults=True)
    found = {"world": world, "state": dict(place.state), "shown": list(place.shown), "requests": list(place.requests)}
    checked: dict[str, Json] = json.loads(canonical_json(found))
    return checked
