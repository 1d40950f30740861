"""What is attacked: problems drawn from a seed, with honest solutions, a wrong one, and testings of every form.

Values come out of drawn constants, so that no text written beforehand can know them; each kind of value has a kind of
task. The programs here are ours: the expected values are computed by running the first honest one in this process.
"""

from __future__ import annotations

import json
import random
import string
import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from evosyn.records import Json, Problem, Testing
from hostile_suite.model import FRESH, PROGRAM, STDIO, TABLE, WARM

KINDS = ("number", "text", "list", "mapping", "big")
INPUTS = 3
TOKEN = 24
"""Characters of a value of the kind `text`."""

_CORES = {
    "number": ("return ({x} * {a} + {b}) % {m} + {c}",),
    "text": ("import hashlib", "return hashlib.sha256(('{salt}' + str({x})).encode()).hexdigest()[:24]"),
    "list": ("return [({x} * k + {b}) % {m} + {c} for k in range({a} % 5 + 2, {a} % 5 + 6)]",),
    "mapping": ("return {{'k' + str(k): ({x} * {a} + k) % {m} + {c} for k in range(3)}}",),
    "big": ("return ({x} + {a}) ** 9 + {b}",),
}
_STEMS = [
    "total",
    "score",
    "fold",
    "mix",
    "weigh",
    "rank_of",
    "price",
    "shift",
    "encode",
    "span",
    "level",
    "quota",
    "merge",
    "depth",
    "route",
]


@dataclass(frozen=True)
class Task:
    """A drawn function with hidden values.

    Attributes:
        kind: one of `KINDS`.
        core: the lines of its body, with `{x}` for its argument already filled in as `x`.
        inputs: the arguments of the calls; `outputs`: what they must give.
    """

    entry: str
    kind: str
    core: tuple[str, ...]
    inputs: tuple[int, ...]
    outputs: tuple[Json, ...]

    def honest(self, name: str | None = None, style: int = 0, pad: str = "") -> str:
        """An honest solution.

        Args:
            name: of the function; the entry point by default.
            style: which of a few ways to write it.
            pad: a text that is carried along, so that bodies have mixed sizes.
        """
        name = name or self.entry
        body = "".join(f"    {line}\n" for line in self.core)
        kept = f"_kept = {pad!r}\n" if pad else ""
        plain = f"def {name}(x):\n{body}"
        if style % 4 == 1:
            return f"{kept}def _inner(x):\n{body}\n{name} = lambda x: _inner(x)\n"
        if style % 4 == 2:
            return f"{kept}def {name}(x):\n    def inner():\n{_indented(body)}    return inner()\n"
        if style % 4 == 3:
            return f"{kept}def {name}(*values):\n    (x,) = values\n{body}"
        return kept + plain

    def wrong(self, style: int = 0) -> str:
        """A solution that is wrong everywhere: the value of another argument."""
        return f"{self.honest('_right', style)}\ndef {self.entry}(x):\n    return _right(x + 1)\n"

    def honest_stdin(self, style: int = 0, pad: str = "") -> str:
        head = self.honest("_right", style, pad)
        return f"{head}\nimport json\nprint(json.dumps(_right(*json.loads(input()))))\n"

    def wrong_stdin(self) -> str:
        return f"{self.honest('_right')}\nimport json\nprint(json.dumps(_right(json.loads(input())[0] + 1)))\n"

    def marks(self) -> dict[str, int]:
        """For each call a checksum of the right value: enough to recognize it, not to compute it."""
        return {
            repr((x,)): zlib.crc32(repr(value).encode()) for x, value in zip(self.inputs, self.outputs, strict=True)
        }

    @property
    def starter(self) -> str:
        return f"def {self.entry}(x):\n    pass\n"


def draw_task(stream: random.Random, kinds: Sequence[str] = (), inputs: int = INPUTS) -> Task:
    """A task of one of these kinds, or of any, with so many calls."""
    kind = stream.choice(list(kinds) or KINDS)
    entry = f"{stream.choice(_STEMS)}_{''.join(stream.choices(string.ascii_lowercase, k=stream.randint(1, 4)))}"
    filled = {
        "x": "x",
        "a": str(stream.randrange(10**5, 10**6)),
        "b": str(stream.randrange(10**7, 10**8)),
        "m": str(stream.randrange(10**8, 9 * 10**8) | 1),
        "c": str(stream.randrange(10**8, 10**9)),
        "salt": "".join(stream.choices(string.ascii_letters, k=20)),
    }
    core = tuple(line.format(**filled) for line in _CORES[kind])
    xs = tuple(stream.sample(range(3, 4000), inputs))
    space: dict[str, Json] = {}
    exec(Task(entry, kind, core, xs, ()).honest(), space)
    return Task(entry, kind, core, xs, tuple(space[entry](x) for x in xs))


