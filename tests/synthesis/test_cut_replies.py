"""Of a reply that was cut the whole cases count, and one that repeats itself is not given more room."""

from __future__ import annotations

import json

import pytest

from evosyn.chat import Message, Reply, Request, roomier
from evosyn.domains import domain as domain_named
from evosyn.records import Problem
from evosyn.synthesis.generate import read_reply
from evosyn.text.loops import repeats_itself
from evosyn.thinking import settled

FUNCTION = Problem("f", "python-function", "Double each.", payload={"entry_point": "f", "starter_code": "def f(x):\n"})
CASES = [{"input": [{"a": [number]}], "output": {"b": "]}"}} for number in range(3)]
WHOLE = json.dumps(CASES)
FORMS = {
    "a list": WHOLE,
    "a list in a fence": f"Here:\n```json\n{json.dumps(CASES, indent=1)}",
    "an object with a list": json.dumps({"kind": "cases", "cases": CASES}),
    "objects line by line": "\n".join(map(json.dumps, CASES)),
}


def cut_reply(text: str, failure: str = "truncated") -> Reply:
    return settled(Reply("r", text, "m", failure), "auto")


@pytest.mark.parametrize("form", FORMS)
def test_the_whole_cases_before_any_cut_are_kept(form: str) -> None:
    text, domain, seen = FORMS[form], domain_named("python-function"), set()
    for end in range(len(text)):
        read = read_reply(FUNCTION, domain, "testing", cut_reply(text[:end]))
        kept = [] if read.value is None else read.value.body["cases"]  # type: ignore[union-attr]
        assert kept == CASES[: len(kept)], text[:end]
        assert read.value is not None or read.reason == "reply-truncated"
        seen.add(len(kept))
    assert {0, 1, 2} <= seen


def test_a_program_that_was_cut_is_not_mended() -> None:
    reply = cut_reply('[{"input": [1], "output": 2}, {"in')
    assert read_reply(FUNCTION, domain_named("python-function"), "solution", reply).reason == "reply-truncated"


LINE = "assert f([1, 2, 3]) == [2, 4, 6]  # doubles each of the numbers\n"


@pytest.mark.parametrize(
    ("text", "repeats"),
    [
        ("Here:\n" + LINE * 20 + LINE[:30], True),
        (WHOLE + "0, " * 500, True),
        ("".join(LINE.replace("3", str(number)) for number in range(40)), False),
        (LINE * 2, False),
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
