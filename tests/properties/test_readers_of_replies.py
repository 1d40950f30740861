"""What reads a model's reply in our own process: the same as ever on ordinary texts, in linear time on any.

`make test` gives each reader a sample of the texts that the run's printed seed draws, `make test-long` all.
"""

from __future__ import annotations

import gc
import json
import random
import re
import time
from collections.abc import Callable, Iterator

import pytest
from hostile_suite.seed import run_seed
from hypothesis import given
from hypothesis import strategies as st

from evosyn import parsing
from evosyn.codeblocks import completed, read_program
from evosyn.domains import domain as domain_named
from evosyn.domains import replies
from evosyn.edits import apply_edits, extract_edits
from evosyn.evaluators.axes import program_size
from evosyn.fences import is_one_fence, markdown_fences
from evosyn.jobs import Call, CallsJob
from evosyn.quoting import plain_text
from evosyn.records import Problem
from evosyn.sandbox.bundling import harmless, keeps_company
from evosyn.strategies.grammar.source import read as read_genome
from evosyn.synthesis.dedup import MinHash
from evosyn.text.reasoning import without_marks
from evosyn.textual import shingle_hashes, words
from evosyn.thinking import without_thinking
from evosyn.train.shaping import format_score

pytestmark = pytest.mark.slow

# ------------------------------------------------------------------------------------- the same as regular expressions
MARKDOWN = re.compile(
    r"^[ \t\r]*(`{3,}(?=[^`\n]*\n)|~{3,})[ \t\r]*([\w+.-]*)[^\n]*\n"
    r"(.*?)(?:^[ \t\r]*\1(?![^\W\d_])(?!(?<=`)`|(?<=~)~)|\Z)",
    re.M | re.S,
)
ONE = re.compile(r"^```[ \t\r]*[\w+.-]*[ \t\r]*\n.+?^```[ \t\r]*$", re.DOTALL | re.MULTILINE)
EDIT = re.compile(
    r"^[ \t\r]*<{5,}[ \t\r]*(?:SEARCH|ORIGINAL|HEAD)[ \t\r]*\n(.*?)^[ \t\r]*={5,}[ \t\r]*\n(.*?)"
    r"^[ \t\r]*>{5,}[ \t\r]*(?:REPLACE|UPDATED|NEW)[ \t\r]*$",
    re.DOTALL | re.MULTILINE,
)
BLEMISHES = re.compile(r'("(?:[^"\\]|\\.)*(?:"|\\?\Z))|//[^\n]*|,(?=(?:\s|//[^\n]*(?:\n|\Z))*[\]}])', re.S)

PIECES = [
    "```",
    "~~~",
    "````",
    "`",
    "~",
    "py",
    "python",
    "python3.11",
    "json",
    "c++",
    " ",
    "\t",
    "\n",
    "\n",
    "\n",
    "x = 1",
    "é",
    "\r",
]
EDITS = [
    "<<<<<",
    "<<<<<<<",
    "<<<<",
    "=====",
    "=======",
    "====",
    ">>>>>",
    ">>>>>>>",
    "SEARCH",
    "ORIGINAL",
    "REPLACE",
    "UPDATED",
    " ",
    "\t",
    "\n",
    "\n",
    "\n",
    "x",
]
QUOTES = ['"', "'", "\u00a0", "\u00a0", "# ", "\\", "\n", "\r\n", "a", ",", "[", "]"]
JSONS = ['"', "\\", "//", ",", "]", "}", "[", "{", " ", "\n", "a", ":", '\\"']


def texts(pieces: list[str]) -> st.SearchStrategy[str]:
    return st.lists(st.sampled_from(pieces), max_size=30).map("".join)


@given(texts(PIECES))
def test_fences_are_those_of_the_regular_expressions(text: str) -> None:
    lines = [line.expandtabs(4) for line in text.split("\n")]
    if not any(re.search("[^`]```|[^~]~~~", line.strip(" ")) or re.match(" {4,}[`~]", line) for line in lines):
        # none behind words or far to the right
        found = [(fence.language, fence.text) for fence in markdown_fences(text)]
        assert [one[0] for one in found] == [match[2].lower() for match in MARKDOWN.finditer(text)]
        assert [one[1].split() for one in found] == [match[3].split() for match in MARKDOWN.finditer(text)]
    assert is_one_fence(text) == (len(ONE.findall(text)) == 1 and text.count("```") == 2)


@given(texts(EDITS))
def test_edits_are_those_of_the_regular_expression(text: str) -> None:
    assert [edit[:2] for edit in extract_edits(text)] == [match.groups() for match in EDIT.finditer(text)]


