"""Put tasks into an order that respects what must come first."""

CATEGORY = "graph"
KIND = "feasible"
LEVELS = 5
KNOBS = {"tasks": (5, 7, 9, 12, 16), "rules": (6, 10, 15, 24, 38)}


def generate(rng, knobs):
    n = knobs["tasks"]
    order = rng.sample(range(1, n + 1), n)
    close = [(order[i], order[i + 1]) for i in range(n - 1) if i >= n - 3 or rng.random() < 0.6]
    pairs = [(order[a], order[b]) for b in range(n) for a in range(b) if (order[a], order[b]) not in close]
    rules = close + rng.sample(pairs, min(len(pairs), max(1, knobs["rules"] - len(close))))
    rng.shuffle(rules)
    return {"tasks": n, "rules": [list(rule) for rule in rules]}, None


def observe(instance):
    rules = ", ".join(f"{a} before {b}" for a, b in instance["rules"])
    return (
        f"Do the tasks 1 to {instance['tasks']} one after the other. Rules: {rules}. "
        "Write an order that keeps all rules, first task first, separated by blanks."
    )


def solve(instance):
    left, order = list(range(1, instance["tasks"] + 1)), []
    while left:
        task = next(one for one in left if not any(b == one and a in left for a, b in instance["rules"]))
        left.remove(task)
        order.append(task)
    return " ".join(map(str, order))


def verify(instance, reference, answer):
    words = answer.split()
    if sorted(words) != sorted(map(str, range(1, instance["tasks"] + 1))):
        return False
    place = {int(word): at for at, word in enumerate(words)}
    return all(place[a] < place[b] for a, b in instance["rules"])
