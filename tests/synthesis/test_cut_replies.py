"""Of a reply that was cut the whole cases count, and one that repeats itself is not given more room."""

from __future__ import annotations

import json

import pytest

from evosyn.chat import Message, Reply, Request, roomier
from evosyn.domains import domain as domain_named
from evosyn.records import Problem
from evosyn.synthesis.usable import read_reply
from evosyn.text.loops import repeats_itself
from evosyn.thinking import settled

FUNCTION = Problem("f", "python-function", "Double each.", payload={"entry_point": "f", "starter_code": "def f(x):\n"})
CASES = [{"input": [{"a": [number]}], "output": {"b": "]}"}} for number in range(3)]
WHOLE = json.dumps(CASES)
SUMS = Problem("s", "python-stdin", "Double it.")
TEXTS = [{"input": f"{number}\n", "output": f"{2 * number}\n"} for number in range(10, 13)]
FORMS = {
    "a list": WHOLE,
    "a list in a fence": f"Here:\n```json\n{json.dumps(CASES, indent=1)}",
    "an object with a list": json.dumps({"kind": "cases", "cases": CASES}),
    "objects line by line": "\n".join(map(json.dumps, CASES)),
    "asserts": "```python\n"
    + "".join(f"assert f({case['input'][0]}) == {case['output']}\n" for case in CASES)
    + "```\n",
    "blocks of texts": "".join(f"```input\n{one['input']}```\n```output\n{one['output']}```\n" for one in TEXTS),
}


def cut_reply(text: str, failure: str = "truncated") -> Reply:
    return settled(Reply("r", text, "m", failure), "auto")


@pytest.mark.parametrize("failure", ["truncated", "repeats-itself", "timeout", "transport"])
@pytest.mark.parametrize("form", FORMS)
def test_the_whole_cases_before_any_end_are_kept(form: str, failure: str) -> None:
    text, seen = FORMS[form], set()
    problem, cases = (SUMS, TEXTS) if form == "blocks of texts" else (FUNCTION, CASES)
    for end in range(0, len(text), 1 if failure == "truncated" else 7):
        read = read_reply(problem, domain_named(problem.domain), "testing", cut_reply(text[:end], failure))
        kept = [] if read.value is None else read.value.body["cases"]  # type: ignore[union-attr]
        assert kept == cases[: len(kept)], text[:end]
        assert read.detail.startswith(f"reply-{failure}") if kept else read.reason == f"reply-{failure}"
        seen.add(len(kept))
    assert {0, 1, 2} <= seen


@pytest.mark.parametrize("form", ["a list in a fence", "asserts", "blocks of texts"])
def test_a_broken_line_costs_one_case(form: str) -> None:
    problem = SUMS if form == "blocks of texts" else FUNCTION
    lines = {
        "a list in a fence": ["[", *(json.dumps(case) + "," for case in CASES), "]"],
        "asserts": FORMS["asserts"].split("\n"),
        "blocks of texts": FORMS["blocks of texts"].split("\n"),
    }[form]
    broken = {"a list in a fence": '{"input": [{"a: [7]}], "output": 1},', "asserts": "assert f({'a': [7)} == 1",
              "blocks of texts": "```input\n7"}[form]  # fmt: skip
    at = {"a list in a fence": 2, "asserts": 2, "blocks of texts": 0}[form]
    said = "\n".join([*lines[:at], broken, *lines[at:]])
    read = domain_named(problem.domain).read("testing", said, problem)
    whole = TEXTS if problem is SUMS else CASES
    assert read.value is not None and len(read.value.body["cases"]) >= len(whole) - 1, read.reason
    assert all(case in whole for case in read.value.body["cases"])
    assert read.reason.startswith("cases-lost: 1 of ")


def test_a_program_that_was_cut_is_not_mended() -> None:
    reply = cut_reply('[{"input": [1], "output": 2}, {"in')
    assert read_reply(FUNCTION, domain_named("python-function"), "solution", reply).reason == "reply-truncated"


LINE = "assert f([1, 2, 3]) == [2, 4, 6]  # doubles each of the numbers\n"
WORDS = [chr(97 + number) * (number % 5 + 1) + "end" for number in range(24)]


def counted(line: str, times: int) -> str:
    return "".join(line.replace("N", str(number)) for number in range(times))


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("Here:\n" + LINE * 20 + LINE[:30], True),
        (LINE * 3, True),
        ("Wait, let me check again.\nThe first gives 3, so it is right.\n\n" * 5, True),
        ("[\n" + '  {"input": [[], 0], "output": []},\n' * 20, True),
        ("".join(f"line {'abcdefgh'[number % 8]} of a passage\n" for number in range(80)) * 3, True),
        (counted("line N of a long passage that comes again\n", 60) * 4, True),
        (WHOLE + "0, " * 500, True),
        (counted("assert f(N, 1) == N\n", 100), True),
        ("".join(f"assert f({list(range(number))}) == {number}\n" for number in range(60)), True),
        (counted("assert f(N, 1) == N\n", 15), False),
        ("".join(f'assert f("{word}") == "{word[::-1]}"\n' for word in WORDS), False),
        ("assert f([" + "0, " * 90, False),
        ("assert f([" + ", ".join(map(str, range(3000))), False),
        (LINE * 2, False),
        ("}\n" * 3, False),
        ("|---|---|---|\n" * 3, False),
        ("=" * 40, False),
        ("", False),
    ],
)
def test_a_loop_at_the_end_is_seen_and_given_no_more_room(text: str, repeats: bool) -> None:
    assert repeats_itself(text) == repeats
    reply = cut_reply(text)
    assert reply.failure == ("repeats-itself" if repeats else "truncated")
    request = Request((Message("user", "q"),), "testing", {"max_tokens": 10})
    assert roomier(request, reply).params["max_tokens"] == (10 if repeats else 40)
