"""Tiny problems that nearly everyone solves: what a filter has to recognise as carrying no information."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

KINDS: dict[str, tuple[str, str, str, str]] = {
    "linear": ("a, b", "returns {p} times a plus {q} times b", "{p} * a + {q} * b", "sum([a * {p}, b * {q}])"),
    "larger": (
        "a, b",
        "returns the larger of a plus {p} and b plus {q}",
        "max(a + {p}, b + {q})",
        "a + {p} if a + {p} > b + {q} else b + {q}",
    ),
    "gap": (
        "a, b",
        "returns the absolute difference of {p} times a and b minus {q}",
        "abs({p} * a - (b - {q}))",
        "max({p} * a - b + {q}, b - {q} - {p} * a)",
    ),
    "repeat": (
        "a, b",
        "returns the text that consists of the number a, then {p} hyphens, then the number b",
        "str(a) + '-' * {p} + str(b)",
        "f\"{{a}}{{'-' * {p}}}{{b}}\"",
    ),
    "divisible": (
        "a, b",
        "returns whether a plus {p} times b is divisible by {q}",
        "(a + {p} * b) % {q} == 0",
        "not (a + {p} * b) % {q}",
    ),
    "list": (
        "a, b",
        "returns the list of a, b and their sum plus {p}, in this order",
        "[a, b, a + b + {p}]",
        "[a] + [b] + [{p} + b + a]",
    ),
}
GENERATOR = """
def generate(rng, size):
    top = [2, 10, 100, 10**6][size]
    return [rng.randint(-top, top), rng.randint(-top, top)]
"""


def draw(rng: random.Random) -> Params:
    return {
        "kind": rng.choice(sorted(KINDS)),
        "p": rng.randint(2, 30),
        "q": rng.randint(2, 30),
        "name": rng.choice(("compute", "evaluate", "formula", "value_of")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    blanks = {"p": int(params["p"]), "q": int(params["q"])}
    arguments, words, expression, other = (text.format(**blanks) for text in KINDS[params["kind"]])
    name = str(params["name"])
    return FamilyTask(
        title=f"One step: {params['kind']} {blanks['p']}, {blanks['q']}",
        statement=f"Write a function `{name}({arguments})` that {words}. Both arguments are integers.",
        entry_point=name,
        starter_code=f"def {name}({arguments}):\n    ...\n",
        reference=f"\ndef {name}({arguments}):\n    return {expression}\n",
        alternatives=(f"\ndef {name}({arguments}):\n    result = {other}\n    return result\n",),
        generator=GENERATOR,
        difficulty=0.0,
        topic="arithmetic",
    )
