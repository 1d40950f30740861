"""What the domains of Python programs share: prompts of their own, sameness by syntax tree, fences, generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from evosyn.chat import Message, Purpose, Request
from evosyn.domains.base import BaseDomain
from evosyn.domains.python import asking, generators
from evosyn.jobs import Limits
from evosyn.parsing import same_program
from evosyn.records import Json, Problem, Solution, Testing


class PythonDomain(BaseDomain):
    """Implements what both domains of Python programs have alike.

    Attributes:
        asked: fields of the JSON object of a new problem.
    """

    asked: ClassVar[tuple[str, ...]]

    def same(self, problem: Problem, solution: Solution) -> str:  # noqa: ARG002
        return same_program(solution.text)

    def ask(
        self,
        what: Purpose,
        problem: Problem | None,
        sample: int,
        params: Mapping[str, Json],
        examples: Sequence[Problem] = (),
    ) -> Request:
        about = problem or (examples[0] if examples else None)
        prompt = f"{self.name.replace('-', '_')}_{what}"
        fields = self.asked if what == "problem" else ()
        blanks = self.blanks(what, problem, examples)
        return asking.ask(prompt, what, about, blanks, asking.Sampling(params, sample), fields)

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        return (Message("assistant", f"```python\n{solution.text.strip()}\n```"),)

    def expand(self, testings: Sequence[Testing], limits: Limits) -> generators.GeneratorExpansion:
        return generators.expand(testings, limits)
