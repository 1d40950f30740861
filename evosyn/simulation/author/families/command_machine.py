"""A small machine with a list of numbers that reads commands from standard input; the quirks are parameters."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-stdin"

TAKE: dict[str, tuple[str, str, str]] = {
    "stack": ("the number that was added last", "items.pop()", "items[-1:]"),
    "queue": ("the number that was added first", "items.pop(0)", "items[:1]"),
    "largest": (
        "the largest number (one of them if there are several)",
        "items.pop(items.index(max(items)))",
        "[max(items)]",
    ),
    "smallest": (
        "the smallest number (one of them if there are several)",
        "items.pop(items.index(min(items)))",
        "[min(items)]",
    ),
}
EXTRA: dict[str, tuple[str, str]] = {
    "DOUBLE": ("`DOUBLE` doubles every number in the machine", "items = [2 * x for x in items]"),
    "FLIP": ("`FLIP` reverses the order in which the numbers were added", "items.reverse()"),
    "DROP": ("`DROP` removes every number below {k}", "items = [x for x in items if x >= {k}]"),
    "UNIQUE": (
        "`UNIQUE` removes every number that was added before with the same value (of equal numbers the first stays)",
        "items = list(dict.fromkeys(items))",
    ),
    "SUM": ("`SUM` prints the sum of the numbers in the machine (0 if there is none)", "print(sum(items))"),
    "COUNT": (
        "`COUNT` prints how many numbers in the machine are at least {k}",
        "print(sum(1 for x in items if x >= {k}))",
    ),
}
GENERATOR = """
def generate(rng, size):
    count = [rng.randint(0, 2), rng.randint(2, 6), rng.randint(7, 15), rng.randint(80, 200)][size]
    extra = EXTRA_WORDS
    lines = []
    for _ in range(count):
        roll = rng.random()
        if roll < 0.5:
            lines.append(f"ADD {rng.randint(-3, 12)}")
        elif roll < 0.75:
            lines.append("TAKE")
        else:
            lines.append(rng.choice(extra))
    return f"{len(lines)}\\n" + "".join(line + "\\n" for line in lines)
"""


def draw(rng: random.Random) -> Params:
    return {
        "take": rng.choice(sorted(TAKE)),
        "extra": sorted(rng.sample(sorted(EXTRA), 2)),
        "capacity": rng.choice((0, 0, 3, 4, 5)),
        "empty": rng.choice(("EMPTY", "-", "none", "0")),
        "k": rng.randint(2, 6),
        "final": rng.random() < 0.6,
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    words, take, peek = TAKE[params["take"]]
    extra = [str(name) for name in params["extra"]]
    k, capacity, empty = int(params["k"]), int(params["capacity"]), str(params["empty"])
    described = "; ".join(EXTRA[name][0].format(k=k) for name in extra)
    full = f" If there are already {capacity} numbers in the machine, it prints `FULL` instead." if capacity else ""
    final = " At the end print the numbers that are left, in the order of adding, on one line separated by blanks (an "
    final += "empty line if none is left)."
    guard = (
        f"        if len(items) >= {capacity}:\n            print('FULL')\n            continue\n" if capacity else ""
    )
    branches = "".join(f"    elif word == {name!r}:\n        {EXTRA[name][1].format(k=k)}\n" for name in extra)
    last = "print(' '.join(str(x) for x in items))\n" if params["final"] else ""
    return FamilyTask(
        title=f"Machine: {params['take']}, {', '.join(extra)}",
        statement="Simulate a machine that holds numbers, at first none. Standard input holds the number of commands "
        f"and then one command a line. `ADD x` adds the integer x.{full} `TAKE` removes and prints {words}; if the "
        f"machine is empty it prints `{empty}`. {described[0].upper() if described[0] != '`' else '`'}{described[1:]}."
        f"{final if params['final'] else ''}",
        reference=f"""
count = int(input())
items = []
for _ in range(count):
    word, *rest = input().split()
    if word == 'ADD':
{guard.replace("        ", "        ")}        items.append(int(rest[0]))
    elif word == 'TAKE':
        if items:
            print({take})
        else:
            print({empty!r})
{branches}{last}""",
        alternatives=(_other(params, peek, branches, capacity, empty),),
        generator=GENERATOR.replace("EXTRA_WORDS", repr(extra)),
        difficulty=0.36 + 0.1 * bool(capacity) + 0.08 * ("UNIQUE" in extra) + 0.05 * ("FLIP" in extra),
        topic="simulation",
    )


def _other(params: Mapping[str, Json], peek: str, branches: str, capacity: int, empty: str) -> str:
    """The same, with its output collected, and the number to take found before it is removed."""
    lines = branches.replace("print(", "out.append(")
    remove = {
        "stack": "del items[-1]",
        "queue": "del items[0]",
        "largest": "items.remove(chosen[0])",
        "smallest": "items.remove(chosen[0])",
    }[str(params["take"])]
    end = "out.append(' '.join(map(str, items)))\n" if params["final"] else ""
    return f"""
import sys

items, out = [], []
for line in sys.stdin.read().splitlines()[1:]:
    word = line.split()[0]
    if word == 'ADD':
        if {capacity} and len(items) == {capacity}:
            out.append('FULL')
        else:
            items.append(int(line.split()[1]))
    elif word == 'TAKE':
        chosen = {peek} if items else []
        if chosen:
            {remove}
        out.append(chosen[0] if chosen else {empty!r})
{lines}{end}for entry in out:
    print(entry)
"""
