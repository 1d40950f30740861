"""The domain of problems with a final answer in words and numbers: `math-answer`. A solution holds its working.

The last answer of a text counts (`answers.marks`). It is read and compared in our own process, in bounded work; no
program runs.
docs/math-answer.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Annotated, ClassVar

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from evosyn.chat import Message, Parsed
from evosyn.domains.answers.comparing import accepts
from evosyn.domains.answers.marks import last_answer
from evosyn.domains.answers.plain import LONGEST
from evosyn.domains.answers.reading import Answer, read_answer
from evosyn.domains.base import MAX_ANSWER, BaseDomain
from evosyn.domains.replies import MAX_REPLY
from evosyn.ports import DomainTools, PluginConfig
from evosyn.records import ParsedCall, ParsedCalls, Problem, Solution, Testing, Verdict

NAME = "math-answer"
KIND = "answer"
MOST_OTHERS = 8
WISHES = {
    "topic": (
        *("somebody's everyday life", "a job or a trade", "money, prices and savings", "sport, games and leisure"),
        *("an event or a celebration", "an observation or an experiment", "machines, computers and networks"),
        "plants, animals, weather and waste",
    ),
    "difficulty": ("easy, two steps", "medium, three or four steps", "hard, five or six steps, one easy to overlook"),
}
"""The topics are the settings of DejaQ (2601.01931), table 3, in our own words."""


def create(tools: DomainTools, config: PluginConfig) -> MathAnswer:  # noqa: ARG001
    """The domain, ready to use."""
    return MathAnswer()


def _is_one(text: str) -> str:
    if not text.strip():
        raise ValueError("must not be blank")
    if len(text) > LONGEST:
        raise ValueError(f"is too long: {len(text):,} characters, {LONGEST} at most")
    return text


class DeclaredAnswer(BaseModel):
    """The body of a testing.

    Attributes:
        answer: the right one, as it may stand in a box.
        also: others that count, such as the words of the option whose letter is the answer.
        tolerance: largest absolute or relative difference of numbers; None for the rules of docs/math-answer.md.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: Annotated[str, AfterValidator(_is_one)]
    also: tuple[Annotated[str, AfterValidator(_is_one)], ...] = Field(default=(), max_length=MOST_OTHERS)
    tolerance: float | None = Field(default=None, gt=0, lt=1, exclude=True)


class MathAnswer(BaseDomain):
    """Implements `ports.Domain`; see there for the contracts."""

    name = NAME
    kinds: ClassVar[Mapping[str, type[BaseModel]]] = {KIND: DeclaredAnswer}
    prompts = "math_answer_"
    asked = ("title", "statement")

    def same(self, problem: Problem, solution: Solution) -> str:  # noqa: ARG002
        return repr(answer_of(solution))

    def decide(self, problem: Problem, solution: Solution, testing: Testing) -> Verdict | bool:  # noqa: ARG002
        given = answer_of(solution)
        if given is None:
            return Verdict.ERROR
        tolerance = testing.body.get("tolerance")
        most = None if tolerance is None else Fraction(tolerance)
        return any(
            accepts(read_answer(one), given, most) for one in (testing.body["answer"], *testing.body.get("also", ()))
        )

    def given(self, problem: Problem, solution: Solution) -> str | None:
        return None if answer_of(solution) is None else self.same(problem, solution)

    def wishes(self) -> Mapping[str, Sequence[str]]:
        return WISHES

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:  # noqa: ARG002
        """The whole reply, or the answer alone where that is too long."""
        found = last_answer(text[:MAX_REPLY])
        if not found:
            return Parsed(None, "no-answer: neither \\boxed{...} nor #### nor 'answer is'")
        return Parsed(Solution(text.strip() if len(text) <= MAX_ANSWER else boxed(found)))

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        text = solution.text.strip()
        return (Message("assistant", text if last_answer(text) is not None else boxed(text)),)

    def calls(self, problem: Problem, testing: Testing) -> ParsedCalls | None:  # noqa: ARG002
        return (ParsedCall("", str(testing.body.get("answer", ""))[:LONGEST]),)


def answer_of(solution: Solution) -> Answer | None:
    """What the answer of a solution is worth; a text without any mark of one is the answer itself, if it is short."""
    found = last_answer(solution.text)
    if found is None and len(solution.text) <= LONGEST:
        found = solution.text.strip()
    return read_answer(found) if found else None


def boxed(answer: str) -> str:
    """An answer as a student should write it."""
    return f"\\boxed{{{answer}}}"
