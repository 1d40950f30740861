"""Times of day on standard input: working spans with rounding, breaks and spans over midnight."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params, fill

DOMAIN = "python-stdin"

ROUNDING: dict[str, tuple[str, str]] = {
    "none": ("", "m"),
    "down": (" The minutes of each span are rounded down to a multiple of {u}.", "m // {u} * {u}"),
    "up": (" The minutes of each span are rounded up to a multiple of {u}.", "(m + {u} - 1) // {u} * {u}"),
    "least": (" A span counts for at least {u} minutes.", "max(m, {u})"),
}
BREAKS: dict[str, tuple[str, str]] = {
    "none": ("", "m"),
    "long": (
        " From a span of more than {h} hours, {b} minutes are taken off for a break.",
        "m - {b} if m > {h} * 60 else m",
    ),
    "each": (" For every full {h} hours of a span, {b} minutes are taken off.", "m - m // ({h} * 60) * {b}"),
}
ANSWER: dict[str, tuple[str, str, float]] = {
    "total": (
        "Print the sum of all spans as H:MM (hours without leading zero, minutes with two digits).",
        "clock(sum(spans))",
        0.0,
    ),
    "longest": (
        "Print the longest span as H:MM (hours without leading zero, minutes with two digits), or `0:00` if "
        "there is none.",
        "clock(max(spans, default=0))",
        0.0,
    ),
    "each": (
        "Print each span in minutes, one line, separated by blanks (an empty line if there is none).",
        "' '.join(map(str, spans))",
        0.0,
    ),
    "over": (
        "Print by how many minutes the sum of all spans is above {o} hours, or `ok` if it is not above.",
        "sum(spans) - {o} * 60 if sum(spans) > {o} * 60 else 'ok'",
        0.05,
    ),
}
GENERATOR = """
def generate(rng, size):
    count = [rng.randint(0, 1), rng.randint(1, 3), rng.randint(3, 7), rng.randint(30, 60)][size]
    def clock():
        return f"{rng.randint(0, 23):02d}:{rng.choice([0, 15, 30, 45, rng.randint(0, 59)]):02d}"
    return f"{count}\\n" + "".join(f"{clock()}-{clock()}\\n" for _ in range(count))
"""

REFERENCE = """
def minutes(text):
    hours, rest = text.split(':')
    return int(hours) * 60 + int(rest)


def clock(total):
    return f"{total // 60}:{total % 60:02d}"


spans = []
for _ in range(int(input())):
    first, last = input().strip().split('-')
    start, end = minutes(first), minutes(last)
    m = <<length>>
    m = <<breaks>>
    m = <<rounding>>
    spans.append(m)
print(<<result>>)
"""
ALTERNATIVE = """
import sys


def clock(total):
    hours, rest = divmod(total, 60)
    return str(hours) + ":" + str(rest).zfill(2)


def worth(m):
    m = <<breaks>>
    return <<rounding>>


spans = []
for line in sys.stdin.read().split()[1:]:
    start = int(line[0:2]) * 60 + int(line[3:5])
    end = int(line[6:8]) * 60 + int(line[9:11])
    spans.append(worth(<<other>>))
print(<<result>>)
"""


def draw(rng: random.Random) -> Params:
    return {
        "rounding": rng.choice(sorted(ROUNDING)),
        "breaks": rng.choice(sorted(BREAKS)),
        "answer": rng.choice(sorted(ANSWER)),
        "midnight": rng.random() < 0.5,
        "u": rng.choice((5, 10, 15, 30)),
        "b": rng.choice((10, 20, 30, 45)),
        "h": rng.randint(2, 6),
        "o": rng.randint(8, 30),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    blanks = {key: int(params[key]) for key in ("u", "b", "h", "o")}
    round_words, rounding = (text.format(**blanks) for text in ROUNDING[params["rounding"]])
    break_words, breaks = (text.format(**blanks) for text in BREAKS[params["breaks"]])
    if break_words:
        round_words = round_words.replace("each span", "what is left of each span")
        round_words = round_words.replace("A span counts", "What is left of a span counts")
    words, result, harder = ANSWER[params["answer"]]
    over = (
        "A span whose end is before its start goes over midnight; if both are equal it has no minutes."
        if params["midnight"]
        else "A span whose end is before its start is a slip: the two times have been swapped."
    )
    length = "(end - start) % 1440" if params["midnight"] else "abs(end - start)"
    other = "end - start if end >= start else " + ("end - start + 1440" if params["midnight"] else "start - end")
    return FamilyTask(
        title=f"Spans of time: {params['rounding']}, {params['breaks']}, {params['answer']}",
        statement="Standard input holds the number of spans and then one span a line, written as HH:MM-HH:MM (start "
        f"and end on a 24-hour clock). {over}{break_words}{round_words} "
        f"{words.format(**blanks)}",
        reference=fill(REFERENCE, length=length, breaks=breaks, rounding=rounding, result=result.format(**blanks)),
        alternatives=(
            fill(ALTERNATIVE, breaks=breaks, rounding=rounding, other=other, result=result.format(**blanks)),
        ),
        generator=GENERATOR,
        difficulty=0.3
        + harder
        + 0.1 * (params["breaks"] != "none")
        + 0.08 * (params["rounding"] != "none")
        + 0.06 * bool(params["midnight"]),
        topic="time",
    )
