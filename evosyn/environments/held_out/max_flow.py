"""How much can flow through a network of pipes?"""

import itertools

CATEGORY = "graph"
KIND = "exact"
LEVELS = 5
KNOBS = {"nodes": (5, 6, 7, 9, 11), "pipes": (7, 10, 13, 18, 24)}


def generate(rng, knobs):
    n = knobs["nodes"]
    while True:
        pairs = [(a, b) for a in range(1, n) for b in range(2, n + 1) if a != b and abs(a - b) < n - 1]
        pipes = [[a, b, rng.randrange(2, 30)] for a, b in sorted(rng.sample(pairs, min(len(pairs), knobs["pipes"])))]
        instance = {"nodes": n, "pipes": pipes}
        if solve(instance) != "0":
            return instance, solve(instance)


def observe(instance):
    pipes = ", ".join(f"{a}>{b}: {most}" for a, b, most in instance["pipes"])
    return (
        f"Water flows through pipes in one direction, each with the most that it takes in an hour: {pipes}. "
        "How much can "
        f"flow from node 1 to node {instance['nodes']} in an hour at most, if in all other nodes as much leaves as "
        "arrives? Answer with the number."
    )


def solve(instance):
    room = {}
    for a, b, most in instance["pipes"]:
        room[a, b] = room.get((a, b), 0) + most
        room.setdefault((b, a), 0)
    goal, total = instance["nodes"], 0
    while True:
        before, queue = {1: None}, [1]
        for node in queue:
            for (a, b), left in room.items():
                if a == node and left and b not in before:
                    before[b] = a
                    queue.append(b)
        if goal not in before:
            return str(total)
        way = [goal]
        while before[way[-1]] is not None:
            way.append(before[way[-1]])
        steps = [(b, a) for a, b in itertools.pairwise(way)]
        amount = min(room[step] for step in steps)
        for a, b in steps:
            room[a, b] -= amount
            room[b, a] += amount
        total += amount


def verify(instance, reference, answer):
    return answer.strip() == reference
