"""Every row of the fault matrix in docs/models.md, against a scripted endpoint: what is said, and what it costs."""

import asyncio
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from simulation.scripted_server import Faults, Refusal, ScriptedServer, refuses

from evosyn.chat import Message, Request
from evosyn.domains import domain as domain_named
from evosyn.errors import EXIT_UNAVAILABLE, TeacherUnavailable
from evosyn.records import Problem
from evosyn.synthesis.usable import read_reply
from evosyn.teachers.chat import ChatTeacher
from evosyn.teachers.failures import Failure, TransportError
from evosyn.teachers.limits import Breaker
from tests.teachers.asking import ask, echo, made, many, run

MATRIX = Path(__file__).parents[2] / "docs" / "models.md"
QUOTA = {"error": {"message": "You exceeded your current quota", "code": "insufficient_quota"}}
LONG = {"error": {"message": "This model's maximum context length is 2048 tokens, you requested 8192"}}
PAGE = "<html><head><style>p {color: red}</style><title>Bad gateway</title></head><body><p>nginx</p></body></html>"


def always(status: int, text: Any = "", **more: Any) -> dict[str, Any]:
    return {"refuse": [lambda body: Refusal(status, text, **more)]}  # noqa: ARG005


@dataclass(frozen=True)
class Row:
    """An endpoint that never gives an answer.

    Attributes:
        server: how it is scripted.
        said: what the message must hold beside model and address.
        requests: that reach it, of the twenty that are to be made.
        url: in place of the server's.
    """

    server: dict[str, Any]
    said: str
    requests: int = 1
    url: str | None = None
    key: bool = True


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


ENDS = {
    "refuses the connection": Row({}, r"refused the connection.*Start the server, or correct --base-url", 0, "closed"),
    "has an unknown host name": Row(
        {}, r"'no-such-host\.invalid' is not known.*--base-url", 0, "http://no-such-host.invalid/v1"
    ),
    "speaks no TLS on an https address": Row({}, r"no TLS connection.*http:// for a server without TLS", 0, "https"),
    "401, with a key": Row(always(401, {"error": {"message": "bad key"}}), r"HTTP 401: bad key.*key in OPENAI_API_KEY"),
    "401, without a key": Row(
        always(401, {"message": "who are you"}), r"HTTP 401: who are you.*OPENAI_API_KEY is not set", key=False
    ),
    "403": Row(always(403, {"detail": "not in your region"}), r"HTTP 403: not in your region.*may not use this model"),
    "402": Row(always(402, {"error": "Insufficient credits"}), r"HTTP 402: Insufficient credits.*no credit left"),
    "429 with a spent quota": Row(always(429, QUOTA), r"HTTP 429: You exceeded.*no credit left"),
    "404": Row(
        always(404, {"error": {"message": "no model m"}}), r"HTTP 404: no model m.*asked for the model 'm'.*/v1"
    ),
    "400, too long for its context": Row(
        always(400, LONG), r"HTTP 400: .*2048.*--set sampling\.solution\.max_tokens", 16
    ),
    "400 to everything": Row(always(400, {"error": "top_p must be 1"}), r"top_p must be 1.*sampling parameters", 17),
    "500": Row(always(500, "boom", kind="text/plain"), r"HTTP 500: boom \(2 times\).*log of the server", 3),
    "502 with a page": Row(always(502, PAGE), r"HTTP 502: Bad gateway nginx \(2 times\)", 3),
    "200 with a page": Row(always(200, PAGE), r"text/html, which is no chat completion: Bad gateway.*--base-url"),
    "200 with an error inside": Row(
        always(200, {"error": {"message": "no money", "code": 402}}), r"no money.*no credit"
    ),
    "200 with other JSON": Row(always(200, {"status": "fine"}), r"application/json, which is no chat completion"),
    "200 of another API": Row(
        always(200, {"object": "response", "output": [{"type": "message"}], "usage": {"input_tokens": 1}}),
        r"no chat completion, but of the Responses API.*chat API as --base-url",
    ),
    "200 with a stream of events": Row(
        always(200, 'data: {"choices": [{"delta": {"content": "a"}}]}\n\n', kind="text/event-stream"),
        r"but of a stream of events.*answer as a whole",
    ),
    "400, it streams only": Row(always(400, {"error": {"message": "stream must be true"}}), r"answer as a whole", 17),
    "points to another address": Row(
        always(307, "", headers={"Location": "https://other.example/v1?key=k"}),
        r"HTTP 307 points to https://other\.example/v1\?\.\.\., and no redirect is followed.*--base-url",
    ),
    "an answer without end": Row(always(200, "x" * 17 * 2**20), r"longer than 16 MiB.*--base-url"),
    "empty texts only": Row({"faults": Faults(empty=1.0)}, r"no text in the first 16 answers \(16 x empty", 20),
    "breaks every connection": Row({"faults": Faults(cut=1.0)}, r"the connection broke.*\(2 times\)", 3),
    "never answers": Row({"faults": Faults(hang=1.0)}, r"no answer in 0\.2 s \(2 times\)", 3),
}


