"""Replies as models really write them, and what is read from them."""

import itertools
import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.chat import USUAL, Manner
from evosyn.domains import domain as domain_named
from evosyn.domains import python_function, python_stdin
from evosyn.domains.replies import fences, read_json
from evosyn.records import Problem, Testing

GOLDEN = Path(__file__).parents[1] / "golden" / "prompts"
FUNCTION = Problem(
    "top",
    "python-function",
    "Return the k largest items, largest first.",
    payload={"entry_point": "top", "starter_code": "def top(items: list[int], k: int = 1) -> list[int]:\n    pass\n"},
    human_testing=Testing(
        "cases", {"cases": [{"input": [[3, 1, 2], 2], "output": [3, 2]}, {"input": [[], 0], "output": []}]}
    ),
)
SINGLE = Problem(
    "total",
    "python-function",
    "Return the sum.",
    payload={"entry_point": "total", "starter_code": "def total(items):\n    pass\n"},
)
STDIN = Problem(
    "sum", "python-stdin", "Read n, then n numbers; print their sum.",
    human_testing=Testing("stdin", {"cases": [{"input": "1\n5\n", "output": "5\n"}]}),
)  # fmt: skip
MATH = Problem(
    "tins", "math-answer", "Two tins hold 3 pens each. How many pens are there?",
    human_testing=Testing("answer", {"answer": "6"}),
)  # fmt: skip
function, stdin = python_function.PythonFunction(), python_stdin.PythonStdin()


def cases_of(problem: Problem, text: str) -> object:
    domain = stdin if problem is STDIN else function
    parsed = domain.read("testing", text, problem)
    assert parsed.value is not None, parsed.reason
    assert domain.check_testing(problem, parsed.value) is None
    return parsed.value.body.get("cases")


GOOD = [{"input": [[1, 2], 1], "output": [2]}]


@pytest.mark.parametrize(
    "text",
    [
        '```json\n[{"input": [[1, 2], 1], "output": [2]}]\n```',
        'Sure!\n\n```json\n[\n  {"input": [[1, 2], 1], "output": [2]},\n]\n```\nHope it helps.',
        '```\n[{"input": [[1, 2], 1], "output": [2]}]\n```',
        'The tests: [{"input": [[1, 2], 1], "output": [2]}] as asked.',
        '~~~json\n[{"input": [[1, 2], 1], "output": [2]}]\n~~~',
        '````json\n[{"input": [[1, 2], 1], "output": [2]}]\n````',
        '```json\n{"cases": [{"input": [[1, 2], 1], "output": [2]}]}\n```',
        '```json\n{"input": [[1, 2], 1], "output": [2]}\n```',
        '```json\n[{"input": [[1, 2], 1], "output": [2]}]',
        "```json\n[{'input': [[1, 2], 1], 'output': [2]}]\n```",
        "```json\n[{'input': ([1, 2], 1), 'output': (2,)}]\n```",
        '```json\n[{"inputs": [[1, 2], 1], "expected": [2]}]\n```',
        '  ```json\n[{"input": [[1, 2], 1], "output": [2]}]\n  ```',
    ],
)
def test_a_list_of_cases_is_read_from_replies_as_models_write_them(text: str) -> None:
    assert cases_of(FUNCTION, text) == GOOD


def test_keyword_arguments_are_kept_and_a_single_argument_is_wrapped() -> None:
    text = '```json\n[{"input": {"items": [1], "k": 1}, "output": [1]}]\n```'
    assert cases_of(FUNCTION, text) == [{"input": {"items": [1], "k": 1}, "output": [1]}]
    assert cases_of(SINGLE, '[{"input": [1, 2, 3], "output": 6}]') == [{"input": [[1, 2, 3]], "output": 6}]
    assert cases_of(SINGLE, '[{"input": 5, "output": 6}]') == [{"input": [5], "output": 6}]


def test_a_comma_inside_a_text_survives_the_repair_of_trailing_commas() -> None:
    text = '```json\n[{"input": [["a,]", "b,}"]], "output": [],},]\n```'
    assert cases_of(SINGLE, text) == [{"input": [["a,]", "b,}"]], "output": []}]


def test_generators_stay_generators() -> None:
    text = '```json\n[{"input": [{"python": "[0] * 9"}, 1], "output": {"python": "[0]"}}]\n```'
    cases = [{"input": [{"python": "[0] * 9"}, 1], "output": {"python": "[0]"}}]
    assert cases_of(FUNCTION, text) == cases
    code = "def build_cases():\n    return [{'input': [[1] * 9, 1], 'output': [1]}]\n"
    assert cases_of(FUNCTION, f"Long ones:\n```python\n{code}```") == {"python": code}


