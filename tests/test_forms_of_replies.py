"""Replies in the forms in which people and models write them: what is read from each, or the reason why nothing is."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from evosyn.domains import domain as domain_named
from evosyn.edits import Edit, Edited, apply_edits
from evosyn.records import Problem, Testing
from evosyn.strategies.genome import StrategyGenome

STRATEGIES = StrategyGenome()
PARENT = """import numpy as np


def weight(passed):
    share = passed.mean(axis=0)  # of each testing
    return share * (1 - share)


def rank(evidence):
    passed = evidence.passed.astype(float)
    votes = passed @ weight(passed)
    return votes, passed.T @ votes
"""
NEW = "def rank(evidence):\n    return evidence.copies, evidence.passed.sum(axis=0)\n"
USES = "def rank(evidence):\n    votes = weight(evidence.passed)\n    return evidence.copies, votes\n"
IN_CLASS = (
    "class Strategy:\n    def rank(self, evidence):\n        return evidence.copies, evidence.passed.sum(axis=0)\n"
)
OUTLINE = "def rank(evidence):\n    ...\n"
USE = "from strategy import rank\nrank(evidence)\n"
HELPER = "def half(passed):\n    return passed / 2\n"
WITH_HELPER = "def rank(evidence):\n    return evidence.copies, half(evidence.passed.sum(axis=0))\n"
DRAFT = "def rank(evidence):\n    return evidence.passed.sum(axis=1), evidence.passed.sum(axis=0)\n"
BETTER = PARENT.replace("return share * (1 - share)", "return share")
WEIGHT = PARENT[PARENT.index("def weight") : PARENT.index("\n\n\ndef rank")] + "\n"
VOTES = PARENT.replace("votes = passed @ weight(passed)", "votes = passed.sum(axis=1)")


def py(text: str, mark: str = "```", language: str = "python") -> str:
    return f"{mark}{language}\n{text}{mark}\n"


def edit(search: str, replace: str) -> str:
    return f"<<<<<<< SEARCH\n{search}\n=======\n{replace}\n>>>>>>> REPLACE\n"


def indented(text: str, by: str = "   ") -> str:
    return "".join(by + line if line.strip() else line for line in text.splitlines(keepends=True))


QUOTING = '    """Like\n    ```\n    x\n    ```\n    """\n'
"""A docstring with a fence."""


def quoting(program: str) -> str:
    """A program with that docstring in its first function."""
    head, body = program.split("\n", 1)
    return f"{head}\n{QUOTING}{body}"


SHARE = edit("    return share * (1 - share)", "    return share")
SUM = edit("    votes = passed @ weight(passed)", "    votes = passed.sum(axis=1)")
HUNK = (
    "@@ -4,3 +4,3 @@\n def weight(passed):\n     share = passed.mean(axis=0)  # of each testing\n"
    "-    return share * (1 - share)\n+    return share\n"
)

OUTPUT = py("0.8 of 3\n", language="")
SHELL = py("python score.py --all\n", language="bash")

SETTINGS = (
    "HALF = 1 / 2\nlow, high = 0, 1\nMOST: float = 2.0\nWEIGHTS: dict[str, float] = {}\nnumber: int | None = None\n"
)

PROGRAMS: dict[str, tuple[str, str]] = {
    # whole programs, fenced
    "a fence": (f"Because of copies.\n\n{py(NEW)}", NEW),
    "a fence without a language": (py(NEW, language=""), NEW),
    "a fence of py": (py(NEW, language="py"), NEW),
    "a fence of Python 3": (py(NEW, language="Python3"), NEW),
    "a fence of text": (py(NEW, language="text"), NEW),
    "a fence with a title": (py(NEW, language='python title="rank.py"'), NEW),
    "tildes": (py(NEW, "~~~"), NEW),
    "four ticks": (py(NEW, "````"), NEW),
    "four ticks around a docstring with three": (py(quoting(NEW), "````"), quoting(NEW)),
    "three ticks around a docstring with three": (py(quoting(NEW)), quoting(NEW)),
    "a docstring with three ticks in a list": (f"10. So: {indented(py(quoting(NEW)), '    ').lstrip()}", quoting(NEW)),
    "code between ticks at the start of a line": (f"```numpy``` is not needed.\n\n{py(NEW)}", NEW),
    "a fence in a list": (f"1. The program:\n\n{indented(py(NEW))}\n2. Done.", NEW),
    "a fence in a list, its code at the margin": (f"- Here:\n  ```python\n{NEW}  ```\n", NEW),
    "a fence after words on its line": (f"Here it is: ```python\n{NEW}```", NEW),
    "a fence that closes on the last line": (f"```python\n{NEW.rstrip()}```", NEW),
    "an unclosed fence": (f"```python\n{NEW}", NEW),
    "line ends of Windows": (py(NEW).replace("\n", "\r\n"), NEW),
    "a byte order mark": (f"\ufeff{py(NEW)}", NEW),
    "blanks that do not break": (py(NEW.replace("    return", "\u00a0\u00a0\u00a0 return")), NEW),
    # whole programs, not fenced
    "nothing but the program": (NEW, NEW),
    "prose, then the program": (f"I count copies, which says more.\n\n{NEW}", NEW),
    "prose around the program": (f"I count copies.\n\n{NEW}\nThis should rank twins first.", NEW),
    "tags": (f"<program>\n{NEW}</program>", NEW),
    "tags that never close": (f"Sure.\n<code>\n{NEW}", NEW),
    "a JSON object": (json.dumps({"idea": "copies", "program": NEW}), NEW),
    "a fenced JSON object": (py(json.dumps({"idea": "copies", "code": NEW}) + "\n", language="json"), NEW),
    # which of several
    "a draft, then the answer": (f"First try:\n{py(DRAFT)}\nBut copies are better:\n{py(NEW)}", NEW),
    "the answer, then how to call it": (f"{py(NEW)}\nUse it so:\n{py('scores = rank(evidence)' + chr(10))}", NEW),
    "the answer, then the original again": (f"{py(NEW)}\nThe original was\n{py(PARENT)}", NEW),
    "the answer, then its outline": (f"{py(NEW)}\nIn short:\n{py(OUTLINE)}", NEW),
    "the answer, then a test that imports it": (f"{py(NEW)}\nTest:\n{py(USE)}", NEW),
    "a helper, the answer, then a test that imports both": (
        f"{py(HELPER)}\n{py(WITH_HELPER)}\n{py(USE.replace('rank', 'half, rank', 1))}",
        f"{HELPER}\n{WITH_HELPER}",
    ),
    "a new version of a helper, then a test": (
        f"{py(WEIGHT.replace('share * (1 - share)', 'share'))}\nTest:\n{py(USE)}",
        BETTER,
    ),
    "the answer in a class, then the outline of the class": (
        f"{py(IN_CLASS)}\n{py(IN_CLASS.splitlines()[0] + chr(10) + indented(OUTLINE, '    '))}",
        f"{IN_CLASS}\n\nrank = Strategy().rank\n",
    ),
    "the answer, then a value": (f"{py(NEW)}\nwhich gives\n{py('rank = [2, 0, 1]' + chr(10), language='')}", NEW),
    "an answer in a language of its own": (f"```js\nconst x = 1\n```\n{py(NEW)}", NEW),
    "a whole program, then the same as an edit": (f"{py(BETTER)}\nThat is:\n{SHARE}", BETTER),
    "an edit as a sketch, then a whole program": (f"{SHARE}\nOr rather everything anew:\n{py(NEW)}", NEW),
    "a draft, then an edit of the draft": (
        f"{py(DRAFT)}\nand then\n{edit(DRAFT.splitlines()[1], NEW.splitlines()[1])}",
        NEW,
    ),
    "the original, then an edit of it": (f"The program is\n{py(PARENT)}\nI change\n{SHARE}", BETTER),
    # thoughts
    "thoughts": (f"<think>\nMaybe\n{py(DRAFT)}\n</think>\n{py(NEW)}", NEW),
    "thoughts that the template opened": (f"Maybe\n{py(DRAFT)}\n</think>\n{py(NEW)}", NEW),
    "an answer, then thoughts that are cut": (f"{py(NEW)}\n<think>\nOr\n{py(DRAFT)}", NEW),
    # what is missing is at hand
    "a helper in a block of its own": (
        f"A helper:\n{py(HELPER)}\nand the rank:\n{py(WITH_HELPER)}",
        f"{HELPER}\n{WITH_HELPER}",
    ),
    "a helper after the rank": (f"{py(WITH_HELPER)}\nwith\n{py(HELPER)}", f"{HELPER}\n{WITH_HELPER}"),
    "a rank that uses a helper of the parent": (py(USES), f"{WEIGHT}\n{USES}"),
    "a rank whose helpers are elided": (
        py(f"# weight() as before\n\n{USES}"),
        f"{WEIGHT}\n# weight() as before\n\n{USES}",
    ),
    "a rank that forgot the import": (
        py("def rank(evidence):\n    return evidence.copies, np.ones(evidence.passed.shape[1])\n"),
        "import numpy as np\n\ndef rank(evidence):\n    return evidence.copies, np.ones(evidence.passed.shape[1])\n",
    ),
    "a new version of a helper alone": (
        py("def weight(passed):\n    return passed.mean(axis=0)\n"),
        PARENT.replace(WEIGHT, "def weight(passed):\n    return passed.mean(axis=0)\n"),
    ),
    "a new helper beside a new version of one": (
        py(f"{HELPER}\ndef weight(passed):\n    return half(passed.mean(axis=0))\n"),
        PARENT.replace("import numpy as np\n", f"import numpy as np\n\n\n{HELPER}").replace(
            WEIGHT, "def weight(passed):\n    return half(passed.mean(axis=0))\n"
        ),
    ),
    "a class around the rank": (
        py(IN_CLASS),
        f"{IN_CLASS}\n\nrank = Strategy().rank\n",
    ),
    "a rank that is a lambda": (
        py("rank = lambda e: (e.copies, e.passed.sum(axis=0))\n"),
        "rank = lambda e: (e.copies, e.passed.sum(axis=0))\n",
    ),
    # edits
    "an edit": (f"Less is more.\n\n{SHARE}", BETTER),
    "an edit in a fence": (py(SHARE, language=""), BETTER),
    "an edit in a fence of diff": (py(SHARE, language="diff"), BETTER),
    "an edit in a list": (indented(SHARE), BETTER),
    "an edit with longer marks": (SHARE.replace("<<<<<<<", "<<<<<<<<<").replace("=======", "========="), BETTER),
    "an edit with the marks of a merge": (SHARE.replace("SEARCH", "ORIGINAL").replace("REPLACE", "UPDATED"), BETTER),
    "an edit without indentation": (edit("return share * (1 - share)", "return share"), BETTER),
    "an edit whose comment differs": (
        edit(
            "    share = passed.mean(axis=0)  # per testing\n    return share * (1 - share)",
            "    return passed.mean(axis=0)",
        ),
        PARENT.replace(WEIGHT, "def weight(passed):\n    return passed.mean(axis=0)\n"),
    ),
    "an edit whose blanks differ": (
        edit("    return share*(1-share)".replace("*", "  *  ").replace("-", " - "), "    return share"),
        BETTER,
    ),
    # whole programs in the open, beside fences
    "in the open, then a use": (f"{NEW}\nUse:\n\n{py('print(rank(evidence))' + chr(10))}", NEW),
    "in the open, then a test": (f"I weigh copies.\n\n{NEW}\nTest:\n\n{py(USE)}", NEW),
    "in the open, then a command": (f"{NEW}\nRun it:\n{SHELL}", NEW),
    "a command, then in the open": (f"{SHELL}\nSo:\n\n{NEW}", NEW),
    "in the open, then its output": (f"{NEW}\nOutput:\n{OUTPUT}", NEW),
    "the parent in a fence, then in the open": (f"Of\n{py(PARENT)}I make\n\n{NEW}\nwhich counts.\n", NEW),
    "moved to the right": (f"Here it is:\n\n{indented(NEW, '    ')}\nThat is all.\n", NEW),
    "moved to the right, then a command": (f"So:\n\n{indented(NEW, '    ')}\nRun it:\n{SHELL}", NEW),
    "constants in the open": (f"So:\n\n{SETTINGS}\n{NEW}\nThat is all.\n", f"{SETTINGS}\n{NEW}"),
    "a line of words that looks like a type": (f"{NEW}\nResult: x = 5 here.\n", NEW),
    "in the open with a fence in its docstring": (f"So:\n\n{quoting(NEW)}\nThat is all.\n", quoting(NEW)),
    "a fence in its docstring and no words": (quoting(NEW), quoting(NEW)),
    "an edit with nothing to search": (edit("", "import math"), f"import math\n{PARENT}"),
    "two edits": (
        SHARE + "\nand\n" + SUM,
        BETTER.replace("votes = passed @ weight(passed)", "votes = passed.sum(axis=1)"),
    ),
    "two edits, of which one does not apply": (SHARE + edit("    votes = something_else()", "    votes = 1"), BETTER),
    "an edit, then a better one of the same lines": (
        edit("    votes = passed @ weight(passed)", "    votes = passed.max(axis=1)") + "\nNo:\n" + SUM,
        VOTES,
    ),
    "a unified diff": (py(f"--- a/rank.py\n+++ b/rank.py\n{HUNK}", language="diff"), BETTER),
    "a unified diff that is not fenced": (f"I change one line.\n\n--- a/rank.py\n+++ b/rank.py\n{HUNK}", BETTER),
    "a unified diff without its headers": (py(HUNK.split("\n", 1)[1], language="diff"), BETTER),
    "a unified diff with wrong line numbers": (py(HUNK.replace("-4,3 +4,3", "-40,9 +44,1"), language="patch"), BETTER),
    "a unified diff whose context lost its blank": (py(HUNK.replace("\n def", "\ndef"), language="diff"), BETTER),
    "a unified diff of two hunks": (
        py(
            f"{HUNK}@@ -10,2 +10,2 @@\n-    votes = passed @ weight(passed)\n+    votes = passed.sum(axis=1)\n",
            "~~~",
            "diff",
        ),
        BETTER.replace("votes = passed @ weight(passed)", "votes = passed.sum(axis=1)"),
    ),
}

REFUSED: dict[str, tuple[str, str]] = {
    "nothing": (" \n", "empty"),
    "a refusal": ("I'm sorry, but I can't help with that.", "prose"),
    "praise": ("The program is fine as it is; I would not change it.", "prose"),
    "thoughts that were cut": (f"<think>\nFirst I try\n{py(DRAFT)}and then", "only-thinking"),
    "thoughts without an answer": (f"I try\n{py(DRAFT)}</think>\n", "only-thinking"),
    "a program that was cut": ("```python\ndef rank(evidence):\n    votes = (evidence.passed @", "does-not-parse"),
    "another language": ("```java\nclass Rank {}\n```", "prose"),
    "a function of another name": (py("def score(evidence):\n    return 1, 2\n"), "no-entry-point"),
    "an outline": (py(OUTLINE), "no-entry-point"),
    "a test that imports it": (py(USE), "no-entry-point"),
    "an edit of other lines": (edit("    votes = something_else()", "    votes = 1"), "diff-does-not-apply"),
    "edits of which the needed one does not apply": (
        edit("    return share * (1 - share)", "    return part(share)") + edit("def nothing():", "def part(x):"),
        "diff-does-not-apply",
    ),
    "an edit that was cut": ("<<<<<<< SEARCH\n    return share * (1 - share)\n=======\n    ret", "prose"),
    "too much": ("x" * 250_000, "too-long"),
}


@pytest.mark.parametrize("form", PROGRAMS)
def test_a_strategy_is_read_from_every_form(form: str) -> None:
    reply, program = PROGRAMS[form]
    found = STRATEGIES.read(reply, [PARENT])
    assert found.value is not None, found.reason
    assert found.value.split() == program.split()
    compile(found.value, form, "exec")


@pytest.mark.parametrize("form", REFUSED)
def test_what_is_no_strategy_has_its_reason(form: str) -> None:
    reply, reason = REFUSED[form]
    assert STRATEGIES.read(reply, [PARENT]).reason == reason


def test_edits_apply_through_trailing_blanks_and_other_indentation() -> None:
    program = "def f():\n    if x:\n        a = 1  \n        b = 2\n"
    assert apply_edits(program, [Edit("        a = 1\n", "        a = 3\n")]) == Edited(
        program.replace("a = 1  ", "a = 3"), 1, 0
    )
    shifted = apply_edits(program, [Edit("a = 1\nb = 2\n", "a = 3\nif a:\n    b = 4\n"), Edit("c = 1", "d")])
    assert shifted == Edited("def f():\n    if x:\n        a = 3\n        if a:\n            b = 4\n", 1, 1)


def test_helpers_are_taken_from_any_program_that_was_shown_the_parent_first() -> None:
    other = HELPER + "\n" + WEIGHT.replace("share * (1 - share)", "share ** 2") + "\n" + NEW
    reply = py("def rank(evidence):\n    return half(evidence.passed.sum(axis=1)), weight(evidence.passed)\n")
    found = STRATEGIES.read(reply, [PARENT, other]).value or ""
    assert HELPER in found
    assert "share * (1 - share)" in found
    assert "share ** 2" not in found


# ------------------------------------------------------------------------------------------------------ other domains
TOP = Problem(
    "top",
    "python-function",
    "Return the k largest items.",
    payload={"entry_point": "top", "starter_code": "def top(items: list[int], k: int = 1):\n    pass\n"},
)
UNTYPED = replace(TOP, payload={**TOP.payload, "starter_code": "def top(items, k=1):\n    pass\n"})
SUMS = Problem("sum", "python-stdin", "Read n, then n numbers; print their sum.")
ORDERED = "def ordered(items):\n    return sorted(items)[::-1]\n"
WHOLE = "def top(items, k=1):\n    return sorted(items)[::-1][:k]\n"
READS = "n = int(input())\nprint(sum(int(input()) for _ in range(n)))\n"

OTHER = WHOLE.replace("[::-1]", "")
LARGEST = "def top(items, k=1):\n    return ordered(items)[:k]\n"
METHOD = "class Solution:\n    def top(self, items, k=1):\n        return ordered(items)[:k]\n"
TEST = "from solution import top\n\nassert top([1, 2], 1) == [2]\n"
BODY = "    return sorted(items)[::-1][:k]\n"
STARTED = "def top(items: list[int], k: int = 1):\n    pass\n"
FILLED = "squares = {}\nfor n in range(9):\n    squares[n] = n * n\n"
SQUARE = "def top(items, k=1):\n    return [squares[n] for n in items[:k]]\n"

CUT = """def top(items, k=1):
    # cut the text at <think>
    cleaned = [one.replace("\u00a0<think>hm</think>", "") for one in items]  # up to </think>
    return sorted(cleaned)[::-1][:k]
