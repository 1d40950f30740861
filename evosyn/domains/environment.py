"""The domain of rows that environments make: `environment`. An answer is checked by the environment's own verifier.

The testing holds the program, the instance and the reference, so that a row alone is enough to pay a reward. The
verifier is untrusted text: it runs in the sandbox as one call, and what it says is judged here. How environments are
made and checked is `evosyn.environments`. DESIGN.md section 5; docs/environments.md.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from pydantic import BaseModel, ConfigDict

from evosyn.chat import USUAL, Manner, Message, Parsed, Purpose, Request
from evosyn.domains.base import MAX_ANSWER, BaseDomain
from evosyn.domains.python.lifting import STATUS_VERDICTS
from evosyn.jobs import Call, CallsJob, CellResult, ItemOutcome, Job, Limits, Status
from evosyn.parsing import parsed
from evosyn.ports import DomainTools, PluginConfig
from evosyn.program_parts import part_for
from evosyn.records import Json, Problem, Solution, Testing, Verdict
from evosyn.sandbox.company import PLAIN, admits
from evosyn.templates import render

NAME = KIND = "environment"
OPEN, CLOSE = "<answer>", "</answer>"
_ITS_OWN_FAULT = frozenset({Status.LOAD_ERROR, Status.NO_ENTRY})


def create(tools: DomainTools, config: PluginConfig) -> EnvironmentDomain:  # noqa: ARG001
    """The domain, ready to use."""
    return EnvironmentDomain()


class VerifierBody(BaseModel):
    """The body of a testing.

    Attributes:
        program: an environment (docs/write-an-environment.md); of it `verify` runs.
        instance, reference: what `generate` gave.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    program: str
    instance: Json
    reference: Json = None


@dataclass(frozen=True)
class VerifierPlan:
    """Implements `ports.Plan`: one call of a verifier for each distinct testing that is one.

    Attributes:
        columns: for each testing the place of its job, or why it is none.
    """

    columns: tuple[int | str, ...]
    jobs: tuple[Job, ...]

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:
        return tuple([_broken(one) if isinstance(one, str) else _cell(outcomes[one][0]) for one in self.columns])


class EnvironmentDomain(BaseDomain):
    """Implements `ports.Domain`; see there for the contracts."""

    name = NAME
    kinds: ClassVar[Mapping[str, type[BaseModel]]] = {KIND: VerifierBody}

    def ask(
        self,
        what: Purpose,
        problem: Problem | None,
        sample: int,
        params: Mapping[str, Json],
        examples: Sequence[Problem] = (),
        manner: Manner = USUAL,
    ) -> Request:
        if what != "solution" or problem is None:
            return super().ask(what, problem, sample, params, examples, manner)
        text = render("evosyn.domains", "prompts/environment_solution.md", statement=problem.statement.strip())
        return Request((Message("user", text),), what, params, sample, problem)

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:  # noqa: ARG002
        """What stands in the last answer block; a question may hold such blocks itself, the last one is the reply's."""
        end = text.rfind(CLOSE)
        start = text.rfind(OPEN, 0, max(end, 0))
        if start < 0:
            return Parsed(None, f"no-answer: no {OPEN}...{CLOSE}")
        answer = text[start + len(OPEN) : end].strip()
        if not answer:
            return Parsed(None, "no-answer: the block is empty")
        if len(answer) > MAX_ANSWER:
            return Parsed(None, f"too-long: {len(answer)} characters")
        return Parsed(Solution(answer))

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        return (Message("assistant", f"{OPEN}{solution.text.strip()}{CLOSE}"),)

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> VerifierPlan:
        jobs: list[Job] = []
        places: dict[str, int] = {}
        columns: list[int | str] = []
        for testing in testings:
            misfit = self.check_testing(problem, testing)
            if misfit is None and testing.id not in places:
                body = testing.body
                call = Call((body["instance"], body.get("reference"), solution.text))
                places[testing.id] = len(jobs)
                jobs.append(CallsJob(_verifier(body["program"]), "verify", (call,), limits))
            columns.append(places[testing.id] if misfit is None else misfit)
        return VerifierPlan(tuple(columns), tuple(jobs))


@functools.lru_cache(maxsize=512)
def _verifier(program: str) -> str:
    """What of an environment runs to verify: the part that `verify` needs where that may keep company, else all of it.

    Generators use what company refuses, so that a whole environment would get a process for each answer; in the
    language of company nothing is reached that is not written, so the part says what the whole says.
    """
    part = part_for(program, "verify")
    return part if part is not None and admits(part, PLAIN, parsed) else program


def _cell(outcome: ItemOutcome) -> CellResult:
    """Solved is 1, or True. A verifier that raises has not accepted (ReSyn, footnote 1)."""
    verdict = STATUS_VERDICTS[outcome.status]
    if outcome.status in _ITS_OWN_FAULT:
        verdict = Verdict.BROKEN
    elif outcome.status is Status.EXCEPTION:
        verdict = Verdict.FAIL
    elif outcome.status is Status.OK:
        accepted = type(outcome.value) in (bool, int, float) and outcome.value == 1
        verdict = Verdict.PASS if accepted else Verdict.FAIL
    return CellResult(verdict, (verdict,), outcome.seconds, outcome.detail)


def _broken(misfit: str) -> CellResult:
    return CellResult(Verdict.BROKEN, (Verdict.BROKEN,), detail=misfit)
