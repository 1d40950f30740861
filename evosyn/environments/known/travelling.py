"""Visit every place on a short tour."""

import math

CATEGORY = "optimisation"
KIND = "feasible"
LEVELS = 5
KNOBS = {"places": (5, 6, 7, 8, 9), "slack": (1.1, 1.08, 1.06, 1.04, 1.02)}


def generate(rng, knobs):
    places = [[rng.randrange(100), rng.randrange(100)] for _ in range(knobs["places"])]
    instance = {"places": places, "most": 0}
    tour = [int(word) for word in solve(instance).split()]
    return {**instance, "most": math.ceil(length(places, tour) * knobs["slack"])}, None


def length(places, tour):
    steps = zip(tour, [*tour[1:], tour[0]], strict=True)
    return sum(abs(places[a][0] - places[b][0]) + abs(places[a][1] - places[b][1]) for a, b in steps)


def observe(instance):
    places = "\n".join(f"{i}: ({x}, {y})" for i, (x, y) in enumerate(instance["places"]))
    return (
        f"Places and where they lie:\n{places}\nThe way between two of them is as long as the differences of both "
        "coordinates together. Find a round tour that begins at place 0, visits every other place once, returns to 0 "
        f"and is at most {instance['most']} long. Write the places in order, 0 first and only there, with blanks."
    )


def solve(instance):
    places = instance["places"]
    best = {(1, 0): (0, [0])}
    for _ in places[1:]:
        following = {}
        for (seen, _), (far, tour) in best.items():
            for at in range(len(places)):
                if not seen >> at & 1:
                    step = abs(places[at][0] - places[tour[-1]][0]) + abs(places[at][1] - places[tour[-1]][1])
                    key = (seen | 1 << at, at)
                    following[key] = min(following.get(key, (math.inf, [])), (far + step, [*tour, at]))
        best = following
    return " ".join(map(str, min((tour for _, tour in best.values()), key=lambda tour: length(places, tour))))


def verify(instance, reference, answer):
    words, n = answer.split(), len(instance["places"])
    if sorted(words) != sorted(map(str, range(n))) or words[0] != "0":
        return False
    return length(instance["places"], [int(word) for word in words]) <= instance["most"]