def test_texts_of_programs_are_read_and_lists_of_lines_are_joined() -> None:
    text = '```json\n[{"input": "1\\n5\\n", "output": "5\\n"}, {"input": ["1", "7"], "output": "7\\n"}]\n```'
    expected = [{"input": "1\n5\n", "output": "5\n"}, {"input": "1\n7\n", "output": "7\n"}]
    assert cases_of(STDIN, text) == expected


def test_asserts_and_checks_are_read_from_python() -> None:
    code = "from x import top\nassert top([1], 1) == [1]\nassert 1 == 1\n\ndef test_b():\n    assert top([]) == []\n"
    text = f"```python\n{code}```"
    parsed = function.read("testing", text, FUNCTION)
    assert parsed.value is not None
    assert parsed.value.body == {"cases": [{"input": [[1], 1], "output": [1]}, {"input": [[]], "output": []}]}
    assert parsed.reason == "cases-lost: 1 of 3: 1 x does not call top"
    cut = "```python\nassert top([1], 1) == [1]\nassert top([2], 1) == [2"
    parsed = function.read("testing", cut, FUNCTION)
    assert parsed.value is not None
    assert parsed.value.body == {"cases": [{"input": [[1], 1], "output": [1]}]}
    parsed = function.read("testing", "```python\ndef check(candidate):\n    assert candidate([1], 1)\n```", FUNCTION)
    assert parsed.value is not None
    assert parsed.value.kind == "program"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "no-cases"),
        ("I cannot do that.", "no-cases"),
        ("```json\n[]\n```", "no-cases"),
        ('```json\n[{"input": [[1], 1]}]\n```', r"bad-cases: cases\[0\].output"),
        ('```json\n[{"input": [[1], 1, 2, 3], "output": 1}]\n```', r"bad-cases: cases\[0\].input: does not fit"),
        ('```json\n[{"input": [[1], 1], "output": NaN}]\n```', "no-cases"),
    ],
)
def test_a_testing_that_cannot_be_used_has_its_reason(text: str, reason: str) -> None:
    parsed = function.read("testing", text, FUNCTION)
    assert parsed.value is None
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(parsed.reason)


SOURCE = "def top(items, k=1):\n    return sorted(items)[::-1][:k]\n"


@pytest.mark.parametrize(
    "text",
    [
        f"```python\n{SOURCE}```",
        f"```py\n{SOURCE}```\nand that is it",
        f"```\n{SOURCE}```",
        SOURCE,
        f"```python\nprint('a sketch')\n```\nFinally:\n```python\n{SOURCE}```",
        f"```python\n{SOURCE}",
    ],
)
def test_a_solution_is_the_last_block_that_defines_the_entry_point(text: str) -> None:
    parsed = function.read("solution", text, FUNCTION)
    assert parsed.value is not None, parsed.reason
    assert parsed.value.text == SOURCE


def test_a_body_completes_the_starter_code_and_blocks_may_belong_together() -> None:
    starter = Problem(
        "p",
        "python-function",
        "x",
        payload={"entry_point": "top", "starter_code": 'def top(items, k=1):\n    """Doc."""\n'},
    )
    parsed = function.read("solution", "```python\n    return items[:k]\n```", starter)
    assert parsed.value is not None
    assert parsed.value.text == 'def top(items, k=1):\n    """Doc."""\n    return items[:k]\n'
    two = (
        "```python\nimport heapq\n```\nthen\n```python\ndef top(items, k=1):\n    return heapq.nlargest(k, items)\n```"
    )
    parsed = function.read("solution", two, FUNCTION)
    assert parsed.value is not None
    assert "def top" in parsed.value.text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("```python\ndef other():\n    pass\n```", "no-entry-point: no block defines top"),
        ("```python\ndef top(:\n```", "does-not-parse"),
        ("", "no-code"),
    ],
)
def test_a_solution_that_cannot_be_used_has_its_reason(text: str, reason: str) -> None:
    parsed = function.read("solution", text, FUNCTION)
    assert parsed.value is None
    assert parsed.reason.startswith(reason)


