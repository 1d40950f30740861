"""The domain of tasks on a Linux system: `os-shell`. An agent acts in a room; its end state and answer are checked.

A solution is a trajectory (`trajectories`), or a bash script that is one command. Checks are cells over the frozen
state (`jobs.ShellJob`), and what they print is judged by `os_testings`. docs/os-shell.md; Du 2025, section 4.4.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from evosyn.chat import Message, Parsed, Purpose
from evosyn.domains.base import BaseDomain, model_of
from evosyn.domains.os_testings import (
    BODIES,
    ShellBody,
    StateBody,
    awaited,
    checks_of,
    facts_of,
    filled,
    observed,
    unfit,
    verdict_of_check,
)
from evosyn.domains.replies import fences
from evosyn.errors import FormatError, UsageError
from evosyn.jobs import CellResult, ItemOutcome, Limits, ShellCell, ShellJob
from evosyn.ports import DomainTools, Expansion, Plan, PluginConfig
from evosyn.records import Json, Problem, Solution, Testing, Verdict, content_id
from evosyn.shell_world import image_digest, world_in
from evosyn.text.tool_calls import ToolCall, spoken
from evosyn.trajectories import ANSWER, BASH, FINISH, Trajectory, of_script, trajectory_of

NAME = "os-shell"
ROUNDS = 8
SHELLS = ("bash", "sh", "shell", "")
CLUELESS = "I have looked at everything, and I do not know the answer to that."
OF_ANSWERS = frozenset({"value", "answer"})
FORGER = r"""for f in .bashrc .profile .bash_profile; do echo 'echo true; exit 0' > /root/$f; done
for f in /etc/profile /etc/bash.bashrc; do echo 'echo true; exit 0' > $f; done
for p in find cat grep test stat ls wc awk sed sort python3 id; do
printf '#!/bin/bash\necho true\nexit 0\n' > /usr/local/bin/$p; chmod 755 /usr/local/bin/$p; done"""
"""Does nothing of any task, and leaves what answers `true` for whoever runs the state's own files."""


def create(tools: DomainTools, config: PluginConfig) -> OsShell:  # noqa: ARG001
    """The domain, ready to use."""
    return OsShell()


