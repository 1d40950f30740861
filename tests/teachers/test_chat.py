"""Real HTTP against a scripted OpenAI-compatible server on loopback, through litellm and through aiohttp."""

import asyncio
import os
from pathlib import Path

import httpx
import pytest
from simulation.scripted_server import Faults, Refusal, ScriptedServer, refuses

from evosyn.budget import Budget, BudgetConfig
from evosyn.chat import Message, Reply, Request
from evosyn.errors import BudgetSpent, CorruptRun, TeacherUnavailable, UsageError
from evosyn.teachers.cache import ReplyCache
from evosyn.teachers.chat import ChatConfig, ChatTeacher
from evosyn.teachers.failures import Endpoint
from evosyn.teachers.transports import CompatibleTransport
from tests.teachers.asking import ask, echo, made, many, run


@pytest.mark.parametrize("transport", ["compatible", "litellm"])
def test_each_sample_is_a_call_of_its_own_and_a_rerun_costs_nothing(transport: str, tmp_path: Path) -> None:
    cache = tmp_path / "replies.sqlite"
    requests = [ask(f"q{index}", sample) for index in range(3) for sample in range(2)]
    with ScriptedServer(echo) as server:
        options = {"model": "openai/m", "base_url": server.base_url, "transport": transport, "cache": cache}
        first = many(made(**options), requests)
        again_teacher = made(**options)
        again = many(again_teacher, requests)
        assert server.counts.requests == 6
    assert [reply.text[:2] for reply in first] == ["q0", "q0", "q1", "q1", "q2", "q2"]
    assert [reply.text for reply in again] == [reply.text for reply in first]
    assert {reply.text for reply in first} == {f"q{index} #{number}" for index in range(3) for number in range(2)}
    assert all(reply.cached and reply.failure is None and reply.input_tokens > 0 for reply in again)
    assert again_teacher.budget.spent.calls == 0


