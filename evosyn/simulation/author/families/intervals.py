"""Sets of intervals: merging with a tolerance, covered length, gaps, the busiest moment."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

ANSWER: dict[str, tuple[str, str, float]] = {
    "merged": ("Return the resulting intervals as a list of [start, end], by ascending start.", "merged", 0.0),
    "covered": ("Return the sum of end - start over the resulting intervals.", "sum(b - a for a, b in merged)", 0.0),
    "count": ("Return how many intervals result.", "len(merged)", -0.05),
    "gaps": (
        "Return the list of the gaps between neighbouring resulting intervals (start of the later one minus end "
        "of the earlier one).",
        "[merged[i + 1][0] - merged[i][1] for i in range(len(merged) - 1)]",
        0.08,
    ),
    "longest": (
        "Return the [start, end] of the longest resulting interval, of several longest the one that starts "
        "first; the empty list if there is none.",
        "max(merged, key=lambda p: p[1] - p[0]) if merged else []",
        0.08,
    ),
    "long-ones": (
        "Return how many of the resulting intervals have a length (end - start) of at least {least}.",
        "sum(1 for a, b in merged if b - a >= {least})",
        0.05,
    ),
}
GENERATOR = """
def generate(rng, size):
    count = [rng.randint(0, 2), rng.randint(2, 4), rng.randint(4, 9), rng.randint(50, 120)][size]
    top = [10, 20, 40, 1000][size]
    pairs = []
    for _ in range(count):
        start = rng.randint(0, top)
        pairs.append([start, start + rng.randint(0, 8)])
    return [pairs]
"""


def draw(rng: random.Random) -> Params:
    return {
        "answer": rng.choice(sorted(ANSWER)),
        "slack": rng.randint(0, 4),
        "shortest": rng.randint(0, 3),
        "least": rng.randint(4, 12),
        "name": rng.choice(("merge_ranges", "join_intervals", "combine_spans")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    slack, shortest, least = int(params["slack"]), int(params["shortest"]), int(params["least"])
    words, expression, harder = ANSWER[params["answer"]]
    name = str(params["name"])
    result = expression.format(least=least)
    near = "overlap or touch" if slack == 0 else f"overlap, touch, or are at most {slack} apart"
    first = f"First drop the intervals whose length (end - start) is below {shortest}. " if shortest else ""
    keep = f"b - a >= {shortest}"
    return FamilyTask(
        title=f"Intervals: {params['answer']}, slack {slack}",
        statement=f"Write a function `{name}(intervals)` that takes a list of [start, end] with integers start <= "
        f"end, in any order. {first}Merge intervals that {near}, again and again until no two of them do. "
        + words.format(least=least),
        entry_point=name,
        starter_code=f"def {name}(intervals: list[list[int]]):\n    ...\n",
        reference=f"""
def {name}(intervals):
    merged = []
    for a, b in sorted([a, b] for a, b in intervals if {keep}):
        if merged and a <= merged[-1][1] + {slack}:
            merged[-1][1] = max(merged[-1][1], b)
        else:
            merged.append([a, b])
    return {result}
""",
        alternatives=(
            f"""
def {name}(intervals):
    todo = [[a, b] for a, b in intervals if {keep}]
    merged = []
    while todo:
        a, b = todo.pop()
        touching = [p for p in merged if p[0] <= b + {slack} and a <= p[1] + {slack}]
        merged = [p for p in merged if p not in touching]
        for p in touching:
            a = min(a, p[0])
            b = max(b, p[1])
        if touching:
            todo.append([a, b])
        else:
            merged.append([a, b])
    merged.sort()
    return {result}
""",
        ),
        generator=GENERATOR,
        difficulty=0.5 + harder + 0.02 * slack,
        topic="intervals",
    )
