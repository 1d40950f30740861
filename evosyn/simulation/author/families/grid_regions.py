"""Grids of characters on standard input: regions of connected cells under a choice of neighbours and cells."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params, fill

DOMAIN = "python-stdin"

NEIGHBOURS: dict[str, tuple[str, str]] = {
    "four": ("they share a side", "(-1, 0), (1, 0), (0, -1), (0, 1)"),
    "eight": ("they share a side or a corner", "(-1, -1), (-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0), (1, 1)"),
    "diagonal": ("they share a corner but no side", "(-1, -1), (-1, 1), (1, -1), (1, 1)"),
    "across": (
        "they share a side, where the left and the right end of each row count as sharing a side, too",
        "(-1, 0), (1, 0), (0, -1), (0, 1)",
    ),
}
ANSWER: dict[str, tuple[str, str, float]] = {
    "count": ("Print the number of regions.", "len(sizes)", 0.0),
    "largest": ("Print the size of the largest region, or 0 if there is none.", "max(sizes, default=0)", 0.0),
    "big": ("Print the number of regions of at least {k} cells.", "sum(1 for s in sizes if s >= {k})", 0.02),
    "sizes": (
        "Print the sizes of the regions in ascending order on one line, separated by blanks (an empty line if "
        "there is none).",
        "' '.join(map(str, sorted(sizes)))",
        0.03,
    ),
    "second": (
        "Print the size of the second largest region (regions of equal size count each), or -1 if there are "
        "fewer than two.",
        "sorted(sizes)[-2] if len(sizes) > 1 else -1",
        0.06,
    ),
}
GENERATOR = """
def generate(rng, size):
    height = [1, rng.randint(2, 4), rng.randint(4, 7), rng.randint(15, 25)][size]
    width = [rng.randint(1, 3), rng.randint(2, 5), rng.randint(4, 8), rng.randint(15, 25)][size]
    share = rng.choice([0.3, 0.5, 0.6])
    rows = ["".join("#" if rng.random() < share else rng.choice(".o") for _ in range(width)) for _ in range(height)]
    return f"{height} {width}\\n" + "\\n".join(rows) + "\\n"
"""

REFERENCE = """
import sys


def main():
    lines = sys.stdin.read().split()
    height, width = int(lines[0]), int(lines[1])
    grid = lines[2:2 + height]
    seen = set()
    sizes = []
    for i in range(height):
        for j in range(width):
            r, c = i, j
            if (r, c) in seen or not <<start>>:
                continue
            seen.add((r, c))
            stack = [(r, c)]
            region = []
            while stack:
                r, c = stack.pop()
                region.append((r, c))
                for dr, dc in [<<steps>>]:
                    nr, nc = r + dr, (c + dc)<<wrap>>
                    if 0 <= nr < height and 0 <= nc < width and (nr, nc) not in seen and <<same>>:
                        seen.add((nr, nc))
                        stack.append((nr, nc))
            rows = [r for r, _ in region]
            if <<keep>>:
                sizes.append(len(region))
    print(<<result>>)


main()
"""
ALTERNATIVE = """
height, width = map(int, input().split())
grid = [input() for _ in range(height)]
parent = {}


def find(p):
    while parent[p] != p:
        parent[p] = parent[parent[p]]
        p = parent[p]
    return p


for r in range(height):
    for c in range(width):
        if <<start>>:
            parent[(r, c)] = (r, c)
for r, c in list(parent):
    for dr, dc in [<<steps>>]:
        nr, nc = r + dr, (c + dc)<<wrap>>
        if (nr, nc) in parent and <<same>>:
            parent[find((r, c))] = find((nr, nc))
members = {}
for p in parent:
    members.setdefault(find(p), []).append(p)
sizes = []
for region in members.values():
    rows = [r for r, _ in region]
    if <<keep>>:
        sizes.append(len(region))
print(<<result>>)
"""


def draw(rng: random.Random) -> Params:
    return {
        "neighbours": rng.choice(sorted(NEIGHBOURS)),
        "answer": rng.choice(sorted(ANSWER)),
        "cells": rng.choice(("#", ".", "o", "#o", ".o", "same")),
        "inner": rng.random() < 0.3,
        "k": rng.randint(2, 4),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    near_words, steps = NEIGHBOURS[params["neighbours"]]
    words, result, harder = ANSWER[params["answer"]]
    words, result = words.format(k=int(params["k"])), result.format(k=int(params["k"]))
    cells, inner = str(params["cells"]), bool(params["inner"])
    wrap = " % width" if params["neighbours"] == "across" else ""
    kind = (
        "all cells; only cells with the same character can belong together"
        if cells == "same"
        else ("the cells with " + " or ".join(repr(cell) for cell in cells))
    )
    inner_words = " Regions that reach the first or the last row are left out." if inner else ""
    same = "grid[r][c] == grid[nr][nc]" if cells == "same" else f"grid[nr][nc] in {cells!r}"
    start = "True" if cells == "same" else f"grid[r][c] in {cells!r}"
    keep = "0 not in rows and height - 1 not in rows" if inner else "True"
    return FamilyTask(
        title=f"Regions: {params['neighbours']}, {params['answer']}",
        statement="Standard input holds a line with two integers, height and width, and then `height` lines of `width` "
        f"characters each out of `#`, `.` and `o`. Consider {kind}. Two such cells are connected if {near_words}; a "
        f"region is a largest set of cells that are connected directly or through others.{inner_words} {words}",
        reference=fill(REFERENCE, start=start, steps=steps, wrap=wrap, same=same, keep=keep, result=result),
        alternatives=(fill(ALTERNATIVE, start=start, steps=steps, wrap=wrap, same=same, keep=keep, result=result),),
        generator=GENERATOR,
        difficulty=0.58 + harder + 0.12 * inner + 0.08 * (params["neighbours"] == "across") + 0.06 * (cells == "same"),
        topic="grids",
    )
