"""What a domain inherits: everything but its name, its payload, its kinds of testing, and how an answer is checked.

A text-answer domain writes `decide` and perhaps `same`; a domain whose checks run programs writes `plan` in place of
`decide`. The contract of each method stands in `evosyn.ports.Domain`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from typing import ClassVar, TypeAlias

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from evosyn.chat import USUAL, Manner, Message, Parsed, Purpose, Request
from evosyn.domains.python.value_digests import digest_of_text
from evosyn.domains.replies import before_cut, fences, json_values
from evosyn.errors import FormatError
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits
from evosyn.ports import Expansion, Plan
from evosyn.quoting import plain_text
from evosyn.records import Json, ParsedCalls, Problem, Solution, Testing, Verdict
from evosyn.templates import render
from evosyn.testings import testing_from_json
from evosyn.text.reasoning import OTHER
from evosyn.thinking import without_first_thought, without_thinking

MAX_META, MAX_ANSWER = 20_000, 20_000
"""Characters of a new problem's `meta`, and of an answer, that are taken."""
SHORTEST_STATEMENT = 20

Shape: TypeAlias = type[BaseModel] | Callable[[Mapping[str, Json]], None]
"""Of the body of one kind of testing: a model, or a function that raises `FormatError`."""


class Nothing(BaseModel):
    """The payload of a domain that needs nothing beside the statement."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Unexpanded:
    """Implements `ports.Expansion` for testings without generators."""

    given: tuple[Testing, ...]
    jobs: tuple[Job, ...] = ()

    def testings(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[Testing | CellResult, ...]:  # noqa: ARG002
        return self.given


@dataclass(frozen=True)
class Decided:
    """Implements `ports.Plan` for answers that are checked here, without any job.

    Attributes:
        decide: the verdict of a testing; an exception of it is a FAIL.
        given: digest of what the solution gives, whatever it is asked; 0 where nothing is known.
    """

    decide: Callable[[Testing], Verdict | bool]
    against: tuple[Testing, ...]
    given: int = 0
    jobs: tuple[Job, ...] = ()

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:  # noqa: ARG002
        values = (self.given,) if self.given else ()
        return tuple([replace(self._cell(testing), values=values) for testing in self.against])

    def _cell(self, testing: Testing) -> CellResult:
        try:
            found = self.decide(testing)
        except Exception as error:  # noqa: BLE001 - a fault of the domain, which says nothing of the answer
            said = f"the domain failed: {type(error).__name__}: {error}"
            return CellResult(Verdict.UNKNOWN, (Verdict.UNKNOWN,), 0.0, said[:200])
        verdict = found if isinstance(found, Verdict) else Verdict.PASS if found else Verdict.FAIL
        return CellResult(verdict, (verdict,))


class BaseDomain:
    """Implements `ports.Domain` but for `name` and one of `decide` and `plan`.

    Attributes:
        name: as it stands in pools.
        Payload: what a problem has beside its statement.
        kinds: the shape of each kind of testing's body, the commonest first.
        prompts: what the names of its prompts begin with; "" for those that fit any domain.
        asked: fields of the JSON object of a new problem, where all are texts, so that a provider can be held to them.
        asks: purposes that it can make requests for.
        actor: `reply` or `loop`.
        version: of the code that decides, for a domain from outside of which its files and imports do not tell all;
            verdicts of another version are not taken from a cache.
    """

    name: ClassVar[str]
    Payload: ClassVar[type[BaseModel]] = Nothing
    kinds: ClassVar[Mapping[str, Shape]]
    prompts: ClassVar[str] = ""
    asked: ClassVar[tuple[str, ...]] = ()
    asks: ClassVar[tuple[Purpose, ...]] = ("problem", "solution", "testing")
    actor: ClassVar[str] = "reply"
    version: ClassVar[str | None] = None

    def decide(self, problem: Problem, solution: Solution, testing: Testing) -> Verdict | bool:
        """Whether an answer satisfies a testing, decided in our own process: bounded work, nothing is executed."""
        raise NotImplementedError(f"{type(self).__name__} needs `decide`, or a `plan` of its own")

    def given(self, problem: Problem, solution: Solution) -> str | None:  # noqa: ARG002
        """What an answer that `decide` judges comes to, equal for equal ones: strategies see where they agree."""
        return None

    # ------------------------------------------------------------------------------------------------- what fits

    def check_problem(self, problem: Problem) -> None:
        model_of(self.Payload, problem.payload)

    def check_shape(self, testing: Testing) -> None:
        shape = self.kinds.get(testing.kind)
        if shape is None:
            hint = f"One of {', '.join(self.kinds)}"
            raise FormatError("kind", f"unknown kind of testing of {self.name}", testing.kind, hint=hint)
        if isinstance(shape, type):
            model_of(shape, testing.body)
        else:
            shape(testing.body)

    def check_testing(self, problem: Problem, testing: Testing) -> str | None:  # noqa: ARG002
        try:
            self.check_shape(testing)
        except FormatError as error:
            return f"{'wrong-kind' if error.field == 'kind' else 'bad-testing'}: {error}"
        return None

    # ------------------------------------------------------------------------------------------------- sameness

    def key(self, problem: Problem) -> str:
        return problem.id

    def same(self, problem: Problem, solution: Solution) -> str:  # noqa: ARG002
        return solution.text

    # ------------------------------------------------------------------------------------------ asking, reading

    def ask(
        self,
        what: Purpose,
        problem: Problem | None,
        sample: int,
        params: Mapping[str, Json],
        examples: Sequence[Problem] = (),
        manner: Manner = USUAL,
    ) -> Request:
        about = problem or (examples[0] if examples else None)
        blanks = self.blanks(what, problem, examples)
        if what == "testing" and problem is not None:
            blanks |= self.forms(problem, examples, manner)
        text = render("evosyn.domains", prompt_file(f"{self.prompts}{what}", brief=manner.brief), **blanks)
        schema = _object_of_texts(self.asked) if what == "problem" and self.asked else None
        return Request((Message("user", text),), what, params, sample, about, schema)

    def blanks(self, what: Purpose, problem: Problem | None, examples: Sequence[Problem]) -> dict[str, str]:
        """What fills the prompts for a problem, a solution or a testing of any domain."""
        if what == "problem":
            fields = "".join(f", {field!r}" for field in self.Payload.model_fields)
            return {"fields": fields, "examples": _listed([_seed(one) for one in examples])}
        shown = {"statement": (problem.statement if problem else "").strip()}
        if what == "solution":
            return shown
        tested = [one for one in examples if one.human_testing is not None]
        testings = [f"{one.statement.strip()}\n\n{_fenced(one.human_testing.to_json())}" for one in tested]  # type: ignore[union-attr]
        return {**shown, "kinds": self._forms(), "examples": _listed(testings)}

    def forms(self, problem: Problem, examples: Sequence[Problem], manner: Manner) -> dict[str, str]:  # noqa: ARG002
        """What fills the prompt for a testing besides, in a domain whose testings are asked for in several forms."""
        return {}

    def wishes(self) -> Mapping[str, Sequence[str]]:
        return {}

    def views(self) -> Sequence[str]:
        return ()

    def conditions(self, what: Purpose, limits: Limits) -> str:  # noqa: ARG002
        return ""

    def read(self, what: Purpose, text: str, problem: Problem | None = None) -> Parsed:  # type: ignore[type-arg]
        thought = without_thinking(text)
        if thought.fault.startswith(OTHER):
            return Parsed(None, thought.fault)
        if thought.fault or (text.strip() and not thought.answer.strip()):
            return Parsed(None, "only-thinking: the reply ends before its answer")
        text = plain_text(thought.answer)
        if what == "problem":
            return self.read_problem(text)
        if what == "solution":
            return self.read_solution(text, problem)
        return self.read_inputs(text) if what == "inputs" else self.read_testing(text, problem)

    def read_problem(self, text: str) -> Parsed[Problem]:
        """The last JSON object with a statement."""
        objects = [value for value in json_values(text) if isinstance(value, dict) and "statement" in value]
        if not objects:
            return Parsed(None, "no-json: no JSON object with a statement")
        found = {
            name: without_first_thought(value) if isinstance(value, str) else value
            for name, value in objects[0].items()
        }
        statement, title = found["statement"], found.get("title", "")
        if not isinstance(statement, str) or len(statement.strip()) < SHORTEST_STATEMENT:
            return Parsed(None, "no-statement: the statement is missing or too short")
        if found.get("domain", self.name) != self.name:
            return Parsed(None, f"other-domain: {str(found['domain'])[:40]}")
        wrong = self.wrong_with(found)
        if wrong:
            return Parsed(None, wrong)
        title = title if isinstance(title, str) else ""
        meta = found.get("meta")
        kept = dict(meta) if isinstance(meta, dict) and len(str(meta)) <= MAX_META else {}
        payload = {name: found[name] for name in self.Payload.model_fields if found.get(name) is not None}
        titled = {**kept, **({"title": title} if title else {})}
        problem = Problem("new", self.name, statement.strip(), payload=payload, meta=titled)
        try:
            self.check_problem(problem)
        except FormatError as error:
            return Parsed(None, f"bad-payload: {error}")
        slug = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:40]
        return Parsed(replace(problem, problem_id=f"{slug}-{problem.id[-8:]}" if slug else problem.id))

    def wrong_with(self, found: Mapping[str, Json]) -> str:  # noqa: ARG002
        """What a new problem's object lacks, as `name: detail`, or ""; its payload is checked by its model."""
        return ""

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:  # noqa: ARG002
        """The last fenced block, or else the whole reply."""
        found = fences(text)
        answer = (found[-1].text if found else text).strip()
        if not answer:
            return Parsed(None, "no-answer: the reply is empty")
        if len(answer) > MAX_ANSWER:
            return Parsed(None, f"too-long: {len(answer)} characters")
        return Parsed(Solution(answer))

    def read_testing(self, text: str, problem: Problem | None) -> Parsed[Testing]:
        """The last JSON object that is a testing of this domain, or the body of its first kind; where the reply was cut
        in the list that it holds, with the whole objects of that."""
        reason = "no-json: no JSON object"
        for value in json_values(text) or json_values(before_cut(text)):
            if not isinstance(value, dict):
                continue
            try:
                testing = testing_from_json({"kind": next(iter(self.kinds)), **value})
                self.check_shape(testing)
            except FormatError as error:
                reason = f"bad-testing: {error}"
                continue
            misfit = None if problem is None else self.check_testing(problem, testing)
            return Parsed(testing) if misfit is None else Parsed(None, misfit)
        return Parsed(None, reason)

    def read_inputs(self, text: str) -> Parsed[Testing]:  # noqa: ARG002
        return Parsed(None, "no-inputs: solutions of this domain are not run on inputs")

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        return (Message("assistant", f"```\n{solution.text.strip()}\n```"),)

    # ------------------------------------------------------------------------------------------------ verdicts

    def expand(self, problem: Problem, testings: Sequence[Testing], limits: Limits) -> Expansion:  # noqa: ARG002
        return Unexpanded(tuple(testings))

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> Plan:  # noqa: ARG002
        def decide(testing: Testing) -> Verdict | bool:
            if self.check_testing(problem, testing) is not None:
                return Verdict.BROKEN
            return self.decide(problem, solution, testing)

        given = self.given(problem, solution)
        return Decided(decide, tuple(testings), 0 if given is None else digest_of_text(given))

    def canaries(self, problem: Problem, testings: Sequence[Testing]) -> tuple[Solution, ...]:  # noqa: ARG002
        return ()

    def stated(self, problem: Problem) -> Testing | None:  # noqa: ARG002
        return None

    def join(self, parts: Sequence[tuple[Testing, Sequence[int]]]) -> Testing | None:  # noqa: ARG002
        return None

    def run(self, problem: Problem, solution: Solution, testing: Testing, limits: Limits) -> Job | None:  # noqa: ARG002
        return None

    def answered(self, testing: Testing, outputs: Sequence[Json]) -> Testing | None:  # noqa: ARG002
        return None

    def calls(self, problem: Problem, testing: Testing) -> ParsedCalls | None:  # noqa: ARG002
        return None

    def _forms(self) -> str:
        """The kinds of testing and their fields but those that only people set (`exclude`), for the prompt."""
        lines = []
        for kind, shape in self.kinds.items():
            known = shape.model_fields if isinstance(shape, type) and issubclass(shape, BaseModel) else {}
            fields = [name for name, one in known.items() if not one.exclude]
            lines.append(json.dumps({"kind": kind, **dict.fromkeys(fields, "...")}))
        return "\n".join(lines)


