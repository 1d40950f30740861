"""Which of these numbers add up to a target?"""

CATEGORY = "constraint"
KIND = "feasible"
LEVELS = 5
KNOBS = {"numbers": (6, 8, 10, 12, 14), "largest": (30, 60, 99, 200, 400)}


def generate(rng, knobs):
    numbers = sorted(rng.sample(range(3, knobs["largest"] + 1), knobs["numbers"]))
    chosen = rng.sample(numbers, rng.randrange(3, knobs["numbers"] // 2 + 2))
    shown = rng.sample(numbers, len(numbers))
    return {"numbers": shown, "target": sum(chosen)}, sorted(chosen)


def observe(instance):
    numbers = ", ".join(map(str, instance["numbers"]))
    return (
        f"Choose some of the numbers {numbers} whose sum is {instance['target']}. "
        "Each may be used once. Write them in increasing order, separated by blanks."
    )


def solve(instance):
    ways = {0: []}
    for number in sorted(instance["numbers"]):
        for total, used in list(ways.items()):
            if total + number <= instance["target"]:
                ways.setdefault(total + number, [*used, number])
    return " ".join(map(str, ways[instance["target"]]))


def verify(instance, reference, answer):
    words = answer.split()
    if not all(word.isdigit() and len(word) < 9 for word in words):
        return False
    chosen = [int(word) for word in words]
    fits = all(number in instance["numbers"] for number in chosen)
    return fits and chosen == sorted(set(chosen)) and sum(chosen) == instance["target"]
