"""The nearest tree of a program in ordinary numpy: what it keeps, and that any text is read quickly or not at all."""

import random
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.codeblocks import read_program
from evosyn.parsing import parsed
from evosyn.strategies import known_names, load_known
from evosyn.strategies.grammar.grammar import Type, type_of
from evosyn.strategies.grammar.nearest import nearest
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.simplify import simplified
from evosyn.strategies.grammar.source import graft, read, write
from evosyn.strategies.grammar.terms import notation
from evosyn.strategies.grammar.trees import fits, linked

REPLIES = sorted((Path(__file__).parents[1] / "recorded" / "search" / "replies").glob("*.md"))
HEAD = "import numpy as np\n\n\ndef rank(evidence):\n    p = evidence.passed\n"
PASSES, ACCEPTS, GAP = "passed.mean(axis=1)", "turned(passed).mean(axis=1)", "gap(passed, solution_scores)"
AGREEMENT = f"same(passed).mean(axis=1) * {PASSES}"
VERDICT = "1.0 - accepted(passed, bottom(solution_scores))"
KNOWN = {
    "b4": None,
    "codet": (AGREEMENT, "accepted(passed, solution_scores)"),
    "codet_gap": (AGREEMENT, GAP),
    "codet_medoid": (f"({AGREEMENT}) + (kin.mean(axis=1) * 0.9)", f"gap(passed, {AGREEMENT})"),
    "coverage": (PASSES, GAP),
    "dawid_skene": None,
    "decide": (AGREEMENT, f"then(accepted(passed, top(solution_scores)), then({VERDICT}, {GAP}))"),
    "exclusion": (PASSES, f"ratio(accepted(passed, solution_scores) - {ACCEPTS}, {ACCEPTS})"),
    "gap": (PASSES, GAP),
    "hardness": (f"then(ratio(vote(passed, 1.0 - {ACCEPTS}), {PASSES}), {PASSES})", f"1.0 - {ACCEPTS}"),
    "initial": (PASSES, ACCEPTS),
    "inverse": (PASSES, f"1.0 - {ACCEPTS}"),
    "mbr": ("echo.mean(axis=1)", GAP),
    "random": None,
    "tfidf": (f"vote(passed, fade({ACCEPTS}, 1.0))", f"fade({ACCEPTS}, 1.0)"),
}


def noted(text: str) -> tuple[str, str] | None:
    program = nearest(text)
    return None if program is None else (notation(program.solutions), notation(program.testings))


def assert_is_of_the_grammar(text: str) -> None:
    program = nearest(text)
    if program is not None:
        assert (type_of(program.solutions), type_of(program.testings)) == (Type.M, Type.N)
        assert fits(program) and program == simplified(program) and read(write(program)) == program


@pytest.mark.parametrize("name", known_names())
def test_known_rules_come_to_the_ideas_that_they_are_made_of(name: str) -> None:
    assert noted(load_known(name)) == KNOWN[name]
    assert_is_of_the_grammar(load_known(name))


@pytest.mark.parametrize(
    ("name", "opening"),
    [("initial", "pass-counts"), ("gap", "gap"), ("codet", "agreement"), ("codet_gap", "agreement-gap")],
)
def test_rules_of_papers_are_the_openings_that_stand_for_them(name: str, opening: str) -> None:
    assert nearest(load_known(name)) == OPENINGS[opening]


def test_most_recorded_replies_of_models_have_a_tree() -> None:
    found = [read_program(path.read_text(), [load_known("codet")], ("rank",)).value for path in REPLIES]
    texts = [text for text in found if text is not None]
    for text in texts:
        assert_is_of_the_grammar(text)
    assert len(texts) == 15 and sum(nearest(text) is not None for text in texts) == 14


@pytest.mark.parametrize("name", OPENINGS)
def test_a_program_of_the_grammar_is_its_own_nearest_tree(name: str) -> None:
    assert nearest(write(OPENINGS[name])) == simplified(linked(OPENINGS[name]))


SOLUTIONS = {
    "p.astype(float) @ np.log1p(p.sum(axis=0))": f"vote(passed, logarithm({ACCEPTS}))",
    "np.round(np.sqrt(p.mean(-1)) * np.exp(evidence.copies) / len(p))": f"power({PASSES}, 0.5) * likely(copies)",
    "np.nan_to_num(p.sum(1) / np.maximum(evidence.copies, 1) + 1e-9)": f"ratio({PASSES}, copies)",
    "evidence.undrawn + p.sum(axis=1) * np.sort(evidence.copies)": f"{PASSES} * copies",
    "(p[:, None] == p[None]).mean(-1).sum(1) ** 3 - evidence.x": "power(alike(passed).mean(axis=1), 3.0)",
    "(p.T[:, None, :] == p.T[None]).all(axis=2).mean(axis=1) @ p.T": "vote(passed, same(turned(passed)).mean(axis=1))",
    "(p * p.sum(axis=0)[None, :]).sum(axis=1)": f"vote(passed, {ACCEPTS})",
    "p.sum(axis=1).argsort().argsort() + np.minimum(p.mean(1), 0.5)": f"place({PASSES}) + {PASSES}",
    "np.concatenate(evidence.cases, axis=1).mean(axis=1)": "checks",
    "(p @ p.T + (1 - p) @ (1 - p).T).sum(axis=1)": "alike(passed).mean(axis=1)",
    "evidence.solution_similarity.sum(axis=1) * half(p.mean(axis=1))": f"kin.mean(axis=1) * half({PASSES})",
    "(evidence.solution_groups[:, None] == evidence.solution_groups).sum(axis=1)": "twins.mean(axis=1)",
    "1 - np.maximum(evidence.copies, p.sum(axis=1))": f"1.0 - np.maximum(copies, {PASSES})",
    "ran_through(evidence.verdicts, p).mean(axis=1)": "ran.mean(axis=1)",
}
TESTINGS = {
    "q @ p / np.maximum(p.sum(0), 1) - q @ (1 - p) / np.maximum((1 - p).sum(0), 1)": GAP,
    "np.where(p.any(axis=0), p[q > np.median(q)].mean(0), -1)": "accepted(passed, at_least(solution_scores, 0.5))",
    "p[q == q.max()].mean(axis=0)": "accepted(passed, top(solution_scores))",
    "p.T @ q": "accepted(passed, solution_scores)",
    "own(p, q)": f"accepted(passed, solution_scores) * {ACCEPTS}",
    "deep(p, q)": GAP,
}


