"""Find the shortest way through a network."""

import heapq
import itertools

CATEGORY = "path"
KIND = "feasible"
LEVELS = 5
KNOBS = {"nodes": (6, 8, 10, 13, 16), "extra": (5, 8, 12, 18, 26)}


def generate(rng, knobs):
    n = knobs["nodes"]
    order = rng.sample(range(1, n + 1), n)
    pairs = {tuple(sorted((order[i], order[rng.randrange(max(0, i - 3), i)]))) for i in range(1, n)}
    others = [(a, b) for b in range(1, n + 1) for a in range(1, b) if (a, b) not in pairs]
    pairs |= set(rng.sample(others, min(knobs["extra"], len(others))))
    roads = [[a, b, rng.randrange(2, 30)] for a, b in sorted(pairs)]
    instance = {"start": order[0], "goal": order[-1], "roads": roads}
    return instance, solve(instance)


def observe(instance):
    roads = ", ".join(f"{a}-{b}: {cost}" for a, b, cost in instance["roads"])
    return (
        f"Roads join towns, each with its length, and can be gone both ways: {roads}. Find a shortest way from town "
        f"{instance['start']} to town {instance['goal']}. Write the towns in order, both ends included, with blanks."
    )


def solve(instance):
    heap, done = [(0, [instance["start"]])], set()
    while heap:
        length, way = heapq.heappop(heap)
        if way[-1] == instance["goal"]:
            return " ".join(map(str, way))
        if way[-1] not in done:
            done.add(way[-1])
            for a, b, cost in instance["roads"]:
                if way[-1] in (a, b):
                    heapq.heappush(heap, (length + cost, [*way, a + b - way[-1]]))
    return ""


def length_of(instance, way):
    cost = {(a, b): one for a, b, one in instance["roads"]}
    cost |= {(b, a): one for (a, b), one in cost.items()}
    steps = list(itertools.pairwise(way))
    return sum(cost[step] for step in steps) if all(step in cost for step in steps) else None


def verify(instance, reference, answer):
    words = answer.split()
    if not words or not all(word.isdigit() and len(word) < 4 for word in words):
        return False
    way = [int(word) for word in words]
    if (way[0], way[-1]) != (instance["start"], instance["goal"]):
        return False
    return length_of(instance, way) == length_of(instance, [int(word) for word in reference.split()])
