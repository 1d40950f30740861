"""Answer a question about the rows of a table."""

CATEGORY = "sets-tables"
KIND = "exact"
LEVELS = 5
KNOBS = {"rows": (5, 7, 10, 14, 20)}
CITIES = ("Bern", "Lima", "Oslo")
COLOURS = ("red", "green", "blue")


def generate(rng, knobs):
    while True:
        rows = [[rng.choice(CITIES), rng.choice(COLOURS), rng.randrange(2, 99)] for _ in range(knobs["rows"])]
        query = {"city": rng.choice(CITIES), "colour": rng.choice(COLOURS), "least": rng.randrange(5, 40)}
        instance = {"rows": rows, **query}
        if sum(map(bool, chosen(instance))) >= 2:
            return instance, solve(instance)


def chosen(instance):
    return [
        number if number >= instance["least"] and (city == instance["city"] or colour == instance["colour"]) else 0
        for city, colour, number in instance["rows"]
    ]


def observe(instance):
    rows = "\n".join(
        f"{i} | {city} | {colour} | {number}" for i, (city, colour, number) in enumerate(instance["rows"], 1)
    )
    return (
        f"row | city | colour | number\n{rows}\nTake the rows whose number is at least {instance['least']} "
        "and whose city "
        f"is {instance['city']} or whose colour is {instance['colour']} (or both). What is the sum of their numbers?"
    )


def solve(instance):
    return str(sum(chosen(instance)))


def verify(instance, reference, answer):
    return answer.strip() == reference