"""


def odd_blanks(program: str) -> str:
    """A program indented by blanks that do not break."""
    return program.replace("    ", "\u00a0 \u00a0 ")


SOLUTIONS: dict[str, tuple[Problem, str, str]] = {
    "the last block": (TOP, py(OTHER) + "Wrong order:\n" + py(WHOLE), WHOLE),
    "thoughts with a draft": (TOP, f"{py(ORDERED)}\n</think>\n{py(WHOLE)}", WHOLE),
    "thoughts without a begin, and no fence": (TOP, f"{ORDERED}\n</think>\n{WHOLE}", WHOLE),
    "a fence in a list": (TOP, f"1. So:\n{indented(py(WHOLE))}", WHOLE),
    "in the open, then a use": (TOP, f"{WHOLE}\nSo\n{py('print(top([1]))' + chr(10))}", WHOLE),
    "in the open, then a test": (TOP, f"I sort.\n\n{WHOLE}\nTest:\n{py(TEST)}", WHOLE),
    "in the open, then its output": (TOP, f"{WHOLE}\nIt gives\n{OUTPUT}", WHOLE),
    "moved to the right": (TOP, f"So:\n\n{indented(WHOLE, '    ')}\nThat is all.\n", WHOLE),
    "a fence after words on its line": (TOP, f"Solution: ```python\n{WHOLE}```", WHOLE),
    "a fence that closes on the last line": (SUMS, f"```python\n{READS.rstrip()}```", READS),
    "a docstring with a fence": (TOP, py(quoting(WHOLE)), quoting(WHOLE)),
    "code between ticks at the start of a line": (TOP, f"```numpy``` is not needed.\n\n{py(WHOLE)}", WHOLE),
    # which of several
    "a draft without a language, then the answer": (TOP, f"Draft:\n{py(OTHER, language='')}Final:\n{py(WHOLE)}", WHOLE),
    "a draft, then the answer without a language": (TOP, f"{py(OTHER)}Final:\n{py(WHOLE, language='')}", WHOLE),
    "the answer, then a sample of output": (
        TOP,
        f"{py(WHOLE)}It gives\n{py('top = [3, 2]' + chr(10), language='')}",
        WHOLE,
    ),
    "a program, then a sample of output": (SUMS, f"{py(READS)}It prints\n{py('n = 5' + chr(10), language='')}", READS),
    "a program, then words that are Python": (
        SUMS,
        f"{py(READS)}It prints\n{py('5 and 7' + chr(10), language='')}",
        READS,
    ),
    "the answer, then a test that imports it": (TOP, f"{py(WHOLE)}Test:\n{py(TEST)}", WHOLE),
    "a test that imports it, then the answer": (TOP, f"{py(TEST)}Now:\n{py(WHOLE)}", WHOLE),
    "the answer, then its outline": (TOP, f"{py(WHOLE)}In short:\n{py(STARTED)}", WHOLE),
    "nothing but an import": (TOP, py("from heapq import nlargest as top\n"), "from heapq import nlargest as top\n"),
    "nothing but an outline": (TOP, py(STARTED), STARTED),
    # the line ends, blanks and tags of a reply
    "line ends of Windows": (TOP, f"So:\n\n{py(WHOLE)}\nDone.\n".replace("\n", "\r\n"), WHOLE),
    "a script with line ends of Windows": (SUMS, f"So:\n\n{py(READS)}\nDone.\n".replace("\n", "\r\n"), READS),
    "blanks that do not break": (TOP, f"So:\u00a0\u202f{py(WHOLE.replace(' ', chr(0xA0)))}", WHOLE),
    "such blanks in a text of the program": (TOP, py(odd_blanks(CUT)), CUT),
    "a remark about thoughts": (TOP, f"So:\n{py(CUT)}", CUT),
    "a remark about thoughts, behind thoughts": (TOP, f"<think>\n{py(OTHER)}</think>\n{py(CUT)}", CUT),
    "constants in the open": (TOP, f"So:\n\n{SETTINGS}\n{WHOLE}\nDone.\n", f"{SETTINGS}\n{WHOLE}"),
    # what is missing is at hand
    "a helper after the answer": (TOP, f"{py(LARGEST)}with the helper\n{py(ORDERED)}", f"{ORDERED}\n\n{LARGEST}"),
    "a helper after the answer, and its use": (
        TOP,
        f"{py(LARGEST)}with\n{py(ORDERED + 'print(top(ordered([1])))' + chr(10))}",
        f"{ORDERED}\n\n{LARGEST}",
    ),
    "a helper, the answer, then a test that imports both": (
        TOP,
        f"{py(ORDERED)}{py(LARGEST)}{py(TEST.replace('top', 'ordered, top', 1))}",
        f"{ORDERED}\n{LARGEST}",
    ),
    "a helper before a class": (
        TOP,
        f"{py('from typing import List' + chr(10) + ORDERED)}then\n{py(METHOD)}",
        f"from typing import List\n{ORDERED}\n{METHOD}\n\ntop = Solution().top\n",
    ),
    "a table that an earlier block fills": (TOP, f"{py(FILLED)}then\n{py(SQUARE)}", f"{FILLED}\n{SQUARE}"),
    "a helper after a program": (
        SUMS,
        f"{py('print(read())' + chr(10))}with\n{py('def read():' + chr(10) + '    return input()' + chr(10))}",
        "def read():\n    return input()\n\n\nprint(read())\n",
    ),
    "a body as a draft, then the body": (
        TOP,
        f"Draft:\n{py(BODY.replace('[::-1]', ''))}Final:\n{py(BODY)}",
        STARTED + BODY,
    ),
    "the starter code, then the body": (TOP, f"{py(STARTED)}{py(BODY)}", STARTED + BODY),
    "a body and its helper": (
        TOP,
        f"{py(LARGEST.split(chr(10), 1)[1])}with\n{py(ORDERED)}",
        f"{ORDERED}\n\n{STARTED}{LARGEST.split(chr(10), 1)[1]}",
    ),
}

CASES = [{"input": [[1, 2], 1], "output": [2]}]
LINE = '{"input": [[1, 2], 1], "output": [2]}'
WANTING = '{"input": [[1, 2], 1]}'
EXAMPLE = '[{"input": [[0], 1], "output": [0]}]'
WHY = '[{"edge": "empty", "why": "nothing to take"}]'
GUESS = "assert top([1, 2], 1) == [1]\n"
ASSERT = "assert top([1, 2], 1) == [2]\n"
CHECK = "def check(candidate):\n    assert candidate([1, 2], 1) == [2]\n"
CALLS = "def check(candidate):\n    assert candidate([1, 2], 2) == ordered([1, 2])\n"
BUILDS = "def build_cases():\n    return [{'input': [[1, 2], 2], 'output': ordered([1, 2])}]\n"
TAGGED = [{"input": ["a<think>b</think>c", 1], "output": "ac"}, {"input": ["<think>b</think>c", 1], "output": "c"}]
BLANK = [{"input": ["a\u00a0b,]", 1], "output": "a\ufeffb // c"}]
RAW = [{"input": ["x = 1 // one\ny = 2", 1], "output": []}]
LINES = [{"input": ["a\n\u00a0b\n<think>\nc\n</think>", 1], "output": "d"}]
TESTINGS: dict[str, tuple[Problem, str, object]] = {
    "thoughts with a draft": (TOP, f"<think>```json\n{EXAMPLE}\n```\n</think>\n```json\n[{LINE}]\n```", CASES),
    "thoughts with a draft that the template opened": (TOP, f"```json\n{EXAMPLE}\n```\n</think>\n[{LINE}]", CASES),
    "line ends of Windows": (TOP, f"So:\r\n\r\n```json\r\n[{LINE}]\r\n```\r\n\r\nDone.\r\n", CASES),
    "data with tags": (UNTYPED, f"```json\n{json.dumps(TAGGED)}\n```", TAGGED),
    "data with tags and no fence": (UNTYPED, json.dumps(TAGGED), TAGGED),
    "data with tags, behind thoughts": (UNTYPED, f'<think>a"</think>\n{json.dumps(TAGGED)}', TAGGED),
    "data with odd blanks and a comma": (
        UNTYPED,
        f"```json\n{json.dumps(BLANK, ensure_ascii=False)[:-1]},]\n```",
        BLANK,
    ),
    "a raw text with a remark and a comma": (
        UNTYPED,
        "```json\n" + '[{"input": ["x = 1 // one\ny = 2", 1], "output": []},]```',
        RAW,
    ),
    "raw line breaks, blanks and tags": (UNTYPED, json.dumps(LINES, ensure_ascii=False).replace("\\n", "\n"), LINES),
    "a fence in a list": (TOP, f"- Tests:\n  ```json\n  [{LINE}]\n  ```", CASES),
    "a fence after words on its line": (TOP, f"The tests: ```json\n[{LINE}]\n```", CASES),
    "cases, then a list of something else": (TOP, f"```json\n[{LINE}]\n```\n```json\n{WHY}\n```", CASES),
    "asserts as a draft, then asserts": (TOP, f"{py(GUESS)}No:\n{py(ASSERT)}", CASES),
    "a draft without a language, then asserts": (TOP, f"{py(GUESS, language='')}No:\n{py(ASSERT)}", CASES),
    "a check as a draft, then asserts": (TOP, f"{py(CHECK)}Simpler:\n{py(ASSERT)}", CASES),
    "asserts in the open, then a command": (TOP, f"{ASSERT}\nRun it:\n{SHELL}", CASES),
    "a check in the open, then a command": (TOP, f"{CHECK}\nRun it:\n{SHELL}", CASES),
    "a generator in the open, then a command": (
        TOP,
        f"{ORDERED}{BUILDS}\nRun it:\n{SHELL}",
        {"python": ORDERED + BUILDS},
    ),
    "cases, with a check in the open": (TOP, f"{CHECK}\nor\n```json\n[{LINE}]\n```", CASES),
    "asserts, then a check": (TOP, f"{py(GUESS)}Better:\n{py(CHECK)}", CASES),
    "a check that calls a later block": (TOP, f"{py(CALLS)}with\n{py(ORDERED)}", f"{ORDERED}\n\n{CALLS}"),
    "a generator that calls an earlier block": (TOP, f"{py(ORDERED)}{py(BUILDS)}", {"python": f"{ORDERED}\n{BUILDS}"}),
    "a generator that calls a later block": (TOP, f"{py(BUILDS)}{py(ORDERED)}", {"python": f"{ORDERED}\n\n{BUILDS}"}),
}


@pytest.mark.parametrize("form", SOLUTIONS)
def test_a_solution_is_read_from_every_form(form: str) -> None:
    problem, reply, program = SOLUTIONS[form]
    found = domain_named(problem.domain).read("solution", reply, problem)
    assert found.value is not None, found.reason
    assert found.value.text.strip() == program.strip()


@pytest.mark.parametrize("form", TESTINGS)
def test_a_testing_is_read_from_every_form(form: str) -> None:
    problem, reply, body = TESTINGS[form]
    found = domain_named(problem.domain).read("testing", reply, problem)
    assert isinstance(found.value, Testing), found.reason
    assert list(found.value.body.values()) == [body]


@pytest.mark.parametrize(
    ("what", "reply", "reason"),
    [
        ("testing", f"<think>\n```json\n{EXAMPLE}\n```\n", "only-thinking"),
        ("solution", f"<think>\n{py(WHOLE)}", "only-thinking"),
        ("testing", f"```json\n{EXAMPLE}\n```\n```json\n[{WANTING}]\n```", "bad-cases"),
    ],
)
def test_a_reply_whose_last_answer_is_none_is_refused(what: str, reply: str, reason: str) -> None:
    found = domain_named("python-function").read(what, reply, TOP)  # type: ignore[arg-type]
    assert found.value is None
    assert found.reason.startswith(reason)


def test_a_script_in_the_open_is_taken_whole_or_not_at_all() -> None:
    reply = f"So:\n\nimport sys\n{READS}\nRun it:\n{SHELL}"
    assert domain_named("python-stdin").read("solution", reply, SUMS).value is None


def test_a_statement_is_taken_without_the_thoughts_in_it() -> None:
    statement = "<think>short, then</think>Return the sum of a list of integers."
    reply = json.dumps(
        {"title": "Sum", "statement": statement, "entry_point": "f", "starter_code": "def f(x):\n    pass\n"}
    )
    found = domain_named("python-function").read("problem", f"```json\n{reply}\n```")
    assert isinstance(found.value, Problem), found.reason
    assert found.value.statement == "Return the sum of a list of integers."


def test_the_table_is_long_enough() -> None:
    assert len(PROGRAMS) + len(REFUSED) >= 60
