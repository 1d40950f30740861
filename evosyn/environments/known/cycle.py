"""Find a way round in a network of one-way streets."""

CATEGORY = "graph"
KIND = "feasible"
LEVELS = 5
KNOBS = {"nodes": (6, 8, 11, 14, 18), "length": (3, 4, 5, 6, 7)}


def generate(rng, knobs):
    n, length = knobs["nodes"], knobs["length"]
    order = rng.sample(range(1, n + 1), n)
    at = rng.randrange(n - length + 1)
    ring = order[at : at + length]
    streets = {(ring[i], ring[(i + 1) % length]) for i in range(length)}
    while len(streets) < n + length:
        low, high = sorted(rng.sample(range(n), 2))
        if not (at <= low and high < at + length):
            streets.add((order[low], order[high]))
    streets = sorted(streets)
    rng.shuffle(streets)
    return {"streets": [list(street) for street in streets]}, None


def observe(instance):
    streets = ", ".join(f"{a}>{b}" for a, b in instance["streets"])
    return (
        f"One-way streets lead from square to square: {streets}. Find a way round: different squares, each with a "
        "street to the next, and a street from the last to the first. Write the squares in order, beginning with the "
        "one of the smallest number, separated by blanks."
    )


def solve(instance):
    after = {}
    for a, b in instance["streets"]:
        after.setdefault(a, []).append(b)

    def walk(way):
        for square in after.get(way[-1], []):
            if square == way[0]:
                return way
            if square > way[0] and square not in way:
                found = walk([*way, square])
                if found:
                    return found
        return None

    return " ".join(map(str, next(way for way in map(walk, ([start] for start in sorted(after))) if way)))


def verify(instance, reference, answer):
    words = answer.split()
    if len(words) < 2 or not all(word.isdigit() and len(word) < 4 for word in words):
        return False
    way = [int(word) for word in words]
    closed = all([a, b] in instance["streets"] for a, b in zip(way, [*way[1:], way[0]], strict=True))
    return closed and len(set(way)) == len(way) and way[0] == min(way)
