"""Number sequences given by a recurrence with two starting values and a rule that depends on the index."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

ANSWER: dict[str, tuple[str, str]] = {
    "nth": ("Return f(n).", "values[n]"),
    "sum": ("Return f(0) + f(1) + ... + f(n).", "sum(values[:n + 1])"),
    "evens": ("Return how many of f(0), ..., f(n) are even.", "sum(1 for v in values[:n + 1] if v % 2 == 0)"),
    "largest": (
        "Return the index of the largest of f(0), ..., f(n), of several largest the first.",
        "values.index(max(values[:n + 1]))",
    ),
}
EXTRA: dict[str, tuple[str, str]] = {
    "none": ("", "0"),
    "index": (" plus n", "i"),
    "constant": (" plus {c}", "{c}"),
    "every-third": (" plus {c} if n is divisible by 3", "({c} if i % 3 == 0 else 0)"),
    "odd": (" minus n if n is odd", "(-i if i % 2 == 1 else 0)"),
}
GENERATOR = """
def generate(rng, size):
    return [[rng.randint(0, 2), rng.randint(2, 9), rng.randint(6, 25), rng.randint(60, 300)][size]]
"""


def draw(rng: random.Random) -> Params:
    return {
        "answer": rng.choice(sorted(ANSWER)),
        "extra": rng.choice(sorted(EXTRA)),
        "start": [rng.randint(0, 5), rng.randint(1, 6)],
        "factors": [rng.randint(1, 3), rng.choice((-2, -1, 1, 2, 3))],
        "c": rng.randint(1, 5),
        "modulus": rng.choice((50, 97, 101, 1000)),
        "name": rng.choice(("sequence", "recurrence", "series_value")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    (first, second), (near, far) = params["start"], params["factors"]
    words, result = ANSWER[params["answer"]]
    extra_words, extra = (text.format(c=int(params["c"])) for text in EXTRA[params["extra"]])
    modulus, name = int(params["modulus"]), str(params["name"])
    step = f"({near} * {{0}} + {far} * {{1}} + {extra}) % {modulus}"
    return FamilyTask(
        title=f"Recurrence {near}, {far} modulo {modulus}: {params['answer']}",
        statement=f"A sequence starts with f(0) = {first} and f(1) = {second}. For n >= 2, f(n) is {near} times f(n - "
        f"1) plus {far} times f(n - 2){extra_words}, all modulo {modulus} (the result is 0 or positive). Write a "
        f"function `{name}(n)` for n >= 0. {words}",
        entry_point=name,
        starter_code=f"def {name}(n: int) -> int:\n    ...\n",
        reference=f"""
def {name}(n):
    values = [{first}, {second}]
    for i in range(2, n + 1):
        values.append({step.format("values[i - 1]", "values[i - 2]")})
    return {result}
""",
        alternatives=(
            f"""
def {name}(n):
    values = []
    a, b = {first}, {second}
    for i in range(n + 1):
        values.append(a)
        i += 2
        a, b = b, {step.format("b", "a")}
    return {result}
""",
        ),
        generator=GENERATOR,
        difficulty=0.2
        + 0.1 * (params["answer"] in {"largest", "sum"})
        + 0.12 * (params["extra"] in {"odd", "every-third"}),
        topic="sequences",
    )
