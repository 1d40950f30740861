"""Where does a row of brackets go wrong?"""

CATEGORY = "sequence-string"
KIND = "exact"
LEVELS = 5
KNOBS = {"length": (12, 18, 26, 38, 54)}
PAIRS = {"(": ")", "[": "]", "{": "}"}


def generate(rng, knobs):
    while True:
        text, open_ones = "", []
        for left in range(knobs["length"], 0, -1):
            if not open_ones or (len(open_ones) < left and rng.random() < 0.55):
                open_ones.append(rng.choice("([{"))
                text += open_ones[-1]
            else:
                text += PAIRS[open_ones.pop()]
        at = rng.randrange(3, len(text))
        instance = {"text": text[:at] + rng.choice(")]}") + text[at + 1 :]}
        if solve(instance) != "0":
            return instance, solve(instance)


def observe(instance):
    return (
        f"A row of brackets: {instance['text']}\nGoing from left to right, each closing bracket must close "
        "the last one "
        "that is still open, and be of its kind. The first character that breaks this is the how many-th of the row, "
        "counted from 1? Where no character does, the answer is 0."
    )


def solve(instance):
    open_ones = []
    for at, one in enumerate(instance["text"], 1):
        if one in PAIRS:
            open_ones.append(PAIRS[one])
        elif not open_ones or open_ones.pop() != one:
            return str(at)
    return "0"


def verify(instance, reference, answer):
    return answer.strip() == reference
