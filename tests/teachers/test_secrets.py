"""What a provider says back is told to the user, but never a secret that it repeats."""

import asyncio
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from simulation.scripted_server import Refusal, ScriptedServer

from evosyn.chat import Message, Request
from evosyn.errors import TeacherUnavailable, UsageError
from evosyn.teachers._litellm import LitellmTransport
from evosyn.teachers.failures import Endpoint, TransportError, masked, redacted, refused
from evosyn.teachers.transports import CompatibleTransport
from tests.teachers.asking import ask, echo, made, many

SECRET = "sk-9f3b2c7a-very-secret"


class Echo(BaseHTTPRequestHandler):
    """An endpoint that refuses, and repeats the key that it was given, as some do."""

    def do_POST(self) -> None:
        self.send_response(401)
        self.end_headers()
        self.wfile.write(f"Incorrect API key provided: {self.headers['Authorization']}".encode())

    def log_message(self, *_args: object) -> None: ...


@pytest.fixture
def endpoint() -> Iterator[str]:
    server = HTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_port}/v1"
    server.shutdown()
    server.server_close()


@pytest.mark.parametrize("name", ["PROVIDER_KEY", "MY_LOGIN"])
def test_a_key_that_an_endpoint_repeats_is_not_told(name: str, endpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, SECRET)

    async def ask() -> None:
        transport = CompatibleTransport(Endpoint("openai/m", endpoint, name, 10.0))
        try:
            await transport.send(Request((Message("user", "hello"),), "solution"))
        finally:
            await transport.aclose()

    with pytest.raises(TransportError) as caught:
        asyncio.run(ask())
    assert "Incorrect API key" in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("transport", ["compatible", "litellm"])
def test_blanks_around_a_key_are_no_part_of_it(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FROM_A_FILE", f" {SECRET}\r\n")
    with ScriptedServer(echo, required_key=SECRET) as server:
        teacher = made(base_url=server.base_url, api_key_env="FROM_A_FILE", transport=transport)
        assert many(teacher, [ask("q")])[0].failure is None
        assert server.counts.authorizations == {SECRET}


@pytest.mark.parametrize("inside", ["\n", "\r\n", " ", "\u2011", "\t"])
def test_what_can_be_no_key_is_refused_before_anything_is_sent(inside: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_LOGIN", f"{SECRET}{inside}more")
    with ScriptedServer(echo) as server:
        with pytest.raises(UsageError, match="the key in MY_LOGIN holds a blank, a line end or a letter") as caught:
            made(base_url=server.base_url, api_key_env="MY_LOGIN")
        assert server.counts.requests == 0
    assert SECRET not in str(caught.value)


def test_a_variable_of_blanks_is_not_set(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_LOGIN", " \n")
    with pytest.raises(UsageError, match="MY_LOGIN is not set"):
        made(base_url="http://localhost:1/v1", api_key_env="MY_LOGIN")


def test_a_missing_key_is_said_before_litellm_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setitem(sys.modules, "litellm", None)
    with pytest.raises(UsageError, match="--model openai/m: the environment variable OPENAI_API_KEY is not set"):
        LitellmTransport(Endpoint("openai/m", None, None, 10.0))


def test_a_key_is_taken_out_however_it_is_spelled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_LOGIN", 'a"secret/of+mine\n')
    endpoint = Endpoint("openai/m", "http://localhost:1/v1", "MY_LOGIN", 10.0)
    said = 'plain a"secret/of+mine, JSON a\\"secret/of+mine, URL a%22secret%2Fof%2Bmine'
    assert redacted(said, endpoint) == "plain <MY_LOGIN>, JSON <MY_LOGIN>, URL <MY_LOGIN>"


def test_a_key_that_stands_in_a_reply_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    cache = tmp_path / "replies.sqlite"
    with ScriptedServer(lambda _body, _occurrence: f"<think>{SECRET}</think>Bearer {SECRET}!") as server:
        (reply,) = many(made(base_url=server.base_url, cache=cache), [ask("q")])
    assert (reply.text, reply.reasoning) == ("Bearer <OPENAI_API_KEY>!", "<OPENAI_API_KEY>")
    assert all(SECRET.encode() not in file.read_bytes() for file in tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "value", "kept"),
    [
        ("POSTGRES_PASSWORD", "postgres", True),
        ("DB_PASSWORD", "password", True),
        ("SSH_KEY_FILE", "/opt/keys/id_ed25519", True),
        ("POSTGRES_PASSWORD", "x7Kq2mVw9Rt4Zp1s", False),
        ("AWS_SECRET_ACCESS_KEY", "wJalrXUtnFEMI/K7MDENG/bPxRfiCYzz", False),
        ("HF_TOKEN", "hf_abcdefgh", False),
    ],
)
def test_a_word_of_a_reply_is_kept_though_a_variable_holds_it(
    name: str, value: str, kept: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    endpoint = Endpoint("openai/m", "http://localhost:1/v1", "MY_LOGIN", 10.0)
    text = f"connect('{value}')"
    assert (masked(text, endpoint) == text) is kept
    assert value not in redacted(text, endpoint)


def test_a_key_under_a_name_that_litellm_alone_knows_is_neither_kept_nor_called_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TOGETHERAI_API_KEY", SECRET)
    endpoint = Endpoint("together_ai/m", None, None, 10.0)
    assert masked(f"it is {SECRET}", endpoint) == "it is <TOGETHERAI_API_KEY>"
    assert refused(401, "no", endpoint, {}).advice.startswith(
        "The key that litellm read for together_ai is not valid there: correct it"
    )
    monkeypatch.setenv("TOGETHER_AI_API_KEY", SECRET)
    assert "The key in TOGETHER_AI_API_KEY" in refused(401, "no", endpoint, {}).advice


@pytest.mark.parametrize("transport", ["compatible", "litellm"])
def test_a_key_never_goes_where_a_redirect_points(transport: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", SECRET)
    with ScriptedServer(echo) as other:
        away = Refusal(307, "", headers={"Location": f"{other.base_url}/chat/completions"})
        with ScriptedServer(echo, refuse=[lambda _body: away]) as server:
            teacher = made(base_url=server.base_url, transport=transport)
            with pytest.raises(TeacherUnavailable, match=f"HTTP 307 points to {other.base_url}.*no redirect"):
                many(teacher, [ask("q")])
        assert other.counts.requests == 0


@pytest.mark.parametrize("transport", ["compatible", "litellm"])
def test_no_more_of_an_answer_is_read_than_a_reply_can_be_long(transport: str) -> None:
    with ScriptedServer(lambda _body, _occurrence: "x" * 17 * 2**20) as server:
        with pytest.raises(TeacherUnavailable, match="longer than 16 MiB"):
            many(made(base_url=server.base_url, transport=transport), [ask("q")])
        assert server.counts.requests == 1
