# ruff: noqa: E501 - replies, one a line
"""Whatever a plain reader can take of a reply (its first block, the lines that parse) our reader takes as well: asserts
in all writings that models have, with prose, numbers, bullets and marks around them."""

from __future__ import annotations

import ast
import json
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.domains import domain
from evosyn.records import Problem

DOMAIN = domain("python-function")
FUNCTION = Problem(
    "pick", "python-function", "Pick it.",
    payload={"entry_point": "pick", "starter_code": "def pick(items: list[int], word: str = '') -> object:\n    pass\n"},
)  # fmt: skip
STDIN = Problem("sum", "python-stdin", "Sum them.")
PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-99, 99)
    | st.sampled_from([0.5, -2.25, 1e30])
    | st.text("ab ,'\"(])=#:\\`", max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("xy", min_size=1), inner, max_size=2),
    max_leaves=5,
)
ARGUMENTS = st.tuples(st.lists(st.integers(-9, 9), max_size=4), st.text("ab,'\"(]=#", max_size=5))
CASES = st.lists(st.tuples(ARGUMENTS, PLAIN), min_size=1, max_size=6, unique_by=lambda one: repr(one[0]))


def call(given: tuple) -> str:
    return f"pick({', '.join(map(repr, given))})"


STATEMENTS: dict[str, Callable[[str, str], str]] = {
    "assert": lambda call, value: f"assert {call} == {value}",
    "brackets": lambda call, value: f"assert({call} == {value})",
    "message": lambda call, value: f'assert {call} == {value}, "it is, (wrong)"',
    "remark": lambda call, value: f"assert {call} == {value}  # 3. it's [one",
    "turned round": lambda call, value: f"assert {value} == {call}",
    "method": lambda call, value: f"assert Solution().{call} == {value}",
    "candidate": lambda call, value: f"assert {call.replace('pick', 'candidate', 1)} == {value}",
    "unittest": lambda call, value: f"self.assertEqual({call}, {value})",
    "unittest turned round": lambda call, value: f"self.assertEqual({value}, {call}, 'why')",
}
"""Statements that say a case."""
WEAKER: dict[str, Callable[[str, str], str]] = {
    "equation": lambda call, value: f"{call} == {value}",
    "doctest": lambda call, value: f">>> {call}\n{value}",
    "printed": lambda call, value: f"print({call})  # {value}",
    "printed equation": lambda call, value: f"print({call} == {value})",
    "remark": lambda call, value: f"{call}  # Output: {value}",
    "arrow": lambda call, value: f"{call} -> {value}",
}
LINES: dict[str, Callable[[int, str], str]] = {
    "bare": lambda _, line: line,
    "numbered": lambda number, line: f"{number}. {line}",
    "bracketed": lambda number, line: f"({number}) {line}",
    "bullet": lambda _, line: f"- {line}",
    "star": lambda _, line: f"  * {line}",
    "quoted": lambda _, line: f"> {line}",
    "named": lambda number, line: f"Test {number}: {line}",
}
TICKED = {"in backticks": "`{}`", "bold": "**`{}`**", "with a reason": "{}. `{}` - checks it"}
WHOLE: dict[str, Callable[[str], str]] = {
    "alone": lambda text: text,
    "in the open": lambda text: f"Sure! Here are the tests:\n\n{text}\n\nLet me know if you need more.",
    "python": lambda text: f"Here you go:\n```python\n{text}\n```\nThese tests cover it.",
    "no language": lambda text: f"```\n{text}\n```",
    "text": lambda text: f"```text\n{text}\n```",
    "thoughts": lambda text: f"<think>assert pick([77]) == 1</think>\n```python\n{text}\n```",
    "open fence": lambda text: f"```python\n{text}\n",
    "solution before": lambda text: (
        f"```python\ndef pick(items, word=''):\n    return items\n```\n```python\n{text}\n```"
    ),
    "imports": lambda text: f"```python\nimport pytest\nfrom solution import pick\n\n{text}\n```",
    "with a broken line": lambda text: f"```python\nassert pick([1], 'a' ==\n{text}\n```",
}


def read(text: str, problem: Problem = FUNCTION) -> list:
    found = domain(problem.domain).read("testing", text, problem)
    assert found.value is not None, (found.reason, text)
    assert domain(problem.domain).check_testing(problem, found.value) is None
    return found.value.body.get("cases") or found.value.body["asserts"]


def said(cases: list, statement: Callable[[str, str], str], line: Callable[[int, str], str]) -> str:
    return "\n".join(
        line(number, statement(call(given), repr(value))) for number, (given, value) in enumerate(cases, 1)
    )


