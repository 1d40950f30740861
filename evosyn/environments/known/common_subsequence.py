"""Find a longest common subsequence of two words."""

CATEGORY = "dynamic-programming"
KIND = "feasible"
LEVELS = 5
KNOBS = {"length": (6, 8, 11, 14, 18)}


def generate(rng, knobs):
    one, other = ("".join(rng.choice("ABCDE") for _ in range(knobs["length"])) for _ in range(2))
    instance = {"one": one, "other": other}
    return instance, solve(instance)


def observe(instance):
    return (
        f"Two words: {instance['one']} and {instance['other']}. Find a longest word that can be made from each of them "
        "by crossing out letters, without changing their order. Write that word."
    )


def solve(instance):
    one, other = instance["one"], instance["other"]
    best = [""] * (len(other) + 1)
    for letter in one:
        row = [""]
        for at, mark in enumerate(other):
            row.append(best[at] + letter if letter == mark else max(row[at], best[at + 1], key=len))
        best = row
    return best[-1]


def within(word, text):
    left = iter(text)
    return all(letter in left for letter in word)


def verify(instance, reference, answer):
    word = answer.strip()
    fits = within(word, instance["one"]) and within(word, instance["other"])
    return fits and len(word) == len(reference)
