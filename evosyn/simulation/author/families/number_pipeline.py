"""Keep some numbers of a list, change each, bring them together: three steps in words."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

KEEP: dict[str, tuple[str, str]] = {
    "even": ("that are even", "x % 2 == 0"),
    "odd": ("that are odd", "x % 2 == 1"),
    "above": ("that are greater than {k}", "x > {k}"),
    "at-most": ("that are at most {k}", "x <= {k}"),
    "multiple": ("that are divisible by {d}", "x % {d} == 0"),
    "remainder": ("that leave a remainder of 1 when divided by {d}", "x % {d} == 1"),
    "far": ("whose absolute value is at least {k}", "abs(x) >= {k}"),
    "even-position": ("that stand at an even position (the first element has position 0)", "i % 2 == 0"),
    "rising": (
        "that are greater than the element directly before them (the first element is never kept)",
        "i > 0 and x > numbers[i - 1]",
    ),
    "new": ("that did not occur earlier in the list", "x not in numbers[:i]"),
    "between": ("that lie between {k} and {k} + 10, both included", "{k} <= x <= {k} + 10"),
}
CHANGE: dict[str, tuple[str, str]] = {
    "same": ("leave each of them as it is", "x"),
    "square": ("square each of them", "x * x"),
    "double": ("double each of them", "2 * x"),
    "minus": ("subtract {m} from each of them", "x - {m}"),
    "negate": ("change the sign of each of them", "-x"),
    "modulo": ("replace each of them by its remainder when divided by {d} (0 or positive)", "x % {d}"),
    "distance": ("replace each of them by its distance to {m}", "abs(x - {m})"),
    "digits": (
        "replace each of them by the sum of the decimal digits of its absolute value",
        "sum(int(c) for c in str(abs(x)))",
    ),
    "clamp": ("replace those below -{m} by -{m} and those above {m} by {m}", "max(-{m}, min({m}, x))"),
    "weighted": ("multiply each of them by its position in the original list (counted from 1)", "x * (i + 1)"),
}
GATHER: dict[str, tuple[str, str]] = {
    "sum": ("Return the sum of the results (0 if there is none).", "sum(values)"),
    "count": ("Return how many different results there are.", "len(set(values))"),
    "max": ("Return the largest result, or -1 if there is none.", "max(values) if values else -1"),
    "second": (
        "Return the second largest of the different results, or None if there are fewer than two.",
        "sorted(set(values))[-2] if len(set(values)) > 1 else None",
    ),
    "list": ("Return the results as a list, in the original order.", "values"),
    "sorted": ("Return the results as a list in descending order.", "sorted(values, reverse=True)"),
    "alternating": (
        "Return the alternating sum of the results: the first minus the second plus the third and so on.",
        "sum(v if p % 2 == 0 else -v for p, v in enumerate(values))",
    ),
    "span": (
        "Return the difference between the largest and the smallest result (0 if there is none).",
        "max(values) - min(values) if values else 0",
    ),
    "ends": (
        "Return the last result minus the first one (0 if there is none).",
        "values[-1] - values[0] if values else 0",
    ),
    "increasing": (
        "Return how many results are greater than every result before them (the first one counts).",
        "sum(1 for p, v in enumerate(values) if all(v > w for w in values[:p]))",
    ),
}
GENERATOR = """
def generate(rng, size):
    length = [rng.randint(0, 2), rng.randint(3, 7), rng.randint(6, 15), rng.randint(60, 200)][size]
    top = [5, 12, 40, 500][size]
    return [[rng.randint(-top, top) for _ in range(length)]]
"""


def draw(rng: random.Random) -> Params:
    return {
        "keep": rng.choice(sorted(KEEP)),
        "change": rng.choice(sorted(CHANGE)),
        "gather": rng.choice(sorted(GATHER)),
        "k": rng.randint(-3, 9),
        "d": rng.randint(3, 7),
        "m": rng.randint(2, 9),
        "name": rng.choice(("process_numbers", "digest_list", "pipeline_value", "combine", "reduce_numbers")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    blanks = {key: int(params[key]) for key in ("k", "d", "m")}
    keep_words, keep = (text.format(**blanks) for text in KEEP[params["keep"]])
    change_words, change = (text.format(**blanks) for text in CHANGE[params["change"]])
    gather_words, gather = GATHER[params["gather"]]
    name = str(params["name"])
    return FamilyTask(
        title=f"Numbers {params['keep']}, {params['change']}, {params['gather']}",
        statement=f"Write a function `{name}(numbers)` that takes a list of integers. Consider only the elements "
        f"{keep_words}. Then {change_words}. {gather_words}",
        entry_point=name,
        starter_code=f"def {name}(numbers: list[int]):\n    ...\n",
        reference=f"""
def {name}(numbers):
    values = []
    for i, x in enumerate(numbers):
        if {keep}:
            values.append({change})
    return {gather}
""",
        alternatives=(
            f"""
def {name}(numbers):
    values = [{change} for i, x in enumerate(numbers) if {keep}]
    return {gather}
""",
        ),
        generator=GENERATOR,
        difficulty=0.12
        + 0.25 * (params["keep"] in {"rising", "new", "even-position"})
        + 0.12 * (params["change"] in {"digits", "clamp", "weighted"})
        + 0.22 * (params["gather"] in {"second", "alternating", "increasing"}),
        topic="lists",
    )
