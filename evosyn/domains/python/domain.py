"""What the domains of Python programs share: sameness by syntax tree, fences, generators."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources

import yaml

from evosyn.chat import Message
from evosyn.domains.base import BaseDomain
from evosyn.domains.python import generators
from evosyn.jobs import Limits
from evosyn.parsing import same_program
from evosyn.records import Problem, Solution, Testing


@cache
def _wishes() -> dict[str, list[str]]:
    text = (resources.files("evosyn.domains") / "prompts" / "python_wishes.yaml").read_text(encoding="utf-8")
    found: dict[str, list[str]] = yaml.safe_load(text)
    return found


class PythonDomain(BaseDomain):
    """Implements what both domains of Python programs have alike."""

    def same(self, problem: Problem, solution: Solution) -> str:  # noqa: ARG002
        return same_program(solution.text)

    def wishes(self) -> Mapping[str, Sequence[str]]:
        return _wishes()

    def show(self, problem: Problem, solution: Solution) -> tuple[Message, ...]:  # noqa: ARG002
        return (Message("assistant", f"```python\n{solution.text.strip()}\n```"),)

    def expand(self, testings: Sequence[Testing], limits: Limits) -> generators.GeneratorExpansion:
        return generators.expand(testings, limits)
