"""What does the cheapest network cost that joins everything?"""

CATEGORY = "graph"
KIND = "exact"
LEVELS = 5
KNOBS = {"nodes": (5, 7, 9, 12, 15), "extra": (3, 5, 8, 12, 18)}


def generate(rng, knobs):
    n = knobs["nodes"]
    pairs = {(rng.randrange(1, i), i) for i in range(2, n + 1)}
    others = [(a, b) for b in range(1, n + 1) for a in range(1, b) if (a, b) not in pairs]
    pairs |= set(rng.sample(others, min(knobs["extra"], len(others))))
    instance = {"nodes": n, "cables": [[a, b, rng.randrange(2, 60)] for a, b in sorted(pairs)]}
    return instance, solve(instance)


def observe(instance):
    cables = ", ".join(f"{a}-{b}: {cost}" for a, b, cost in instance["cables"])
    return (
        f"Computers 1 to {instance['nodes']} can be joined by these cables, each with its price: {cables}. Buy cables "
        "so that all computers are connected, directly or through others. What is the least total price?"
    )


def solve(instance):
    part = {i: i for i in range(1, instance["nodes"] + 1)}
    total = 0
    for a, b, cost in sorted(instance["cables"], key=lambda cable: cable[2]):
        if part[a] != part[b]:
            total += cost
            old, new = part[a], part[b]
            part = {i: new if one == old else one for i, one in part.items()}
    return str(total)


def verify(instance, reference, answer):
    return answer.strip() == reference