def draw_pad(stream: random.Random) -> str:
    """A text of nothing, a little or a lot."""
    size = stream.choice((0, 0, 40, 700, 9_000, 60_000))
    return stream.randbytes(size // 2).hex()


def function_problem(task: Task, name: str, starter: str | None = None) -> Problem:
    statement = f"Write the function {task.entry}(x) that was described elsewhere."
    starter = task.starter if starter is None else starter
    return Problem(name, "python-function", statement, payload={"entry_point": task.entry, "starter_code": starter})


def stdin_problem(task: Task, name: str) -> Problem:
    return Problem(name, "python-stdin", f"Read a JSON list and print what {task.entry} gives for it.")


# ------------------------------------------------------------------------------------------------ testings, by mode
def as_cases(task: Task) -> Testing:
    pairs = zip(task.inputs, task.outputs, strict=True)
    return Testing("cases", {"cases": [{"input": [x], "output": value} for x, value in pairs]})


def as_stdin(task: Task) -> Testing:
    pairs = zip(task.inputs, task.outputs, strict=True)
    return Testing(
        "stdin", {"cases": [{"input": f"[{x}]\n", "output": json.dumps(value) + "\n"} for x, value in pairs]}
    )


def as_lifted(task: Task) -> Testing:
    """Asserts that can be read as data."""
    pairs = zip(task.inputs, task.outputs, strict=True)
    return Testing("asserts", {"asserts": [f"assert {task.entry}({x}) == {value!r}" for x, value in pairs]})


WARM_FORMS = (
    "for x, want in {pairs}:\n    assert {f}(x) == want",
    "for got, want in zip(map({f}, {xs}), {ys}):\n    assert got == want",
    "got = [{f}(x) for x in {xs}]\nassert got == {ys}",
    "wants = {ys}\nassert all({f}(x) == wants[n] for n, x in enumerate({xs}))",
    "bad = list(filter(lambda pair: {f}(pair[0]) != pair[1], {pairs}))\nassert not bad",
    "for x, want in {pairs}:\n    for got in iter(lambda: {f}(x), want):\n        assert False, got",
    "left = {pairs}\nwhile left:\n    x, want = left.pop()\n    got = {f}(x)\n    assert got == want and not (got != want)",
    "got = {{x: {f}(x) for x in {xs}}}\nfor x, want in {pairs}:\n    assert repr(got[x]) == repr(want)",
    "try:\n    fine = [{f}(x) for x in {xs}] == {ys}\nexcept Exception:\n    fine = False\nassert fine",
    "seen = sum(1 for x, want in {pairs} if {f}(x) == want)\nassert seen == {count}",
)
"""Testing code of nothing but harmless words, in ways that a program's exceptions might lead astray."""


def warm_text(task: Task, form: int) -> str:
    pairs = list(zip(task.inputs, task.outputs, strict=True))
    return WARM_FORMS[form % len(WARM_FORMS)].format(
        f=task.entry, pairs=pairs, xs=list(task.inputs), ys=list(task.outputs), count=len(pairs)
    )


def as_warm(task: Task, form: int) -> Testing:
    """Asserts that run as code, of words that may share a process."""
    return Testing("asserts", {"asserts": [warm_text(task, form)]})


def as_fresh(task: Task, form: int) -> Testing:
    """An assert that runs as code in a process of its own."""
    return Testing("asserts", {"asserts": [f"import math\n{warm_text(task, form)}\nassert math.floor(1.5) == 1"]})


def as_program(task: Task, form: int) -> Testing:
    lines = warm_text(task, form).replace(f"{task.entry}", "candidate").split("\n")
    body = "".join(f"    {line}\n" for line in lines)
    return Testing("program", {"code": f"import random\ndef check(candidate):\n    random.random()\n{body}"})


def as_unittest(task: Task, form: int) -> Testing:
    """A program that lets a framework say whether it went well."""
    lines = warm_text(task, form).replace(f"{task.entry}", "candidate").split("\n")
    body = "".join(f"            {line}\n" for line in lines)
    code = f"""from unittest import SkipTest, TestCase, TestResult
def check(candidate):
    class Case(TestCase):
        def test_one(self):
            if not callable(candidate): raise SkipTest
{body}    result = TestResult()
    Case("test_one").run(result)
    assert result.wasSuccessful() and result.testsRun == 1
"""
    return Testing("program", {"code": code})


def testings_by_mode(task: Task, stream: random.Random) -> list[tuple[str, Testing]]:
    """One or more testings for each mode of a function problem, each right."""
    return [
        (TABLE, as_cases(task)),
        (TABLE, as_lifted(task)),
        (WARM, as_warm(task, stream.randrange(len(WARM_FORMS)))),
        (WARM, as_warm(task, stream.randrange(len(WARM_FORMS)))),
        (FRESH, as_fresh(task, stream.randrange(len(WARM_FORMS)))),
        (PROGRAM, stream.choice((as_program, as_unittest))(task, stream.randrange(len(WARM_FORMS)))),
    ]


def stdin_testings(task: Task) -> list[tuple[str, Testing]]:
    return [(STDIO, as_stdin(task))]


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())
