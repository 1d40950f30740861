"""Find a longest increasing subsequence."""

CATEGORY = "dynamic-programming"
KIND = "feasible"
LEVELS = 5
KNOBS = {"length": (7, 10, 14, 19, 25)}


def generate(rng, knobs):
    instance = {"numbers": rng.sample(range(1, 4 * knobs["length"]), knobs["length"])}
    return instance, solve(instance)


def observe(instance):
    numbers = " ".join(map(str, instance["numbers"]))
    return (
        f"Numbers in a row: {numbers}\nCross out as few as possible so that the rest, in the order in which it stands, "
        "increases from each number to the next. Write the rest, separated by blanks."
    )


def solve(instance):
    best = []
    for number in instance["numbers"]:
        before = max((one for one in best if one[-1] < number), key=len, default=[])
        best.append([*before, number])
    return " ".join(map(str, max(best, key=len)))


def verify(instance, reference, answer):
    words = answer.split()
    left = iter(map(str, instance["numbers"]))
    if not all(word in left for word in words):
        return False
    rest = [int(word) for word in words]
    return rest == sorted(set(rest)) and len(rest) == len(reference.split())