def documented() -> list[str]:
    section = MATRIX.read_text(encoding="utf-8").split("## When the endpoint misbehaves")[1].split("\n## ")[0]
    return re.findall(r"^\| (?!endpoint|---)([^|]+?) \|", section, re.MULTILINE)


@pytest.mark.parametrize("name", ENDS)
def test_an_endpoint_that_never_answers_ends_the_run_with_one_sentence(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = ENDS[name]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user") if row.key else monkeypatch.delenv("OPENAI_API_KEY", False)
    with ScriptedServer(echo, **row.server) as server:
        url = {
            None: server.base_url,
            "closed": f"http://127.0.0.1:{free_port()}/v1",
            "https": server.base_url.replace("http:", "https:"),
        }.get(row.url, row.url)
        slow = "hang" in repr(row.server) and row.server["faults"].hang
        teacher = made(base_url=url, retries=1, timeout_s=0.2 if slow else 30.0, calls=4)
        with pytest.raises(TeacherUnavailable, match=f"(?s)^openai/m at {url}/chat/completions: .*{row.said}") as found:
            many(teacher, [ask(f"q{index}", temperature=1.0) for index in range(20)])
        assert server.counts.requests <= row.requests
    assert found.value.exit_code == EXIT_UNAVAILABLE
    assert "sk-of-the-user" not in str(found.value) and len(str(found.value)) < 700


def test_every_reply_cut_ends_the_question_and_says_how_to_give_more_room() -> None:
    with ScriptedServer(echo, faults=Faults(truncated=1.0)) as server:
        teacher = made(base_url=server.base_url)
        with pytest.raises(
            TeacherUnavailable, match=r"every reply was cut.*sampling\.solution\.max_tokens=\.\.\. \(.*--max-tokens\)"
        ):
            run(teacher, lambda teacher: teacher.check("solution", {"max_tokens": 100}))
        assert server.counts.requests == 2, "the second time with more room"


def test_two_empty_answers_to_the_question_end_the_run() -> None:
    with ScriptedServer(echo, faults=Faults(empty=1.0)) as server:
        with pytest.raises(TeacherUnavailable, match=r"no text in .*2 answers \(2 x empty"):
            run(made(base_url=server.base_url), lambda teacher: teacher.check("solution", {}))
        assert server.counts.requests == 2


def test_after_a_while_it_is_said_that_nothing_comes(monkeypatch: pytest.MonkeyPatch, caplog) -> None:
    monkeypatch.setattr("evosyn.teachers.chat.SAID_AFTER_S", 0.1)
    with ScriptedServer(echo, latency_s=0.6) as server:
        (reply,) = many(made(base_url=server.base_url), [ask("q")])
    assert reply.failure is None
    (said,) = [one.getMessage() for one in caplog.records if "no answer" in one.getMessage()]
    assert server.base_url in said


ADAPTS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "refuses max_tokens": ("max_tokens", {"max_completion_tokens": 7}, {}),
    "refuses a temperature": ("temperature", {"max_tokens": 7}, {}),
    "refuses response_format": (
        "response_format",
        {"max_tokens": 7, "temperature": 0.5},
        {"schema": {"type": "object"}},
    ),
    "refuses another parameter": ("top_k", {"max_tokens": 7}, {"top_k": 5}),
}


@pytest.mark.parametrize("name", ADAPTS)
def test_a_refused_parameter_costs_one_call_and_one_line(name: str, caplog: pytest.LogCaptureFixture) -> None:
    parameter, kept, more = ADAPTS[name]
    seen: list[dict[str, Any]] = []
    why = "Unsupported parameter: '{name}' is not supported with this model."
    why += " Use 'max_completion_tokens' instead." if parameter == "max_tokens" else ""

    def script(body: Any, _: int) -> str:
        seen.append(body)
        return "fine"

    schema = more.get("schema")
    params = {"max_tokens": 7, "temperature": 0.5, **{key: value for key, value in more.items() if key != "schema"}}
    requests = [Request((Message("user", f"q{n}"),), "solution", params, schema=schema) for n in range(10)]
    with ScriptedServer(script, refuse=[refuses(parameter, why)]) as server:
        replies = many(made(base_url=server.base_url), requests)
        assert server.counts.requests == 11
    assert [reply.text for reply in replies] == ["fine"] * 10
    assert all(parameter not in body and kept.items() <= body.items() for body in seen)
    assert len([one for one in caplog.records if f"refuses {parameter}" in one.getMessage()]) == 1


