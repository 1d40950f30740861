"""Sliding windows: a figure for every window of k neighbours, then one figure over all windows."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

INSIDE: dict[str, tuple[str, str]] = {
    "sum": ("sum", "sum(w)"),
    "max": ("largest element", "max(w)"),
    "span": ("difference between the largest and the smallest element", "max(w) - min(w)"),
    "distinct": ("number of different elements", "len(set(w))"),
    "rises": (
        "number of elements that are greater than the element before them in the window",
        "sum(1 for a, b in zip(w, w[1:]) if b > a)",
    ),
    "middle": ("element in the middle after sorting (of two middle ones the smaller)", "sorted(w)[(len(w) - 1) // 2]"),
    "edges": ("first element minus last element", "w[0] - w[-1]"),
}
ACROSS: dict[str, tuple[str, str, str]] = {
    "best": (
        "Return the largest of these figures, or None if there is no window.",
        "max(figures) if figures else None",
        "max(figures, default=None)",
    ),
    "where": (
        "Return the position (from 0) at which the window with the largest figure starts, of several such the "
        "first; -1 if there is no window.",
        "figures.index(max(figures)) if figures else -1",
        "max(range(len(figures)), key=lambda p: figures[p], default=-1)",
    ),
    "list": ("Return the list of these figures.", "figures", "list(figures)"),
    "above": (
        "Return how many of these figures are greater than {t}.",
        "sum(1 for f in figures if f > {t})",
        "len([f for f in figures if f > {t}])",
    ),
    "changes": (
        "Return how often a figure differs from the one of the window before it.",
        "sum(1 for p in range(1, len(figures)) if figures[p] != figures[p - 1])",
        "sum(a != b for a, b in zip(figures, figures[1:]))",
    ),
    "total": ("Return the sum of these figures.", "sum(figures)", "sum(f for f in figures)"),
}
GENERATOR = """
def generate(rng, size):
    length = [rng.randint(0, 4), rng.randint(4, 7), rng.randint(8, 16), rng.randint(80, 200)][size]
    top = [3, 6, 12, 60][size]
    return [[rng.randint(-top // 2, top) for _ in range(length)]]
"""


def draw(rng: random.Random) -> Params:
    return {
        "inside": rng.choice(sorted(INSIDE)),
        "across": rng.choice(sorted(ACROSS)),
        "k": rng.randint(2, 5),
        "step": rng.choice((1, 1, 1, 2, 3)),
        "t": rng.randint(0, 6),
        "name": rng.choice(("window_figure", "scan_windows", "sliding")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    k, step = int(params["k"]), int(params["step"])
    figure_words, figure = INSIDE[params["inside"]]
    words, result, other = (text.format(t=int(params["t"])) for text in ACROSS[params["across"]])
    name = str(params["name"])
    starts = "every position" if step == 1 else f"the positions 0, {step}, {2 * step} and so on"
    return FamilyTask(
        title=f"Windows of {k}: {params['inside']}, {params['across']}",
        statement=f"Write a function `{name}(numbers)` that takes a list of integers. A window is a run of exactly {k} "
        f"neighbouring elements; consider the windows that start at {starts} (as long as they fit into the list). The "
        f"figure of a window is its {figure_words}. {words}",
        entry_point=name,
        starter_code=f"def {name}(numbers: list[int]):\n    ...\n",
        reference=f"""
def {name}(numbers):
    figures = []
    for i in range(0, len(numbers) - {k} + 1, {step}):
        w = numbers[i:i + {k}]
        figures.append({figure})
    return {result}
""",
        alternatives=(
            f"""
def {name}(numbers):
    def figure(w):
        return {figure}

    figures = []
    i = 0
    while i + {k} <= len(numbers):
        figures.append(figure(numbers[i:i + {k}]))
        i += {step}
    return {other}
""",
        ),
        generator=GENERATOR,
        difficulty=0.3
        + 0.12 * (step > 1)
        + 0.12 * (params["inside"] in {"rises", "middle"})
        + 0.1 * (params["across"] in {"where", "changes"}),
        topic="windows",
    )