@pytest.mark.parametrize("text", SOLUTIONS)
def test_spellings_of_solutions(text: str) -> None:
    assert noted(f"{HEAD}    return {text}, None\n") == (SOLUTIONS[text], GAP)


@pytest.mark.parametrize("text", TESTINGS)
def test_spellings_of_testings(text: str) -> None:
    own = (
        "def own(x, y):\n    if y is None:\n        return x\n    z = y @ x\n    z *= x.sum(axis=0)\n    return z\n\n\n"
    )
    own += "def deep(x, y):\n    return deep(x, y)\n\n\ndef rank"
    assert noted(f"{HEAD.replace('def rank', own)}    q = p.sum(axis=1)\n    return q, {text}\n") == (
        PASSES,
        TESTINGS[text],
    )


def test_what_a_loop_assigns_is_unknown_behind_it_and_the_rest_is_kept() -> None:
    loop = "    q = p.sum(axis=1)\n    s = q\n    for n in range(3):\n        s[n], r = n, s\n"
    assert noted(f"{HEAD}{loop}    return s + q * 2, s @ p\n") == (f"{PASSES} * 2.0", GAP)


def chained(count: int) -> str:
    return "".join(f"def f{n + 1}(x):\n    return f{n}(f{n}(x))\n\n\n" for n in range(count))


HOSTILE = {
    "no program": "def rank(",
    "empty": "",
    "no rank": "def order(evidence):\n    return evidence.passed.sum(axis=1), evidence.passed.sum(axis=0)\n",
    "nothing returned": HEAD,
    "one score": HEAD + "    return p.sum(axis=1)\n",
    "doubling": HEAD + "    x = p.sum(axis=1)\n" + "    x = x + np.log(x) + x\n" * 60 + "    return x, 1\n",
    "calls": HEAD.replace("def rank", chained(40) + "def rank") + "    return f40(p.sum(axis=1)), 1\n",
    "itself": HEAD + "    return rank(evidence)\n",
    "brackets": HEAD + "    return " + "(" * 180 + "p.sum(1)" + ")" * 180 + " + 1, " + "-" * 99 + "p\n",
    "powers": HEAD + "    return 10**400 ** 9999999, p.sum(axis=0) ** (9 ** 9 ** 9) @ []\n",
    "axes": HEAD + "    return p" + "[:, None]" * 95 + ", 1\n",
    "a tuple": HEAD + "    return " + ", ".join(["p"] * 5000) + "\n",
    "large": HEAD + "    p = p + 1\n" * 50_000 + "    return p, p\n",
    "a list as an axis": HEAD + "    return [p].sum([p] == [1])[[[]]], {p: -[p]} if p[[]] > [p] else [p]\n",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_texts_have_no_tree_and_take_no_time(name: str) -> None:
    began = time.process_time()
    assert nearest(HOSTILE[name]) is None
    assert time.process_time() - began < 2.0


TEXTS = [load_known(name) for name in known_names()] + [write(one) for one in OPENINGS.values()]
TEXTS += [f"{HEAD}    q = p.mean(axis=1)\n    return {a}, {b}\n" for a, b in zip(SOLUTIONS, TESTINGS, strict=False)]
PIECES = ("axis=0", "axis=1", "passed", "[:, None]", "evidence.cases", ".T", "~", "1e300", "0", "[", "]", "(", ")", "@")
WORDS = (*PIECES, "/", "**", "-", "None", "True", "np.unique", "np.stack", ".argsort()", "[passed]", "sum", "then", ",")


@settings(max_examples=300, deadline=None)
@given(st.integers(0, 2**32))
def test_whatever_is_done_to_a_text_a_tree_is_of_the_grammar_or_there_is_none(seed: int) -> None:
    rng = random.Random(seed)
    text = rng.choice(TEXTS)
    for _ in range(rng.randint(1, 4)):
        names = [name for name in ("score", "passed", "accepted", "0", "1", ")", "+", "*", "sum", " ") if name in text]
        old, new = rng.choice(names), rng.choice((*WORDS, *names))
        at = rng.choice([at for at in range(len(text)) if text.startswith(old, at)])
        text = text[:at] + new + text[at + len(old) :]
    assert_is_of_the_grammar(text)


def test_a_tree_goes_on_where_a_program_was_grafted() -> None:
    grafted = graft(OPENINGS["gap"], load_known("codet"))
    assert grafted is not None and parsed(grafted)
    assert_is_of_the_grammar(grafted)
