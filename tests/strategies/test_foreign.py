"""Programs in ordinary numpy as trees: what is read ranks alike on every evidence, and what is not sure is not read."""

from __future__ import annotations

import ast
import builtins
import random
import re
import time
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.codeblocks import read_program
from evosyn.records import PassMatrix
from evosyn.strategies import known_names, load_known
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.grammar.foreign.program import BUILT_IN, read_foreign
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.source import functions, write
from evosyn.strategies.grammar.surroundings import linked
from evosyn.strategies.grammar.terms import notation
from evosyn.strategies.ranking import dense_ranks
from evosyn.strategies.running import _harness
from evosyn.strategies.running.packing import pack
from tests.strategies.spelled_programs import HEAD, spelled

ROOT = Path(__file__).parents[2]
RECORDED = ROOT / "tests" / "recorded" / "search" / "replies"
READ = {"codet", "codet_gap", "coverage", "gap", "hardness", "initial", "inverse", "tfidf"}
PASSED = HEAD + "    p = evidence.passed\n"


@cache
def evidences(most: int) -> dict:
    """A hundred problems: everybody passes, nobody, one solution, one testing, copies, checks, unknown cells."""
    rng, found = np.random.default_rng(5), []
    for number in range(100):
        m, n = rng.integers(1, most + 1, 2) if number % 3 else rng.integers(1, 4, 2)
        chance = rng.choice([0.0, 0.1, 0.5, 0.5, 0.9, 1.0])
        cells = np.where(rng.random((m, n)) < chance, "P", rng.choice(list("FETKBNU"), (m, n)))
        if number % 4 == 0:
            cells[rng.integers(m)] = cells[0]
        if number % 5 == 0:
            cells[:, rng.integers(n)] = cells[:, 0]
        cases = tuple(rng.choice(list("PF"), (m, int(count))) for count in rng.integers(0, 4, n))
        copies = rng.integers(1, 5, m) if number % 3 == 1 else None
        found.append(PassMatrix("p", cells, cases_NMC=cases if number % 2 else None, copies_M=copies))
    return pack([evidence_of(one) for one in found])


