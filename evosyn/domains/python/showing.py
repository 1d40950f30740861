"""What the cases of a testing ask, as short texts: for strategies to read and compare, never to be executed.

One value has one text whichever kind of testing it stands in: JSON where that says its exact types, else Python.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Sequence

from evosyn.domains.python.budget import WorkBudget
from evosyn.domains.python.context import Broken, Context
from evosyn.domains.python.expressions import NotLiftable
from evosyn.domains.python.lifting import Lifted, lift_assert, lift_program
from evosyn.domains.python.shapes import is_generator
from evosyn.jobs import Call
from evosyn.records import Json, ParsedCall, ParsedCalls, Testing, content_id

_JSON = json.JSONEncoder(ensure_ascii=False).encode
LONGEST = 400
"""Characters of a text; a longer one is cut to its digest and length."""


def calls_of_cases(testing: Testing, shown: Callable[[Json], str]) -> ParsedCalls | None:
    """Inputs and outputs as they stand; None where only a generator knows the cases."""
    cases = testing.body["cases"]
    if is_generator(cases):
        return None
    return tuple([ParsedCall(shown(case["input"]), shown(case["output"])) for case in cases])


def calls_of_asserts(texts: Sequence[str], context: Context) -> ParsedCalls:
    """Of a testing of asserts; None for those that cannot be lifted."""
    found: list[ParsedCall | None] = []
    budget = WorkBudget()
    for text in texts:
        try:
            found.append(_parsed(lift_assert(text, context, budget)))
        except (NotLiftable, Broken):
            found.append(None)
    return tuple(found)


def calls_of_program(code: str, context: Context) -> ParsedCalls | None:
    """Of a testing that is a program; None where it is more than asserts."""
    try:
        return tuple([_parsed(lifted) for lifted in lift_program(code, context)])
    except (NotLiftable, Broken):
        return None


def text_of(value: Json) -> str:
    """The one text of a value."""
    try:
        return short_text(_JSON(value) if is_json(value) else repr(value))
    except ValueError:  # an integer too long to be written out
        return content_id("v_", marshal.dumps(value, 2).hex())


def plain_text(value: Json) -> str:
    """A text as it stands, or the JSON of the generator that makes it."""
    return short_text(value) if isinstance(value, str) else text_of(value)


def short_text(text: str) -> str:
    """The text, or its digest and length where it is long."""
    return text if len(text) <= LONGEST else f"{content_id('v_', text)} ({len(text)} characters)"


def _parsed(lifted: Lifted) -> ParsedCall | None:
    if len(lifted.calls) != 1:
        return None
    expected = None if lifted.expected is None else text_of(lifted.expected[0])
    return ParsedCall(_arguments(lifted.calls[0]), expected)


def _arguments(call: Call) -> str:
    if call.python is not None:
        return short_text(call.python)
    if not call.kwargs:
        return text_of(list(call.args))
    return text_of(dict(call.kwargs) if not call.args else [*call.args, dict(call.kwargs)])


def is_json(value: Json) -> bool:
    """Whether JSON gives it back as it is."""
    kind = type(value)
    if kind is list:
        return all(map(is_json, value))
    if kind is dict:
        return all(type(key) is str for key in value) and all(map(is_json, value.values()))
    return value is None or kind in (bool, int, str) or (kind is float and value - value == 0)
