"""Rearrange letters by several permutations."""

CATEGORY = "sequence-string"
KIND = "exact"
LEVELS = 5
KNOBS = {"letters": (5, 6, 7, 8, 10), "permutations": (2, 2, 3, 4, 5)}


def generate(rng, knobs):
    n = knobs["letters"]
    moves = [rng.sample(range(1, n + 1), n) for _ in range(knobs["permutations"])]
    instance = {"word": "".join(rng.sample("abcdefghijklmnopqrstuvwxyz", n)), "moves": moves}
    return instance, solve(instance)


def observe(instance):
    moves = "\n".join(" ".join(map(str, move)) for move in instance["moves"])
    return (
        f"Rearrange the word {instance['word']} by these rows, one after the other:\n{moves}\nA row says for "
        "each place, "
        "the first first, from which place (counted from 1) of the word before it takes its letter. What is "
        "the word at "
        "the end?"
    )


def solve(instance):
    word = instance["word"]
    for move in instance["moves"]:
        word = "".join(word[place - 1] for place in move)
    return word


def verify(instance, reference, answer):
    return answer.strip() == reference