@pytest.mark.parametrize("transport", ["compatible", "litellm"])
def test_a_refused_key_ends_the_run_at_once_and_never_shows(
    transport: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("MY_API_KEY", "sk-very-secret-value")
    cache = tmp_path / "replies.sqlite"
    with ScriptedServer(echo, required_key="another") as server:
        teacher = made(base_url=server.base_url, api_key_env="MY_API_KEY", transport=transport, cache=cache)
        with pytest.raises(TeacherUnavailable) as error:
            many(teacher, [ask("q")])
        assert server.counts.requests == 1
        assert server.counts.authorizations == {"sk-very-secret-value"}
    assert "sk-very-secret-value" not in str(error.value)
    assert b"sk-very-secret" not in cache.read_bytes()


def test_faults_of_every_kind_are_retried_and_every_item_is_accounted_for() -> None:
    faults = Faults(rate_limited=0.1, server_error=0.1, cut=0.05, hang=0.02, retry_after_s=0.2, once=True)
    with ScriptedServer(echo, faults=faults) as server:
        teacher = made(base_url=server.base_url, timeout_s=1.0)
        replies = many(teacher, [ask(f"q{index}") for index in range(200)])
        assert server.counts.answers["429"] > 5
        assert server.counts.answers["500"] > 5
    assert all(reply.failure is None for reply in replies)
    assert [reply.text.split()[0] for reply in replies] == [f"q{index}" for index in range(200)]


def test_the_scripted_server_draws_its_faults_for_each_request_and_not_for_each_text() -> None:
    def again(seed: int) -> list[int]:
        faults = Faults(rate_limited=0.2, retry_after_s=0.0, seed=seed)
        with ScriptedServer(echo, faults=faults) as server, httpx.Client(base_url=server.base_url) as client:
            body = {"model": "m", "messages": [{"role": "user", "content": "q"}]}
            return [client.post("/chat/completions", json=body).status_code for _ in range(200)]

    assert again(0) == again(0) != again(1)
    assert 20 <= again(0).count(429) <= 60


def test_empty_truncated_and_missing_answers_are_failures_and_not_successes() -> None:
    faults = Faults(empty=0.3, truncated=0.3, no_choices=0.3)
    with ScriptedServer(echo, faults=faults) as server:
        replies = many(made(base_url=server.base_url), [ask(f"q{index}") for index in range(60)])
        answers = server.counts.answers
    failures = [reply.failure for reply in replies]
    assert failures.count("truncated") == answers["truncated"] > 0
    assert failures.count("empty") == answers["empty"] + answers["no_choices"] > 0
    assert failures.count(None) == answers["ok"] > 0


def test_a_budget_is_a_hard_stop_and_received_replies_are_kept(tmp_path: Path) -> None:
    cache = tmp_path / "replies.sqlite"
    with ScriptedServer(echo) as server:
        options = {"model": "openai/m", "base_url": server.base_url, "cache": cache}
        teacher = made(**options, budget=Budget(BudgetConfig(max_calls=5)))
        with pytest.raises(BudgetSpent, match="max_calls"):
            many(teacher, [ask(f"q{index}") for index in range(50)])
        assert server.counts.requests <= 5
        priced = made(
            **options,
            price_in=1.0,
            price_out=2.0,
            calls=1,
            budget=Budget(BudgetConfig(max_cost=1e-5)),
        )
        with pytest.raises(BudgetSpent, match="max_cost"):
            many(priced, [ask(f"p{index}") for index in range(50)])
        asked = server.counts.requests
        with pytest.raises(UsageError, match="price"):
            made(**options, budget=Budget(BudgetConfig(max_cost=1.0)))
        assert server.counts.requests == asked, "that is known before anything is sent"


def test_equal_requests_in_flight_share_one_call() -> None:
    with ScriptedServer(echo, latency_s=0.1) as server:
        replies = many(made(base_url=server.base_url), [ask("q")] * 20)
        assert server.counts.requests == 1
    assert {reply.text for reply in replies} == {"q #0"}


def closing(server: ScriptedServer, teacher: ChatTeacher) -> list[Reply]:
    """One reply, and 20 more after the server has gone."""

    async def ask_before_and_after(teacher: ChatTeacher) -> list[Reply]:
        await teacher.complete(ask("first"))
        await asyncio.to_thread(server.__exit__, None, None, None)
        return list(await asyncio.gather(*(teacher.complete(ask(f"q{index}")) for index in range(20))))

    return run(teacher, ask_before_and_after)


def test_an_endpoint_that_dies_on_the_way_loses_no_request_and_ends_the_run_after_its_time() -> None:
    with ScriptedServer(echo) as server:
        teacher = ChatTeacher(
            "openai/m",
            CompatibleTransport(Endpoint("openai/m", server.base_url, None)),
            ChatConfig(patience_s=1.0, retries=0),
            ReplyCache(None),
            Budget(BudgetConfig()),
        )
        with pytest.raises(
            TeacherUnavailable, match=r"answered nothing for 1 s .*refused the connection.*same command goes on"
        ):
            closing(server, teacher)


def test_a_bad_request_concerns_only_itself() -> None:
    with ScriptedServer(echo) as server:
        teacher = made(base_url=server.base_url)
        replies = many(teacher, [ask("q"), ask("r", temperature=9)])
        assert server.counts.answers["400"] == 1
    assert [(reply.text, reply.failure) for reply in replies] == [("q #0", None), ("", "bad-request")]


def test_an_endpoint_that_takes_none_of_the_requests_ends_the_run_and_says_what_to_change() -> None:
    with ScriptedServer(echo) as server:
        teacher = made(base_url=server.base_url, calls=4)
        with pytest.raises(TeacherUnavailable, match=r"temperature is too high.*sampling\.solution"):
            many(teacher, [ask(f"q{index}", temperature=9) for index in range(200)])
        assert server.counts.requests <= 24

    async def good_first(teacher: ChatTeacher) -> list[Reply]:
        await teacher.complete(ask("good"))
        return list(await asyncio.gather(*(teacher.complete(ask(f"q{n}", temperature=9)) for n in range(40))))

    with ScriptedServer(echo) as server:
        replies = run(made(base_url=server.base_url), good_first)
    assert [reply.failure for reply in replies] == ["bad-request"] * 40


def test_thinking_is_kept_apart_from_the_answer() -> None:
    with ScriptedServer(lambda _body, _occurrence: "<think>hmm</think>\nyes") as server:
        (reply,) = many(made(base_url=server.base_url), [ask("q")])
    assert (reply.text, reply.reasoning) == ("yes", "hmm")


def test_what_is_wrong_with_the_model_name_or_key_is_said_before_anything_is_sent() -> None:
    with pytest.raises(UsageError, match="provider/name"):
        made(model="gpt")
    assert "NOT_SET_ANYWHERE" not in os.environ
    with pytest.raises(UsageError, match="NOT_SET_ANYWHERE"):
        made(model="openai/m", api_key_env="NOT_SET_ANYWHERE")


def test_an_endpoint_that_admits_few_requests_answers_all_of_them_in_the_end() -> None:
    with ScriptedServer(echo, latency_s=0.1, admitted_per_s=20.0) as server:
        replies = many(made(base_url=server.base_url), [ask(f"q{index}") for index in range(60)])
        assert server.counts.answers["429"] > 0
        assert server.counts.answers["ok"] == 60
    assert all(reply.failure is None for reply in replies)


SCHEMA = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}