@given(texts(JSONS))
def test_commas_and_remarks_go_where_the_regular_expression_takes_them(text: str) -> None:
    assert replies._bare(text) == BLEMISHES.sub(lambda match: match[1] or "", text)


@given(texts(QUOTES))
def test_blanks_are_plain_where_nothing_is_quoted(text: str) -> None:
    plain = plain_text(text)
    assert plain_text(plain) == plain
    assert plain.replace("\u00a0", " ") == text.replace("\r\n", "\n").replace("\u00a0", " ")
    if "'" not in text and '"' not in text and "#" not in text:
        assert "\u00a0" not in plain


@given(st.text(st.sampled_from(" \u00a0a,]}\\'\"/\n<>#`")), st.sampled_from(["", "<think>b</think>", "// c", "\n"]))
def test_a_text_of_a_testing_comes_through_as_written(text: str, more: str) -> None:
    case = {"input": text + more + text, "output": "1"}
    said = json.dumps(case, ensure_ascii=False)
    for form in (
        "[{}]",
        "[{},]",
        "```json\n[{}]\n```",
        '<think>"a</think>[{}]',
        "Here:\u00a0\n```json\r\n[{}]\r\n```\r\n",
    ):
        found = domain_named("python-stdin").read("testing", form.format(said), STDIN)
        assert found.value is not None, form
        assert found.value.body["cases"] == [case]


