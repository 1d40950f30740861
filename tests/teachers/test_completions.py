"""What stands in a reply, whatever form an endpoint gives it: read as text, refusal, tokens; never a crash."""

import json
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as some

from evosyn.chat import Message, Request
from evosyn.teachers.completions import Answer, Received, about_tokens, read
from evosyn.teachers.failures import Endpoint, Failure, TransportError

ENDPOINT = Endpoint("openai/m", "http://localhost:1/v1", None)
ASKED = Request((Message("user", "What is it? " * 10),), "solution")
PROMPT = about_tokens("What is it? " * 10)
COUNTED = {"prompt_tokens": 31, "completion_tokens": 7}


def body(message: Any, finish: Any = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": message, "finish_reason": finish}], "usage": COUNTED, **more}


def answer(of: Any) -> Answer:
    return read(Received(200, {}, "application/json", json.dumps(of).encode()), ENDPOINT, ASKED)


def said(content: Any, **more: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": content, **more}


NO_COUNTS: Mapping[str, Any] = {
    "missing": ...,
    "null": None,
    "a list": [1, 2],
    "null inside": {"prompt_tokens": None, "completion_tokens": None},
    "negative": {"prompt_tokens": -1, "completion_tokens": -7},
    "fractions": {"prompt_tokens": 2.5, "completion_tokens": 0.1},
    "words": {"prompt_tokens": "31", "completion_tokens": "many"},
    "truth values": {"prompt_tokens": True, "completion_tokens": True},
    "nothing for a text": {"prompt_tokens": 0, "completion_tokens": 0},
    "beyond all bounds": {"prompt_tokens": 1e300, "completion_tokens": 10**40},
    "no numbers": {"prompt_tokens": float("nan"), "completion_tokens": float("inf")},
}


@pytest.mark.parametrize("usage", NO_COUNTS.values(), ids=NO_COUNTS)
def test_tokens_that_an_endpoint_does_not_count_are_estimated_from_the_texts_and_said_to_be(usage: Any) -> None:
    given = body(said("four letters a token", reasoning_content="hm, hm, hm"))
    del given["usage"]
    found = answer(given if usage is ... else {**given, "usage": usage})
    assert (found.input_tokens, found.output_tokens) == (PROMPT, 5 + 3)
    assert found.estimated


def test_counts_of_an_endpoint_stand_as_they_are() -> None:
    found = answer(body(said("text")))
    assert (found.input_tokens, found.output_tokens, found.estimated) == (31, 7, False)
    whole = answer({**body(said("text")), "usage": {"prompt_tokens": 31.0, "completion_tokens": 7.0}})
    assert (whole.input_tokens, whole.output_tokens, whole.estimated) == (31, 7, False)


TEXTS: Mapping[str, tuple[Any, str, str | None]] = {
    "a text": (said("yes"), "yes", None),
    "parts": (said([{"type": "text", "text": "y"}, {"type": "output_text", "text": "es"}]), "yes", None),
    "parts that are texts": (said(["y", "es"]), "yes", None),
    "a part with null": (said([{"type": "text", "text": None}, {"type": "text", "text": "yes"}]), "yes", None),
    "a part in a part": (said([{"type": "text", "text": {"value": "yes"}}]), "yes", None),
    "an object": (said({"type": "text", "text": "yes"}), "yes", None),
    "reasoning among the parts": (
        said([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}, {"type": "text", "text": "yes"}]),
        "yes",
        "hm",
    ),
    "an image among the parts": (said([{"type": "image_url", "image_url": {}}, {"text": "yes"}]), "yes", None),
    "reasoning in a field": (said("yes", reasoning_content="hm"), "yes", "hm"),
    "reasoning in parts": (said("yes", reasoning=[{"type": "text", "text": "hm"}]), "yes", "hm"),
    "reasoning alone": (said(None, reasoning_content="hm"), "", "hm"),
    "a number": (said(5), "5", None),
    "nothing": (said(None), "", None),
    "no message": (None, "", None),
    "half a letter": (said("y\ud800s"), "y?s", None),
    "calls that are none": (said("yes", tool_calls=[None]), "yes", None),
    "calls without a function": (said("yes", tool_calls={"name": "bash"}), "yes", None),
}


@pytest.mark.parametrize("message,text,reasoning", TEXTS.values(), ids=TEXTS)
def test_a_content_is_read_in_every_form(message: Any, text: str, reasoning: str | None) -> None:
    found = answer(body(message))
    assert (found.text, found.reasoning) == (text, reasoning)
    found.text.encode()


def test_arguments_of_a_call_may_be_an_object() -> None:
    function = {"name": "bash", "arguments": {"command": "ls"}}
    assert '"command":"ls"' in answer(body(said(None, tool_calls=[{"function": function}]))).text


@pytest.mark.parametrize(
    "given",
    [{"choices": []}, {"choices": None}, {"choices": [None]}, {"object": "chat.completion"}, {"usage": COUNTED}],
    ids=str,
)
def test_a_completion_without_a_choice_is_an_empty_answer(given: Any) -> None:
    assert (answer(given).text, answer(given).finish_reason) == ("", "stop")


@pytest.mark.parametrize(
    "finish,read_as",
    [
        (None, "stop"),
        ("", "stop"),
        ("eos", "eos"),
        ({"a": 1}, "{'a': 1}"),
        ("length", "length"),
        ("MAX_TOKENS", "length"),
        ("content_filter", "content_filter"),
        ("SAFETY", "content_filter"),
        ("refusal", "content_filter"),
    ],
)
def test_the_end_of_a_reply_is_known_in_the_words_of_many_servers(finish: Any, read_as: str) -> None:
    assert answer(body(said("text"), finish)).finish_reason == read_as


def test_a_refusal_is_a_reply_that_says_so() -> None:
    found = answer(body(said(None, refusal="I cannot help with that.")))
    assert (found.text, found.finish_reason) == ("I cannot help with that.", "content_filter")
    beside = answer(body(said("yes", refusal="")))
    assert (beside.text, beside.finish_reason) == ("yes", "stop")


ERRORS: Mapping[str, tuple[Any, Failure, str]] = {
    "a text": ({"error": "boom"}, Failure.SERVER, "boom"),
    "beside no choices": ({"error": {"message": "no money", "code": 402}, "choices": []}, Failure.PAYMENT, "no money"),
    "a code in words": ({"error": {"message": "slow down", "code": "429"}}, Failure.RATE, "slow down"),
    "the body itself": ({"object": "error", "message": "no model", "code": 404}, Failure.NO_MODEL, "no model"),
    "inside a choice": (
        {"choices": [{"error": {"message": "gone", "code": 502}, "message": said("half"), "finish_reason": "error"}]},
        Failure.SERVER,
        "gone",
    ),
    "a choice that ended by it": (body(said("half"), "error"), Failure.SERVER, "broken off"),
    "a choice that was given up": (body(said("half"), "abort"), Failure.SERVER, "broken off"),
}


@pytest.mark.parametrize("given,kind,told", ERRORS.values(), ids=ERRORS)
def test_an_error_inside_a_good_response_is_an_error(given: Any, kind: Failure, told: str) -> None:
    with pytest.raises(TransportError, match=told) as caught:
        answer(given)
    assert caught.value.kind is kind


JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(max_size=5),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)


