"""A matrix on standard input that is turned and mirrored step by step, then summed up by rows or columns."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-stdin"

MOVES: dict[str, tuple[str, str, str]] = {
    "turn": (
        "turn it by 90 degrees clockwise",
        "[list(r) for r in zip(*m[::-1])]",
        "[[m[len(m) - 1 - i][j] for i in range(len(m))] for j in range(len(m[0]))]",
    ),
    "back": (
        "turn it by 90 degrees counter-clockwise",
        "[list(r) for r in zip(*m)][::-1]",
        "[[m[i][len(m[0]) - 1 - j] for i in range(len(m))] for j in range(len(m[0]))]",
    ),
    "transpose": (
        "exchange its rows and columns",
        "[list(r) for r in zip(*m)]",
        "[[m[i][j] for i in range(len(m))] for j in range(len(m[0]))]",
    ),
    "mirror": ("reverse every row", "[r[::-1] for r in m]", "[[r[len(r) - 1 - j] for j in range(len(r))] for r in m]"),
    "flip": ("reverse the order of its rows", "m[::-1]", "[m[len(m) - 1 - i] for i in range(len(m))]"),
    "roll": ("move the last row to the top", "m[-1:] + m[:-1]", "[m[(i - 1) % len(m)] for i in range(len(m))]"),
    "sort": ("sort every row in ascending order", "[sorted(r) for r in m]", "[sorted(r[:]) for r in m]"),
    "running": (
        "replace every element by the sum of the elements of its row up to and including itself",
        "[[sum(r[:j + 1]) for j in range(len(r))] for r in m]",
        "[[sum(r[q] for q in range(j + 1)) for j in range(len(r))] for r in m]",
    ),
}
ANSWER: dict[str, tuple[str, str]] = {
    "show": (
        "Print the resulting matrix, one row a line, elements separated by blanks.",
        "'\\n'.join(' '.join(map(str, r)) for r in m)",
    ),
    "best-row": (
        "Print the number (from 1) of the row with the largest sum, of several such the first.",
        "max(range(len(m)), key=lambda i: sum(m[i])) + 1",
    ),
    "edge": (
        "Print the sum of the elements on the border of the resulting matrix (each counts once).",
        "sum(x for i, r in enumerate(m) for j, x in enumerate(r) if i in (0, len(m) - 1) or j in (0, len(r) - 1))",
    ),
    "diagonal": (
        "Print the elements with equal row and column number of the resulting matrix, separated by blanks.",
        "' '.join(str(m[i][i]) for i in range(min(len(m), len(m[0]))))",
    ),
    "columns": (
        "Print the largest element of each column of the resulting matrix, separated by blanks.",
        "' '.join(str(max(c)) for c in zip(*m))",
    ),
}
GENERATOR = """
def generate(rng, size):
    height = [1, rng.randint(1, 3), rng.randint(2, 5), rng.randint(10, 20)][size]
    width = [rng.randint(1, 2), rng.randint(1, 3), rng.randint(2, 5), rng.randint(10, 20)][size]
    rows = [" ".join(str(rng.randint(-9, 9)) for _ in range(width)) for _ in range(height)]
    return f"{height} {width}\\n" + "\\n".join(rows) + "\\n"
"""


def draw(rng: random.Random) -> Params:
    first, second = rng.sample(sorted(MOVES), 2)
    moves = [first, second] if rng.random() < 0.7 else [first, second, rng.choice(sorted(MOVES))]
    return {"moves": moves, "answer": rng.choice(sorted(ANSWER))}


def build(params: Mapping[str, Json]) -> FamilyTask:
    moves = [MOVES[move] for move in params["moves"]]
    words, result = ANSWER[params["answer"]]
    steps = "".join(f"m = {move[1]}\n" for move in moves)
    other = "".join(f"    m = {move[2]}\n" for move in moves)
    return FamilyTask(
        title=f"Matrix: {', '.join(params['moves'])}, {params['answer']}",
        statement="Standard input holds a line with the number of rows and of columns (both at least 1), then the rows "
        f"of a matrix of integers. Do this one after the other: {', then '.join(move[0] for move in moves)}. {words}",
        reference=f"""
height, width = map(int, input().split())
m = [list(map(int, input().split())) for _ in range(height)]
{steps}print({result})
""",
        alternatives=(
            f"""
import sys


def main():
    numbers = [int(part) for part in sys.stdin.read().split()]
    height, width, rest = numbers[0], numbers[1], numbers[2:]
    m = []
    for i in range(height):
        row = []
        for j in range(width):
            row.append(rest[i * width + j])
        m.append(row)
{other}    print({result})


main()
""",
        ),
        generator=GENERATOR,
        difficulty=0.24 + 0.06 * len(moves) + 0.08 * ("back" in params["moves"]) + 0.06 * (params["answer"] == "edge"),
        topic="matrices",
    )
