"""Who tells the truth, among people who speak of each other?"""

import itertools

CATEGORY = "logic"
KIND = "exact"
LEVELS = 5
KNOBS = {"people": (3, 4, 5, 6, 7)}
NAMES = "ABCDEFG"


def generate(rng, knobs):
    n = knobs["people"]
    while True:
        truth = [rng.random() < 0.5 for _ in range(n)]
        statements = [statement(rng, speaker, truth) for speaker in range(n) for _ in range(2)]
        if len(possible(n, statements)) == 1:
            instance = {"people": n, "statements": statements}
            return instance, solve(instance)


def statement(rng, speaker, truth):
    one, other = rng.sample([i for i in range(len(truth)) if i != speaker], 2)
    kind = rng.choice(["single", "pair"])
    claim = truth[one] if kind == "single" else truth[one] == truth[other]
    return [speaker, kind, one, other, claim == truth[speaker]]


def possible(n, statements):
    return [
        truth
        for truth in itertools.product([True, False], repeat=n)
        if all(
            ((truth[one] if kind == "single" else truth[one] == truth[other]) == claim) == truth[speaker]
            for speaker, kind, one, other, claim in statements
        )
    ]


def observe(instance):
    lines = []
    for speaker, kind, one, other, claim in instance["statements"]:
        if kind == "single":
            said = f"{NAMES[one]} is a {'knight' if claim else 'knave'}"
        else:
            said = f"{NAMES[one]} and {NAMES[other]} are {'of the same kind' if claim else 'of different kinds'}"
        lines.append(f"{NAMES[speaker]} says: {said}.")
    people = ", ".join(NAMES[: instance["people"]])
    return (
        f"Each of {people} is a knight, who always tells the truth, or a knave, who always lies.\n"
        + "\n".join(lines)
        + "\nFor each of them in alphabetical order write T for a knight and L for a knave, without blanks between."
    )


def solve(instance):
    (truth,) = possible(instance["people"], instance["statements"])
    return "".join("T" if one else "L" for one in truth)


def verify(instance, reference, answer):
    return answer.strip() == reference
