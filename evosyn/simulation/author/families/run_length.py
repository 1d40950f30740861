"""Run-length coding of a string with house rules: shortest run, order of count and character, separator."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

GENERATOR = """
def generate(rng, size):
    runs = [rng.randint(0, 1), rng.randint(1, 4), rng.randint(4, 9), rng.randint(40, 90)][size]
    text = ""
    for _ in range(runs):
        text += rng.choice("abcABx ") * rng.choice([1, 1, 2, 3, 4, rng.randint(5, 12)])
    return [text]
"""


def draw(rng: random.Random) -> Params:
    return {
        "shortest": rng.randint(1, 4),
        "longest": rng.choice((0, 0, 5, 9)),
        "count_first": rng.random() < 0.5,
        "separator": rng.choice(("", "", "-", ",")),
        "fold": rng.random() < 0.35,
        "skip_blanks": rng.random() < 0.35,
        "name": rng.choice(("encode", "compress", "shorten_runs")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    shortest, longest = int(params["shortest"]), int(params["longest"])
    separator, name = str(params["separator"]), str(params["name"])
    prepare = "text" + (".lower()" if params["fold"] else "") + (".replace(' ', '')" if params["skip_blanks"] else "")
    coded = "str(count) + char" if params["count_first"] else "char + str(count)"
    limit = f" and count < {longest}" if longest else ""
    return FamilyTask(
        title=f"Run-length coding from {shortest}" + (f" up to {longest}" if longest else ""),
        statement=_statement(params, shortest, longest, separator, name),
        entry_point=name,
        starter_code=f"def {name}(text: str) -> str:\n    ...\n",
        reference=f"""
def {name}(text):
    text = {prepare}
    parts = []
    i = 0
    while i < len(text):
        char = text[i]
        count = 0
        while i < len(text) and text[i] == char{limit}:
            count += 1
            i += 1
        if count >= {shortest}:
            parts.append({coded})
        else:
            parts.append(char * count)
    return {separator!r}.join(parts)
""",
        alternatives=(
            f"""
from itertools import groupby

def {name}(text):
    parts = []
    for char, group in groupby({prepare}):
        left = len(list(group))
        while left > 0:
            count = {f"min(left, {longest})" if longest else "left"}
            left -= count
            parts.append({coded} if count >= {shortest} else char * count)
    return {separator!r}.join(parts)
""",
        ),
        generator=GENERATOR,
        difficulty=0.42 + 0.2 * bool(longest) + 0.06 * bool(params["fold"]) + 0.05 * (shortest > 1),
        topic="strings",
    )


def _statement(params: Mapping[str, Json], shortest: int, longest: int, separator: str, name: str) -> str:
    order = "its length followed by the character" if params["count_first"] else "the character followed by its length"
    first = [
        *(["turn the text into lower case"] if params["fold"] else []),
        *(["remove all blanks"] if params["skip_blanks"] else []),
    ]
    return (
        f"Write a function `{name}(text)` that codes the runs of equal characters of a string. "
        + (f"First {' and '.join(first)}. " if first else "")
        + "A run is made as long as possible, from left to right"
        + (f", but never longer than {longest}: what is left over starts a new run. " if longest else ". ")
        + (
            f"A run of at least {shortest} characters is written as {order}; shorter ones stay as they are. "
            if shortest > 1
            else f"Every run is written as {order}, also when the length is 1. "
        )
        + (f"Between what the runs give stands {separator!r}." if separator else "Nothing stands between the runs.")
    )
