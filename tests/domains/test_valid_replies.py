"""Valid replies always parse, in the forms in which models give them: bare, fenced, with prose around."""

import json
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.domains.python_function import PythonFunction
from evosyn.domains.python_stdin import PythonStdin
from evosyn.records import Problem, canonical_json

PROSE = st.text(string.ascii_letters + " .,\n", max_size=60)
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=30)
LEAF = (
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.floats(allow_nan=False, allow_infinity=False) | TEXT
)
VALUE = st.recursive(LEAF, lambda inner: st.lists(inner, max_size=4), max_leaves=8)
FUNCTION = Problem(
    "p", "python-function", "Do it.", payload={"entry_point": "f", "starter_code": "def f(a, b):\n    pass\n"}
)
STDIN = Problem("p", "python-stdin", "Do it.")


def said(value: object, how: str, before: str, after: str) -> str:
    text = json.dumps(value, indent=1, ensure_ascii=how != "ascii")
    if how == "bare":
        return text
    return f"{before}\n```json\n{text}\n```\n{after}"


def once(cases: list) -> list:
    """Each case once, as it is read."""
    return list({canonical_json(case): case for case in cases}.values())


HOW = st.sampled_from(["bare", "fenced", "ascii"])


@given(st.lists(st.tuples(VALUE, VALUE, VALUE), min_size=1, max_size=5), HOW, PROSE, PROSE)
def test_cases_of_a_function_are_read_as_they_were_written(cases, how, before, after) -> None:
    written = once([{"input": [first, second], "output": output} for first, second, output in cases])
    parsed = PythonFunction().read("testing", said(written, how, before, after), FUNCTION)
    assert parsed.value is not None, parsed.reason
    assert parsed.value.body["cases"] == written


@given(st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=5), HOW, PROSE, PROSE)
def test_cases_of_a_program_are_read_as_they_were_written(cases, how, before, after) -> None:
    written = once([{"input": given, "output": output} for given, output in cases])
    parsed = PythonStdin().read("testing", said(written, how, before, after), STDIN)
    assert parsed.value is not None, parsed.reason
    assert parsed.value.body["cases"] == written


@pytest.mark.parametrize("stdin", [False, True])
@given(
    TEXT, st.text(string.ascii_letters + " `{}[]\"'\n", min_size=20).filter(lambda text: len(text.strip()) >= 20), HOW
)
def test_a_problem_is_read_as_it_was_written(stdin, title, statement, how) -> None:
    value = {"title": title, "statement": statement}
    if not stdin:
        value |= {"entry_point": "f", "starter_code": "def f(a: int) -> int:\n    pass\n"}
    domain = PythonStdin() if stdin else PythonFunction()
    parsed = domain.read("problem", said(value, how, "Here it is.", ""))
    assert parsed.value is not None, parsed.reason
    assert parsed.value.statement == statement.strip()
    assert parsed.value.payload.get("entry_point") == (None if stdin else "f")


@given(st.integers(), PROSE, PROSE)
def test_a_program_is_read_as_it_was_written(number, before, after) -> None:
    source = f"def f(a, b):\n    return {number}\n"
    parsed = PythonFunction().read("solution", f"{before}\n```python\n{source}```\n{after}", FUNCTION)
    assert parsed.value is not None, parsed.reason
    assert parsed.value.text == source
