"""A task: one prompt that can be scored, as a record and as the JSON in which it travels.

Every way to a reward (training, the service, the functions for other trainers, the exports) takes its tasks from here,
so a row means the same wherever it is paid: `task_of` makes a task from a row of a dataset by way of the very JSON that
an export writes, `task_from_json` reads it back. It holds everything that decides a verdict but the limits, and runs
nothing. DESIGN.md sections 3 and 4.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeAlias

from evosyn.dataset import Sample
from evosyn.errors import UsageError
from evosyn.pools import payload_to_json, problem_from_json
from evosyn.records import FLAT_PAYLOAD, Json, Problem, Testing
from evosyn.testings import FormatError, testing_from_json

FIELDS = ("id", "domain", "problem_id", "statement", *FLAT_PAYLOAD, "payload", "meta", "testing")
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
    """

    row_id: str
    problem: Problem
    testing: Testing

    @cached_property
    def key(self) -> str:
        """Content key of what decides, without the completion."""
        return f"{self.problem.domain}\x1f{self.problem.id}\x1f{self.testing.id}"


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
    }


def task_text(task: Task) -> str:
    """The same as one line of ASCII, which every file format and tokenizer leaves alone."""
    return json.dumps(task_to_json(task), sort_keys=True, separators=(",", ":"), allow_nan=False)


def task_from_json(value: Json, where: str = "task", check: Check | None = None) -> Task:
    """A task from its JSON, as an object or as text; only `testing` (and, for functions, `entry_point`) must be there.

    `testing`, `payload` and `meta` may be JSON text themselves, as in the columns of a dataset.

    Args:
        check: what else it must be, such as a task of its domain (`evosyn.domains.check_task`); raises FormatError.

    Raises:
        UsageError: it is not one: `where`, the field, the rule and what to do.
    """
    given = _object(_read(value, where), where)
    for name in given:
        if name not in FIELDS:
            near = difflib.get_close_matches(str(name), FIELDS, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"fields: {', '.join(FIELDS)}"
            raise UsageError(f"{where}: {str(name)[:40]!r} is not a field of a task; {hint}")
    if given.get("testing") is None:
        raise UsageError(f"{where}: needs a testing, as in docs/reward.md")
    texts = {
        name: _text(given, name, default, where)
        for name, default in (("domain", DEFAULT_DOMAIN), ("problem_id", NAMELESS), ("statement", UNSAID))
    }
    rest = {name: given.get(name) for name in FLAT_PAYLOAD}
    payload = _read(given.get("payload"), f"{where}.payload")
    try:
        problem = problem_from_json(
            {**texts, **rest, "payload": payload, "meta": _read(given.get("meta"), f"{where}.meta")}
        )
    except FormatError as error:
        raise UsageError(f"{where}.{_said(error)}") from error
    try:
        testing = testing_from_json(_read(given["testing"], f"{where}.testing"))
    except FormatError as error:
        raise UsageError(f"{where}.testing{'.' if error.field else ': '}{_said(error)}") from error
    task = Task(_text(given, "id", texts["problem_id"], where), problem, testing)
    if check is not None:
        try:
            check(task)
        except FormatError as error:
            raise UsageError(f"{where}.{_said(error)}") from error
    return task


def _read(value: Json, where: str) -> Json:
    """A value, or the value of its JSON text."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{where}: is a text that is not JSON ({str(error)[:80]}); see docs/reward.md") from error


def _object(value: Json, where: str) -> Mapping[str, Json]:
    if not isinstance(value, Mapping):
        raise UsageError(f"{where}: must be a JSON object, not {type(value).__name__}; see docs/reward.md")
    return value


def _text(given: Mapping[str, Json], name: str, default: str, where: str) -> str:
    value = given.get(name)
    if value is None:
        return default
    if not isinstance(value, str):
        raise UsageError(f"{where}.{name}: must be a text or null, not {type(value).__name__}")
    return value


def _said(error: FormatError) -> str:
    return f"{error}{f'. {error.hint}' if error.hint else ''}"
