"""How large are the connected parts of a graph?"""

CATEGORY = "graph"
KIND = "exact"
LEVELS = 5
KNOBS = {"nodes": (7, 10, 14, 19, 25)}


def generate(rng, knobs):
    n = knobs["nodes"]
    group = [rng.randrange(2 + n // 5) for _ in range(n)]
    pairs = [[a + 1, b + 1] for b in range(n) for a in range(b) if group[a] == group[b]]
    edges = rng.sample(pairs, min(n, len(pairs) * 2 // 3))
    instance = {"nodes": n, "edges": edges}
    return instance, solve(instance)


def observe(instance):
    edges = ", ".join(f"{a}-{b}" for a, b in instance["edges"])
    return (
        f"A graph has the nodes 1 to {instance['nodes']} and the edges {edges}. How many nodes do its connected parts "
        "have? Write the sizes, largest first, separated by blanks; a node without edges is a part of its own."
    )


def solve(instance):
    parts = {i: {i} for i in range(1, instance["nodes"] + 1)}
    for a, b in instance["edges"]:
        if parts[a] is not parts[b]:
            whole = parts[a] | parts[b]
            for node in whole:
                parts[node] = whole
    sizes = [len(part) for part in {id(part): part for part in parts.values()}.values()]
    return " ".join(map(str, sorted(sizes, reverse=True)))


def verify(instance, reference, answer):
    return answer.split() == reference.split()