def prompt_file(name: str, *, brief: bool) -> str:
    """The file of a prompt: the brief one where that is wanted and there is one."""
    short = f"prompts/{name}_brief.md"
    return short if brief and (resources.files("evosyn.domains") / short).is_file() else f"prompts/{name}.md"


def model_of(model: type[BaseModel], value: Mapping[str, Json]) -> BaseModel:
    """The model of a JSON object.

    Raises:
        FormatError: naming the field; all that are wrong.
    """
    hint = f"Fields: {', '.join(model.model_fields) or 'none'}"
    unknown = [name for name in value if name not in model.model_fields and model.model_config.get("extra") != "allow"]
    wrong = [FormatError(str(name), "is not a field here", value[name], hint=hint) for name in unknown]
    try:
        found = model.model_validate({name: one for name, one in value.items() if name not in unknown})
    except ValidationError as error:
        wrong += [_told(model, one) for one in error.errors(include_url=False)]
    first = FormatError.of_all(wrong)
    if first is not None:
        raise first
    return found


def _told(model: type[BaseModel], found: ErrorDetails) -> FormatError:
    place = "".join(f"[{one}]" if isinstance(one, int) else f".{one}" for one in found["loc"]).lstrip(".")
    if found["type"] == "missing":
        said = getattr(model.model_fields.get(place), "description", None)
        return FormatError(place, "is missing", hint=f"Add {place!r}{f': {said}' if said else ''}")
    reason = found["msg"].removeprefix("Value error, ")
    return FormatError(place, reason[:1].lower() + reason[1:], found.get("input"))


def _object_of_texts(fields: Sequence[str]) -> dict[str, Json]:
    """The schema of an object with exactly these fields, all of them texts."""
    return {
        "type": "object",
        "properties": {field: {"type": "string"} for field in fields},
        "required": list(fields),
        "additionalProperties": False,
    }


def _seed(problem: Problem) -> str:
    return _fenced({"statement": problem.statement, **dict(problem.payload)})


def _fenced(value: Json) -> str:
    return f"```json\n{json.dumps(value, indent=2, ensure_ascii=False)}\n```"


def _listed(texts: Sequence[str]) -> str:
    return "\n\n".join(f"## Example {number}\n{text}" for number, text in enumerate(texts, 1)) + "\n\n" if texts else ""
