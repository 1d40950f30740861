"""Book as many meetings as one room can take."""

import itertools

CATEGORY = "order-schedule"
KIND = "feasible"
LEVELS = 5
KNOBS = {"meetings": (5, 7, 10, 14, 18), "day": (24, 36, 50, 72, 96)}


def generate(rng, knobs):
    meetings = []
    for _ in range(knobs["meetings"]):
        start = rng.randrange(knobs["day"] - 3)
        meetings.append([start, rng.randrange(start + 2, min(start + 13, knobs["day"]) + 1)])
    instance = {"meetings": meetings}
    return instance, solve(instance)


def observe(instance):
    meetings = ", ".join(f"{i}: {a}-{b}" for i, (a, b) in enumerate(instance["meetings"], 1))
    return (
        f"Meetings want one room, each from its first hour to its last: {meetings}. Meetings in the room must not "
        "overlap; one may begin in the hour when another ends. Choose as many as possible. Write their numbers in "
        "increasing order, separated by blanks."
    )


def solve(instance):
    chosen, free = [], 0
    for end, start, number in sorted((b, a, i) for i, (a, b) in enumerate(instance["meetings"], 1)):
        if start >= free:
            chosen.append(number)
            free = end
    return " ".join(map(str, sorted(chosen)))


def verify(instance, reference, answer):
    words, meetings = answer.split(), instance["meetings"]
    if not all(word in map(str, range(1, len(meetings) + 1)) for word in words):
        return False
    chosen = [int(word) for word in words]
    taken = sorted(meetings[number - 1] for number in chosen)
    apart = all(one[1] <= other[0] for one, other in itertools.pairwise(taken))
    return apart and chosen == sorted(set(chosen)) and len(chosen) == len(reference.split())
