"""Follow a chain of operations modulo a number."""

CATEGORY = "number"
KIND = "exact"
LEVELS = 5
KNOBS = {"steps": (3, 5, 8, 12, 18), "modulus": (50, 97, 200, 500, 997)}


def generate(rng, knobs):
    steps = [[rng.choice(["add", "multiply by", "subtract"]), rng.randrange(2, 50)] for _ in range(knobs["steps"])]
    steps.append(["square", 0])
    rng.shuffle(steps)
    modulus = rng.randrange(knobs["modulus"] // 2 + 5, knobs["modulus"] + 1)
    instance = {"start": rng.randrange(2, modulus), "modulus": modulus, "steps": steps}
    return instance, solve(instance)


def observe(instance):
    lines = "\n".join(name if name == "square" else f"{name} {number}" for name, number in instance["steps"])
    return (
        f"Begin with {instance['start']}. After each of these steps keep only the remainder of the division by "
        f"{instance['modulus']}, from 0 to {instance['modulus'] - 1}:\n{lines}\nWhat is the last remainder?"
    )


def solve(instance):
    value = instance["start"]
    for name, number in instance["steps"]:
        change = {"add": value + number, "multiply by": value * number, "subtract": value - number}
        value = change.get(name, value * value) % instance["modulus"]
    return str(value)


def verify(instance, reference, answer):
    return answer.strip() == reference
