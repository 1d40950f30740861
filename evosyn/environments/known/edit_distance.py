"""How many edits turn one word into another?"""

CATEGORY = "dynamic-programming"
KIND = "exact"
LEVELS = 5
KNOBS = {"length": (6, 9, 13, 18, 24), "edits": (3, 5, 8, 11, 15)}


def generate(rng, knobs):
    one = [rng.choice("abcd") for _ in range(knobs["length"])]
    other = list(one)
    for _ in range(rng.randrange(knobs["edits"] // 2 + 1, knobs["edits"] + 1)):
        at = rng.randrange(len(other))
        change = rng.choice(["put", "drop", "swap"])
        other[at : at + (change != "put")] = [] if change == "drop" else [rng.choice("abcd")]
    instance = {"one": "".join(one), "other": "".join(other)}
    return instance, solve(instance)


def observe(instance):
    return (
        f"In one step a letter of a word may be taken out, put in, or replaced by another. How many steps does it take "
        f"at least to turn {instance['one']} into {instance['other']}? Answer with the number."
    )


def solve(instance):
    row = list(range(len(instance["other"]) + 1))
    for i, a in enumerate(instance["one"], 1):
        last, row = row, [i]
        for j, b in enumerate(instance["other"], 1):
            row.append(min(last[j] + 1, row[-1] + 1, last[j - 1] + (a != b)))
    return str(row[-1])


def verify(instance, reference, answer):
    return answer.strip() == reference
