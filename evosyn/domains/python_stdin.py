"""The domain of whole Python programs that read standard input and print: `python-stdin`.

Testings: `stdin`, texts in and texts out. Each distinct input runs once for a solution; printed texts are compared in
our process by the rules of `compare`. DESIGN.md sections 4 and 5.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.chat import Parsed, Purpose
from evosyn.domains.python import asking, generators, reading, shapes, showing, stated
from evosyn.domains.python.compare import Printed, printed_as
from evosyn.domains.python.domain import PythonDomain
from evosyn.domains.python.lifting import STATUS_VERDICTS
from evosyn.domains.python.payload import ProgramPayload
from evosyn.domains.python.preparing import Recent, decided, refuse_generators
from evosyn.domains.python.program import program_of
from evosyn.domains.python.shapes import is_encodable, is_generator
from evosyn.domains.python.table import verdict_of
from evosyn.domains.python.value_digests import digest_of_text
from evosyn.errors import FormatError
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits, Status, StdioJob
from evosyn.ports import DomainTools, PluginConfig
from evosyn.records import Json, ParsedCalls, Problem, Solution, Testing, Verdict

NAME = "python-stdin"


def create(tools: DomainTools, config: PluginConfig) -> PythonStdin:  # noqa: ARG001
    """The domain, ready to use."""
    return PythonStdin()


class Expected(NamedTuple):
    """One case: which input, what must be printed, how close, or by which published comparison."""

    run: int
    output: str
    tolerance: float | None
    compare: str | None


@dataclass(frozen=True)
class PreparedStdin:
    """The testings of one problem: the distinct inputs, the distinct expectations, and each testing's cases."""

    inputs: tuple[str, ...]
    expected: tuple[Expected, ...]
    cells: tuple[tuple[int, ...] | None, ...]  # None: not a testing of this domain, or one that cannot be sent

    @functools.cached_property
    def order(self) -> Sequence[int]:
        """Of the expectations: those of one run follow each other, so that what it printed is split once."""
        return sorted(range(len(self.expected)), key=lambda at: self.expected[at].run)


@dataclass(frozen=True)
class StdinPlan:
    """Implements `ports.Plan`: one program, run on every distinct input."""

    prepared: PreparedStdin
    jobs: tuple[Job, ...]

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:
        (runs,) = outcomes
        printed = functools.lru_cache(maxsize=1)(lambda run: Printed(str(runs[run].value)))
        judged = [Verdict.UNKNOWN] * len(self.prepared.expected)
        for at in self.prepared.order:
            judged[at] = decided(functools.partial(_judge, self.prepared.expected[at], printed), runs)
        values = [digest_of_text(printed_as(str(run.value))) if run.status is Status.OK else 0 for run in runs]
        return tuple(self._cell(cases, judged, runs, values) for cases in self.prepared.cells)

    def _cell(
        self,
        cases: Sequence[int] | None,
        judged: Sequence[Verdict],
        runs: Sequence[ItemOutcome],
        values: Sequence[int],
    ) -> CellResult:
        if cases is None:
            return CellResult(
                Verdict.BROKEN, detail=f"{NAME} takes testings of the kind 'stdin', texts that can be encoded"
            )
        verdicts = tuple([judged[case] for case in cases])
        verdict = verdict_of(verdicts)
        used = {self.prepared.expected[case].run: None for case in cases}
        seconds = sum([runs[run].seconds for run in used])
        given = tuple([values[self.prepared.expected[case].run] for case in cases])
        detail = next((runs[run].detail for run in used if runs[run].status is not Status.OK), "")
        return CellResult(verdict, verdicts, seconds, detail, given)


