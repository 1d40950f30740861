"""Reasoning is taken out of answers in every form in which models leave it there, and mentions of its tags are not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation.scripted_server import Refusal, ScriptedServer

from evosyn.thinking import without_first_thought, without_thinking
from tests.teachers.asking import ask, made, many

FORMS = {
    "none": ("yes", "yes", None),
    "a block before": ("<think>hmm</think>\nyes", "yes", "hmm"),
    "opened by the template": ("hmm, ```json\n[1]\n```\n</think>\n\nyes", "yes", "hmm, ```json\n[1]\n```"),
    "unclosed": ("<think>hmm ```json\n[1]\n```", "", "hmm ```json\n[1]\n```"),
    "two blocks": ("<think>a</think>one <think>b</think>two", "two", "a\none\nb"),
    "closed twice": ("a</think>b</think>yes", "yes", "a\nb"),
    "other letters": ("<Thinking>a</THINKING>yes", "yes", "a"),
    "brackets": ("[THINK]a[/THINK]yes", "yes", "a"),
    "an empty block": ("<think>\n\n</think>\n\nyes", "yes", ""),
    "between words": ("Sure. <think>hmm,\nyes</think>\nyes", "yes", "Sure.\nhmm,\nyes"),
    "behind an answer": ("```\nyes\n```\n<think>\nor ```\nno", "```\nyes\n```\n", "or ```\nno"),
    "a block before a fence on its line": ("<think>a</think>```\nb\n```", "```\nb\n```", "a"),
    "a draft that is not closed": ("<think>```py\nx = '\n</think>\n```py\ny\n```", "```py\ny\n```", "```py\nx = '"),
    "opened by the template, a draft that is not closed": (
        "So ```py\nx = '\n</think>\n```py\ny\n```",
        "```py\ny\n```",
        "So ```py\nx = '",
    ),
    "opened by the template, a draft that ends in words": (
        "So\n```py\nx = 1\nno, better so.</think>\n```py\ny\n```",
        "```py\ny\n```",
        "So\n```py\nx = 1\nno, better so.",
    ),
    "a draft and an answer whose fences touch the tag": (
        "<think>so\n```py\nx\n```</think>```py\ny\n```",
        "```py\ny\n```",
        "so\n```py\nx\n```",
    ),
    "opened by the template, a draft whose fence touches the tag": (
        "So ```py\nx\n```</think>```py\ny\n```",
        "```py\ny\n```",
        "So ```py\nx\n```",
    ),
    "opened by the template, with a draft": ("```py\nx\n```\nso y.</think>\n\ny", "y", "```py\nx\n```\nso y."),
    "about the tags": (
        "<think>\n```py\n# keep what follows </think>\n```\nyes\n</think>\nyes",
        "yes",
        "```py\n# keep what follows\n```\nyes",
    ),
    "quotes that are not closed": ('<think>say "a</think>"b</think>c"', '"b</think>c"', 'say "a'),
    "first in a fence": ("```py\n<think>a\n</think>x = 1\n```", "```py\nx = 1\n```", "a"),
    "line ends of Windows": ("<think>\r\na\r\n</think>\r\nyes\r\n", "yes\r\n", "a"),
    "mentioned in a program": (
        "text.replace('<think>', '').split(\"</think>\")[0]",
        "text.replace('<think>', '').split(\"</think>\")[0]",
        None,
    ),
    "mentioned in a pattern": ('re.sub(r"<think>.*?</think>", "")', 're.sub(r"<think>.*?</think>", "")', None),
}


AS_THEY_ARE = {
    "a remark in a fence": "```py\n# cut the text at <think>\nx\n```\n",
    "remarks in a fence": "```py\n# from <think>\nx  # to </think>\ny  # not </think>\n```\nDone.\n",
    "a template in a fence": '```py\nT = """\n<think>\n{}\n</think>\n{}"""\n```\n',
    "a fence of Windows": "```py\r\nx = 1  # until </think>\r\n```\r\n",
    "an indented fence": "1. So:\n   ```py\n   x = 1  # until </think>\n   ```\n",
    "texts in JSON": '[{"input": ["a<think>b</think>c", "<think>b</think>c"], "output": "c</think>"}]',
    "a text of several lines in JSON": '[{"input": ["a\n<think>\nb\n</think>\nc"], "output": ""}]',
    "a text of a program in the open": 'def f(s):\n    """Removes <think>...</think>."""\n    return s\n',
    "a remark of a program in the open": "def f(s):\n    # keep what follows </think>\n    return s\n",
    "a span of three backticks": "It ends at ```</think>``` alone.",
    "words before a fence": "I cut the text at <think> here:\n```py\nx\n```\n",
    "words behind a fence": "```py\nx\n```\nIt keeps what follows </think>, as asked.\n",
    "a sample that is not closed": "```py\nx\n```\nIt prints\n```\n<think>a\n```\n",
}
"""Answers in which a tag is data."""


@pytest.mark.parametrize("name", AS_THEY_ARE)
def test_a_tag_that_is_data_stays(name: str) -> None:
    assert without_thinking(AS_THEY_ARE[name])[:3] == (AS_THEY_ARE[name], None, "")
    thought = without_thinking(f"<think>\nsome\n</think>\n{AS_THEY_ARE[name]}")
    assert thought[:3] == (AS_THEY_ARE[name], "some", "")


def test_reasoning_is_taken_out_of_a_field_that_begins_with_it() -> None:
    assert without_first_thought(" <think>a\nb</think>\nSums") == "Sums"
    assert without_first_thought("Remove <think>a</think> from it") == "Remove <think>a</think> from it"


@pytest.mark.parametrize("name", FORMS)
def test_each_form_gives_answer_and_reasoning(name: str) -> None:
    text, answer, reasoning = FORMS[name]
    assert without_thinking(text)[:2] == (answer, reasoning)


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "\n", "'"]), max_size=30))
def test_what_is_left_has_no_reasoning_in_it(parts: list[str]) -> None:
    answer = str(without_thinking("".join(parts)).answer)
    assert without_thinking(answer).answer.strip() == answer.strip() or "'" in answer


def test_an_answer_that_is_reasoning_alone_is_no_answer() -> None:
    with ScriptedServer(lambda _body, _occurrence: "<think>the cases are [[1, 1]]") as server:
        (reply,) = many(made(base_url=server.base_url), [ask("q")])
    assert (reply.text, reply.failure, reply.reasoning) == ("", "cut-in-reasoning", "the cases are [[1, 1]]")


def test_content_in_parts_is_read_and_its_thinking_is_not() -> None:
    parts = [{"type": "thinking", "thinking": [{"type": "text", "text": "hmm"}]}, {"type": "text", "text": "yes"}]
    answer = {"choices": [{"message": {"content": parts}, "finish_reason": "stop"}]}
    with ScriptedServer(lambda _body, _occurrence: "", refuse=[lambda _: Refusal(200, answer)]) as server:
        (reply,) = many(made(base_url=server.base_url), [ask("q")])
    assert (reply.text, reply.failure) == ("yes", None)