def test_a_parameter_that_is_refused_under_its_other_name_too_is_left_out() -> None:
    why = "Unsupported parameter: '{name}'. Use 'max_completion_tokens' instead."
    with ScriptedServer(echo, refuse=[refuses("max_tokens", why), refuses("max_completion_tokens")]) as server:
        replies = many(made(base_url=server.base_url), [ask(f"q{index}", max_tokens=7) for index in range(5)])
        assert server.counts.requests == 2 + 5
    assert [reply.failure for reply in replies] == [None] * 5


GOES_ON = {
    "429 now and then": Faults(rate_limited=0.3, retry_after_s=0.05, seed=1),
    "500 now and then": Faults(server_error=0.2, once=True, seed=1),
    "hangs now and then": Faults(hang=0.1, once=True, seed=3),
}


@pytest.mark.parametrize("name", GOES_ON)
def test_what_passes_is_asked_again_and_no_request_is_lost(name: str) -> None:
    with ScriptedServer(echo, faults=GOES_ON[name]) as server:
        teacher = made(base_url=server.base_url, timeout_s=4.0 if GOES_ON[name].hang else 300.0)
        replies = many(teacher, [ask(f"q{index}") for index in range(40)])
        assert server.counts.requests > 40
    assert [reply.failure for reply in replies] == [None] * 40


@contextmanager
def restarted(server: ScriptedServer) -> Iterator[ScriptedServer]:
    """Another server at the address of one that has ended."""
    port = int(server.base_url.rpartition(":")[2].partition("/")[0])
    with ScriptedServer(echo, port=port) as again:
        yield again


def test_an_outage_costs_nothing_but_time() -> None:
    async def work(teacher: ChatTeacher, server: ScriptedServer) -> list[str]:
        await teacher.complete(ask("first"))
        await asyncio.to_thread(server.__exit__, None, None, None)
        asked = asyncio.gather(*(teacher.complete(ask(f"q{index}")) for index in range(10)))
        await asyncio.sleep(1.0)
        with restarted(server):
            return [reply.text.split()[0] for reply in await asked]

    with ScriptedServer(echo) as server:
        teacher = made(base_url=server.base_url, retries=0)
        assert run(teacher, lambda teacher: work(teacher, server)) == [f"q{index}" for index in range(10)]


def test_a_request_that_always_fails_is_given_up_and_neither_ends_the_run_nor_stands_in_its_way() -> None:
    def broken(body: Any) -> Refusal | None:
        return Refusal(500, "boom") if "poison" in body["messages"][0]["content"] else None

    with ScriptedServer(echo, refuse=[broken]) as server:
        alone = many(made(base_url=server.base_url, retries=1), [ask("poison")])
        assert server.counts.requests == 3, "twice, and the question"
        among = many(made(base_url=server.base_url, retries=1), [ask("poison"), *(ask(f"q{n}") for n in range(5))])
    assert [reply.failure for reply in [*alone, *among]] == ["server", "server", *[None] * 5]


def test_one_moderated_request_is_one_unusable_reply() -> None:
    def moderated(body: Any) -> Refusal | None:
        flagged = body["messages"][0]["content"] == "q3"
        return Refusal(403, {"error": {"message": "your input was flagged"}}) if flagged else None

    with ScriptedServer(echo, refuse=[moderated]) as server:
        replies = many(made(base_url=server.base_url), [ask(f"q{index}") for index in range(6)])
    assert [reply.failure for reply in replies] == [None, None, None, "bad-request", None, None]


def test_what_a_filter_of_prompts_says_stays_with_the_unusable_reply() -> None:
    words = "The response was filtered due to the prompt triggering our content management policy"
    refuse = always(400, {"error": {"code": "content_filter", "message": words}})["refuse"][0]
    filtered = [lambda body: refuse(body) if body["messages"][0]["content"] == "q1" else None]
    with ScriptedServer(echo, refuse=filtered) as server:
        replies = many(made(base_url=server.base_url), [ask("q0"), ask("q1")])
    assert replies[1].failure == "bad-request"
    domain, problem = domain_named("math-answer"), Problem("p", "math-answer", "How many?")
    told = read_reply(problem, domain, "solution", replies[1])
    assert (told.reason, words in told.detail) == ("reply-bad-request", True)


def test_a_model_that_is_gone_in_the_middle_ends_the_run_after_its_retries() -> None:
    gone: list[bool] = []
    refuse = [lambda _: Refusal(404, {"error": {"message": "no model m"}}) if gone else None]

    async def work(teacher: ChatTeacher) -> None:
        await teacher.complete(ask("q0"))
        gone.append(True)
        await teacher.complete(ask("q1"))

    with ScriptedServer(echo, refuse=refuse) as server:
        with pytest.raises(TeacherUnavailable, match=r"HTTP 404: no model m \(2 times\)"):
            run(made(base_url=server.base_url, retries=1), work)
        assert server.counts.requests == 4, "twice, and the question"


