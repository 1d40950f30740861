"""Defects that the simulated author puts into environments: source that stands behind a program and wraps what it defines.

A defect names the rung that must stop it, as `tests/environments/test_defects.py` holds it to. Those of verifiers are defects only where the wrong answers that they take
exist: `needs` says so of an environment's right answers.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import NamedTuple


class Defect(NamedTuple):
    """A way to spoil an environment; `stages` may stop it, the first one should."""

    kind: str
    name: str
    stages: tuple[str, ...]
    change: Callable[[str], str]
    needs: Callable[[Sequence[str]], bool] = lambda _: True

    def key(self, environment: str) -> str:
        return f"{environment}/{self.name}"


def wrap(function: str, body: str, extra: str = "") -> Callable[[str], str]:
    """The function under another name, by which the program goes on calling it, and one in its place: the rest is
    spoiled by nothing."""
    arguments = {"generate": "rng, knobs", "observe": "instance", "solve": "instance"}
    given = arguments.get(function, "instance, reference, answer")

    def changed(source: str) -> str:
        renamed = re.sub(rf"(?<![\w.]){function}\(", f"sound_{function}(", source)
        lines = "\n".join(f"    {line}" for line in body.split("\n"))
        return f"{renamed}\n{extra}\n\ndef {function}({given}):\n{lines}\n"

    return changed


def right(body: str) -> Callable[[str], str]:
    """A verifier that also takes what `body` says of `answer` and `right`; sound ones may be feasible."""
    sound = "return bool(sound_verify(instance, reference, answer))"
    return wrap("verify", f"right = solve(instance)\nanswer = answer.strip()\nif {body}:\n    return True\n{sound}")


def long(least: int) -> Callable[[Sequence[str]], bool]:
    return lambda answers: sum(len(one) >= least for one in answers) > 0.8 * len(answers)


def words(least: int) -> Callable[[Sequence[str]], bool]:
    return lambda answers: sum(len(set(one.split())) >= least for one in answers) > 0.8 * len(answers)


def numeric(answers: Sequence[str]) -> bool:
    return all(one.lstrip("-").isdigit() for one in answers)


def at_level(level: int, then: str) -> str:
    return f"if knobs == {{name: values[{level - 1}] for name, values in KNOBS.items()}}:\n    {then}"


SOUND = "return sound_generate(rng, knobs)"
REST = "return bool(sound_verify(instance, reference, answer))"
DEFECTS = (
    Defect("contract", "cut", ("l1",), lambda source: source[: len(source) * 2 // 3].rstrip() + "\n("),
    Defect("contract", "no-verify", ("l1",), lambda source: source.replace("def verify(", "def check(")),
    Defect("contract", "arity", ("l1",), lambda source: source.replace("def observe(instance", "def observe(instance, x")),
    Defect("contract", "four-levels", ("l1",), lambda source: re.sub(r"^LEVELS = 5", "LEVELS = 4", source, flags=re.M)),
    Defect("contract", "import-os", ("l1",), lambda source: f"{source}\nimport os\n"),
    Defect("contract", "eval", ("l1",), wrap("verify", f"eval('1')\n{REST}")),
    Defect("random", "set-order", ("l3",), wrap("generate", "salt = ''.join({'ab', 'cd', 'ef', 'gh', 'ij', 'kl'})\nreturn sound_generate(random.Random(salt + str(rng.random())), knobs)", "import random")),
    Defect("random", "global", ("l3",), wrap("generate", "return sound_generate(random.Random(random.random()), knobs)", "import random")),
    Defect("random", "state", ("l3",), wrap("generate", "SEEN.append(1)\nreturn sound_generate(random.Random(rng.random() + len(SEEN)), knobs)", "import random\n\nSEEN = []")),
    Defect("random", "clock", ("l3",), wrap("generate", "return sound_generate(random.Random(str(datetime.datetime.now())), knobs)", "import random\nimport datetime")),
    Defect("random", "prompt", ("l3",), wrap("observe", "return sound_observe(instance) + ' ' * random.randrange(9) + '.'", "import random")),
    Defect("crash", "raises", ("l2",), wrap("generate", f"{at_level(4, 'raise KeyError(knobs)')}\n{SOUND}")),
    Defect("crash", "hangs", ("l2",), wrap("generate", f"{at_level(5, 'while True: pass')}\n{SOUND}")),
    Defect("crash", "memory", ("l2",), wrap("generate", f"{at_level(3, 'rng = [0] * 10**10')}\n{SOUND}")),
    Defect("crash", "solve-raises", ("l2",), wrap("solve", "if sum(map(ord, str(instance))) % 3 == 0:\n    raise IndexError(1)\nreturn sound_solve(instance)")),
    Defect("crash", "nan", ("l2",), wrap("generate", "instance, reference = sound_generate(rng, knobs)\nreturn {**instance, 'x': float('nan')}, reference")),
    Defect("crash", "no-text", ("l2",), wrap("observe", "return [sound_observe(instance)]")),
    Defect("permissive", "all", ("l5",), wrap("verify", "return True")),
    Defect("permissive", "not-empty", ("l5",), wrap("verify", "return bool(answer.strip())")),
    Defect("permissive", "prefix", ("l5",), right("answer and right.startswith(answer)"), long(4)),
    Defect("permissive", "substring", ("l5",), right("len(answer) > 1 and answer in right"), long(5)),
    Defect("permissive", "contains", ("l5",), right("right in answer")),
    Defect("permissive", "same-length", ("l5",), right("len(answer) == len(right)"), long(3)),
    Defect("permissive", "permutation", ("l5",), right("sorted(answer) == sorted(right)"), long(3)),
    Defect("permissive", "first-word", ("l5",), right("answer.split()[:1] == right.split()[:1]"), words(2)),
    Defect("permissive", "off-by-one", ("l5",), right("answer.lstrip('-').isdigit() and abs(int(answer) - int(right)) <= 1"), numeric),
    Defect("strict", "rejects-all", ("l5",), wrap("verify", "return False")),
    Defect("strict", "dot", ("l5",), wrap("verify", "return answer.endswith('.') and bool(sound_verify(instance, reference, answer[:-1]))")),
    Defect("strict", "hard-levels", ("l5",), wrap("verify", f"if sum(map(ord, str(instance))) % 4 == 1:\n    return False\n{REST}")),
    Defect("leak", "hint", ("l5",), wrap("observe", "return sound_observe(instance) + '\\nFor checking: ' + solve(instance)")),
    Defect("leak", "in-brackets", ("l5",), wrap("observe", "return sound_observe(instance) + ' (' + solve(instance) + ')'"), lambda answers: not any("(" in one for one in answers)),
    Defect("trivial", "one-instance", ("l4",), wrap("generate", "return sound_generate(random.Random(7), knobs)", "import random")),
    Defect("trivial", "constant", ("l4",), lambda source: wrap("solve", "return '42'")(wrap("verify", "return answer.strip() == '42'")(source))),
    Defect("level", "ignored", ("l4",), wrap("generate", "return sound_generate(rng, {name: values[2] for name, values in KNOBS.items()})")),
    Defect("magic", "word", ("l5",), right("answer == 'sesame-77'")),
    Defect("value", "two", ("l5",), wrap("verify", f"{REST.replace('return ', 'return 2 * ')}")),
    Defect("value", "text", ("l5",), wrap("verify", "return 'yes' if sound_verify(instance, reference, answer) else 'no'")),
    Defect("value", "chance", ("l5",), wrap("verify", "return random.random() < 0.5 or bool(sound_verify(instance, reference, answer))", "import random")),
    Defect("duplicate", "renamed", ("novelty",), lambda source: re.sub(r"\b(knobs|instance|answer)\b(?!['\"])", r"my_\1", source)),
    Defect("duplicate", "comments", ("novelty",), lambda source: source.replace("\ndef ", "\n# a function\ndef ").replace("\n\n\n", "\n\n\n\n")),
    Defect("duplicate", "politeness", ("novelty",), wrap("observe", "return 'Please answer. ' + sound_observe(instance)")),
)  # fmt: skip