@given(CASES, st.sampled_from(sorted(STATEMENTS)), st.sampled_from(sorted(LINES)), st.sampled_from(sorted(WHOLE)))
def test_statements_are_read_in_every_writing(cases: list, statement: str, line: str, whole: str) -> None:
    text = WHOLE[whole](said(cases, STATEMENTS[statement], LINES[line]))
    assert read(text) == [{"input": list(given), "output": value} for given, value in cases], text


@pytest.mark.parametrize("whole", ["in the open", "python", "no language"])
@pytest.mark.parametrize("form", WEAKER)
def test_calls_and_what_is_said_that_they_give_are_read_where_nothing_is_asserted(form: str, whole: str) -> None:
    cases = [(([1, 2], "a"), [2, 1]), (([],), None), (([3], "b"), {"x": "y"})]
    text = WHOLE[whole](said(cases, WEAKER[form], LINES["bare"]))
    assert read(text) == [{"input": list(given), "output": value} for given, value in cases]


@pytest.mark.parametrize("line", TICKED)
@pytest.mark.parametrize("statement", ["assert", "message", "turned round"])
def test_a_statement_in_backticks_is_read_without_what_is_said_around_it(statement: str, line: str) -> None:
    form = TICKED[line]
    lines = [
        form.format(*([number, one] if form.count("{}") > 1 else [one]))
        for number, one in enumerate(
            (STATEMENTS[statement](call(given), repr(value)) for given, value in [(([1], "a"), 1), (([2],), [3])]), 1
        )
    ]
    assert read("Tests:\n" + "\n".join(lines)) == [{"input": [[1], "a"], "output": 1}, {"input": [[2]], "output": [3]}]


@given(st.lists(st.sampled_from(["assert pick([{n}]) == {n}", "- x", "assert", "pick([{n}]) == {n}", "```", "```python",
                                 "assert other(1) == 2", "    assert pick([{n}], 'b') == [{n}]", "text (", "it's", "def f(",
                                 "assert pick([{n},\n  1]) == {n}", "assert pick([{n}]) == \u201cq\u201d"]), max_size=14))  # fmt: skip
def test_every_line_that_parses_as_an_assert_is_read_in_any_rubble(pieces: list[str]) -> None:
    lines = "\n".join(piece.replace("{n}", str(number)) for number, piece in enumerate(pieces)).split("\n")
    plain = [line.strip() for line in _first_block(lines) if line.strip().startswith("assert pick") and _parses(line)]
    if plain:
        taken = read("\n".join(lines))
        for one in plain:
            node = ast.parse(one).body[0].test  # type: ignore[attr-defined]
            case = {
                "input": list(map(ast.literal_eval, node.left.args)),
                "output": ast.literal_eval(node.comparators[0]),
            }
            assert case in taken, (one, lines)


def _first_block(lines: list[str]) -> list[str]:
    """The first fenced block, or all where there is none."""
    marks = [at for at, line in enumerate(lines) if line.startswith("```")]
    if not marks:
        return lines
    return lines[marks[0] + 1 : marks[1] if len(marks) > 1 else len(lines)]


def _parses(line: str) -> bool:
    try:
        return isinstance(ast.parse(line.strip()).body[0], ast.Assert)
    except SyntaxError:
        return False