@given(message=some.dictionaries(some.sampled_from(["content", "refusal", "reasoning", "tool_calls"]), JSON), more=JSON)
def test_arbitrary_fields_never_crash(message: Any, more: Any) -> None:
    for given_body in (body(message, more), {**body(message), "usage": more}, {"choices": more}, {"error": more}, more):
        try:
            found = answer(given_body)
        except TransportError:
            continue
        assert found.input_tokens >= 0 <= found.output_tokens
        found.text.encode()


def test_a_byte_that_is_no_text_is_named_with_its_place() -> None:
    raw = json.dumps(body(said("caf?"))).encode().replace(b"?", b"\xe9")
    with pytest.raises(TransportError, match=rf"not UTF-8, byte 0xe9 at {raw.index(233)}") as found:
        read(Received(200, {}, "application/json", raw), ENDPOINT, ASKED)
    assert found.value.kind is Failure.SERVER
    assert "base-url" not in found.value.advice


OTHERS = {
    "the Responses API": {"object": "response", "output": [], "usage": COUNTED},
    "the legacy completions API": {"object": "text_completion", "choices": [{"text": "a"}], "usage": COUNTED},
    "a stream of events": {"object": "chat.completion.chunk", "choices": [{"delta": {"content": "a"}}]},
    "Anthropic's Messages API": {"type": "message", "role": "assistant", "content": [], "usage": {"input_tokens": 1}},
    "Gemini's own API": {"candidates": [{"content": {"parts": [{"text": "a"}]}}]},
    "Ollama's own API": {"model": "m", "message": {"role": "assistant", "content": "a"}, "done": True},
    "Ollama's own API for prompts": {"model": "m", "response": "a", "done": True},
}


@pytest.mark.parametrize("name", OTHERS)
def test_an_answer_of_another_api_is_named(name: str) -> None:
    with pytest.raises(TransportError, match=f"no chat completion, but of {name}: ") as found:
        answer(OTHERS[name])
    assert found.value.kind is Failure.NOT_CHAT
