"""Two texts share a key exactly where they are the same program."""

from __future__ import annotations

import ast
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.program_identity import program_key, why_not


@pytest.mark.parametrize(
    ("one", "other", "equal"),
    [
        ("x = 1\ndef f():\n    return 2\n", "# hi\nx=1\n\n\ndef f():\n    'doc'\n    return 2", True),
        ("x = 1\n", "  # hi\n \nx = 1\r\n\r\n", True),
        ("x = 1\n", "x = 2\n", False),
        ("x = 1\n", "x = 1.0\n", False),
        ("x = '''\na\n'''\n", "x = '''\nb\n'''\n", False),
        ("x = '''\n\n '''\n", "x = '''\n '''\n", False),
        ("x = f'''{1}\n# a\n '''\n", "x = f'''{1}\n# b\n '''\n", False),
        ("def f(a):\n    return a\n", "def f(b):\n    return b\n", False),
        ("x = f()\n", "assert g()\nx = f()\n", False),
        ("x = f()\n", "if __debug__:\n    g()\nx = f()\n", False),
        ("if c:\n    pass\n    pass\nx = 1\ny = 2\n", "if c:\n    x = 1\npass\npass\ny = 2\n", False),
        ("# note\rx = 1\ny = 1\n", "# note\rx = 2\ny = 1\n", False),
        ("# note\rx = 1\ny = 1\n", "x = 1\ny = 1\n", True),
    ],
)
def test_keys_forgive_layout_and_nothing_else(one: str, other: str, equal: bool) -> None:
    assert program_key(one) is not None is not program_key(other)
    assert (program_key(one) == program_key(other)) is equal


def said(text: str) -> str:
    """What a program says, but for texts that stand alone."""
    tree = ast.parse(text)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.FunctionDef):
            node.body = [one for one in node.body if not isinstance(one, ast.Expr)]
    return ast.dump(tree)


LINES = ["x = 1", "def f():", "    x = 1", "x = '''", "    y = '''", "'''", "    '''", "  a", "", "# a", "x = (", ")"]


@given(st.lists(st.sampled_from(LINES), max_size=10), st.integers(0, 10), st.sampled_from(["", "# b", "   # b", "\t"]))
def test_a_blank_or_comment_line_makes_another_program_only_inside_a_string(
    lines: list[str], place: int, line: str
) -> None:
    one, other = "\n".join(lines), "\n".join([*lines[:place], line, *lines[place:]])
    try:
        same = said(one) == said(other)
    except SyntaxError:
        same = False
    assert same is (program_key(one) == program_key(other) is not None)


@pytest.mark.parametrize(
    "text",
    ["\xa0\nx = 1", "\u2028# note\nx = 1", "# \0\nx = 1", "# \ud800\nx = 1", "\ufeffx = 1", "x = 1\n\ufeffy = 2"],
)
def test_what_looks_like_layout_and_makes_a_text_no_program_has_no_key(text: str) -> None:
    with pytest.raises((SyntaxError, ValueError)):
        compile(text, "program", "exec")
    assert program_key(text) is None


@pytest.mark.parametrize("text", ["def", "x = (", "\0", "x" * 200_000, "x = " + "(" * 5000, "x = " + "9" * 5000])
def test_what_is_no_program_has_no_key(text: str) -> None:
    assert program_key(text) is None


FINALLY = "".join(" " * depth + "try: pass\n" + " " * depth + "finally:\n" for depth in range(28))
SLOW = {
    "combining characters": "a" + "\u0316\u0301" * 8_000 + " = 1\n",
    "finally in finally": FINALLY + " " * 28 + "pass\n",
}


@pytest.mark.parametrize("name", SLOW)
@pytest.mark.parametrize("ask", [program_key, why_not])
def test_a_text_that_takes_long_to_compile_is_read_quickly_or_has_no_key(ask, name: str) -> None:
    started = time.process_time()
    ask("def rank(evidence):\n    return 1\n" + SLOW[name])
    assert time.process_time() - started < 1.0
    assert program_key(SLOW["combining characters"]) is None
