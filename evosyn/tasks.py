"""A task: one prompt that can be scored, as a record and as the JSON in which it travels.

Every way to a reward (training, the service, the functions for other trainers, the exports) takes its tasks from here,
so a row means the same wherever it is paid: `task_of` makes a task from a row of a dataset by way of the very JSON that
an export writes, `task_from_json` reads it back. It holds everything that decides a verdict but the limits, and runs
nothing. DESIGN.md sections 3 and 4.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, TypeAlias

from evosyn.codec import Through, load
from evosyn.dataset import Sample
from evosyn.errors import FormatError, UsageError
from evosyn.pools import payload_to_json, problem_from_json
from evosyn.records import TOP_PAYLOAD, Json, Problem, Testing
from evosyn.testings import testing_from_json
from evosyn.text.reasoning import AUTO, check_form

DEFAULT_DOMAIN = "python-function"
"""Of a task that names none."""
NAMELESS, UNSAID = "task", "(not given)"
"""The name and the statement of a task that has none: neither decides a verdict."""


Check: TypeAlias = Callable[["Task"], None]


@dataclass(frozen=True)
class Task:
    """One prompt that can be scored: a problem and the testing that decides.

    Attributes:
        row_id: of the row that it came from, else the name of its problem.
        reasoning: the form in which its completions mark reasoning (docs/reasoning.md).
    """

    row_id: str
    problem: Problem
    testing: Testing
    reasoning: str = AUTO

    @cached_property
    def key(self) -> str:
        """Content key of what decides, without the completion."""
        return f"{self.problem.domain}\x1f{self.problem.id}\x1f{self.testing.id}"


def _parsed(value: Json) -> Json:
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        reason = f"is a text that is not JSON ({str(error)[:80]})"
        raise FormatError("", reason, hint="See docs/reward.md") from error


def _testing(value: Json) -> Testing:
    return testing_from_json(_parsed(value))


Free: TypeAlias = Annotated[Json, Through(_parsed, lambda value: value)]
"""A value, or its JSON text, as in the columns of a dataset."""


@dataclass(frozen=True)
class TaskLine:
    """A task as it travels; only `testing` (and, for functions, `entry_point`) must be there."""

    testing: Annotated[Testing, Through(_testing, Testing.to_json)]
    id: str | None = None
    domain: str | None = None
    problem_id: str | None = None
    statement: str | None = None
    entry_point: str | None = None
    starter_code: str | None = None
    packages: list[str] | None = None
    prelude: str | None = None
    payload: Free = None
    meta: Free = None
    reasoning: str = AUTO


def task_of(sample: Sample, check: Check | None = None) -> Task:
    """The task of a row of a dataset; `check` as for `task_from_json`.

    Raises:
        UsageError: the row is none that can be scored; names the row and the field.
    """
    row = {
        "id": sample.id,
        "domain": sample.domain,
        "problem_id": sample.problem_id,
        "statement": sample.statement,
        **payload_to_json(sample.problem.payload),
        "meta": sample.meta,
        "testing": sample.testing,
    }
    return task_from_json(row, f"row {sample.id}", check)


def task_to_json(task: Task) -> dict[str, Json]:
    """What a reward needs to score a completion of this task; `task_from_json` reads it back."""
    problem = task.problem
    return {
        "id": task.row_id,
        "domain": problem.domain,
        "problem_id": problem.problem_id,
        "statement": problem.statement,
        **payload_to_json(problem.payload),
        "meta": dict(problem.meta),
        "testing": task.testing.to_json(),
        "reasoning": task.reasoning,
    }


def task_text(task: Task) -> str:
    """The same as one line of ASCII, which every file format and tokenizer leaves alone."""
    return json.dumps(task_to_json(task), sort_keys=True, separators=(",", ":"), allow_nan=False)


def task_from_json(value: Json, where: str = "task", check: Check | None = None) -> Task:
    """A task from its JSON (`TaskLine`), as an object or as text.

    Args:
        check: what else it must be, such as a task of its domain (`evosyn.domains.check_task`); raises FormatError.

    Raises:
        UsageError: it is not one: `where`, the field, the rule and what to do.
    """
    try:
        given = load(TaskLine, _parsed(value))
        fields = {
            "problem_id": NAMELESS if given.problem_id is None else given.problem_id,
            "domain": DEFAULT_DOMAIN if given.domain is None else given.domain,
            "statement": UNSAID if given.statement is None else given.statement,
            **{name: getattr(given, name) for name in (*TOP_PAYLOAD, "payload", "meta")},
        }
        problem = problem_from_json(fields)
        name, form = problem.problem_id if given.id is None else given.id, check_form(given.reasoning)
        task = Task(name, problem, given.testing, form)
        if check is not None:
            check(task)
    except FormatError as error:
        hint = f". {error.hint}" if error.hint else ""
        raise UsageError(f"{where}{'.' if error.field else ': '}{error}{hint}") from error
    return task
