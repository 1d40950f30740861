"""What the domains of Python programs share: sameness by syntax tree, fences, generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from typing import ClassVar, get_args

import yaml

from evosyn.chat import Form, Manner, Message, Parsed, Purpose
from evosyn.domains.base import BaseDomain, prompt_file
from evosyn.domains.python import asking, generators, joining, large
from evosyn.domains.python.payload import PRELUDES
from evosyn.domains.python.program import program_of
from evosyn.jobs import Limits
from evosyn.parsing import same_program
from evosyn.records import Json, Problem, Solution, Testing
from evosyn.templates import render


@cache
def _listed(name: str) -> Json:
    return yaml.safe_load((resources.files("evosyn.domains") / "prompts" / name).read_text(encoding="utf-8"))


class PythonDomain(BaseDomain):
    """Implements what both domains of Python programs have alike.

    Attributes:
        item: what one case makes a solution do.
        asked_forms: of testings, that it can ask for; another is asked for as JSON.
    """

    asks = ("problem", "solution", "testing", "inputs")
    item: ClassVar[str]
    asked_forms: ClassVar[tuple[Form, ...]] = get_args(Form)

    def same(self, problem: Problem, solution: Solution) -> str:
        text, before = program_of(problem, solution)
        return same_program("\n".join([*(one for one in before if one not in PRELUDES.values()), text]))

    def forms(self, problem: Problem, examples: Sequence[Problem], manner: Manner) -> dict[str, str]:
        """What is asked for, tests of other problems, and what is shown of the problem itself."""
        form = manner.form if manner.form in self.asked_forms else "json"
        file = prompt_file(f"{self.prompts}tests_{form}", brief=manner.brief)
        others = [one for one in examples if one.id != problem.id]
        own = [one for one in examples if one.id == problem.id]
        return {
            "form": render("evosyn.domains", file).rstrip(),
            "examples": asking.testing_examples(others, form),
            "shown": asking.shown_tests(own, form),
        }

    def wishes(self) -> Mapping[str, Sequence[str]]:
        found: dict[str, list[str]] = _listed("python_wishes.yaml")
        return found

    def views(self) -> Sequence[str]:
        found: list[str] = _listed("python_views.yaml")
        return found

    def conditions(self, what: Purpose, limits: Limits) -> str:
        item = f"{self.item} may take {limits.cpu_s:g} s of processor time and {limits.memory_mb} MB of memory"
        if what == "solution":
            return f"{item}."
        if what == "problem":
            return ""
        return f"{item}; code that makes tests or inputs may take {limits.build_s:g} s in all, and runs once."

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        return (Message("assistant", f"```python\n{solution.text.strip()}\n```"),)

    def read_inputs(self, text: str) -> Parsed[Testing]:
        return large.read_inputs(text, next(iter(self.kinds)))

    def join(self, parts: Sequence[tuple[Testing, Sequence[int]]]) -> Testing | None:
        return joining.join(parts)

    def answered(self, testing: Testing, outputs: Sequence[Json]) -> Testing | None:
        return large.answered(testing, outputs)

    def expand(self, problem: Problem, testings: Sequence[Testing], limits: Limits) -> generators.GeneratorExpansion:  # noqa: ARG002
        return generators.expand(testings, limits)
