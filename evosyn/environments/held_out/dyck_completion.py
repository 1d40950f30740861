"""Close all brackets that are open."""

CATEGORY = "sequence-string"
KIND = "exact"
LEVELS = 5
KNOBS = {"length": (10, 15, 22, 32, 46), "depth": (3, 4, 5, 7, 9)}
PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def generate(rng, knobs):
    while True:
        text, depth = "", 0
        waiting = []
        for _ in range(knobs["length"]):
            if not waiting or (depth < knobs["depth"] + 2 and rng.random() < 0.6):
                waiting.append(rng.choice("([{<"))
                text += waiting[-1]
            else:
                text += PAIRS[waiting.pop()]
            depth = len(waiting)
        if depth >= knobs["depth"]:
            instance = {"text": text}
            return instance, solve(instance)


def observe(instance):
    return (
        f"A row of brackets of four kinds begins like this: {instance['text']}\nWrite the shortest row of "
        "brackets that "
        "must follow so that every bracket is closed in the right order; only what follows."
    )


def solve(instance):
    waiting = []
    for one in instance["text"]:
        if one in PAIRS:
            waiting.append(PAIRS[one])
        else:
            waiting.pop()
    return "".join(reversed(waiting))


def verify(instance, reference, answer):
    return answer.strip() == reference