def test_a_new_problem_is_read_with_its_meta() -> None:
    fields = {
        "title": "Runs of Equal Items",
        "statement": "Given a list, return the length of the longest run of equal items.",
        "entry_point": "longest_run", "starter_code": "def longest_run(items: list[int]) -> int:\n    pass\n",
        "domain": "python-function", "meta": {"family": "runs", "params": {"n": 3}},
    }  # fmt: skip
    parsed = function.read("problem", f"```json\n{json.dumps(fields)}\n```")
    assert parsed.value is not None, parsed.reason
    assert parsed.value.problem_id.startswith("runs-of-equal-items-")
    assert parsed.value.meta == {"family": "runs", "params": {"n": 3}, "title": "Runs of Equal Items"}
    assert parsed.value.payload.get("entry_point") == "longest_run"
    for change, reason in (
        ({"statement": "short"}, "no-statement"),
        ({"entry_point": "a b"}, "no-entry-point"),
        ({"starter_code": "def other(): pass"}, "bad-starter-code"),
        ({"domain": "python-stdin"}, "other-domain"),
    ):
        assert function.read("problem", json.dumps({**fields, **change})).reason.startswith(reason)
    assert stdin.read("problem", json.dumps({**fields, "domain": "python-stdin"})).reason.startswith("other-domain")


@given(
    st.recursive(st.none() | st.booleans() | st.integers() | st.text(), lambda inner: st.lists(inner), max_leaves=10)
)
def test_json_is_read_back_even_with_trailing_commas(value: object) -> None:
    text = json.dumps(value)
    if value is not None:
        assert read_json(text) == value
        assert read_json(text.replace("]", ",]") if isinstance(value, list) and "[]" not in text else text) is not None


@given(st.text())
def test_fences_take_any_text(text: str) -> None:
    assert all(isinstance(fence.text, str) for fence in fences(text))


MANNERS = {"": USUAL, ".json": Manner("json"), ".program": Manner("program"), ".brief": Manner(brief=True)}
BRIEF_FORMS = {".brief.json": Manner("json", brief=True), ".brief.program": Manner("program", brief=True)}
PROMPTS = [
    *((problem, purpose, how) for problem in (FUNCTION, STDIN, MATH) for purpose in ("problem", "solution", "testing")
      for how in ("", ".brief")),
    *((problem, "inputs", how) for problem in (FUNCTION, STDIN) for how in ("", ".brief")),
    *((FUNCTION, "testing", how) for how in (".json", ".program", *BRIEF_FORMS)),
    *((STDIN, "testing", how) for how in (".json", ".brief.json")),
]  # fmt: skip


@pytest.mark.parametrize(("problem", "purpose", "how"), PROMPTS, ids=lambda one: getattr(one, "problem_id", one))
def test_rendered_prompts_are_as_recorded(problem: Problem, purpose: str, how: str) -> None:
    """Tests of another problem come before the problem, what is shown of the problem itself behind it."""
    domain = domain_named(problem.domain)
    about = None if purpose == "problem" else problem
    other = replace(problem, statement=f"Another one. {problem.statement}")
    shown = [other] if problem is MATH else [other, problem]
    examples = {"problem": [problem], "testing": shown}.get(purpose, [])
    request = domain.ask(purpose, about, 0, {}, examples, {**MANNERS, **BRIEF_FORMS}[how])  # type: ignore[arg-type]
    recorded = GOLDEN / f"{problem.domain}.{purpose}{how}.md"
    assert request.messages[0].content == recorded.read_text(encoding="utf-8")


def test_a_brief_prompt_asks_for_no_reasoning_and_is_shorter() -> None:
    for problem, purpose, how in PROMPTS:
        if how.startswith(".brief"):
            brief = (GOLDEN / f"{problem.domain}.{purpose}{how}.md").read_text(encoding="utf-8")
            full = (GOLDEN / f"{problem.domain}.{purpose}{how.removeprefix('.brief')}.md").read_text(encoding="utf-8")
            assert len(brief) < len(full), (problem.domain, purpose, how)
            assert not re.search(r"step by step|[Rr]eason first|[Tt]hink|work it out|[Ww]ork out", brief)


def test_requests_of_one_domain_begin_alike_up_to_what_is_of_the_problem() -> None:
    for problem, purpose, manner in itertools.product(
        (FUNCTION, STDIN, MATH), ("solution", "testing", "inputs"), MANNERS.values()
    ):
        domain = domain_named(problem.domain)
        if purpose in domain.asks:
            payload = {**problem.payload, "starter_code": "def other(x):\n    pass\n", "entry_point": "other"}
            other = replace(problem, statement="X", payload=payload)
            text, begun = (
                domain.ask(purpose, one, 0, {}, (), manner).messages[0].content  # type: ignore[arg-type]
                for one in (problem, other)
            )
            assert begun.startswith(text[: text.index(problem.statement)])


