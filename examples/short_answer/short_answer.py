"""A domain of short answers in text, outside of evosyn: a payload, a check, and when two answers are the same."""

from pydantic import BaseModel

from evosyn.domains.base import BaseDomain
from evosyn.ports import DomainTools, PluginConfig
from evosyn.records import Problem, Solution, Testing


class Question(BaseModel):
    unit: str = ""


class Answer(BaseModel):
    accepts: list[str]


class ShortAnswer(BaseDomain):
    name = "short-answer"
    Payload = Question
    kinds = {"answer": Answer}  # noqa: RUF012

    def same(self, problem: Problem, solution: Solution) -> str:
        text = " ".join(solution.text.lower().split()).strip(" .")
        return text.removesuffix(str(problem.payload.get("unit", ""))).rstrip()

    def decide(self, problem: Problem, solution: Solution, testing: Testing) -> bool:
        return self.same(problem, solution) in {self.same(problem, Solution(one)) for one in testing.body["accepts"]}


def create(tools: DomainTools, config: PluginConfig) -> ShortAnswer:  # noqa: ARG001
    return ShortAnswer()