# --------------------------------------------------------------------------------------------------------- any text
N = 100_000
SHAPES: dict[str, str] = {
    "search and middle": "<<<<<<< SEARCH\n" * (N // 30) + "=======\n" * (N // 16),
    "search lines": "<<<<<<< SEARCH\n" * (N // 15),
    "edits": "<<<<<<< SEARCH\nx\n=======\nx\nx\n>>>>>>> REPLACE\n" * (N // 40),
    "edits of many lines": ("<<<<<<< SEARCH\n" + "x\n" * 400 + "y\n=======\nx\n>>>>>>> REPLACE\n") * (N // 850),
    "signs": "<" * N,
    "hunks": "@@ -1 +1 @@\n-x = x\n+y\n" * (N // 22),
    "a long hunk": "```diff\n" + "-x\n+y\n" * (N // 6),
    "definitions": "def g():\n    return h\n" * (N // 24),
    "names": "\n".join(f"a{n} = b{n}" for n in range(N // 12)),
    "thoughts in fields": '"<think></think>' * (N // 16),
    "objects line by line": '{"input": [1], "output": 2},\n' * (N // 29),
    "comments": "// a\n" * (N // 5),
    "comments in a line": '[{"input": [1], ' + "// " * (N // 3) + '"',
    "commas and comments": "[1, " + ", // ,\n" * (N // 7) + "x]",
    "thoughts in lines": "```py\n" + "x = 1  # </think>\n```py\n" * (N // 24),
    "thoughts between words": "a <think> b" * (N // 22) + "a </think> b" * (N // 24),
    "thoughts behind a long line": "x" * (N // 2) + "<think></think>" * (N // 30),
    "thoughts behind blank lines": "```\n" + "\n" * (N // 2) + "<think>\n" * (N // 16),
    "thoughts in quotes": '<think>"</think>' * (N // 16),
    "apostrophes": " 'a" * (N // 3),
    "quotes in lines": '\u00a0"a\n' * (N // 4),
    "escaped quotes in a line": '\u00a0"' + '\\"' * (N // 2),
    "odd blanks": "\u00a0" * N,
    "names and blanks": "def f(x)\nx" + " " * N,
    "types": "def f(x)\nx: A[" + "]|" * (N // 2),
    "dots": "[" + "..., " * (N // 5),
    "tags": "<code>" * (N // 6),
    "openings": "```py\n" * (N // 6),
    "fences of functions": "```py\ndef g(): 1\n```\n" * (N // 21),
    "fences of checks": "```py\ndef check(c): assert c(1) == 2\n```\n" * (N // 40),
    "fences of cases": '```json\n[{"input": [1], "output": 2},]\n```\n' * (N // 40),
    "ticks": "`" * N,
    "ticks in lines": "```\n" * (N // 4),
    "longer ticks": "".join("`" * (3 + n % 300) + "\n" for n in range(N // 150)),
    "ticks and blanks": "```" + " " * N,
    "ticks, blanks and a word": "```" + " " * N + "x\n```" + "\t" * 1000,
    "blank lines": " \t\n" * (N // 3),
    "escaped quotes": "[" + '\\"' * (N // 2),
    "escaped quotes in a fence": "```json\n[" + '\\"' * (N // 2) + "\n```",
    "quotes": '```json\n["' + '",' * (N // 2),
    "commas and blanks": "[" + ("," + " " * 400) * (N // 400) + "x]",
    "commas": "[" + "," * N + "]",
    "openings of lists": "[" * N,
    "objects": "{" * N + "}" * 5,
    "keys that collide": "[{" + ", ".join(f"{n * (2**61 - 1)}: 1" for n in range(N // 26)) + "}]",
    "a set that collides": "[{" + ", ".join(str(n * (2**61 - 1)) for n in range(N // 23)) + "}]",
    "keys in tuples": "[{" + ", ".join(f"({n * (2**61 - 1)},): 1" for n in range(N // 28)) + "}]",
    "digits": "[" + "9" * N + "]",
    "think": "<think>" * (N // 7),
    "asserts that are not whole": "assert f([1, 2 == [3]\n" * (N // 24),
    "asserts that stay open": "assert f((\n" * (N // 12),
    "asserts in words": "1. assert that f(1) == 2 -> 3 (or so)\n" * (N // 38),
    "asserts of names": "a = [f(1)]\n" + "a = [a, a]\n" * (N // 22) + "assert a == f(1)\n" * (N // 34),
    "asserts of many names": "a = [" + "1, " * 190 + "]\nassert f([" + "a, " * (N // 3) + "]) == 1\n",
    "asserts in fences": "```python\nassert f(1) == 2\n```\n" * (N // 32),
    "quotes that stay open": "assert f(" + "'\"" * (N // 2),
    "calls": "f(1) == " * (N // 8),
    "calls in lines": "f(1)  # 2\n" * (N // 10),
    "methods": "self.assertEqual(f(1), 2)\n" * (N // 26),
    "classes": "class A:\n    def test_a(self):\n        assert f(1) == 2\n" * (N // 55),
    "blocks of texts": "```input\n1\n```\n```output\n2\n```\n" * (N // 36),
    "inputs that stay open": "```input\n" * (N // 9),
    "heads of many marks": "".join(f"Input:\n{'`' * (3 + n % 200)}\n1\n" for n in range(N // 110)),
    "words before an input": "test case " * (N // 10) + "input:",
    "signs before an input": "*" * N + "input:",
    "objects that are broken": '{"input": [1, "output": 2},\n' * (N // 29),
    "objects within objects": '{"input": [' * (N // 11) + "]}" * (N // 4),
    "an object in objects": '{"a": ' * (N // 12) + "1" + "}" * (N // 12),
    "think and answers": "<think>" + "</think>" * 5 + "<answer>" * (N // 8),
    "think once": "<think>" + "<" * N + "</think><answer>" + "</" * 100,
    "blanks": " " * N,
    "marks in a name": "def f(x):\n    a" + "\u0301" * (N // 2) + "\u0316" * (N // 2) + " = x\n",
    "marks in turn": "def f(x):\n    a" + "\u0301\u0316" * (N // 2) + " = x\n",
    "marks that are others": "def f(x):\n    a" + "\u0344\u0316" * (N // 2) + " = x\n",
    "marks in names": "def f(x):\n    " + ("a" + "\u0316\u0301" * 60 + " = ") * (N // 125) + "x\n",
    "compatibility": "def f(x):\n    " + "\ufdfa" * N + " = x\n",
    "expressions in a text": 'def f(x):\n    return f"' + "{x}" * (N // 3) + '"\n',
    "lines of a text": 'def f(x):\n    return f"""' + "{x}\n" * (N // 4) + '"""\n',
    "triple quotes": '"""' * (N // 3),
    "triple quotes in turn": "\"\"\"'''" * (N // 6),
    "asserts": "assert f(1) == 2\n" * (N // 17),
    "asserts that fail": "assert f(1) ==\n" * (N // 15),
    "asserts of signs": "assert " + "not " * (N // 4) + "f(1)\n",
    "words": "a b " * (N // 4),
    "one word": "a" * N,
    "operators": "==<>" * (N // 4),
    "hashes": "#" * N,
    "end marks": "<|" * (N // 2),
    "surrogates": "\ud800" * N,
    "nothing": "\0" * N,
    "carriage returns": "\r" * N,
}
"""Repetitive texts of about 100 kB."""

FUNCTION = Problem(
    "p", "python-function", "Some text.", payload={"entry_point": "f", "starter_code": "def f(x):\n    pass\n"}
)
STDIN = Problem("p", "python-stdin", "Some text.")
PARENT = "def f(x):\n" + "    x = x\n" * 400 + "    return x\n"


def _domain(name: str, what: str, problem: Problem) -> Callable[[str], object]:
    domain = domain_named(name)
    return lambda text: domain.read(what, text, problem)


def _parsed(text: str) -> object:
    try:
        return parsing.parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


READERS: dict[str, Callable[[str], object]] = {
    **{f"function {what}": _domain("python-function", what, FUNCTION) for what in ("problem", "solution", "testing")},
    **{f"stdin {what}": _domain("python-stdin", what, STDIN) for what in ("problem", "solution", "testing")},
    "thoughts": without_thinking,
    "plain": lambda text: plain_text(text + "\u00a0"),
    "fences": replies.fences,
    "json": replies.json_values,
    "one json": replies.read_json,
    "defines": lambda text: replies.defines(text, "f"),
    "edits": lambda text: apply_edits(PARENT, extract_edits(text)),
    "program": lambda text: read_program(text, [PARENT], ["f"]),
    "either": lambda text: read_program(text, ["x\n" * 1000, PARENT], ["f"]),
    "completed": lambda text: completed(text, [text, PARENT]),
    "one fence": lambda text: format_score(text, "code"),
    "think and answer": lambda text: format_score(text, "think"),
    "parsed": _parsed,
    "same program": parsing.same_program,
    "genome": read_genome,
    "company": lambda text: keeps_company(CallsJob(text, "f", (Call((1,)),))),
    "harmless": harmless,
    "size": program_size.code_tokens,
    "marks at the end": without_marks,
    "shingles": lambda text: MinHash().signature(shingle_hashes(words(text), 3)),
}
"""Everything that is given the text of a model as it came."""
SECONDS = 2.0
"""Of CPU for one text, on a machine that parses `PLAIN` in a fifteenth of that."""
PLAIN = "x = [1, 2, 3]\n" * (N // 14)


def limit_s() -> float:
    """CPU that a text may take here: more where the machine, beside other work, is slower."""
    began = time.thread_time()
    parsing.parsed(PLAIN)
    return max(SECONDS, 15 * (time.thread_time() - began))


@pytest.fixture
def _alone() -> Iterator[None]:
    """The collector does not look through what other tests have left while a reader's seconds are taken."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize(
    "share", [pytest.param(0.25, id="a drawn quarter"), pytest.param(1.0, id="all", marks=pytest.mark.long)]
)
def test_a_reader_takes_any_text_in_little_time(reader: str, share: float) -> None:
    read = READERS[reader]
    shapes = random.Random(f"{run_seed()} {reader}").sample(sorted(SHAPES), int(share * len(SHAPES)))
    for shape, text in ((shape, SHAPES[shape]) for shape in shapes):
        began = time.thread_time()
        read(text)
        taken_s = time.thread_time() - began
        assert taken_s < SECONDS or taken_s < limit_s(), shape


@pytest.mark.usefixtures("_alone")
@pytest.mark.parametrize(
    "shape", ["edits", "openings", "escaped quotes in a fence", "fences of functions", "marks in names"]
)
def test_four_times_the_text_takes_about_four_times_the_time(shape: str) -> None:
    def seconds(text: str) -> float:
        began = time.thread_time()
        for read in READERS.values():
            read(text)
        return time.thread_time() - began

    text = SHAPES[shape]
    assert seconds(text) < 10 * (seconds(text[: len(text) // 4]) + 0.1)


@pytest.mark.parametrize(
    "source",
    [
        "def größe(müßig):\n    return müßig  # für Ünïcödé\n",
        "def f(x):\n    e\u0301te\u0301 = 'Z" + "\u0301\u0316" * 60 + "'\n    return e\u0301te\u0301\n",
        "def f(x):\n    return '" + "\u0e01\u0e49" * 20_000 + "'\n",
        "def f(x):\n    return f'" + "{x}, " * 2_000 + "'\n",
        "def f(x):\n    return {" + ", ".join(f"{n}: 'é'" for n in range(5_000)) + "}\n",
        "한글 = 'क्षि'\ndef f(x):\n    return '👩‍👩‍👧‍👦' * x\n",
    ],
)
def test_an_honest_program_is_parsed_whatever_its_script(source: str) -> None:
    assert parsing.parsed(source).body
    assert parsing.tree_or_none(source) is not None


def test_a_literal_may_have_many_keys_that_do_not_collide() -> None:
    table = {n: str(n) for n in range(3_000)}
    assert parsing.literal(repr(table)) == table
    with pytest.raises(ValueError, match="collide"):
        parsing.literal(repr({n * (2**61 - 1): 1 for n in range(3_000)}))
