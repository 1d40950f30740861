"""Counting ways by dynamic programming: stairs with allowed steps, broken stairs and a rule about neighbours."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params

DOMAIN = "python-function"

GENERATOR = """
def generate(rng, size):
    n = [rng.randint(0, 2), rng.randint(2, 6), rng.randint(6, 14), rng.randint(30, 60)][size]
    count = rng.randint(0, max(0, n // 4))
    return [n, sorted(rng.sample(range(1, n + 1), count)) if n else []]
"""


def draw(rng: random.Random) -> Params:
    return {
        "steps": sorted(rng.sample((1, 2, 3, 4, 5), rng.randint(2, 3))),
        "twice": rng.random() < 0.5,
        "modulus": rng.choice((0, 0, 97, 1009, 1000)),
        "name": rng.choice(("count_ways", "climb", "ways_to_top")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    steps, name = [int(step) for step in params["steps"]], str(params["name"])
    twice, modulus = bool(params["twice"]), int(params["modulus"])
    allowed = " or ".join([", ".join(map(str, steps[:-1])), str(steps[-1])])
    rule = "" if twice else " Two steps of the same length must not follow each other directly."
    rest = f" Return the number modulo {modulus}." if modulus else ""
    reduced = f" % {modulus}" if modulus else ""
    build_one = _free if twice else _no_repeat
    reference, other = build_one(name, steps, reduced)
    return FamilyTask(
        title=f"Ways with steps {steps}" + ("" if twice else ", no repeats"),
        statement=f"Write a function `{name}(n, broken)` that returns in how many ways one can climb from stair 0 to "
        f"stair n with steps of {allowed} stairs without ever standing on a stair whose number is in the list "
        f"`broken`.{rule} Ways that differ in the order of their steps are different; for n = 0 there is one way, and "
        f"if stair n itself is broken there is none.{rest}",
        entry_point=name,
        starter_code=f"def {name}(n: int, broken: list[int]) -> int:\n    ...\n",
        reference=reference,
        alternatives=(other,),
        generator=GENERATOR,
        difficulty=(0.45 if twice else 0.78) + 0.04 * bool(modulus),
        topic="dynamic programming",
    )


def _free(name: str, steps: list[int], reduced: str) -> tuple[str, str]:
    return (
        f"""
def {name}(n, broken):
    blocked = set(broken)
    ways = [0] * (n + 1)
    ways[0] = 1
    for stair in range(1, n + 1):
        if stair in blocked:
            continue
        for step in {steps}:
            if stair - step >= 0:
                ways[stair] += ways[stair - step]
    return ways[n]{reduced}
""",
        f"""
from functools import lru_cache

def {name}(n, broken):
    @lru_cache(maxsize=None)
    def ways(stair):
        if stair < 0 or stair in broken:
            return 0
        if stair == 0:
            return 1
        return sum(ways(stair - step) for step in {steps})

    return ways(n){reduced}
""",
    )


def _no_repeat(name: str, steps: list[int], reduced: str) -> tuple[str, str]:
    return (
        f"""
def {name}(n, broken):
    steps = {steps}
    ways = [dict() for _ in range(n + 1)]
    ways[0][0] = 1
    for stair in range(1, n + 1):
        if stair in broken:
            continue
        for step in steps:
            if stair - step < 0:
                continue
            total = 0
            for last, count in ways[stair - step].items():
                if last != step:
                    total += count
            if total > 0:
                ways[stair][step] = total
    return sum(ways[n].values()){reduced}
""",
        f"""
from functools import lru_cache

def {name}(n, broken):
    blocked = frozenset(broken)

    @lru_cache(maxsize=None)
    def ways(stair, last):
        if stair == n:
            return 1
        total = 0
        for step in {steps}:
            if step != last and stair + step <= n and stair + step not in blocked:
                total += ways(stair + step, step)
        return total

    if n in blocked:
        return 0
    return ways(0, 0){reduced}
""",
    )
