"""Measure an amount with jugs."""

CATEGORY = "games-search"
KIND = "feasible"
LEVELS = 5
KNOBS = {"jugs": (2, 2, 3, 3, 4), "largest": (9, 14, 14, 20, 24)}


def generate(rng, knobs):
    while True:
        sizes = sorted(rng.sample(range(2, knobs["largest"] + 1), knobs["jugs"]))
        instance = {"sizes": sizes, "target": rng.randrange(1, sizes[-1])}
        plan = solve(instance).split()
        if len(plan) >= 4 and instance["target"] not in sizes:
            return instance, solve(instance)


def step(state, sizes, move):
    state = list(state)
    one = "ABCD".index(move[1])
    if move[0] == "f":
        state[one] = sizes[one]
    elif move[0] == "e":
        state[one] = 0
    else:
        other = "ABCD".index(move[2])
        amount = min(state[one], sizes[other] - state[other])
        state[one] -= amount
        state[other] += amount
    return tuple(state)


def moves(count):
    names = "ABCD"[:count]
    return [kind + one for kind in "fe" for one in names] + [f"p{a}{b}" for a in names for b in names if a != b]


def observe(instance):
    sizes = ", ".join(f"{name} of {size}" for name, size in zip("ABCD", instance["sizes"], strict=False))
    return (
        f"Jugs, all empty: {sizes} litres. Moves: fA fills jug A to the brim, eA empties it, pAB pours from A "
        "into B until "
        f"A is empty or B is full; the same with the other letters. Reach {instance['target']} litres in one "
        "of the jugs "
        f"in as few moves as possible. Write the moves separated by blanks."
    )


def solve(instance):
    sizes = instance["sizes"]
    start = (0,) * len(sizes)
    plans, queue = {start: []}, [start]
    for state in queue:
        if instance["target"] in state:
            return " ".join(plans[state])
        for move in moves(len(sizes)):
            there = step(state, sizes, move)
            if there not in plans:
                plans[there] = [*plans[state], move]
                queue.append(there)
    return ""


def verify(instance, reference, answer):
    sizes, words = instance["sizes"], answer.split()
    if len(words) != len(reference.split()) or not all(word in moves(len(sizes)) for word in words):
        return False
    state = (0,) * len(sizes)
    for word in words:
        state = step(state, sizes, word)
    return instance["target"] in state
