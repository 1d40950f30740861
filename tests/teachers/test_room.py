"""Lengths follow what was seen, a window is asked for once and kept to, and no key depends on either."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some
from simulation.scripted_server import Refusal, ScriptedServer

from evosyn.chat import FULL, TOO_LONG, Message, Refusals, Reply, Request, roomier, without_passage
from evosyn.configs.loading import load_config
from evosyn.errors import UsageError
from evosyn.lengths import AUTO, PURPOSES, start_of
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.teachers.chat import ChatTeacher
from evosyn.teachers.room import BEYOND, ENOUGH, SHARE, SHORTEST, Room, TooLong
from tests.teachers.asking import ask, made, many, run, windowed

Body = Mapping[str, Any]
WORDS = " ".join(["these are ordinary words of a prompt"] * 40)
"""1,479 letters."""


def seen(*lengths: int, failure: str | None = None, purpose: str = "solution") -> Room:
    room = Room(Refusals())
    for length in lengths:
        room.saw(Request((), purpose), Reply("r", "t", "m", failure=failure, output_tokens=length))
    return room


def auto(purpose: str = "solution", value: str = AUTO, text: str = "q", optional: tuple[str, ...] = ()) -> Request:
    return Request((Message("user", text),), purpose, {"max_tokens": value}, optional=optional)


@given(some.lists(some.integers(1, 5000), min_size=ENOUGH, max_size=200))
def test_auto_allows_half_more_than_nearly_all_replies_took(lengths: list[int]) -> None:
    found = seen(*lengths).length(auto())
    assert found is not None
    assert found >= SHORTEST and sum(BEYOND * one <= found for one in lengths) >= SHARE * len(lengths)
    assert found <= max(SHORTEST, BEYOND * max(lengths) + 1)
    assert seen(*lengths).length(auto(value="roomy")) == 4 * found
    assert seen(*lengths).length(auto("testing")) == start_of("testing"), "other purposes say nothing"


@given(some.lists(some.integers(1, 100_000), min_size=1, max_size=100))
def test_where_all_are_cut_the_length_grows_and_not_for_ever(lengths: list[int]) -> None:
    start, found = start_of("solution"), seen(*lengths, failure="truncated").length(auto())
    assert found is not None and start <= found <= max(16 * start, start)
    assert found >= min(2 * max(lengths), 16 * start)
    assert seen(*lengths, failure="repeats-itself").length(auto()) == start, "a loop asks for no more room"


def test_auto_is_a_number_when_it_is_sent_and_in_no_key(tmp_path: Path) -> None:
    sent: list[int] = []

    def script(body: Body, _: int) -> str:
        sent.append(body["max_tokens"])
        return "word " * 40

    requests = [ask(f"q{number}", max_tokens="auto") for number in range(40)]
    with ScriptedServer(script) as server:
        options = {"base_url": server.base_url, "cache": tmp_path / "replies.sqlite", "calls": 1}
        first = many(made(**options), requests)
        again = made(**options)
        assert [reply.text for reply in many(again, requests)] == [reply.text for reply in first] and len(sent) == 40
        assert sent[0] == start_of("solution") and sent[-1] == SHORTEST
        assert [reply.length for reply in first] == sent

        async def resumed(teacher: ChatTeacher) -> Reply:
            for request in requests:
                await teacher.complete(request)
            return await teacher.complete(ask("further", max_tokens="auto"))

        assert run(made(**options), resumed).length == SHORTEST, "what is kept says how long replies are"


def test_a_cut_reply_to_auto_gets_more_room_and_an_endpoint_its_own_name_for_it() -> None:
    sent = []
    refusal = {"error": {"message": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead."}}

    def refuse(body: Body) -> Refusal | None:
        if "max_tokens" in body:
            return Refusal(400, refusal)
        sent.append(body["max_completion_tokens"])
        return None

    first = ask("q", max_tokens="auto")
    wider = roomier(first, Reply("r", "", "m", failure="truncated"))
    assert wider.params == {"max_tokens": "roomy"} == roomier(wider, Reply("r", "", "m", failure="truncated")).params
    with ScriptedServer(lambda _body, _times: "yes", refuse=[refuse]) as server:
        many(made(base_url=server.base_url, calls=1), [first, wider])
    assert sent == [start_of("solution"), 4 * start_of("solution")]


@pytest.mark.parametrize("value", ["long", 0, -3, True, 1.5])
def test_a_length_is_a_whole_number_or_auto(value: object) -> None:
    with pytest.raises(
        UsageError, match=r"sampling\.testing.*max_tokens: a whole number of tokens of 1 or more, or auto"
    ):
        load_config(SynthesizeConfig, sets=[f"sampling.testing.max_tokens={str(value).lower()}"])
    assert load_config(SynthesizeConfig, sets=["sampling.testing.max_tokens=auto"]) == SynthesizeConfig()


REFUSALS = {
    "llama.cpp": (
        '{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it",'
        '"type":"exceed_context_size_error","n_prompt_tokens":2423,"n_ctx":2048}}', 2048, 2423,
    ),
    "llama.cpp, later": (
        "request (2423 tokens) exceeds the available context size (2048 tokens), try increasing it", 2048, 2423
    ),
    "vLLM": (
        "This model's maximum context length is 2048 tokens. However, you requested 6519 tokens (2423 in the messages, "
        "4096 in the completion). Please reduce the length of the messages or completion.", 2048, 2423,
    ),
    "vLLM, later": (
        "'max_tokens' or 'max_completion_tokens' is too large: 4096. This model's maximum context length is 2048 "
        "tokens and your request has 2423 input tokens (4096 > 2048 - 2423).", 2048, 2423,
    ),
    "SGLang": ("The input (2423 tokens) is longer than the model's context length (2048 tokens).", 2048, 2423),
    "SGLang, both": (
        "Requested token count exceeds the model's maximum context length of 2048 tokens. You requested a total of "
        "2600 tokens: 2423 tokens from the input messages and 177 tokens for the completion.", 2048, 2423,
    ),
    "Anthropic": ("prompt is too long: 2423 tokens > 2048 maximum", 2048, 2423),
    "Anthropic, both": ("input length and `max_tokens` exceed context limit: 2423 + 512 > 2048, decrease", 2048, 2423),
    "TGI": ("`inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2423 `inputs` tokens and 9 `max_new_tokens`",
            2048, 2423),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_says_the_window(name: str) -> None:
    body, window, prompt = REFUSALS[name]
    room, request = Room(Refusals()), auto(text="x" * (3 * prompt))
    assert room.learned(request, body) and room.known.window == window
    with pytest.raises(TooLong, match=f"tokens of prompt, window {window}"):
        room.fitted(request)
    assert room.fitted(auto(text="x" * 1500)).length == window - 524


@pytest.mark.parametrize(
    "body",
    [
        "max_tokens is too large: 32768. This model supports at most 4096 completion tokens, you provided 32768.",
        "max_tokens: 32768 > 4096, which is the maximum allowed number of output tokens for this model",
    ],
)
def test_a_refusal_says_how_long_a_reply_may_be(body: str) -> None:
    room = Room(Refusals())
    assert room.learned(auto(value="roomy"), body) and room.fitted(auto(value="roomy")).length == 4096


PAGES = {
    "llama.cpp": {"/props": {"default_generation_settings": {"n_ctx": 1024}, "total_slots": 4}},
    "vLLM": {"/v1/models": {"data": [{"id": "other", "max_model_len": 9}, {"id": "m", "max_model_len": 1024}]}},
    "one model": {"/v1/models": {"data": [{"id": "another-name", "context_length": 1024}]}},
    "nothing": {"/props": [1], "/v1/models": {"data": "none"}},
}


def prompts(body: Body) -> str:
    return str(body["messages"][-1]["content"])


@pytest.mark.parametrize("name", PAGES)
def test_a_window_is_asked_for_once_and_prompts_are_cut_to_it(name: str) -> None:
    texts: list[str] = []

    def script(body: Body, _: int) -> str:
        texts.append(prompts(body))
        return "yes"

    least, more = f"# Least\n{WORDS}", f"# More\n{WORDS}"
    long = auto(text=f"# The problem\nwhat?\n\n{more}\n\n{least}\n\n# The form\nyes or no", optional=(least, more))
    with ScriptedServer(script, refuse=[windowed(1024)], pages=PAGES[name]) as server:
        teacher = made(base_url=server.base_url)
        requests = [ask("first", max_tokens="auto"), *(Request(**{**vars(long), "sample": n}) for n in range(20))]
        first, *replies = many(teacher, requests)
        assert server.counts.pages <= 2, "however many requests there are"
        refused = server.counts.answers["400"]
    assert not first.failure and {reply.failure for reply in replies} == {None}
    assert refused <= (20 if name == "nothing" else 4), "what a refusal says holds for all"
    assert set(texts[1:]) == {f"# The problem\nwhat?\n\n{more}\n\n# The form\nyes or no"}
    assert teacher.budget.spent.calls == 21


def test_a_prompt_that_cannot_fit_is_told_before_any_call_is_spent() -> None:
    with ScriptedServer(lambda _body, _times: "yes", refuse=[windowed(1024)], pages=PAGES["llama.cpp"]) as server:
        teacher = made(base_url=server.base_url, calls=1)
        _, reply = many(teacher, [ask("first"), auto(text=WORDS * 6)])
        assert server.counts.requests == 1
    assert reply.failure == TOO_LONG and reply.detail.endswith("tokens of prompt, window 1024")
    assert (teacher.budget.spent.calls, teacher.budget.spent.abandoned, reply.cost) == (1, 0, 0.0)


@pytest.mark.parametrize("length", ["auto", 4096])
def test_a_reply_has_what_the_prompt_leaves_of_the_window(length: object) -> None:
    lengths = []

    def cut(body: Body) -> Refusal:
        lengths.append(body["max_tokens"])
        tokens = {"prompt_tokens": len(prompts(body)) // 4, "completion_tokens": body["max_tokens"]}
        choice = {"message": {"content": "and so on"}, "finish_reason": "length"}
        return Refusal(200, {"choices": [choice], "usage": tokens})

    refuse = [windowed(1024), cut]
    with ScriptedServer(lambda _body, _times: "", refuse=refuse, pages=PAGES["llama.cpp"]) as server:
        teacher = made(base_url=server.base_url, calls=1)
        _, reply = many(teacher, [ask("first", max_tokens=16), ask(WORDS, max_tokens=length)])
    assert lengths.pop(0) == 16 and lengths == [reply.length] and 300 < lengths[0] < 1024 - len(WORDS) // 4
    assert reply.failure == FULL and roomier(ask("q"), reply) == ask("q"), "there is no more room"


def test_a_refusal_without_numbers_is_one_unusable_reply() -> None:
    with ScriptedServer(lambda _body, _times: "yes", refuse=[windowed(1024, told=False)]) as server:
        first, second = many(made(base_url=server.base_url, calls=1), [ask("q"), ask(WORDS * 4)])
        assert server.counts.answers["400"] == 1
    assert (first.failure, second.failure) == (None, "bad-request")


@given(some.lists(some.text("ab\n", min_size=1), min_size=1, max_size=5), some.data())
def test_a_passage_goes_and_all_else_stays(parts: list[str], data: some.DataObject) -> None:
    passage = data.draw(some.sampled_from(parts)).strip()
    request = Request((Message("system", "s"), Message("user", "\n\n".join(parts))), "strategy")
    left = without_passage(request, f"{passage} \n").messages[1].content
    wanted = request.messages[1].content.rpartition(passage or "none")
    assert left.replace("\n", "") == (wanted[0] + wanted[2]).replace("\n", "")
    assert without_passage(request, "no such passage") == request == without_passage(request, " \n")


def test_every_purpose_has_a_start_that_is_worth_a_call() -> None:
    assert all(purpose.start >= SHORTEST and purpose.key for purpose in PURPOSES.values())


def test_a_server_gets_few_more_calls_than_it_works_at() -> None:
    with ScriptedServer(
        lambda body, _times: prompts(body), latency_s=0.05, slots=4, pages=PAGES["llama.cpp"]
    ) as server:
        began = asyncio.new_event_loop().time()
        replies = many(made(base_url=server.base_url), [ask(f"q{number}") for number in range(80)])
        seconds = asyncio.new_event_loop().time() - began
        assert server.counts.most_in_flight == 5
    assert [reply.text for reply in replies] == [f"q{number}" for number in range(80)]
    assert seconds < 5.0, "20 rounds of 0.05 s"


def test_a_cut_reply_is_full_only_where_the_window_was_what_cut_it() -> None:
    room = Room(Refusals(window=100_000))
    sent = room.fitted(auto())
    cut = Reply("r", "t", "m", failure="truncated", input_tokens=30, output_tokens=start_of("solution"))
    for _ in range(9):
        room.saw(sent, cut)
    assert room.length(auto()) > start_of("solution"), "while it was under way lengths grew"  # type: ignore[operator]
    assert not room.is_full(sent, cut)
    small = Room(Refusals(window=1024))
    fitted = small.fitted(auto(text=WORDS))
    assert small.is_full(fitted, Reply("r", "t", "m", input_tokens=370, output_tokens=fitted.length or 0))
