"""A frequency table of words from standard input, with house rules for what a word is and how rows are ordered."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params, fill

DOMAIN = "python-stdin"

ORDER: dict[str, tuple[str, str]] = {
    "frequent": ("the most frequent first, equally frequent ones in alphabetical order", "(-counts[w], w)"),
    "rare": ("the least frequent first, equally frequent ones in alphabetical order", "(counts[w], w)"),
    "long": ("the longest first, equally long ones in alphabetical order", "(-len(w), w)"),
    "first": ("in the order in which they first occur", "order[w]"),
    "last": ("the one whose last occurrence is earliest first", "last[w]"),
}
ROW: dict[str, tuple[str, str, str]] = {
    "count": ("`word: n`, n being the number of occurrences", 'f"{w}: {counts[w]}"', "w + ': ' + str(counts[w])"),
    "line": (
        "`word first last`, the numbers of the first and the last line on which it occurs (from 1)",
        'f"{w} {first_line[w]} {last_line[w]}"',
        "' '.join([w, str(first_line[w]), str(last_line[w])])",
    ),
    "share": (
        "`word p`, p being the share of all counted words in percent, rounded down",
        'f"{w} {100 * counts[w] // total}"',
        "w + ' ' + str(int(counts[w] * 100 // total))",
    ),
    "stars": (
        "`word` and, after a blank, one star `*` for each occurrence",
        "w + ' ' + '*' * counts[w]",
        "w + ' ' + ''.join('*' for _ in range(counts[w]))",
    ),
}
GENERATOR = """
def generate(rng, size):
    lines = [1, rng.randint(1, 2), rng.randint(2, 5), rng.randint(20, 40)][size]
    words = ["red", "Red", "blue", "green,", "go", "Go!", "a", "an", "stop.", "tree"]
    text = []
    for _ in range(lines):
        text.append(" ".join(rng.choice(words) for _ in range(rng.randint(0, 6))))
    return "\\n".join(text) + "\\n"
"""

REFERENCE = """
import sys

counts, order, last = {}, {}, {}
first_line, last_line = {}, {}
total = 0
for number, line in enumerate(sys.stdin.read().split('\\n'), 1):
    for raw in line.split():
        w = <<clean>>
        if len(w) < <<shortest>>:
            continue
        if w not in counts:
            counts[w] = 0
            order[w] = total
            first_line[w] = number
        counts[w] += 1
        last[w] = total
        last_line[w] = number
        total += 1
words = [w for w in counts if counts[w] >= <<least>>]
words.sort(key=lambda w: <<key>>)
for w in words<<cut>>:
    print(<<row>>)
if not words:
    print('none')
"""
ALTERNATIVE = """
import sys

found = []
for number, line in enumerate(sys.stdin, 1):
    found += [(<<clean>>, number) for raw in line.split()]
found = [pair for pair in found if len(pair[0]) >= <<shortest>>]
total = len(found)
counts, order, last, first_line, last_line = {}, {}, {}, {}, {}
for place, (w, number) in enumerate(found):
    counts[w] = counts.get(w, 0) + 1
    order.setdefault(w, place)
    first_line.setdefault(w, number)
    last[w] = place
    last_line[w] = number
rows = []
for w in sorted(counts, key=lambda w: <<key>>):
    if counts[w] < <<least>>:
        continue
    rows.append(<<other_row>>)
print('\\n'.join(rows<<cut>>) if rows else 'none')
"""


def draw(rng: random.Random) -> Params:
    return {
        "order": rng.choice(sorted(ORDER)),
        "row": rng.choice(sorted(ROW)),
        "fold": rng.random() < 0.5,
        "strip": rng.random() < 0.6,
        "least": rng.choice((1, 1, 2, 3)),
        "shortest": rng.choice((1, 1, 2, 3)),
        "top": rng.choice((0, 2, 3, 4)),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    order_words, key = ORDER[params["order"]]
    row_words, row, other_row = ROW[params["row"]]
    least, shortest, top = int(params["least"]), int(params["shortest"]), int(params["top"])
    clean = "raw" + (".strip('.,!')" if params["strip"] else "") + (".lower()" if params["fold"] else "")
    rules = [
        *(["full stops, commas and exclamation marks at its ends are removed"] if params["strip"] else []),
        "it is turned into lower case" if params["fold"] else "upper and lower case differ",
        *([f"words of fewer than {shortest} characters are not counted"] if shortest > 1 else []),
    ]
    rare = f" Words that occur fewer than {least} times are left out of the output." if least > 1 else ""
    some = f" Print only the first {top} lines of them (all if there are fewer)." if top else ""
    cut = f"[:{top}]" if top else ""
    return FamilyTask(
        title=f"Word table: {params['order']}, {params['row']}",
        statement="Standard input holds a text of one or more lines, some may be empty. A word is a part between "
        f"blanks; {'; '.join(rules)}. For each different word print a line with {row_words}. Order the lines like "
        f"this: {order_words} (alphabetical means by code points).{rare}{some} If no word is left, print `none`.",
        reference=fill(REFERENCE, clean=clean, shortest=shortest, least=least, key=key, cut=cut, row=row),
        alternatives=(
            fill(ALTERNATIVE, clean=clean, shortest=shortest, key=key, least=least, other_row=other_row, cut=cut),
        ),
        generator=GENERATOR,
        difficulty=0.34
        + 0.1 * (params["order"] in {"last", "rare"})
        + 0.08 * (params["row"] in {"line", "share"})
        + 0.05 * bool(params["strip"])
        + 0.04 * (shortest > 1),
        topic="text tables",
    )