class PythonStdin(PythonDomain):
    """Implements `ports.Domain`; see there for the contracts."""

    name = NAME
    Payload = ProgramPayload
    kinds = {"stdin": shapes.SHAPES["stdin"]}  # noqa: RUF012
    prompts = "python_stdin_"
    asked = ("title", "statement")
    item = "Each run of a program"
    asked_forms = ("asserts", "json")

    def __init__(self) -> None:
        self._recent: Recent[PreparedStdin] = Recent()

    def check_testing(self, problem: Problem, testing: Testing) -> str | None:
        misfit = super().check_testing(problem, testing)
        if misfit is not None:
            return misfit
        broken = generators.expand([testing], Limits()).broken
        return f"broken-testing: {broken[0]}" if broken else None

    def blanks(self, what: Purpose, problem: Problem | None, examples: Sequence[Problem]) -> dict[str, str]:
        if problem is None or what == "problem":
            return {"examples": asking.problem_examples(examples)}
        return {"statement": problem.statement.strip()}

    def wrong_with(self, found: Mapping[str, Json]) -> str:
        return "other-domain: the problem asks for a function" if found.get("entry_point") is not None else ""

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:  # noqa: ARG002
        return reading.read_solution(text)

    def read_testing(self, text: str, problem: Problem | None) -> Parsed[Testing]:  # noqa: ARG002
        found = reading.read_cases(text, "stdin", _repair, _printed)
        if found.reason == reading.NO_CASES:
            said = stated.said_texts(text)
            if said.cases:
                return reading.those_that_fit("stdin", said.cases, _repair, _printed, said.begun - len(said.cases))
            return reading.read_whole_cases(text, "stdin", _repair, _printed)
        return found

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> StdinPlan:
        prepared = self._recent.get(problem, testings)
        if prepared is None:
            refuse_generators(testings)
            prepared = self._recent.put(problem, testings, _prepare(testings))
        text, before = program_of(problem, solution)
        return StdinPlan(prepared, (StdioJob(text, prepared.inputs, limits, before),))

    def stated(self, problem: Problem) -> Testing | None:
        return stated.stated_texts(problem)

    def run(self, problem: Problem, solution: Solution, testing: Testing, limits: Limits) -> Job | None:
        text, before = program_of(problem, solution)
        return StdioJob(text, tuple([case["input"] for case in testing.body["cases"]]), limits, before)

    def calls(self, problem: Problem, testing: Testing) -> ParsedCalls | None:  # noqa: ARG002
        return showing.calls_of_cases(testing, showing.plain_text) if testing.kind == "stdin" else None


def _repair(given: Json) -> Json:
    """The text of an input; a list of lines is joined, a number is written out.

    Raises:
        FormatError: it is no text.
    """
    if is_generator(given) or isinstance(given, str):
        return given
    if isinstance(given, list) and all(isinstance(line, str) for line in given):
        return "".join(line if line.endswith("\n") else line + "\n" for line in given)
    if isinstance(given, int | float) and not isinstance(given, bool):
        return f"{given}\n"
    raise FormatError("", "must be a text", given)


def _printed(output: Json) -> Json:
    """What must be printed, as a text: numbers and lists of lines as they would be printed; the rest as it is."""
    if isinstance(output, int | float) and not isinstance(output, bool):
        return f"{output}\n"
    lines = isinstance(output, list) and bool(output)
    if lines and all(isinstance(line, str | int | float) and not isinstance(line, bool) for line in output):
        return "".join(f"{line}".rstrip("\n") + "\n" for line in output)
    return output


def _prepare(testings: Sequence[Testing]) -> PreparedStdin:
    runs: dict[str, int] = {}
    expected: dict[Expected, int] = {}
    cells: list[tuple[int, ...] | None] = []
    for testing in testings:
        if testing.kind != "stdin" or not all(is_encodable(case["input"]) for case in testing.body["cases"]):
            cells.append(None)
            continue
        cases = []
        for case in testing.body["cases"]:
            run = runs.setdefault(case["input"], len(runs))
            tolerance = case.get("tolerance", testing.body.get("tolerance"))
            wanted = Expected(run, case["output"], tolerance, testing.body.get("compare"))
            cases.append(expected.setdefault(wanted, len(expected)))
        cells.append(tuple(cases))
    return PreparedStdin(tuple(runs), tuple(expected), tuple(cells))


def _judge(expected: Expected, printed: Callable[[int], Printed], runs: Sequence[ItemOutcome]) -> Verdict:
    outcome = runs[expected.run]
    if outcome.status is not Status.OK:
        return STATUS_VERDICTS[outcome.status]
    text = printed(expected.run)
    if expected.compare is not None:
        same = text.is_livecodebenchs(expected.output)
    else:
        same = text.is_expected(expected.output, expected.tolerance or 0.0)
    return Verdict.PASS if same else Verdict.FAIL