CLASS = """import unittest

class TestPick(unittest.TestCase):
    def setUp(self):
        self.solution = Solution()

    def test_one(self):
        items = [3, 1]
        expected = 3
        self.assertEqual(pick(items, "a"), expected)
        result = pick([4])
        self.assertEqual(result, 4)

    def test_two(self):
        self.assertTrue(pick([5]))
        self.assertIsNone(pick([6]))

if __name__ == "__main__":
    unittest.main()
"""
BOTH = [{"input": [[1], "a"], "output": 1}, {"input": [[2]], "output": 2}]
FORMS: dict[str, tuple[str, list]] = {
    "a class of unittest": (f"```python\n{CLASS}```", [
        "assert pick([3, 1], 'a') == 3", "assert pick([4]) == 4", "assert pick([5])", "assert pick([6]) is None"]),
    "names at the top": ("items = [1]\nword = 'a'\nassert pick(items, word) == 1\nassert pick([2]) == 2", BOTH),
    "functions of pytest": ("def test_a():\n    assert pick([1], 'a') == 1\n\ndef test_b():\n    assert pick([2]) == 2\n", BOTH),
    "a function that runs them": ("def run_tests():\n    assert pick([1], 'a') == 1\n    assert pick([2]) == 2\n    print('ok')\n", BOTH),
    "a name that changes": ("items = [1]\nitems.append(2)\nassert pick(items) == 2\nassert pick([1], 'a') == 1\nassert pick([2]) == 2", BOTH),
    "a fence for each": ("1. One\n```python\nassert pick([1], 'a') == 1\n```\n2. Two\n```python\nassert pick([2]) == 2\n```", BOTH),
    "an object in a fence for each": ("```json\n{\"input\": [[1], \"a\"], \"output\": 1}\n```\nand\n```json\n{\"input\": [[2]], \"output\": 2}\n```", BOTH),
    "texts in a list": (json.dumps(["assert pick([1], 'a') == 1", "assert pick([2]) == 2"]), BOTH),
    "texts in an object": (json.dumps({"asserts": ["assert pick([1], 'a') == 1", "assert pick([2]) == 2"]}), BOTH),
    "a line over several": ("assert pick(\n    [1],\n    'a',\n) == 1\nassert pick([2]) == 2, (\n    'why')", BOTH),
    "the same over several, with a broken one": ("assert pick(\n    [1],\n    'a',\n) == 1\nassert pick([9]) == [\nassert pick([2]) == 2", BOTH),
    "curly quotes": ("- assert pick([1], \u201ca\u201d) == 1\n- assert pick([2]) == 2", BOTH),
    "words behind": ("assert pick([1], 'a') == 1 (one item)\nassert pick([2]) == 2.", BOTH),
    "said twice": ("assert pick([1], 'a') == 1\nassert pick([2]) == 2\nassert pick([1], 'a') == 1", BOTH),
    "corrected": ("```python\nassert pick([1], 'a') == 7\nassert pick([2]) == 2\n```\nNo:\n```python\nassert pick([1], 'a') == 1\n```", BOTH[::-1]),
    "more than cases": ("assert pick([1], 'a') == 1\nassert pick([2]) in (2, 3)\nassert len(pick([3])) > 2", [
        "assert pick([1], 'a') == 1", "assert pick([2]) in (2, 3)", "assert len(pick([3])) > 2"]),
    "what JSON cannot say": ("assert pick([1]) == (1, 2)\nassert pick([2]) == {3}", [
        "assert pick([1]) == (1, 2)", "assert pick([2]) == {3}"]),
    "longer than it is written": ("assert pick([0] * 5000) == 1\n", ["assert pick([0] * 5000) == 1"]),
    "keywords": ("assert pick(items=[1], word='a') == 1", [{"input": {"items": [1], "word": "a"}, "output": 1}]),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_a_testing_is_read_from_every_form(form: str) -> None:
    text, cases = FORMS[form]
    assert read(text) == cases


@pytest.mark.parametrize(
    ("lost", "why"),
    [
        ("assert pick([1], 'a', 3) == 1", "does not fit the parameters (items, word)"),
        ("assert pick() == 1", "does not fit the parameters (items, word)"),
        ("assert pick('abc') == 1", "does not fit the type of the parameter items"),
        ("assert pick(['a']) == 1", "does not fit the type of the parameter items"),
        ("assert pick([1], ['a', 'b']) == 1", "does not fit the type of the parameter word"),
        ("assert chosen([1]) == 1", "does not call pick"),
        ("assert pick(numbers) == 1", "cannot run: undefined name 'numbers'"),
        ("assert pick([1, == 1", "is not whole"),
        ('{"input": [["Hello", "o"], "o"], "output": 1}', "does not fit the type of the parameter items"),
        ('{"input": [[1], "a", 3], "output": 1}', "does not fit the parameters (items, word)"),
        ('{"input": [[1]]}', "is missing"),
    ],
)
def test_a_case_that_does_not_fit_is_lost_alone_and_told(lost: str, why: str) -> None:
    good = "assert pick([7]) == 7" if lost.startswith("assert") else '{"input": [[7]], "output": 7}'
    found = DOMAIN.read("testing", f"```\n{good}\n{lost}\n```", FUNCTION)
    assert found.value is not None and found.value.body["cases"] == [{"input": [[7]], "output": 7}]
    assert found.reason.startswith("cases-lost: 1 of 2: 1 x ") and why in found.reason
    alone = DOMAIN.read("testing", f"```\n{lost}\n```", FUNCTION)
    assert alone.value is None and (why in alone.reason or "no-cases" in alone.reason)


@pytest.mark.parametrize(
    ("annotation", "fitting", "others"),
    [
        ("int", [1, True], [1.5, "1", None, [1]]),
        ("float", [1, 1.5], ["1", None]),
        ("str", ["a", ""], [1, ["a"]]),
        ("bool", [True], [1, "true"]),
        ("list", [[], [1, "a"]], ["ab", {"a": 1}]),
        ("list[int]", [[], [1]], [["a"], 1]),
        ("List[List[str]]", [[["a"]], []], [["a"], [[1]]]),
        ("typing.Dict[str, int]", [{"a": 1}], [{"a": "b"}, [1]]),
        ("dict[int, list[int]]", [{"1": [2]}], [{"1": 2}]),
        ("tuple[int, str]", [[1, "a"]], [[1], ["a", 1]]),
        ("tuple[int, ...]", [[], [1, 2, 3]], [["a"]]),
        ("set[int]", [[1, 2]], [["a"], "a"]),
        ("Optional[int]", [None, 1], ["a"]),
        ("int | None", [None, 1], ["a"]),
        ("Union[int, list[str]]", [1, ["a"]], ["a", [1]]),
        ("'list[int]'", [[1]], [["a"]]),
        ("Sequence[int]", ["ab", [1], ["a"]], []),
        ("Any", [1, None, "a"], []),
        ("Grid", [1, None, "a"], []),
        ("Callable[[int], int]", [1], []),
        ("int = None", [1, None, "a"], []),
    ],
)
def test_plain_types_of_the_starter_code_decide_what_fits(annotation: str, fitting: list, others: list) -> None:
    payload = {"entry_point": "f", "starter_code": f"def f(x: {annotation}):\n    pass\n"}
    problem = Problem("f", "python-function", "Do it.", payload=payload)
    for value in [*fitting, *others]:
        cases = [{"input": [value], "output": 1}]
        found = DOMAIN.read("testing", json.dumps([*cases, {"input": {"x": {"python": "1"}}, "output": 1}]), problem)
        assert found.value is not None and (cases[0] in found.value.body["cases"]) == any(
            value is one for one in fitting
        )


TEXTS = [{"input": "2\n1 5\n", "output": "6\n"}, {"input": "0\n", "output": "0\n"}]
BLOCKS: dict[str, str] = {
    "named fences": "```input\n2\n1 5\n```\n```output\n6\n```\n\n```input\n0\n```\n```output\n0\n```",
    "prose between": "Test 1:\n```input\n2\n1 5\n```\ngives\n```output\n6\n```\nThen:\n```input\n0\n```\n```output\n0\n```\nDone.",
    "headings": "**Test 1**\nInput:\n```\n2\n1 5\n```\nOutput:\n```\n6\n```\n**Test 2**\nInput:\n```\n0\n```\nOutput:\n```\n0\n```",
    "bold headings": "### Test case 1\n**Input:**\n```text\n2\n1 5\n```\n**Expected output:**\n```text\n6\n```\n"
    "### Test case 2\n**Input:**\n```text\n0\n```\n**Expected output:**\n```text\n0\n```",
    "without a colon": "Input 1\n```\n2\n1 5\n```\nOutput 1\n```\n6\n```\nInput 2\n```\n0\n```\nOutput 2\n```\n0\n```",
    "numbered": "1. Input:\n```\n2\n1 5\n```\n   Output:\n```\n6\n```\n2. Input:\n```\n0\n```\n   Output:\n```\n0\n```",
    "tildes": "~~~input\n2\n1 5\n~~~\n~~~output\n6\n~~~\n~~~input\n0\n~~~\n~~~output\n0\n~~~",
    "standard": "```stdin\n2\n1 5\n```\n```stdout\n6\n```\n```stdin\n0\n```\n```stdout\n0\n```".replace("stdin", "stdinput").replace("stdout", "stdoutput"),
    "cut": "```input\n2\n1 5\n```\n```output\n6\n```\n```input\n0\n```\n```output\n0\n```\n```input\n7\n```\n```output\n7",
}  # fmt: skip


@pytest.mark.parametrize("form", BLOCKS)
def test_blocks_of_texts_in_and_out_are_read(form: str) -> None:
    assert read(BLOCKS[form], STDIN) == TEXTS


@given(st.text(max_size=200), st.text(max_size=200))
def test_arbitrary_texts_around_asserts_never_raise(before: str, after: str) -> None:
    for problem in (FUNCTION, STDIN):
        for text in (before, f"{before}\nassert pick([1]) == 1\n{after}", f"{before}\n```input\n{after}\n```\n"):
            domain(problem.domain).read("testing", text, problem)
