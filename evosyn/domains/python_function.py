"""The domain of single Python functions over plain data: `python-function`.

Testings: `cases` (arguments and returned values), `asserts`, `program` (`check(candidate)`). What can be read as data
becomes calls whose values are compared in our process; the rest runs as code in the sandbox. It executes nothing
itself. DESIGN.md sections 4 and 5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from textwrap import indent

from evosyn.chat import Parsed, Purpose
from evosyn.domains.python import asking, generators, reading, shapes, showing, stated
from evosyn.domains.python.asserting import read_asserts
from evosyn.domains.python.context import Context, context_of
from evosyn.domains.python.domain import PythonDomain
from evosyn.domains.python.payload import FunctionPayload, entry_point, starter_code
from evosyn.domains.python.preparing import Recent, refuse_generators
from evosyn.domains.python.program import program_of
from evosyn.domains.python.shapes import is_generator
from evosyn.domains.python.table import Prepared, prepare
from evosyn.errors import FormatError
from evosyn.jobs import Call, CallsJob, CellResult, ItemOutcome, Job, Limits
from evosyn.ports import DomainTools, PluginConfig
from evosyn.records import Json, ParsedCalls, Problem, Solution, Testing

NAME = "python-function"


def create(tools: DomainTools, config: PluginConfig) -> PythonFunction:  # noqa: ARG001
    """The domain, ready to use."""
    return PythonFunction()


@dataclass(frozen=True)
class FunctionPlan:
    """Implements `ports.Plan`: one solution against the prepared testings."""

    prepared: Prepared
    jobs: tuple[Job, ...]

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:
        return self.prepared.judge(outcomes)


class PythonFunction(PythonDomain):
    """Implements `ports.Domain`; see there for the contracts."""

    name = NAME
    Payload = FunctionPayload
    kinds = {kind: shapes.SHAPES[kind] for kind in ("cases", "asserts", "program")}  # noqa: RUF012
    prompts = "python_function_"
    asked = ("title", "statement", "entry_point", "starter_code")
    item = "Each call of a solution"

    def __init__(self) -> None:
        self._recent: Recent[Prepared] = Recent()
        self._contexts: Recent[Context] = Recent()

    def check_problem(self, problem: Problem) -> None:
        super().check_problem(problem)
        owner, name = reading.owner_of(problem), entry_point(problem)
        if owner is not None:
            hint = f"Write {owner}.{name}: an instance is then made for each call"
            raise FormatError("entry_point", f"is a method of class {owner} in the starter code", name, hint=hint)

    def check_testing(self, problem: Problem, testing: Testing) -> str | None:
        misfit = super().check_testing(problem, testing)
        if misfit is not None:
            return misfit
        if testing.kind == "cases":
            return _misfit_of_cases(problem, testing)
        broken = prepare(problem, [testing]).cells[0].broken
        return f"broken-testing: {broken}" if broken else None

    def blanks(self, what: Purpose, problem: Problem | None, examples: Sequence[Problem]) -> dict[str, str]:
        if problem is None or what == "problem":
            return {"examples": asking.problem_examples(examples)}
        shown = {
            "statement": problem.statement.strip(),
            "starter_code": (starter_code(problem) or f"def {entry_point(problem)}(...):\n    pass").strip("\n"),
        }
        if what == "solution":
            return {**shown, "entry_point": entry_point(problem)}
        return shown

    def wrong_with(self, found: Mapping[str, Json]) -> str:
        name, starter = found.get("entry_point"), found.get("starter_code")
        if not isinstance(name, str) or not name.isidentifier():
            return "no-entry-point: entry_point must be the name of a function"
        if not isinstance(starter, str):
            return "no-starter-code: starter_code must be a text"
        if reading.signature_of(Problem("", NAME, "", payload={"entry_point": name, "starter_code": starter})) is None:
            return f"bad-starter-code: it does not define {name}"
        return ""

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:
        if problem is None:
            return reading.read_solution(text)
        return reading.read_solution(text, entry_point(problem), starter_code(problem))

    def read_testing(self, text: str, problem: Problem | None) -> Parsed[Testing]:
        signature = None if problem is None else reading.signature_of(problem)
        found = reading.read_cases(text, "cases", lambda given: _repair(given, signature))
        if found.reason == reading.NO_CASES:
            asserts = None if problem is None else read_asserts(text, problem)
            whole = reading.read_whole_cases(text, "cases", lambda given: _repair(given, signature))
            found = next((one for one in (asserts, whole) if one is not None and one.value), asserts or whole)
        return found

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> FunctionPlan:
        prepared = self._recent.get(problem, testings)
        if prepared is None:
            refuse_generators(testings)
            prepared = self._recent.put(problem, testings, prepare(problem, testings))
        return FunctionPlan(prepared, prepared.jobs(program_of(problem, solution), limits))

    def canaries(self, problem: Problem, testings: Sequence[Testing]) -> tuple[Solution, ...]:
        if all(testing.kind == "cases" for testing in testings):  # judged by comparison: none can claim its pass
            return ()
        owner, _, method = entry_point(problem).rpartition(".")
        function = f"def {method}(*_args, **_kwargs):\n    raise NotImplementedError('canary')\n"
        return (Solution(f"class {owner}:\n" + indent(function, "    ") if owner else function),)

    def stated(self, problem: Problem) -> Testing | None:
        return stated.stated_calls(problem)

    def run(self, problem: Problem, solution: Solution, testing: Testing, limits: Limits) -> Job | None:
        if testing.kind != "cases":
            return None
        given = [case["input"] for case in testing.body["cases"]]
        calls = [Call(kwargs=one) if isinstance(one, dict) else Call(tuple(one)) for one in given]
        text, before = program_of(problem, solution)
        return CallsJob(text, entry_point(problem), tuple(calls), limits, before)

    def calls(self, problem: Problem, testing: Testing) -> ParsedCalls | None:
        if testing.kind == "cases":
            return showing.calls_of_cases(testing, showing.text_of)
        context = self._contexts.get(problem, ()) or self._contexts.put(problem, (), context_of(problem))
        if testing.kind == "asserts":
            return showing.calls_of_asserts(testing.body["asserts"], context)
        return showing.calls_of_program(testing.body["code"], context) if testing.kind == "program" else None


def _repair(given: Json, signature: reading.Signature | None) -> Json:
    """Arguments as a list or an object; a single argument that was not wrapped is wrapped.

    Raises:
        FormatError: they cannot be bound to the signature.
    """
    if is_generator(given):
        return given
    if not isinstance(given, list | dict):
        given = [given]
    if signature is None:
        return given
    single = len(signature.names) == 1 and not signature.open
    if single and signature.misfit(given) and not signature.misfit([given]):
        return [given]
    if misfit := signature.misfit(given):
        raise FormatError("", misfit, given)
    return given


def _misfit_of_cases(problem: Problem, testing: Testing) -> str | None:
    expansion = generators.expand([testing], Limits())
    if expansion.broken:
        return f"broken-testing: {expansion.broken[0]}"
    signature, cases = reading.signature_of(problem), testing.body["cases"]
    if signature is None or is_generator(cases):
        return None
    for index, case in enumerate(cases):
        given = case["input"]
        if not is_generator(given) and not signature.takes(given):
            wanted = ", ".join(signature.names)
            return f"bad-cases: cases[{index}].input does not fit the parameters ({wanted})"
    return None