def test_a_question_that_is_answered_by_a_call_of_a_tool_ends_the_run() -> None:
    call = {"type": "function", "function": {"name": "f", "arguments": "{}"}}
    body = {"choices": [{"message": {"content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}]}
    with ScriptedServer(echo, **always(200, body)) as server:
        with pytest.raises(TeacherUnavailable, match=r"call of a tool.*without its parser of tool calls"):
            run(made(base_url=server.base_url), lambda teacher: teacher.check("solution", {}))
        assert server.counts.requests == 1


def test_a_pause_that_is_longer_than_anybody_waits_ends_the_run_at_once() -> None:
    refused = always(429, {"error": {"message": "daily limit"}}, headers={"Retry-After": "7200"})
    with ScriptedServer(echo, **refused) as server:
        with pytest.raises(TeacherUnavailable, match=r"asks for a pause of 7200 s \(HTTP 429: daily limit\)"):
            many(made(base_url=server.base_url), [ask(f"q{index}") for index in range(20)])
        assert server.counts.requests == 1


def test_an_endpoint_that_only_asks_to_wait_is_asked_until_a_time_that_is_said(caplog) -> None:
    async def refused_twice() -> None:
        breaker = Breaker(20.0, "the endpoint")
        breaker.failed(TransportError(Failure.RATE, "HTTP 429", 15.0))
        with pytest.raises(TeacherUnavailable, match="asks for a pause of 21 s"):
            breaker.failed(TransportError(Failure.RATE, "HTTP 429", 21.0))

    asyncio.run(refused_twice())
    assert "asks for a pause of 15 s" in caplog.text and "asked on until 20 s" in caplog.text


BY_OTHER_TESTS = {
    "429 with a pause longer than five minutes": test_a_pause_that_is_longer_than_anybody_waits_ends_the_run_at_once,
    "429 to everything": test_an_endpoint_that_only_asks_to_wait_is_asked_until_a_time_that_is_said,
    "cuts every reply": test_every_reply_cut_ends_the_question_and_says_how_to_give_more_room,
    "goes down and comes back": test_an_outage_costs_nothing_but_time,
    "goes down for good": "teachers/test_chat.py: "
    "test_an_endpoint_that_dies_on_the_way_loses_no_request_and_ends_the_run_after_its_time",
    "500 to one prompt": test_a_request_that_always_fails_is_given_up_and_neither_ends_the_run_nor_stands_in_its_way,
    "404 in the middle": test_a_model_that_is_gone_in_the_middle_ends_the_run_after_its_retries,
    "bytes that are no UTF-8": "teachers/test_completions.py: test_a_byte_that_is_no_text_is_named_with_its_place",
    "calls a tool where none was offered": test_a_question_that_is_answered_by_a_call_of_a_tool_ends_the_run,
    "403 to one prompt": test_one_moderated_request_is_one_unusable_reply,
    "cuts a reply": "cli/test_evolve_drawing.py: test_a_reply_that_was_cut_is_asked_for_once_more_with_more_room",
    "an empty or refused reply": "teachers/test_chat.py: "
    "test_empty_truncated_and_missing_answers_are_failures_and_not_successes",
    "says in a field that it refuses": "teachers/test_completions.py: test_a_refusal_is_a_reply_that_says_so",
    "content in parts, or null": "teachers/test_completions.py: test_a_content_is_read_in_every_form",
    "no token counts, or impossible ones": "teachers/test_completions.py: "
    "test_tokens_that_an_endpoint_does_not_count_are_estimated_from_the_texts_and_said_to_be",
    "an error inside a choice": "teachers/test_completions.py: test_an_error_inside_a_good_response_is_an_error",
    "repeats the key": "teachers/test_secrets.py: test_a_key_that_stands_in_a_reply_is_not_kept",
    "thinks in its answer": "teachers/test_thinking.py: test_an_answer_that_is_reasoning_alone_is_no_answer",
}


def test_the_matrix_of_the_documentation_is_the_one_that_is_tested() -> None:
    assert sorted(documented()) == sorted([*ENDS, *ADAPTS, *GOES_ON, *BY_OTHER_TESTS])


@pytest.mark.parametrize("named", [named for named in BY_OTHER_TESTS.values() if isinstance(named, str)])
def test_a_row_that_another_file_tests_is_tested_there(named: str) -> None:
    file, _, name = named.partition(": ")
    assert f"def {name}(" in (Path(__file__).parents[1] / file).read_text(encoding="utf-8")
