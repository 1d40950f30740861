"""Rows of every built-in domain, in every kind of testing, with completions whose reward is known. Not a test module.

Testings of the rows with starter code lean on what that code imports or defines: whoever loses it judges them
differently. Nothing here is drawn: row `index` of a domain is always the same.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

from evosyn.chat import Message
from evosyn.dataset import Sample, sample_id
from evosyn.records import Json, content_id

ROWS = 200
LENT = {
    "isclose": "isclose(1, 1)",
    "near(": "near(1, 1)",
    "import math": "math.floor(1.5)",
    "Pair": "Pair(1, 2)",
    "lent": "lent()",
}
"""What starter code or prelude give a solution, and a use of it that is true."""
PRELUDE = "def lent():\n    return True\n"
"""Of the problems without starter code."""
HANGS_EVERY = 10
"""One in so many rows has a completion that hangs: each costs the whole time limit."""
DOMAINS = ("python-function", "python-stdin", "environment", "math-answer")


@dataclass(frozen=True)
class Answered:
    """One completion of one row, and the reward that it must get everywhere."""

    name: str
    text: str
    reward: float


@dataclass(frozen=True)
class Posed:
    """A row and its completions."""

    sample: Sample
    answers: tuple[Answered, ...]


def posed(domain: str, index: int) -> Posed:
    kinds = {"python-function": _function, "python-stdin": _stdin, "environment": _environment, "math-answer": _answer}
    return kinds[domain](index)


def _function(index: int) -> Posed:
    a, b = index % 7 + 2, index * 13 % 101 - 50
    inputs = [index % 5, 11, -3]
    kinds = (
        _cases, _keywords, _asserts_import, _asserts_helper, _program_import, _program_loop, _generators, _built,
        _method, _texts,
    )  # fmt: skip
    testing, starter, entry, head = kinds[index % len(kinds)](a, b, inputs)
    right = f"{a} * x + {b}" if kinds[index % len(kinds)] is not _texts else f"x + {str(b)!r}"
    indent = "    " * head.count("\n") + "    "
    sample = _sample("python-function", index, testing, entry, starter, f"{head}\n{indent}return {right}\n")
    code = {
        "right": f"return {right}",
        "wrong": f"return {right} if x == {inputs[0]} else None",
        "crashes": "raise ValueError('no')",
        "exits": "import os\n" + indent + "os._exit(79)",
        "huge": "return 10 ** 5000",
    }
    if index % HANGS_EVERY == 3:
        code["hangs"] = f"while x == {inputs[0]}: pass\n{indent}return {right}"
    answers = [Answered(name, fenced(f"{head}\n{indent}{body}"), float(name == "right")) for name, body in code.items()]
    answers += [Answered("prose", "I am not able to do that.", 0.0), Answered("empty", "", 0.0)]
    leaning = [
        f"{head}\n{indent}return {right} if {call} else None"
        for name, call in LENT.items()
        if name in (starter or PRELUDE)
    ]
    answers += [Answered("leans on what runs before it", fenced(text), 1.0) for text in leaning]
    if starter is not None and starter.rstrip().endswith(":"):  # a bare body, which completes the starter code
        answers.append(Answered("body", f"{indent}y = {right}\n{indent}return y\n", 1.0))
    return Posed(sample, tuple(answers))


def _cases(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    cases = [{"input": [x], "output": a * x + b} for x in inputs]
    return {"kind": "cases", "cases": cases}, None, "scale", "def scale(x):"


def _keywords(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    cases = [{"input": {"x": x}, "output": a * x + b + 0.05} for x in inputs]
    return {"kind": "cases", "cases": cases, "tolerance": 0.1}, "def scale(x):\n", "scale", "def scale(x):"


def _asserts_import(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    asserts = [f"assert isclose(scale({x}), {a * x + b}, abs_tol=1e-9)" for x in inputs]
    return (
        {"kind": "asserts", "asserts": asserts},
        "from math import isclose\n\ndef scale(x):",
        "scale",
        "def scale(x):",
    )


def _asserts_helper(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    starter = "def near(left, right):\n    return abs(left - right) < 0.5\n\n\ndef scale(x):\n    pass\n"
    asserts = [f"assert near(scale({x}), {a * x + b})" for x in inputs]
    return {"kind": "asserts", "asserts": asserts}, starter, "scale", "def scale(x):"


def _program_import(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    lines = "".join(f"    assert math.floor(candidate({x})) == {a * x + b}\n" for x in inputs)
    return (
        {"kind": "program", "code": f"def check(candidate):\n{lines}"},
        "import math\n\ndef scale(x):",
        "scale",
        ("def scale(x):"),
    )


def _program_loop(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    starter = (
        "from collections import namedtuple\nPair = namedtuple('Pair', 'given wanted')\n\ndef scale(x):\n    ...\n"
    )
    pairs = [(x, a * x + b) for x in inputs]
    code = f"def check(candidate):\n    for pair in [Pair(*one) for one in {pairs}]:\n"
    return (
        {"kind": "program", "code": code + "        assert candidate(pair.given) == pair.wanted\n"},
        starter,
        ("scale"),
        "def scale(x):",
    )


def _generators(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    cases = [
        {"input": [{"python": f"sum(range({x}))"}], "output": {"python": f"{a} * sum(range({x})) + {b}"}}
        for x in inputs
    ]
    cases += [{"input": [inputs[0]], "output": a * inputs[0] + b}]
    return {"kind": "cases", "cases": cases}, None, "scale", "def scale(x):"


def _built(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    code = f"def build_cases():\n    return [{{'input': [x], 'output': {a} * x + {b}}} for x in {inputs}]\n"
    return {"kind": "cases", "cases": {"python": code}}, "def scale(x):\n    pass\n", "scale", "def scale(x):"


def _method(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    cases = [{"input": [x], "output": a * x + b} for x in inputs]
    starter = "class Solution:\n    def scale(self, x):\n"
    return {"kind": "cases", "cases": cases}, starter, "Solution.scale", "class Solution:\n    def scale(self, x):"


def _texts(a: int, b: int, inputs: list[int]) -> tuple[Json, str | None, str, str]:
    texts = ["", "é\ud800", "\x00\u2028", *map(str, inputs), "x" * a]
    cases = [{"input": [x], "output": x + str(b)} for x in texts]
    return {"kind": "cases", "cases": cases}, None, "scale", "def scale(x):"


def _stdin(index: int) -> Posed:
    a, b = index % 7 + 2, index * 13 % 101 - 50
    inputs = [index % 5, 11, -3]
    cases: Json = [{"input": f"{x}\n", "output": f"{a * x + b}\n"} for x in inputs]
    kind = index % 4
    if kind == 1:
        cases = [{**case, "output": f"{float(case['output']) + 0.0004}"} for case in cases]
    if kind == 2:
        cases = [{"input": {"python": f"str({x}) + chr(10)"}, "output": f"{a * x + b}"} for x in inputs]
    if kind == 3:
        cases = {
            "python": f"def build_cases():\n    pairs = [(x, {a} * x + {b}) for x in {inputs}]\n"
            "    return [{'input': str(x), 'output': str(y)} for x, y in pairs]\n"
        }
    testing: Json = {"kind": "stdin", "cases": cases, **({"tolerance": 0.001} if kind == 1 else {})}
    starter = "import sys\n" if index % 2 else None
    code = {
        "right": f"print({a} * int(input()) + {b})",
        "wrong": f"print({b})",
        "crashes": "raise SystemExit('no')",
        "exits": "import os\nos._exit(79)",
        "huge": "print(10 ** 5000)",
        "silent": "pass",
        "leans": f"print({a} * int(sys.stdin.readline()) + {b})"
        if starter
        else f"print({a} * int(input()) * lent() + {b})",
    }
    if index % HANGS_EVERY == 3:
        code["hangs"] = f"x = int(input())\nwhile x == {inputs[0]}: pass\nprint({a} * x + {b})"
    sample = _sample("python-stdin", index, testing, None, starter, code["right"] + "\n")
    answers = [Answered(name, fenced(body), float(name in ("right", "leans"))) for name, body in code.items()]
    answers += [Answered("prose", "Well, it depends.", 0.0), Answered("bare", code["right"], 1.0)]
    return Posed(sample, tuple(answers))


def _environment(index: int) -> Posed:
    """Verifiers that may keep company and such that may not, one that says more than yes and no, one that raises."""
    a, b = index % 7 + 2, index * 13 % 101 - 50
    verify = (
        "    return answer == str(instance['a'] * instance['x'] + reference)\n",
        "    return bool(re.fullmatch(str(instance['a'] * instance['x'] + reference), answer))\n",
        "    wanted = instance['a'] * instance['x'] + reference\n    return 1.0 if int(answer) == wanted else 0.5\n",
    )[index % 3]
    hangs = "    while answer == 'hang':\n        pass\n" if index % HANGS_EVERY == 3 else ""
    program = (
        f"import random\nimport re\n\n\ndef generate(rng, knobs):\n    return random.choice([]), None\n\n\n"
        f"def verify(instance, reference, answer):\n{hangs}{verify}"
    )
    instance = {"a": a, "x": index % 5}
    testing = {"kind": "environment", "program": program, "instance": instance, "reference": b}
    right = str(a * instance["x"] + b)
    sample = replace(_sample("environment", index, testing, None, None, right), payload="{}")
    said = {
        "right": (f"It is <answer> {right} </answer>", 1.0),
        "last": (f"<answer>no</answer>, so <answer>{right}</answer>.", 1.0),
        "wrong": (f"<answer>{right}1</answer>", 0.0),
        "words": ("<answer>I do not know</answer>", 0.0),
        "bare": (right, 0.0),
        "empty": ("<answer></answer>", 0.0),
        "code": ("<answer>__import__('os')._exit(0)</answer>", 0.0),
        "long": (f"<answer>{right}{' ' * 9}{'1' * 3000}</answer>", 0.0),
    }
    if hangs:
        said["hangs"] = ("<answer>hang</answer>", 0.0)
    return Posed(sample, tuple(Answered(name, text, reward) for name, (text, reward) in said.items()))


def _answer(index: int) -> Posed:
    a, b = index % 7 + 2, index * 13 % 101 + 10
    declared = (f"{a * b}", f"{b}/{a}", f"{b}.{a}5", f"\\${a * b}.50", f"{a}\\sqrt{{3}}")[index % 5]
    sample = _sample("math-answer", index, {"kind": "answer", "answer": declared}, None, None, declared)
    said = {
        "right": (f"First {a}, then {b}.\n\\boxed{{{declared}}}", 1.0),
        "last": (f"\\boxed{{1}}, no: \\boxed{{ {declared} }}.", 1.0),
        "hashes": (f"So it is\n#### {declared}\n", 1.0),
        "wrong": (f"\\boxed{{{declared} + 1}}", 0.0),
        "both": (f"\\boxed{{{declared} or 7}}", 0.0),
        "bare": (declared, 0.0),
        "empty": ("\\boxed{}", 0.0),
        "words": ("The answer is unknown.", 0.0),
        "huge": ("\\boxed{9^{9^{9^9}}}", 0.0),
        "factorial": ("\\boxed{99999999!}", 0.0),
        "long": (f"\\boxed{{{declared}{' ' * 9}{'1' * 3000}}}", 0.0),
    }
    return Posed(replace(sample, payload="{}"), tuple(Answered(name, *one) for name, one in said.items()))


def fenced(code: str) -> str:
    return f"Here it is:\n```python\n{code}\n```\nThat is all."


def _sample(domain: str, index: int, testing: Json, entry: str | None, starter: str | None, solution: str) -> Sample:
    statement = f"Rückgabe {index}: scale a number, as the examples show it.\n\n{starter or ''}"
    text = json.dumps(testing)
    ranked = [{"id": content_id("s_", solution), "source": solution, "score": 1.0, "passes": True, "verdict": "P"}]
    shown = f"Solve this.\n\n{statement}\n```python\n{starter or 'def scale(x): ...'}\n```\n"
    return Sample(
        id=sample_id("evosyn", f"{domain}-{index}", text, solution),
        problem_id=f"{domain}-{index}",
        domain=domain,
        prompt=(Message("system", "You are a careful programmer."), Message("user", shown)),
        statement=statement,
        payload=json.dumps({"entry_point": entry, "starter_code": starter, "prelude": None if starter else PRELUDE}),
        testing=text,
        tests=3,
        solution=solution,
        solutions_ranked=json.dumps(ranked),
        scores="{}",
        matrix_digest="m_0",
        lineage=json.dumps({"index": index}),
        model="written-for-the-tests",
        simulated=True,
        difficulty=0.5,
        cost=0.0,
        licence="Apache-2.0",
        setting="evosyn",
        meta=json.dumps({"title": f"Scale {index}", "topic": ["é", index]}),
    )