def orders(text: str, most: int = 8) -> list[list[int]] | str:
    """The places of all solutions and testings; in this process, which is fit for our own texts only."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = _harness.main(text, evidences(most), {"screen": 1, "budget_s": 60.0})
    if "reason" in found:
        return str(found["reason"])
    scores, places = np.frombuffer(found["scores"]), []
    for m, n, *_ in evidences(most)["places"]:
        places += [dense_ranks(scores[:m]).tolist(), dense_ranks(scores[m : m + n]).tolist()]
        scores = scores[m + n :]
    return places


def completed(text: str) -> str:
    """A program with the functions of the grammar that it calls."""
    found = read_program(text, list(functions().values()), ("rank",)).value
    assert found is not None
    return found


ROUNDED = "return np.round(np.clip(np.nan_to_num(x), -1e9, 1e9), 9)"
"""What programs of the grammar do with their scores; of many solutions and testings it ties what is not equal."""


def assert_ranks_alike(text: str) -> None:
    program = read_foreign(text)
    assert program is not None, text
    written, said = write(program), f"{text}\n{notation(program.solutions)}\n{notation(program.testings)}"
    assert ROUNDED in written
    assert orders(written) == orders(text), said
    if ROUNDED not in text:
        assert orders(written.replace(ROUNDED, "return x"), 30) == orders(text, 30), said


@pytest.mark.parametrize("name", known_names())
def test_known_rules_that_fit_are_read_and_rank_alike(name: str) -> None:
    if name in READ:
        assert_ranks_alike(load_known(name))
    else:
        assert read_foreign(load_known(name)) is None


@pytest.mark.parametrize(
    ("name", "opening"),
    [("initial", "pass-counts"), ("gap", "gap"), ("codet", "agreement"), ("codet_gap", "agreement-gap")],
)
def test_rules_of_papers_are_the_openings_that_stand_for_them(name: str, opening: str) -> None:
    found = read_foreign(load_known(name))
    assert found is not None and linked(found) == OPENINGS[opening]


def test_a_recorded_reply_is_read_and_most_have_ideas_that_no_tree_has() -> None:
    shown = [load_known("codet")]
    texts = [read_program(path.read_text(), shown, ("rank",)).value for path in sorted(RECORDED.glob("*.md"))]
    read = [text for text in texts if text is not None and read_foreign(text) is not None]
    assert len([text for text in texts if text is not None]) == 15 and len(read) == 1 and "refused" in read[0]
    assert_ranks_alike(read[0])


@settings(max_examples=60, deadline=None, derandomize=True)  # one in some thousand meets the rounding of trees
@given(st.integers(0, 2**32))
def test_whatever_is_read_ranks_alike(seed: int) -> None:
    text = spelled(random.Random(seed))
    if read_foreign(text) is not None:
        assert_ranks_alike(text)


@settings(max_examples=60, deadline=None, derandomize=True)  # one in some thousand meets the rounding of trees
@given(st.integers(0, 2**32))
def test_whatever_is_read_of_programs_that_call_functions_of_the_grammar_ranks_alike(seed: int) -> None:
    text = completed(spelled(random.Random(seed), own=True))
    if read_foreign(text) is not None:
        assert_ranks_alike(text)


def test_a_good_part_of_the_spellings_is_read() -> None:
    drawn = [spelled(random.Random(seed), own=own) for seed in range(150) for own in (False, True)]
    assert sum(read_foreign(completed(text)) is not None for text in drawn) >= 75


SPELLINGS = {
    "pass-counts": [
        "return p.sum(axis=1), p.sum(axis=0)",
        "return np.sum(p, axis=-1), np.mean(p.astype(np.float64), 0)",
        "return p.astype(float) @ np.ones(p.shape[1]), p.T.sum(axis=1)",
        "m, n = p.shape\n    return p.sum(1) / n, 3 * p.sum(0) + m",
        "return np.log1p(p.sum(axis=1)), np.nan_to_num(p.mean(axis=0) ** 2)",
        "return [p.sum(axis=1), len(p) - (~p).sum(axis=0)]",
    ],
    "gap": [
        "q = p.mean(1)\n    a = p.sum(0)\n    r = (1 - p).sum(axis=0)\n"
        "    return q, q @ p / np.clip(a, 1, None) - q @ (1 - p) / np.clip(r, 1, None)",
        "q = p.sum(1)\n    a = p.sum(0)\n    x = np.where(a > 0, q @ p / np.where(a > 0, a, 1), 0.0)\n"
        "    y = np.where(a < len(p), q @ ~p / np.maximum(len(p) - a, 1), 0)\n    return q, x - y",
        "f = p * 1.0\n    q = f.mean(axis=1)\n    x = (f * q[:, None]).sum(axis=0) / np.maximum(f.sum(axis=0), 1)\n"
        "    x -= ((1 - f) * q[:, None]).sum(axis=0) / np.maximum((1 - f).sum(axis=0), 1.0)\n    return q / q.size, x",
        "q = p.mean(1)\n    return q, half_of(p, q) - half_of(~p, q)",
    ],
    "agreement": [
        "same = (p[:, None] == p[None]).all(-1)\n    s = same.sum(axis=1) * p.sum(axis=1)\n    return s, p.T @ s",
        "same = np.all(p[:, np.newaxis, :] == p[np.newaxis, :, :], axis=2)\n    s: object = same.mean(1) * p.mean(1)\n"
        "    return s, np.dot(s, p)",
    ],
}
HALF_OF = """def half_of(x, q):
    count = x.sum(axis=0)
    total = np.dot(q, x)
    return np.divide(total, count, out=np.zeros(len(count)), where=count > 0)


