"""`evosyn doctor --model`: what a model's answers say about it, before anything depends on them."""

import json
import re

import pytest
from click.testing import CliRunner
from simulation.scripted_server import Refusal, ScriptedServer, refuses

from evosyn.cli import doctor
from evosyn.errors import UsageError
from evosyn.workbench import SandboxConfig


def found(server, *more):
    """The findings about the model, those of this machine left out."""
    options = {"base_url": server.base_url, **dict(one.split("=") for one in more)}
    return list(doctor._model("openai/m", options))


def answers(body, occurrence):  # noqa: ARG001
    if "response_format" in body:
        return '{"title": "a prime", "number": 11}'
    return "<think>easy</think>ready" if "single word" in body["messages"][0]["content"] else "11, I think."


def test_a_good_model_is_told_with_its_latency_tokens_and_json_mode():
    with ScriptedServer(answers) as server:
        question, mode = found(server)
    assert question.works and "'ready'" in question.detail and "tokens, price unknown, thinks" in question.detail
    assert mode.works and mode.what.endswith("JSON")


def test_what_the_endpoint_refuses_is_told():
    wants = "Unsupported parameter: '{name}'. Use 'max_completion_tokens' instead."
    refusals = [refuses("max_tokens", wants), refuses("temperature"), refuses("response_format")]
    with ScriptedServer(answers, refuse=refusals) as server:
        told = {one.what.partition(", ")[2]: one for one in found(server)}
    assert "max_completion_tokens is sent" in told["max_tokens"].detail
    assert "nothing is sent" in told["temperature"].detail and "nothing is sent" in told["response_format"].detail
    assert not told["JSON"].works and told["JSON"].remedy and not told["JSON"].needed


@pytest.mark.parametrize("text", ["", "<think>on and on"])
def test_an_empty_reply_is_no_answer(text):
    with ScriptedServer(lambda body, occurrence: text) as server:  # noqa: ARG005
        (one,) = found(server)
    assert not one.works and one.needed and "no text in the first 2 answers" in one.detail


def test_a_key_under_another_name_is_read_and_a_page_is_no_answer(monkeypatch):
    monkeypatch.setenv("OTHER_KEY", "sk-other")
    with ScriptedServer(answers, required_key="sk-other") as server:
        assert found(server, "api_key_env=OTHER_KEY")[0].works
    with ScriptedServer(answers, refuse=[lambda body: Refusal(200, "<p>Please log in</p>")]) as server:  # noqa: ARG005
        (one,) = found(server)
    assert "no chat completion: Please log in" in one.detail


def test_the_command_ends_with_4_where_the_model_does_not_answer(monkeypatch):
    monkeypatch.setattr(doctor, "_sandbox", lambda *_, **__: doctor.Finding("sandbox", True, "not looked at"))
    with ScriptedServer(answers, required_key="x") as server:
        line = ["--model", "openai/m", "--base-url", server.base_url, "--json"]
        ended = CliRunner().invoke(doctor.command, line, standalone_mode=False)
    assert ended.return_value == 4
    assert "HTTP 401" in json.loads(ended.stdout)[-1]["detail"]


@pytest.mark.parametrize("url", ["http://user:pass-word@localhost:1/v1", "user:pass-word@localhost:1/v1"])
def test_a_password_in_an_address_is_not_printed(url):
    with pytest.raises(UsageError, match="--base-url") as found:
        list(doctor._model("openai/m", {"base_url": url}))
    assert "pass-word" not in str(found.value) and "user:" not in str(found.value)


@pytest.mark.parametrize(
    ("line", "told"),
    [
        (("gpt-4o-mini",), "provider/name"),
        (("openai/m", "--api-key-env", "NOPE_KEY"), "NOPE_KEY is not set"),
        (("openai/m", "--base-url", "ftp://x"), "--base-url"),
    ],
)
def test_what_is_wrong_in_the_command_is_told_apart_from_what_is_wrong_out_there(line, told, monkeypatch):
    monkeypatch.setattr(doctor, "_sandbox", lambda *_, **__: doctor.Finding("sandbox", True, "not looked at"))
    with pytest.raises(UsageError, match=told) as found:
        CliRunner().invoke(doctor.command, ["--model", *line], standalone_mode=False, catch_exceptions=False)
    assert found.value.exit_code == 2


def test_what_programs_see_is_said_and_seen_to_be_imported() -> None:
    def said(*packages: str) -> doctor.Finding:
        return doctor._packages(SandboxConfig(packages=packages, workers=1, allow_weak=True))

    assert said().detail == "standard library only"
    assert re.fullmatch(r"numpy \d\S+, PyYAML \d\S+ from \S+python\S*", said("numpy", "pyyaml").detail)
    refused = said("no-such-distribution")
    assert not refused.works and "no-such-distribution is not installed" in refused.detail
    mistyped = doctor._packages(SandboxConfig.model_validate({"package": ["numpy"], "allow_weak": True}))
    assert not mistyped.works and "unknown key 'package'" in mistyped.detail
