"""Which numbers does a binary search look at?"""

CATEGORY = "sequence-string"
KIND = "exact"
LEVELS = 5
KNOBS = {"numbers": (9, 14, 22, 36, 60)}


def generate(rng, knobs):
    numbers = sorted(rng.sample(range(1, 9 * knobs["numbers"]), knobs["numbers"]))
    while True:
        instance = {"numbers": numbers, "target": rng.randrange(1, 9 * knobs["numbers"])}
        if len(solve(instance).split()) > 2:
            return instance, solve(instance)


def observe(instance):
    numbers = " ".join(map(str, instance["numbers"]))
    return (
        f"Numbers in places 0, 1, 2, ...: {numbers}\nA search for {instance['target']} keeps a range of "
        "places, at first "
        "all. It looks at the middle place, half the sum of the first and last place of the range, rounded "
        "down. If the "
        "number there is the target, it ends; if it is smaller, the range goes on behind it, else before it; an empty "
        "range ends the search. Write the numbers that it looks at, in order, separated by blanks."
    )


def solve(instance):
    low, high, seen = 0, len(instance["numbers"]) - 1, []
    while low <= high:
        middle = (low + high) // 2
        seen.append(instance["numbers"][middle])
        if seen[-1] == instance["target"]:
            break
        low, high = (middle + 1, high) if seen[-1] < instance["target"] else (low, middle - 1)
    return " ".join(map(str, seen))


def verify(instance, reference, answer):
    return answer.split() == reference.split()