class ShellTask(BaseModel):
    """The payload.

    Attributes:
        world: a shell world.
        asks: whether the answer is what counts, or what the agent leaves behind.
        rounds: replies that an agent has; one that is not at its end then has failed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    world: dict[str, Json]
    asks: Literal["answer", "state"]
    rounds: int = Field(default=ROUNDS, ge=1, le=100)

    @field_validator("world")
    @classmethod
    def _is_one(cls, given: dict[str, Json]) -> dict[str, Json]:
        try:
            world_in({"world": given})
        except UsageError as error:
            raise ValueError(str(error)) from error
        return given


@dataclass(frozen=True)
class Awaiting:
    """Implements `ports.Expansion`: what scripts print in the first state, in place of the scripts.

    Attributes:
        places: for each testing the item of each of its checks, None where nothing is awaited.
    """

    given: tuple[Testing, ...]
    places: tuple[tuple[int | None, ...], ...]
    jobs: tuple[ShellJob, ...]

    def testings(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[Testing | CellResult, ...]:
        items = outcomes[0] if outcomes else ()
        return tuple([self._one(*one, items) for one in zip(self.given, self.places, strict=True)])

    def _one(
        self, testing: Testing, places: Sequence[int | None], items: Sequence[ItemOutcome]
    ) -> Testing | CellResult:
        if not any(place is not None for place in places):
            return testing
        checks = []
        for check, place in zip(checks_of(testing.kind, testing.body), places, strict=True):
            made = check if place is None else filled(check, items[place])
            if isinstance(made, CellResult):
                return made
            checks.append({"kind": _KINDS[type(made)], "body": made.model_dump()})
        return Testing("checks", {"checks": checks}, testing.provenance)


_KINDS = {body: kind for kind, body in BODIES.items()}


@dataclass(frozen=True)
class ShellPlan:
    """Implements `ports.Plan`: one job with a cell for each distinct script.

    Attributes:
        columns: for each testing its checks, each with the item of its cell; or the result whatever happens.
        answer: of the trajectory; None where the first item says it.
    """

    columns: tuple[tuple[tuple[ShellBody, int | None], ...] | CellResult, ...]
    answer: str | None
    jobs: tuple[ShellJob, ...]

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:
        items = list(outcomes[0]) if outcomes else []
        answer = self.answer
        if answer is None and items:
            said = facts_of(items.pop(0))
            if isinstance(said, CellResult):  # the script itself could not be run
                return tuple([one if isinstance(one, CellResult) else said for one in self.columns])
            answer = said.out.strip()
            if why := "the answer was cut: it is too long" if said.truncated else unfit(answer):
                return tuple([one if isinstance(one, CellResult) else _failed(why) for one in self.columns])
        return tuple(
            [one if isinstance(one, CellResult) else self._joined(one, answer or "", items) for one in self.columns]
        )

    def _joined(
        self, checks: Sequence[tuple[ShellBody, int | None]], answer: str, items: Sequence[ItemOutcome]
    ) -> CellResult:
        found = [verdict_of_check(check, answer, None if at is None else items[at]) for check, at in checks]
        verdicts = tuple([one.verdict for one in found])
        worst = next((one for one in found if one.verdict is not Verdict.PASS), found[0])
        values = tuple([one.values[0] for one in found])
        return CellResult(worst.verdict, verdicts, sum(one.seconds for one in found), worst.detail, values)


def _failed(why: str) -> CellResult:
    return CellResult(Verdict.FAIL, (Verdict.FAIL,), detail=why)


class OsShell(BaseDomain):
    """Implements `ports.Domain`; see there for the contracts."""

    name = NAME
    actor = "loop"
    Payload = ShellTask
    kinds: ClassVar[Mapping[str, type[BaseModel]]] = BODIES
    prompts = "os_shell_"

    def check_shape(self, testing: Testing) -> None:
        super().check_shape(testing)
        if testing.kind == "checks":
            for number, one in enumerate(testing.body["checks"]):
                try:
                    model_of(BODIES[one["kind"]], one["body"])
                except FormatError as error:
                    raise error.inside(f"checks[{number}].body") from error

    def check_testing(self, problem: Problem, testing: Testing) -> str | None:
        misfit = super().check_testing(problem, testing)
        if misfit is not None or problem.payload.get("asks") != "answer":
            return misfit
        kinds = [one["kind"] for one in testing.body["checks"]] if testing.kind == "checks" else [testing.kind]
        wrong = [kind for kind in kinds if kind not in OF_ANSWERS]
        return f"wrong-kind: {wrong[0]}: the answer is asked for, not what is left behind" if wrong else None

    def key(self, problem: Problem) -> str:
        image = str(problem.payload.get("world", {}).get("image", "host"))
        return content_id("k_", [problem.id, image_digest(image)])

    def same(self, problem: Problem, solution: Solution) -> str:
        try:
            run = trajectory_of(solution.text)
        except FormatError:
            return solution.text
        if not run.ended:
            return f"end: {run.end}"
        if run.unrun or (run.state is None and run.actions):
            return f"script: {run.actions[-1].strip()}" if run.unrun and len(run.calls) == 1 else run.text
        answer = (run.answer or "").strip()
        return f"answer: {answer}" if problem.payload.get("asks") == "answer" else f"{run.state}: {answer}"

    def blanks(self, what: Purpose, problem: Problem | None, examples: Sequence[Problem]) -> dict[str, str]:
        found = super().blanks(what, problem, examples)
        if what == "problem" or problem is None:
            return found
        if what == "solution":
            return {**found, "rounds": str(problem.payload.get("rounds", ROUNDS))}
        world = json.dumps(problem.payload["world"], indent=1, ensure_ascii=False)
        told = {"statement": found["statement"], "examples": found["examples"]}
        return {**told, "asks": str(problem.payload["asks"]), "world": world}

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:  # noqa: ARG002
        """The last block of bash: one command, whose output is the answer."""
        blocks = [one.text.strip() for one in fences(text) if one.language in SHELLS and one.text.strip()]
        return Parsed(Solution(of_script(blocks[-1]).text)) if blocks else Parsed(None, "no-script: no block of bash")

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        """Calls of tools and what came of them; a script that nobody ran as a block."""
        try:
            run = trajectory_of(solution.text)
        except FormatError:
            run = of_script(solution.text)
        if run.unrun:
            return (Message("assistant", f"```bash\n{run.actions[-1].strip()}\n```"),)
        turns: list[Message] = []
        for call in run.calls:
            turns.append(Message("assistant", spoken(ToolCall(call.tool, call.args, call.say))))
            if call.tool == BASH:
                turns.append(Message("tool", call.out or ""))
        return tuple(turns)

    def expand(self, problem: Problem, testings: Sequence[Testing], limits: Limits) -> Expansion:
        cells: dict[ShellCell, int] = {}
        places = []
        for testing in testings:
            checks = [] if self.check_testing(problem, testing) else checks_of(testing.kind, testing.body)
            scripts = [awaited(check) for check in checks]
            places.append(
                tuple([None if one is None else cells.setdefault(ShellCell(one.script), len(cells)) for one in scripts])
            )
        jobs = (ShellJob(world_in(problem.payload).text, tuple(cells), None, limits),) if cells else ()
        return Awaiting(tuple(testings), tuple(places), jobs)

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> Plan:
        try:
            run = trajectory_of(solution.text)
        except FormatError as error:
            return self._without(problem, testings, Verdict.ERROR, str(error))
        if not run.ended:
            return self._without(problem, testings, Verdict.ERROR, f"the episode ended by {run.end}")
        answer = None if run.unrun else run.answer or ""
        if answer and (why := unfit(answer)):
            return self._without(problem, testings, Verdict.FAIL, why)
        cells: dict[ShellCell, int] = {}
        columns = [self._column(problem, testing, answer, cells) for testing in testings]
        needed = bool(cells) or (run.unrun and not all(isinstance(one, CellResult) for one in columns))
        job = ShellJob(world_in(problem.payload).text, tuple(cells), run.state, limits, run.actions, run.unrun)
        return ShellPlan(tuple(columns), answer, (job,) if needed else ())

    def _column(
        self, problem: Problem, testing: Testing, answer: str | None, cells: dict[ShellCell, int]
    ) -> tuple[tuple[ShellBody, int | None], ...] | CellResult:
        misfit = self.check_testing(problem, testing)
        if misfit is not None:
            return CellResult(Verdict.BROKEN, (Verdict.BROKEN,), detail=misfit)
        checks: list[tuple[ShellBody, int | None]] = []
        for check in checks_of(testing.kind, testing.body):
            if awaited(check) is not None:
                raise ValueError("a testing of os-shell says by a script what it expects: expand it first")
            script = observed(check)
            place = None
            if script is not None:
                told = () if answer is None else (answer,)
                cell = ShellCell(script.script, told, check.view if isinstance(check, StateBody) else "guarded")
                place = cells.setdefault(cell, len(cells))
            checks.append((check, place))
        return tuple(checks)

    def _without(self, problem: Problem, testings: Sequence[Testing], verdict: Verdict, why: str) -> Plan:
        columns = []
        for testing in testings:
            broken = self.check_testing(problem, testing)
            columns.append(
                CellResult(Verdict.BROKEN, (Verdict.BROKEN,), detail=broken)
                if broken
                else CellResult(verdict, (verdict,), detail=why)
            )
        return ShellPlan(tuple(columns), "", ())

    def canaries(self, problem: Problem, testings: Sequence[Testing]) -> tuple[Solution, ...]:  # noqa: ARG002
        """Nothing said, and nothing known; or nothing done, and nothing done but forging what answers `true`."""
        if problem.payload.get("asks") == "answer":
            return tuple([Solution(Trajectory((), ANSWER, text).text) for text in ("", CLUELESS)])
        return Solution(Trajectory((), FINISH).text), Solution(of_script(FORGER).text)
