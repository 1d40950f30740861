"""Colour a graph with three colours."""

CATEGORY = "graph"
KIND = "feasible"
LEVELS = 5
KNOBS = {"nodes": (5, 7, 9, 12, 15), "edges": (6, 10, 15, 22, 30)}


def generate(rng, knobs):
    n = knobs["nodes"]
    colours = [i % 3 for i in range(n)]
    rng.shuffle(colours)
    pairs = [[a + 1, b + 1] for b in range(n) for a in range(b) if colours[a] != colours[b]]
    edges = sorted(rng.sample(pairs, min(knobs["edges"], len(pairs))))
    return {"nodes": n, "edges": edges}, None


def observe(instance):
    edges = ", ".join(f"{a}-{b}" for a, b in instance["edges"])
    return (
        f"A graph has the nodes 1 to {instance['nodes']} and the edges {edges}. Give each node one of the "
        "colours 1, 2, "
        "3 so that no edge joins two of the same colour. Write the colours, node 1 first, separated by blanks."
    )


def solve(instance):
    n = instance["nodes"]
    near = {i: [a + b - i for a, b in instance["edges"] if i in (a, b)] for i in range(1, n + 1)}
    order = sorted(near, key=lambda i: -len(near[i]))
    colours = {}

    def go(at):
        if at == n:
            return True
        for colour in (1, 2, 3):
            if all(colours.get(other) != colour for other in near[order[at]]):
                colours[order[at]] = colour
                if go(at + 1):
                    return True
                del colours[order[at]]
        return False

    go(0)
    return " ".join(str(colours[i]) for i in range(1, n + 1))


def verify(instance, reference, answer):
    words = answer.split()
    if len(words) != instance["nodes"] or not all(word in ("1", "2", "3") for word in words):
        return False
    return all(words[a - 1] != words[b - 1] for a, b in instance["edges"])
