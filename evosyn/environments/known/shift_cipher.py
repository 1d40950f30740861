"""Read a text whose letters were shifted by a repeated key."""

CATEGORY = "cipher"
KIND = "exact"
LEVELS = 5
KNOBS = {"words": (2, 3, 4, 6, 8), "key": (1, 2, 3, 4, 5)}


def generate(rng, knobs):
    words = []
    for _ in range(knobs["words"]):
        pairs = [rng.choice("bdfgklmnprst") + rng.choice("aeiou") for _ in range(rng.randrange(2, 4))]
        words.append("".join(pairs))
    key = [rng.randrange(1, 26) for _ in range(knobs["key"])]
    instance = {"text": shifted(" ".join(words), key), "key": key}
    return instance, solve(instance)


def shifted(text, key):
    letters = [at for at, letter in enumerate(text) if letter != " "]
    moved = list(text)
    for number, at in enumerate(letters):
        moved[at] = chr((ord(text[at]) - 97 + key[number % len(key)]) % 26 + 97)
    return "".join(moved)


def observe(instance):
    return (
        "Each letter of a text was moved forward in the alphabet, from z on to a: the first by the first number of the "
        f"key, and so on, and again from the first number when all were used. Blanks stayed and do not count. The key: "
        f"{' '.join(map(str, instance['key']))}. What came out: {instance['text']}\nWrite the text as it was."
    )


def solve(instance):
    return shifted(instance["text"], [-number for number in instance["key"]])


def verify(instance, reference, answer):
    return answer.strip() == reference
