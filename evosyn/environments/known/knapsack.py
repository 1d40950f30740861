"""Pack the most valuable things that a bag can carry."""

CATEGORY = "optimisation"
KIND = "feasible"
LEVELS = 5
KNOBS = {"things": (5, 7, 9, 12, 15)}


def generate(rng, knobs):
    things = [[rng.randrange(2, 20), rng.randrange(5, 60)] for _ in range(knobs["things"])]
    weight = sum(thing[0] for thing in things)
    instance = {"things": things, "carries": rng.randrange(weight // 3, weight // 2 + 1)}
    return instance, solve(instance)


def observe(instance):
    things = "\n".join(f"{i}: weight {w}, value {v}" for i, (w, v) in enumerate(instance["things"], 1))
    return (
        f"A bag carries a weight of {instance['carries']}. Things:\n{things}\nChoose things of the greatest "
        "total value "
        "that the bag can carry. Write their numbers in increasing order, separated by blanks."
    )


def solve(instance):
    best = {0: (0, [])}
    for number, (weight, value) in enumerate(instance["things"], 1):
        for load, (worth, chosen) in list(best.items()):
            more = load + weight
            if more <= instance["carries"] and best.get(more, (-1,))[0] < worth + value:
                best[more] = (worth + value, [*chosen, number])
    return " ".join(map(str, max(best.values())[1]))


def totals(instance, chosen):
    things = [instance["things"][number - 1] for number in chosen]
    return sum(weight for weight, _ in things), sum(value for _, value in things)


def verify(instance, reference, answer):
    words = answer.split()
    if not all(word in map(str, range(1, len(instance["things"]) + 1)) for word in words):
        return False
    chosen = [int(word) for word in words]
    weight, value = totals(instance, chosen)
    most = totals(instance, [int(word) for word in reference.split()])[1]
    return chosen == sorted(set(chosen)) and weight <= instance["carries"] and value == most
