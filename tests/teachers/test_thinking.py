"""Reasoning is taken out of answers in every form in which models leave it there, and mentions of its tags are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.simulation.scripted_server import Refusal, ScriptedServer
from evosyn.thinking import without_thinking
from tests.teachers.asking import ask, made, many

FORMS = {
    "none": ("yes", "yes", None),
    "a block before": ("<think>hmm</think>\nyes", "yes", "hmm"),
    "opened by the template": ("hmm, ```json\n[1]\n```\n</think>\n\nyes", "yes", "hmm, ```json\n[1]\n```"),
    "unclosed": ("<think>hmm ```json\n[1]\n```", "", "hmm ```json\n[1]\n```"),
    "two blocks": ("<think>a</think>one <think>b</think>two", "one two", "a\nb"),
    "closed twice": ("a</think>b</think>yes", "yes", "a\nb"),
    "in a field": ('{"title": "<think>a\\nb</think>Sums"}', '{"title": "Sums"}', "a\\nb"),
    "other letters": ("<Thinking>a</THINKING>yes", "yes", "a"),
    "brackets": ("[THINK]a[/THINK]yes", "yes", "a"),
    "an empty block": ("<think>\n\n</think>\n\nyes", "yes", ""),
    "mentioned in a program": (
        "text.replace('<think>', '').split(\"</think>\")[0]",
        "text.replace('<think>', '').split(\"</think>\")[0]",
        None,
    ),
    "mentioned in a pattern": ('re.sub(r"<think>.*?</think>", "")', 're.sub(r"<think>.*?</think>", "")', None),
}


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_answer_and_reasoning(name: str) -> None:
    text, answer, reasoning = FORMS[name]
    assert without_thinking(text) == (answer, reasoning)


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "\n", "'", "[THINK]", "[/THINK]"]), max_size=30))
def test_what_is_left_has_no_reasoning_in_it(parts: list[str]) -> None:
    answer, _ = without_thinking("".join(parts))
    assert without_thinking(answer).answer.strip() == answer.strip() or "'" in answer


def test_an_answer_that_is_reasoning_alone_is_no_answer() -> None:
    with ScriptedServer(lambda _body, _occurrence: "<think>the cases are [[1, 1]]") as server:
        (reply,) = many(made(base_url=server.base_url), [ask("q")])
    assert (reply.text, reply.failure, reply.reasoning) == ("", "empty", "the cases are [[1, 1]]")


def test_content_in_parts_is_read_and_its_thinking_is_not() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}, {"type": "text", "text": "yes"}]
    answer = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    with ScriptedServer(lambda _body, _occurrence: "", refuse=[lambda _: Refusal(200, answer)]) as server:
        (reply,) = many(made(base_url=server.base_url), [ask("q")])
    assert (reply.text, reply.failure) == ("yes", None)
