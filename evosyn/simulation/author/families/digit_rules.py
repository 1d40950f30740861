"""Counting or finding numbers in a range whose digits follow two rules."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

RULES: dict[str, tuple[str, str]] = {
    "sum-multiple": ("their digit sum is divisible by {d}", "sum(digits) % {d} == 0"),
    "sum-above": ("their digit sum is greater than {s}", "sum(digits) > {s}"),
    "no-digit": ("they do not contain the digit {g}", "{g} not in digits"),
    "has-digit": ("they contain the digit {g}", "{g} in digits"),
    "distinct": ("no digit occurs twice in them", "len(set(digits)) == len(digits)"),
    "neighbours": ("no two neighbouring digits are equal", "all(a != b for a, b in zip(digits, digits[1:]))"),
    "rising": ("their digits never decrease from left to right", "digits == sorted(digits)"),
    "ends": ("their first and last digit are equal", "digits[0] == digits[-1]"),
    "parity": ("they have an even number of odd digits", "sum(c % 2 for c in digits) % 2 == 0"),
    "divisible": ("they are divisible by {d}", "n % {d} == 0"),
}
ANSWER: dict[str, tuple[str, str]] = {
    "count": ("Return how many there are.", "len(found)"),
    "sum": ("Return their sum.", "sum(found)"),
    "largest": ("Return the largest of them, or -1 if there is none.", "found[-1] if found else -1"),
    "gap": (
        "Return the largest difference between two neighbouring ones of them (in ascending order), or 0 if there "
        "are fewer than two.",
        "max((b - a for a, b in zip(found, found[1:])), default=0)",
    ),
    "first": ("Return the list of the first {n} of them in ascending order (all if there are fewer).", "found[:{n}]"),
}
GENERATOR = """
def generate(rng, size):
    low = [rng.randint(1, 9), rng.randint(1, 60), rng.randint(50, 900), rng.randint(100, 5000)][size]
    width = [rng.randint(-1, 4), rng.randint(3, 30), rng.randint(20, 150), rng.randint(500, 3000)][size]
    return [low, low + width]
"""


def draw(rng: random.Random) -> Params:
    return {
        "rules": sorted(rng.sample(sorted(RULES), 2)),
        "answer": rng.choice(sorted(ANSWER)),
        "d": rng.randint(3, 6),
        "s": rng.randint(5, 12),
        "g": rng.randint(0, 9),
        "n": rng.randint(2, 5),
        "name": rng.choice(("special_numbers", "digit_search", "scan_range")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    blanks = {key: int(params[key]) for key in ("d", "s", "g", "n")}
    first, second = (tuple(text.format(**blanks) for text in RULES[rule]) for rule in params["rules"])
    words, result = (text.format(**blanks) for text in ANSWER[params["answer"]])
    name = str(params["name"])
    return FamilyTask(
        title=f"Numbers by digits: {' and '.join(params['rules'])}",
        statement=f"Write a function `{name}(low, high)` that considers the integers from low to high, both included "
        f"(there may be none; low is at least 1), for which all of this holds: {first[0]}; {second[0]}. {words}",
        entry_point=name,
        starter_code=f"def {name}(low: int, high: int):\n    ...\n",
        reference=f"""
def {name}(low, high):
    found = []
    for n in range(low, high + 1):
        digits = [int(c) for c in str(n)]
        if {first[1]} and {second[1]}:
            found.append(n)
    return {result}
""",
        alternatives=(
            f"""
def split_digits(n):
    digits = []
    while n > 0:
        n, last = divmod(n, 10)
        digits.insert(0, last)
    return digits


def {name}(low, high):
    found = []
    n = low
    while n <= high:
        digits = split_digits(n)
        if {first[1]}:
            if {second[1]}:
                found.append(n)
        n += 1
    return {result}
""",
        ),
        generator=GENERATOR,
        difficulty=0.22 + 0.08 * ("parity" in params["rules"]) + 0.1 * (params["answer"] in {"gap", "largest"}),
        topic="digits",
    )