"""


@pytest.mark.parametrize(("opening", "body"), [(name, body) for name, bodies in SPELLINGS.items() for body in bodies])
def test_other_spellings_are_the_same_trees(opening: str, body: str) -> None:
    text = PASSED.replace("def rank", HALF_OF + "def rank") + f"    {body}\n"
    found = read_foreign(text)
    assert found is not None and linked(found) == OPENINGS[opening]
    assert_ranks_alike(text)


def test_scores_that_are_rounded_before_testings_use_them_stay_so() -> None:
    body = "    s = tidy(p.mean(axis=1))\n    return s, gap(p * 1.0, s)\n"
    text = completed(PASSED + body)
    found = read_foreign(text)
    assert found is not None and found == OPENINGS["gap"]
    assert read_foreign(completed(PASSED + body.replace("return s", "return s * s"))) is None


REFUSED = {
    "axes exchanged": "return p.sum(axis=0), p.sum(axis=1)",
    "another axis": "return p.sum(axis=-2), p.sum(axis=0)",
    "a guard that moves ties": "q = p.mean(1)\n    a = p.sum(0)\n    r = len(p) - a\n"
    "    return q, q @ p / (a + 1e-9) - (q.sum() - q @ p) / (r + 1e-9)",
    "a guard above one": "a = p.sum(axis=0)\n    return p.sum(1), p.sum(1) @ p / np.maximum(a, 2)",
    "one over a count": "return p.sum(1), 1 / np.maximum(p.sum(0), 1)",
    "whole division": "return p.sum(axis=1), p.sum(axis=0) // 2",
    "evidence changed": "p[0] = True\n    return p.sum(axis=1), p.sum(axis=0)",
    "copies changed": "c = evidence.copies\n    c += 1\n    return c, p.sum(axis=0)",
    "a name beside": "a = p.sum(axis=1)\n    b = a\n    b += a\n    return a, p.sum(axis=0)",
    "a view beside": "a = p.mean(1)\n    b = a[:, None]\n    a *= a\n    return a, (p * b).sum(axis=0)",
    "a type changed in place": "a = p.sum(1)\n    a += 0.5\n    return a, p.sum(axis=0)",
    "a name that is local": "n = len(p)\n    len = 3\n    return p.sum(axis=1), n - p.sum(axis=0)",
    "truths added": "return (p + p).sum(axis=1), p.sum(axis=0)",
    "truths subtracted": "return (p - p).sum(axis=1), p.sum(axis=0)",
    "a product of truths": "return (p @ p.T).sum(axis=1), p.sum(axis=0)",
    "a matrix by broadcasting": "s = p.sum(1)\n    return (s[:, None] * s).sum(axis=1), p.sum(axis=0)",
    "a column": "return p.sum(axis=1, keepdims=True), p.sum(axis=0)",
    "coarse rounding": "return np.round(p.mean(axis=1), 1), p.sum(axis=0)",
    "not a number": "q = p.mean(axis=1)\n    return q, q @ p / p.sum(axis=0)",
    "cut to whole numbers": "return p.mean(axis=1).astype(int), p.sum(axis=0)",
    "single precision": "return p.astype(np.float32).mean(axis=1), p.sum(axis=0)",
    "overflow": "c = p.sum(axis=1)\n    d = c ** 4\n    return d * d * d, p.sum(axis=0)",
    "below the tolerance of ties": "return p.sum(axis=1) * 1e-15, p.sum(axis=0)",
    "beside a large number": "return p.mean(axis=1) + 1e9, p.sum(axis=0)",
    "a root of noise": "q = 1 - 0.3 * p.mean(1) - 0.7 * p.mean(1)\n    return q ** 0.5, p.sum(axis=0)",
    "equality of decimals": "q = p.mean(1) * 0.3 + p.mean(1) ** 2\n    return q, p[q == q.max()].mean(axis=0)",
    "a logarithm of 0": "return np.log(p.sum(axis=1)), p.sum(axis=0)",
    "list order": "return p.sum(axis=1) + 0.01 * np.arange(len(p)), p.sum(axis=0)",
    "an argument twice": "return p.sum(1, axis=1), p.sum(axis=0)",
    "a name that numpy does not know": "return np.sum(x=p, axis=1), p.sum(axis=0)",
    "what may be unknown": "return evidence.solution_similarity.mean(axis=1), p.sum(axis=0)",
    "recursion": "return rank(evidence)",
    "a generator": "return p.sum(axis=1), p.sum(axis=0)\n    yield p",
    "an import that comes later": "x = np.sum(p, axis=1)\n    return x, p.sum(axis=0)\n    import numpy as np",
    "a loop": "for n in range(3):\n        pass\n    return p.sum(axis=1), p.sum(axis=0)",
    "raises": "raise ValueError",
    "nothing": "return None",
}


def behind(helpers: str, body: str) -> str:
    """A program with something in front of its `rank`."""
    return PASSED.replace("def rank", f"{helpers}\n\ndef rank") + f"    {body}\n"


PLAIN = PASSED + "    return p.sum(axis=1), p.sum(axis=0)\n"
COUNTING = "C = 0\n\n\ndef f(x):\n    global C\n    C += 1\n    return x * C\n"
CHANGING = "def f(x):\n    x += 1\n    return x\n"
REFUSED_WHOLE = {
    "rank twice": PLAIN + "\n\ndef rank(evidence):\n    return 1, 2\n",
    "rank replaced": PLAIN + "\n\nrank = 3\n",
    "numpy replaced": PLAIN.replace("\n\n\ndef", "\nimport math as np\n\n\ndef"),
    "another attribute of numpy": PLAIN.replace("\n\n\ndef", "\nnp.sum = max\n\n\ndef"),
    "decorated": PLAIN.replace("def rank", "@staticmethod\ndef rank"),
    "a default": PLAIN.replace("(evidence)", "(evidence, k=[])"),
    "an annotation that is not there": PLAIN.replace("(evidence)", "(evidence: Evidence)"),
    "asynchronous": PLAIN.replace("def rank", "async def rank"),
    "a class": PLAIN + "\n\nclass A:\n    pass\n",
    "a constant twice": PLAIN.replace("def rank", "K = 2\nK = 3\n\n\ndef rank"),
    "a helper that counts": behind(COUNTING, "return f(p.sum(axis=1)), p.sum(axis=0)"),
    "a helper that changes its argument": behind(CHANGING, "s = p.sum(axis=1)\n    t = f(s)\n    return s * s, t @ p"),
    "a future too late": PLAIN + "\nfrom __future__ import annotations\n",
    "an argument twice": PLAIN + "\n\ndef f(x, x):\n    return x\n",
    "no program": "def rank(",
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_nearly_a_tree_is_not_read(name: str) -> None:
    assert read_foreign(f"{PASSED}    {REFUSED[name]}\n") is None


@pytest.mark.parametrize("name", REFUSED_WHOLE)
def test_what_is_not_plain_at_the_top_is_not_read(name: str) -> None:
    assert read_foreign(PLAIN) is not None and read_foreign(REFUSED_WHOLE[name]) is None


def test_a_function_that_only_has_a_name_of_the_grammar_is_followed() -> None:
    own = "def gap(x, values):\n    return (x * values[:, None]).sum(axis=0)\n\n\n"
    text = PASSED.replace("def rank", own + "def rank") + "    s = p.sum(axis=1)\n    return s, gap(p, s)\n"
    found = read_foreign(text)
    assert found is not None and notation(found.testings) == "accepted(passed, passed.mean(axis=1))"
    assert_ranks_alike(text)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("def ratio(a, b):\n", "def ratio(a, b):\n    a = a + b\n"),
        ("import numpy as np\n", "import numpy as np\nmax = 3\n"),
        ("import numpy as np\n", "import math as np\n"),
        ("return inside -", "return 2 * inside -"),
    ],
    ids=["another helper", "a builtin replaced", "numpy replaced", "another function"],
)
def test_functions_of_the_grammar_count_only_as_they_stand_there_with_all_that_they_call(old: str, new: str) -> None:
    text = completed(PASSED + "    s = p.mean(axis=1)\n    return s, gap(p * 1.0, s)\n")
    assert read_foreign(text) is not None and old in text
    assert read_foreign(text.replace(old, new)) is None


def test_every_builtin_that_functions_of_the_grammar_call_is_known() -> None:
    called = {
        node.id for text in functions().values() for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)
    }
    assert called & set(dir(builtins)) == BUILT_IN


CALLS = "".join(f"def f{n + 1}(x):\n    return f{n}(f{n}(x))\n\n\n" for n in range(40))


@pytest.mark.parametrize(
    "text",
    [
        PASSED + "    x = p.sum(axis=1)\n" + "    x = x + x\n" * 60 + "    return x, p.sum(axis=0)\n",
        PASSED.replace("def rank", CALLS + "def f0(x):\n    return x * 2\n\n\ndef rank")
        + "    return f40(p.sum(1)), 1\n",
        PASSED + "    return " + "+".join(["p.sum(axis=1)"] * 95) + ", p.sum(axis=0)\n",
        PASSED + "    return " + "(" * 90 + "p.sum(axis=1)" + ")" * 90 + " + (" * 40 + "p" + ")" * 40 + ", 1\n",
        PASSED + "    x = p.sum(axis=1) * 1.0\n" + "    x *= x\n" * 500 + "    return x, p.sum(axis=0)\n",
        PASSED + "    return p.sum(axis=1) * 10**400, p.sum(axis=0)\n",
        PASSED + "    return p.sum(axis=1) ** 9999999, p.sum(axis=0) ** p\n",
        PASSED + "    return p" + "[:, None]" * 80 + ", 1\n",
        PASSED + "    return " + ", ".join(["p"] * 3000) + "\n",
    ],
    ids=["doubling", "calls", "a sum", "brackets", "squares", "a large number", "a large power", "axes", "a tuple"],
)
def test_hostile_texts_are_refused_quickly(text: str) -> None:
    began = time.process_time()
    assert read_foreign(text) is None
    assert time.process_time() - began < 2.0


def test_the_program_in_the_docs_is_read() -> None:
    block = re.search(r"```python\n(.*?)```", (ROOT / "docs" / "write-a-strategy.md").read_text(), re.DOTALL)
    assert block is not None
    assert_ranks_alike(block[1])