EXAMPLE = '```json\n[{"input": [[9], 9], "output": []}]\n```\n'
ANSWER = '```json\n[{"input": [[1, 2], 1], "output": [2]}]\n```\n'


@pytest.mark.parametrize(
    "text",
    [
        f"The form is:\n{EXAMPLE}So:\n{ANSWER}",
        f"{EXAMPLE}No, better:\n{ANSWER}That is all.\n```\ndone\n```",
        "```python\ndef build_cases():\n    return []\n```\n" + ANSWER,
        '```jsonl\n{"input": [[1, 2], 1], "output": [2]}\n```',
        '```python\n[{"input": [[1, 2], 1], "output": [2]}]\n```',
        '```json\n[\n  // smallest\n  {"input": [[1, 2], 1], "output": [2]}\n]\n```',
        '\ufeff[{"input":\u00a0[[1, 2], 1], "output": [2]}]',
    ],
    ids=["example first", "corrected", "draft in code", "line by line", "called python", "remark", "odd blanks"],
)
def test_the_last_answer_of_a_reply_counts(text: str) -> None:
    assert cases_of(FUNCTION, text) == GOOD


def test_objects_line_by_line_are_a_list() -> None:
    assert read_json('{"a": 1}\n{"a": 2},\n{"a": "}\\n{"}') == [{"a": 1}, {"a": 2}, {"a": "}\n{"}]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('[1, // one, "two]\n2, // three\n]', [1, 2]),
        ('[\n// don\'t ]\n{"a": 1},\n// the last\n]', [{"a": 1}]),
        ('["http://a, ]",]', ["http://a, ]"]),
        ('["a\u00a0// b\n// c",]', ["a\u00a0// b\n// c"]),
        ('["\\"// a,]", "b"//c\n,]', ['"// a,]', "b"]),
        ('["a, // b', None),
    ],
)
def test_remarks_go_and_texts_stay_as_written(text: str, value: object) -> None:
    assert read_json(text) == value


def test_code_after_a_draft_in_json_is_the_answer() -> None:
    code = "def build_cases():\n    return [{'input': [[1], 1], 'output': [1]}]\n"
    assert cases_of(FUNCTION, f"{EXAMPLE}Computed:\n```python\n{code}```") == {"python": code}


def test_the_last_problem_of_a_reply_counts() -> None:
    draft, final = ({"title": name, "statement": f"{name} " * 9} for name in ("draft", "final"))
    text = "\n".join(f"```json\n{json.dumps(one)}\n```" for one in (draft, final))
    parsed = stdin.read("problem", text)
    assert parsed.value is not None
    assert parsed.value.meta["title"] == "final"


def test_printed_numbers_and_lines_are_texts() -> None:
    text = (
        '[{"input": "1\\n5\\n", "output": 5}, {"input": "0\\n", "output": ["a", 2]}, {"input": "1\\n", "output": "x"}]'
    )
    assert [case["output"] for case in cases_of(STDIN, text)] == ["5\n", "a\n2\n", "x"]


def test_helper_blocks_that_a_solution_needs_come_with_it() -> None:
    text = (
        "```python\nfrom bisect import bisect_left\n\ndef order(items):\n    return sorted(items)\n```\n"
        "```python\nprint('a sketch')\n```\n"
        "```python\ndef top(items, k=1):\n    return order(items)[::-1][: k + 0 * bisect_left([], 0)]\n```\n"
    )
    parsed = function.read("solution", text, FUNCTION)
    assert parsed.value is not None
    assert parsed.value.text.startswith("from bisect import bisect_left")
    assert "a sketch" not in parsed.value.text


def test_a_method_of_class_solution_stands_for_the_function() -> None:
    text = "```python\nclass Solution:\n    def top(self, items, k=1):\n        return sorted(items)[::-1][:k]\n```"
    parsed = function.read("solution", text, FUNCTION)
    assert parsed.value is not None
    found: dict[str, object] = {}
    exec(parsed.value.text, found)
    assert found["top"]([1, 3, 2], 2) == [3, 2]  # type: ignore[operator]


@pytest.mark.parametrize("said", ["no", "yes, 5", "42", "```python\nanswer\n```"])
def test_a_word_that_happens_to_be_python_is_no_program(said):
    problem = Problem(problem_id="p", domain="python-stdin", statement="Print 5.")
    assert stdin.read("solution", said, problem).reason.startswith("no-code")
    assert stdin.read("solution", "print(5)", problem).value is not None
    assert stdin.read("solution", "```python\nx = 5\n```", problem).value is not None
