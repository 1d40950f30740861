"""A fence closes with anything behind its mark but the language of a further block, whatever stands in it."""

from __future__ import annotations

import json

import pytest

from evosyn.domains import domain as domain_named
from evosyn.fences import markdown_fences, without_fences
from evosyn.records import Problem

FUNCTION = Problem(
    "top",
    "python-function",
    "Return the k largest items.",
    payload={"entry_point": "top", "starter_code": "def top(items: list[int], k: int = 1):\n    pass\n"},
)
STDIN = Problem("sum", "python-stdin", "Read n; print it.")
CASE = {"input": [[1, 2], 1], "output": [2]}
KINDS = {
    "function": (FUNCTION, "solution", "python", "def top(items, k=1):\n    return sorted(items)[::-1][:k]\n"),
    "stdin": (STDIN, "solution", "python", "n = int(input())\nprint(n)\n"),
    "json": (FUNCTION, "testing", "json", json.dumps([CASE]) + "\n"),
}
BEHIND = [
    "", "<|im_end|>", "</s>", "<｜end▁of▁sentence｜>", "<eos><eos>", " done.", " end", " That is `it`.", ".", "**",
    "</answer>", "\n</answer>", " \r",
]  # fmt: skip


@pytest.mark.parametrize("mark", ["```", "~~~", "````"])
@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("kind", KINDS)
def test_a_fence_closes_with_anything_behind_its_mark(kind: str, behind: str, mark: str) -> None:
    problem, what, language, body = KINDS[kind]
    found = domain_named(problem.domain).read(what, f"Here:\n{mark}{language}\n{body}{mark}{behind}", problem)  # type: ignore[arg-type]
    assert found.value is not None, found.reason
    told = found.value.text.strip() if what == "solution" else found.value.body["cases"]
    assert told == (body.strip() if what == "solution" else [CASE])


@pytest.mark.parametrize("line", ["```python", "````", "~~~", "x ``` y", "        ```"])
def test_a_line_of_the_block_does_not_close_it(line: str) -> None:
    (fence,) = markdown_fences(f"```py\na\n{line}\nb\n")
    assert fence.text == f"a\n{line}\nb\n"


def test_what_follows_the_closing_mark_is_text_of_the_reply() -> None:
    text = "a\n```py\nx\n``` b\nc"
    assert without_fences(text).endswith("``` b\nc")
    assert [fence.text for fence in markdown_fences(text + "\n```\ny\n```")] == ["x\n", "y\n"]
