"""The longest, shortest or number of runs of neighbours that satisfy a condition; the fast way is a moving window."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

# Every condition here is inherited by parts: if a run satisfies it, so does each of its non-empty parts.
CONDITION: dict[str, tuple[str, str, str, str, str]] = {
    "distinct-values": (
        "at most {k} different values occur in it",
        "counts = {{}}",
        "counts[x] = counts.get(x, 0) + 1",
        "len(counts) > {k}",
        "len(set(run)) <= {k}",
    ),
    "repeats": (
        "no value occurs more than {k} times in it",
        "counts = {{}}",
        "counts[x] = counts.get(x, 0) + 1",
        "counts[x] > {k}",
        "all(run.count(v) <= {k} for v in run)",
    ),
    "sum": ("its sum is at most {s}", "total = 0", "total += x", "total > {s}", "sum(run) <= {s}"),
    "marked": (
        "at most {k} of its elements are divisible by {d}",
        "total = 0",
        "total += x % {d} == 0",
        "total > {k}",
        "sum(1 for v in run if v % {d} == 0) <= {k}",
    ),
}
ANSWER: dict[str, tuple[str, str, str, str, float]] = {
    "longest": (
        "Return the length of the longest such run (0 if there is none).",
        "best = 0",
        "best = max(best, right - left + 1)",
        "best = max(best, len(run))",
        0.0,
    ),
    "count": (
        "Return the number of such runs; runs at different positions are different even if they hold the same "
        "elements.",
        "best = 0",
        "best += right - left + 1",
        "best += 1",
        0.05,
    ),
    "where": (
        "Return [start, length] of the longest such run (start counted from 0), of several longest the one that "
        "starts first; [0, 0] if there is none.",
        "best = [0, 0]",
        "if right - left + 1 > best[1]:\n            best = [left, right - left + 1]",
        "if len(run) > best[1]:\n                    best = [i, len(run)]",
        0.08,
    ),
}
GENERATOR = """
def generate(rng, size):
    length = [rng.randint(0, 2), rng.randint(3, 6), rng.randint(7, 14), rng.randint(60, 110)][size]
    top = [3, 5, 8, 12][size]
    return [[rng.randint(0, top) for _ in range(length)]]
"""


def draw(rng: random.Random) -> Params:
    return {
        "condition": rng.choice(sorted(CONDITION)),
        "answer": rng.choice(sorted(ANSWER)),
        "k": rng.randint(1, 4),
        "s": rng.randint(6, 20),
        "d": rng.randint(2, 4),
        "name": rng.choice(("runs", "best_run", "scan_runs")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    blanks = {key: int(params[key]) for key in ("k", "s", "d")}
    condition, start, enter, too_much, plain = (text.format(**blanks) for text in CONDITION[params["condition"]])
    words, first, moving, brute, harder = ANSWER[params["answer"]]
    name, leave = str(params["name"]), _leave(str(params["condition"]), blanks["d"])
    return FamilyTask(
        title=f"Runs with {params['condition']}: {params['answer']}",
        statement=f"Write a function `{name}(numbers)` that takes a list of non-negative integers. A run is a "
        f"non-empty sequence of neighbouring elements. Consider the runs for which this holds: {condition}. {words}",
        entry_point=name,
        starter_code=f"def {name}(numbers: list[int]):\n    ...\n",
        reference=f"""
def {name}(numbers):
    {start}
    {first}
    left = 0
    for right, x in enumerate(numbers):
        {enter}
        while {too_much}:
            y = numbers[left]
{leave}            left += 1
        {moving}
    return best
""",
        alternatives=(
            f"""
def {name}(numbers):
    {first}
    for i in range(len(numbers)):
        for j in range(i + 1, len(numbers) + 1):
            run = numbers[i:j]
            if {plain}:
                {brute}
    return best
""",
        ),
        generator=GENERATOR,
        difficulty=0.6 + harder + 0.05 * (params["condition"] in {"repeats", "marked"}),
        topic="moving windows",
    )


def _leave(condition: str, divisor: int) -> str:
    pad = "            "
    if condition in {"distinct-values", "repeats"}:
        return f"{pad}counts[y] -= 1\n{pad}if counts[y] == 0:\n{pad}    del counts[y]\n"
    return f"{pad}total -= y\n" if condition == "sum" else f"{pad}total -= y % {divisor} == 0\n"
