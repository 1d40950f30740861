"""Jobs with arrival, length and rank on standard input, run by one worker under a rule: a hard little simulation."""

from __future__ import annotations

import random
from collections.abc import Mapping

from evosyn.records import Json
from evosyn.simulation.author.catalogue import FamilyTask, Params, fill

DOMAIN = "python-stdin"

RULE: dict[str, tuple[str, str]] = {
    "rank": ("the waiting job of the highest rank", "-rank[j]"),
    "short": ("the waiting job of the shortest length", "length[j]"),
    "long": ("the waiting job of the greatest length", "-length[j]"),
    "early": ("the waiting job that arrived first", "arrival[j]"),
    "late": ("the waiting job that arrived last", "-arrival[j]"),
}
ANSWER: dict[str, tuple[str, str]] = {
    "finish": (
        "Print the time at which each job ends, in the order of the input, separated by blanks.",
        "' '.join(str(finish[j]) for j in range(count))",
    ),
    "order": (
        "Print the numbers of the jobs (from 1) in the order in which they are started, separated by blanks.",
        "' '.join(str(j + 1) for j in started)",
    ),
    "wait": (
        "Print the sum over all jobs of the time from arrival to start.",
        "sum(finish[j] - length[j] - arrival[j] for j in range(count))",
    ),
    "worst": (
        "Print the number (from 1) of the job with the longest time from arrival to end, of several the one with "
        "the smallest number.",
        "max(range(count), key=lambda j: (finish[j] - arrival[j], -j)) + 1",
    ),
}
GENERATOR = """
def generate(rng, size):
    count = [1, rng.randint(2, 3), rng.randint(4, 7), rng.randint(30, 50)][size]
    lines = [f"{rng.randint(0, 4 * count)} {rng.randint(1, 6)} {rng.randint(1, 3)}" for _ in range(count)]
    return f"{count}\\n" + "\\n".join(lines) + "\\n"
"""

REFERENCE = """
count = int(input())
arrival, length, rank = [], [], []
for _ in range(count):
    a, b, c = map(int, input().split())
    arrival.append(a)
    length.append(b)
    rank.append(c)
finish = [0] * count
started = []
todo = list(range(count))
now = 0
while todo:
    waiting = [j for j in todo if arrival[j] <= now]
    if not waiting:
        now = min(arrival[j] for j in todo)
        continue
    j = min(waiting, key=lambda j: <<choice>>)
    todo.remove(j)
    started.append(j)
    now += length[j]
    finish[j] = now
    now += <<pause>>
print(<<result>>)
"""
ALTERNATIVE = """
import sys

rows = [list(map(int, line.split())) for line in sys.stdin.read().strip().split('\\n')[1:]]
count = len(rows)
arrival = [row[0] for row in rows]
length = [row[1] for row in rows]
rank = [row[2] for row in rows]
finish = {}
started = []
now = 0


def urgency(j):
    return <<choice>>


while len(started) < count:
    best = None
    for j in range(count):
        if j in finish or arrival[j] > now:
            continue
        if best is None or urgency(j) < urgency(best):
            best = j
    if best is None:
        now += 1
        continue
    started.append(best)
    finish[best] = now + length[best]
    now = finish[best] + <<pause>>
print(<<result>>)
"""


def draw(rng: random.Random) -> Params:
    return {
        "rule": rng.choice(sorted(RULE)),
        "answer": rng.choice(sorted(ANSWER)),
        "pause": rng.choice((0, 0, 1, 2)),
        "patience": rng.choice((0, 0, 6, 9)),
        "tie": rng.choice(("smallest", "largest")),
    }


def build(params: Mapping[str, Json]) -> FamilyTask:
    rule_words, key = RULE[params["rule"]]
    words, result = ANSWER[params["answer"]]
    pause, patience = int(params["pause"]), int(params["patience"])
    tie = "j" if params["tie"] == "smallest" else "-j"
    rest = f" After each job the worker pauses for {pause} units of time." if pause else ""
    hurry = (
        f" But if jobs have been waiting for {patience} or more units, it takes the one of them that arrived first "
        f"(of several the one with the {params['tie']} number)."
        if patience
        else ""
    )
    choice = (
        f"(0, arrival[j], {tie}) if now - arrival[j] >= {patience} else (1, {key}, {tie})"
        if patience
        else (f"({key}, {tie})")
    )
    return FamilyTask(
        title=f"Timetable: {params['rule']}, {params['answer']}",
        statement="One worker runs jobs one at a time, without interruption. Standard input holds the number of jobs "
        "and then a line `arrival length rank` for each job (integers, length at least 1). A job waits from its time "
        "of arrival on. Whenever the worker is free and jobs are waiting, it starts at once "
        f"{rule_words}, of several such the one with the {params['tie']} number (jobs are numbered from 1 in the order "
        f"of the input).{hurry} If none is waiting, it idles until the next arrival.{rest} {words}",
        reference=fill(REFERENCE, choice=choice, pause=pause, result=result),
        alternatives=(fill(ALTERNATIVE, choice=choice, pause=pause, result=result),),
        generator=GENERATOR,
        difficulty=min(0.95, 0.66 + 0.15 * bool(patience) + 0.06 * bool(pause) + 0.03 * (params["tie"] == "largest")),
        topic="scheduling",
    )