def structured(text: str) -> Request:
    return Request((Message("user", text),), "problem", {}, schema=SCHEMA)


def test_a_schema_goes_along_where_the_provider_takes_it() -> None:
    seen = []

    def script(body: dict, _occurrence: int) -> str:  # type: ignore[type-arg]
        seen.append(body.get("response_format"))
        return "{}"

    with ScriptedServer(script) as server:
        many(made(base_url=server.base_url), [structured("q"), ask("r")])
    wanted = {"type": "json_schema", "json_schema": {"name": "problem", "schema": SCHEMA, "strict": True}}
    assert sorted(seen, key=str) == sorted([wanted, None], key=str)


@pytest.mark.parametrize("transport", ["compatible", "litellm"])
def test_a_provider_that_refuses_a_schema_is_asked_without_it_from_then_on(transport: str) -> None:
    async def one_by_one(teacher: ChatTeacher) -> list[Reply]:
        return [await teacher.complete(structured(f"q{index}")) for index in range(5)]

    with ScriptedServer(echo, refuse=[refuses("response_format")]) as server:
        teacher = made(model="openai/gpt-4o-mini", base_url=server.base_url, transport=transport)
        replies = run(teacher, one_by_one)
        assert server.counts.structured == 1
        assert server.counts.requests == 6
    assert [(reply.text, reply.failure) for reply in replies] == [(f"q{index} #0", None) for index in range(5)]
    assert teacher.budget.spent.calls == 5


def test_a_request_that_is_bad_without_its_schema_too_says_nothing_about_schemas() -> None:
    bad = Request((Message("user", "q"),), "problem", {"temperature": 9}, schema=SCHEMA)

    async def both(teacher: ChatTeacher) -> list[Reply]:
        return [await teacher.complete(bad), await teacher.complete(structured("r"))]

    with ScriptedServer(echo) as server:
        replies = run(made(base_url=server.base_url), both)
        assert server.counts.structured == 3, (
            "the first one was refused for its temperature, with log-probabilities too"
        )
    assert [reply.failure for reply in replies] == ["bad-request", None]


def test_a_file_that_holds_no_replies_is_named_with_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "replies.sqlite").write_bytes(b"not a database at all, for sure" * 100)
    with pytest.raises(CorruptRun, match=r"replies\.sqlite: is damaged.*it shows no table of evosyn .*move it away"):
        made(base_url="http://localhost:1/v1", cache=tmp_path / "replies.sqlite")


def test_what_an_endpoint_does_not_count_is_said_once_and_counted(caplog: pytest.LogCaptureFixture) -> None:
    answer = {"choices": [{"message": {"content": "four" * 10}}], "usage": None}
    with ScriptedServer(echo, refuse=[lambda _body: Refusal(200, answer)]) as server:
        teacher = made(base_url=server.base_url, price_in=0.0, price_out=1.0)
        replies = many(teacher, [ask(f"q{index}") for index in range(5)])
    assert [(reply.output_tokens, reply.estimated) for reply in replies] == [(10, True)] * 5
    assert teacher.budget.spent.cost == pytest.approx(50 / 1e6)
    (said,) = [one.getMessage() for one in caplog.records if "did not count" in one.getMessage()]
    assert "the tokens of 5 replies" in said


def test_a_refusal_keeps_its_words() -> None:
    answer = {"choices": [{"message": {"content": None, "refusal": "I cannot."}, "finish_reason": "stop"}]}
    with ScriptedServer(echo, refuse=[lambda _body: Refusal(200, answer)]) as server:
        (reply,) = many(made(base_url=server.base_url), [ask("q")])
    assert (reply.failure, reply.text) == ("refused", "I cannot.")
