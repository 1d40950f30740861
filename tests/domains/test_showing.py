"""What strategies read of a testing: each case's arguments and expected value as short texts, or nothing."""

from __future__ import annotations

from typing import Any

from evosyn.domains.python.showing import LONGEST
from evosyn.domains.python_function import PythonFunction
from evosyn.domains.python_stdin import PythonStdin
from evosyn.records import ParsedCall, ParsedCalls, Problem, Testing

PROBLEM = Problem("p", "python-function", "", payload={"entry_point": "f"})


def calls(kind: str, **body: Any) -> ParsedCalls | None:
    return PythonFunction().calls(PROBLEM, Testing(kind, body))


def test_the_same_call_has_the_same_text_in_every_kind_of_testing() -> None:
    case = calls("cases", cases=[{"input": [1, ["a"]], "output": None}])
    text = calls("asserts", asserts=["assert f(1, ['a']) == None"])
    code = calls("program", code="def check(candidate):\n    assert candidate(1, ['a']) == None\n")
    assert case == text == code == (ParsedCall('[1, ["a"]]', "null"),)


def test_types_that_json_does_not_have_are_told_apart_from_those_that_it_has() -> None:
    found = calls("asserts", asserts=["assert f((1,)) == {2}", "assert f([1]) == {'a': 1}", "assert f(x=1) == {1: 2}"])
    assert found == (
        ParsedCall("[(1,)]", "{2}"),
        ParsedCall("[[1]]", '{"a": 1}'),
        ParsedCall('{"x": 1}', "{1: 2}"),
    )


def test_a_case_without_an_expected_value_or_without_one_call_says_so() -> None:
    found = calls(
        "asserts",
        asserts=[
            "assert f(1) > 2",
            "assert f(1) == f(2)",
            "import os\nassert f(1)",
            "assert f('a' * 10**8) == 1",
            "(",
        ],
    )
    assert found == (ParsedCall("[1]", None), None, None, ParsedCall("['a' * 10 ** 8]", "1"), None)
    assert calls("program", code="def check(candidate):\n    for x in [1]:\n        assert candidate(x)\n") is None


def test_generators_stand_as_their_source_and_cases_that_are_built_are_unknown() -> None:
    assert calls("cases", cases=[{"input": {"python": "[1]"}, "output": {"python": "2"}}]) == (
        ParsedCall('{"python": "[1]"}', '{"python": "2"}'),
    )
    assert calls("cases", cases={"python": "def build_cases(): ..."}) is None


def test_long_values_are_cut_to_a_digest_that_tells_them_apart() -> None:
    one, other = (calls("cases", cases=[{"input": ["a" * 10_000 + last], "output": 10**5000}]) for last in "bc")
    assert one is not None
    assert other is not None
    assert one[0] != other[0]
    assert all(len(text or "") <= LONGEST for text in (*one[0], *other[0]))  # type: ignore[misc]


def test_texts_in_and_out_stand_as_they_are() -> None:
    problem = Problem("p", "python-stdin", "")
    testing = Testing(
        "stdin", {"cases": [{"input": "1 2\n", "output": "3\n"}, {"input": {"python": "'x'"}, "output": ""}]}
    )
    assert PythonStdin().calls(problem, testing) == (ParsedCall("1 2\n", "3\n"), ParsedCall('{"python": "\'x\'"}', ""))
    assert PythonStdin().calls(problem, Testing("cases", {"cases": []})) is None
    assert PythonFunction().calls(PROBLEM, testing) is None
