"""Log-probabilities: from an endpoint over real HTTP to what strategies see; what does not add up is unknown."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from simulation.scripted_server import Refusal, ScriptedServer, refuses

from evosyn.chat import Reply, Request
from evosyn.configs.sampling import SamplingConfig
from evosyn.domains import domain, load_pools
from evosyn.records import ParsedCall, Problem
from evosyn.synthesis.generate import Want, draw_pool
from evosyn.synthesis.likelihood import expected_spans, solution_details
from evosyn.teachers.completions import answer_of
from evosyn.teachers.failures import Endpoint
from evosyn.text.logprobs import Span, aligned, piece_of, values_in
from evosyn.thinking import settled
from tests.teachers.asking import ask, made, many

Body = Mapping[str, Any]


def tokens_of(text: str, size: int = 3) -> list[bytes]:
    raw = text.encode()
    return [raw[at : at + size] for at in range(0, len(raw), size)]


def told(text: str, before: str = "", behind: str = "", size: int = 3) -> dict[str, Any]:
    """A completion with a log-probability of -n / 100 for its token n; what stands before and behind is not in it."""
    entries = [
        {"token": raw.decode(errors="replace"), "bytes": list(raw), "logprob": -number / 100, "top_logprobs": []}
        for number, raw in enumerate(tokens_of(before + text + behind, size))
    ]
    choice = {"message": {"content": text}, "finish_reason": "stop", "logprobs": {"content": entries}}
    return {"choices": [choice], "usage": {"prompt_tokens": 9, "completion_tokens": len(entries)}}


WORDS = st.text("abc \né\U0001f40d", max_size=20)


@given(WORDS, WORDS.filter(bool), WORDS, st.integers(1, 5))
def test_tokens_of_a_text_add_up_to_it_whatever_stands_around(before: str, text: str, behind: str, size: int) -> None:
    tokens = [(raw, -0.01 * number) for number, raw in enumerate(tokens_of(before + text + behind, size))]
    found = aligned(tokens, text)
    assert found is not None and sum(count for count, _ in found) == len(text)
    assert {value for _, value in found} <= {round(value, 4) for _, value in tokens}
    assert piece_of(found, text, text) == found
    assert aligned(tokens, text + "zz") is None and aligned([*tokens, (b"", float("nan"))], text) is None


@given(WORDS.filter(bool), st.data())
def test_a_piece_has_the_tokens_that_touch_it(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    span = Span(start, data.draw(st.integers(start + 1, len(text))))
    tokens = [(letter.encode(), -float(number)) for number, letter in enumerate(text)]
    whole = aligned(tokens, text)
    assert whole is not None
    assert values_in(whole, span) == [-float(number) for number in range(*span)]


@pytest.mark.parametrize(
    "broken",
    [
        {"content": [{"token": "ye", "logprob": -1}]},
        {"content": [{"token": "yes", "logprob": None}]},
        {"content": [{"token": "yes", "logprob": "x"}]},
        {"content": [{"token": "yes", "logprob": float("-inf")}]},
        {"content": [{"token": "yes", "bytes": [999], "logprob": -1}]},
        {"content": None},
        {"tokens": ["yes"]},
        None,
        [],
    ],
)
def test_what_does_not_add_up_is_unknown(broken: Any) -> None:
    body = {"choices": [{"message": {"content": "yes"}, "logprobs": broken}]}
    assert answer_of(body, Endpoint("openai/m", "http://h/v1", None), ask("q")).logprobs is None


@pytest.mark.parametrize("transport", ["compatible", "litellm"])
def test_a_reply_keeps_them_in_the_cache_and_without_reasoning(transport: str, tmp_path: Path) -> None:
    asked: list[Any] = []

    def answer(body: Body) -> Refusal:
        asked.append((body.get("logprobs"), body.get("top_logprobs")))
        return Refusal(200, told("<think>so</think>yes, it is", behind="<|im_end|>"))

    options = {"transport": transport, "model": "openai/gpt-4o-mini", "cache": tmp_path / "replies.sqlite"}
    with ScriptedServer(lambda _body, _times: "", refuse=[answer]) as server:
        (reply,) = many(made(base_url=server.base_url, **options), [ask("q")])
        (again,) = many(made(base_url=server.base_url, **options), [ask("q")])
    assert asked == [(True, 1)] and reply.text == "yes, it is"
    assert reply.logprobs is not None and sum(count for count, _ in reply.logprobs) == len(reply.text)
    assert again.logprobs == reply.logprobs == settled(reply, "auto").logprobs
    assert reply.logprobs[0] == (1, -0.05), "`k>y` is the token 5; one letter of it is in the answer"


SAYS = {
    "by name": refuses("logprobs"),
    "like a key": lambda body: (
        Refusal(403, {"error": {"message": "You are not allowed to request logprobs from this model"}})
        if "logprobs" in body
        else None
    ),
    "by a failure": lambda body: Refusal(500, "logprobs need logits_all") if "logprobs" in body else None,
    "in no words": lambda body: Refusal(400, {"error": "bad request"}) if "logprobs" in body else None,
    "with its schema": lambda body: Refusal(400, {"error": "bad request"}) if "top_logprobs" in body else None,
}


@pytest.mark.parametrize("name", SAYS)
def test_an_endpoint_that_refuses_them_costs_one_call_for_all_teachers(name: str) -> None:
    with ScriptedServer(lambda _body, _times: "yes", refuse=[SAYS[name]]) as server:
        teacher = made(base_url=server.base_url)
        replies = many(teacher, [ask(f"q{number}") for number in range(20)])
        assert server.counts.requests == 21
    assert {(reply.failure, reply.logprobs) for reply in replies} == {(None, None)}
    assert teacher.budget.spent.calls == 20


def test_only_the_second_parameter_may_be_refused() -> None:
    def answer(body: Body) -> Refusal | None:
        return Refusal(200, told("yes")) if body.get("logprobs") else None

    with ScriptedServer(lambda _body, _times: "", refuse=[refuses("top_logprobs"), answer]) as server:
        (reply,) = many(made(base_url=server.base_url), [ask("q")])
        assert server.counts.requests == 2
    assert reply.logprobs == ((3, 0.0),)


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text("ab c\n", max_size=4),
    lambda inner: st.lists(inner, max_size=3),
    max_leaves=5,
)
CASES = st.lists(st.tuples(st.lists(VALUES, max_size=3), VALUES), min_size=1, max_size=5)
FORMS = {
    "asserts": lambda cases: "\n".join(
        f"assert f({', '.join(map(repr, given))}) == {wanted!r}  # so" for given, wanted in cases
    ),
    "bare asserts": lambda cases: "\n".join(
        f"assert f({','.join(map(repr, given))})=={wanted!r}" for given, wanted in cases
    ),
    "objects": lambda cases: json.dumps([{"input": given, "output": wanted} for given, wanted in cases], indent=1),
    "pairs": lambda cases: json.dumps(cases),
}


@settings(max_examples=200, deadline=None)
@given(CASES, st.sampled_from(sorted(FORMS)), st.booleans())
def test_the_expected_value_of_each_case_is_found_where_it_stands(cases: list[Any], form: str, draft: bool) -> None:
    """Of equal calls with equal values any place is theirs."""
    text = FORMS[form](cases)
    whole = f"I think of {text}.\n\n```\n{text}\n```\n" if draft else text
    calls = [ParsedCall(json.dumps(given), json.dumps(wanted)) for given, wanted in cases]
    spans = expected_spans(whole, calls)
    found = [None if span is None else whole[span.start : span.end] for span in spans]
    alike = [json.loads(json.dumps(wanted)) for _, wanted in cases]
    for shown, wanted in zip(found, alike, strict=True):
        assert shown is None or eval(shown, {"true": True, "false": False, "null": None}) == wanted
    assert None not in found
    assert not draft or all(span is not None and span.start > len(text) for span in spans)
    assert expected_spans(whole, [ParsedCall("[12345]", "5")]) == [None]


def test_texts_of_a_program_are_found_in_json_and_in_blocks() -> None:
    calls = [ParsedCall("3\n1 2 3\n", "6\n"), ParsedCall("1\n-5\n", "-5\n")]
    listed = '[{"input": "3\\n1 2 3\\n", "output": "6\\n"},\n {"input": "1\\n-5\\n", "output": "-5\\n"}]'
    blocks = "Input:\n```\n3\n1 2 3\n```\nOutput:\n```\n6\n```\n\nInput:\n```\n1\n-5\n```\nOutput:\n```\n-5\n```\n"
    for text, wanted in ((listed, ['"6\\n"', '"-5\\n"']), (blocks, ["6", "-5"])):
        assert [text[span.start : span.end] for span in expected_spans(text, calls) if span] == wanted


def drawn(replies: Sequence[Body], problem: Problem, solutions: int, testings: int) -> Any:
    """A pool of one problem drawn over HTTP, each slot answered by the next completion."""
    left = list(replies)

    async def main(url: str) -> Any:
        teacher = made(base_url=url, calls=1)

        async def asking(_kind: object, _slot: int, _attempt: int, request: Request) -> Reply:
            return await teacher.complete(request)

        try:
            want = Want(solutions, testings)
            return await draw_pool(problem, domain(problem.domain), asking, want, SamplingConfig(attempts=1))
        finally:
            await teacher.aclose()

    with ScriptedServer(lambda _body, _times: "", refuse=[lambda _body: Refusal(200, left.pop(0))]) as server:
        return asyncio.run(main(server.base_url)).pool


PROBLEM = next(pool.problem for pool in load_pools("builtin:python-seeds") if pool.problem.domain == "python-function")
NAME = PROBLEM.payload["entry_point"]
CODE = f"def {NAME}(*given):\n    return 7"


def test_a_drawn_pool_says_how_likely_its_solutions_and_expected_values_were() -> None:
    prose = told(f"Here it is.\n```python\n{CODE}\n```\nDone.", size=1)
    other = told(f"```python\n{CODE}  # at once\n```", size=1)
    pool = drawn([prose, other], PROBLEM, 2, 0)
    first, second = (solution.provenance.detail["logprob"] for solution in pool.solutions)
    at = len("Here it is.\n```python\n")
    assert first["tokens"] == len(CODE) < second["tokens"]
    assert first["sum"] == pytest.approx(-sum(range(at, at + len(CODE))) / 100)
    assert first["mean"] == pytest.approx(first["sum"] / first["tokens"], abs=1e-4)


def test_where_one_is_not_found_whole_replies_are_compared_and_cut_ones_are_unknown() -> None:
    known = aligned([(b"one two", -1.0), (b" three", -4.0)], "one two three")
    whole = Reply("r", "one two three", "m", logprobs=known)
    cut = Reply("r", "one two three", "m", failure="truncated", logprobs=known)
    bare = Reply("r", "one two three", "m")
    assert [one.get("logprob", {}).get("mean") for one in solution_details([(whole, "two"), (cut, "two")])] == [
        -1,
        None,
    ]
    mixed = solution_details([(whole, "two"), (whole, "four"), (bare, "two")])
    assert [one.get("logprob", {}).get("mean") for one in mixed] == [-2.5, -2.5, None]
    assert solution_details([(whole, "")]) == [{}], "an episode is more than its last reply"


def test_a_drawn_testing_says_it_of_each_case_and_a_cut_one_nothing() -> None:
    cases = [{"input": [number], "output": value} for number, value in ((1, "one"), (22, "two"))]
    text = f"First I think.\n```json\n{json.dumps(cases)}\n```"
    whole = told(text, size=1)
    cut = told(text, size=1)
    cut["choices"][0]["finish_reason"] = "length"
    first, second = (one.provenance.detail for one in drawn([whole, cut], ONE, 0, 2).testings)
    at = [text.index(f'"{value}"') for value in ("one", "two")]
    assert first["logprobs"] == [pytest.approx(-(start + 2) / 100) for start in at]
    assert "logprobs" not in second


ONE = Problem("name", "python-function", "Name a number.", {"entry_point": "name", "starter_code": "def name(x): ..."})
