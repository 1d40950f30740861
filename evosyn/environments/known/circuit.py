"""What does every gate of a circuit give?"""

CATEGORY = "logic"
KIND = "exact"
LEVELS = 5
KNOBS = {"inputs": (3, 3, 4, 4, 5), "gates": (4, 6, 9, 12, 16)}


def generate(rng, knobs):
    n = knobs["inputs"]
    wires = [f"x{i}" for i in range(n)]
    gates = []
    for at in range(knobs["gates"]):
        one, other = rng.sample(wires, 2)
        gates.append([rng.choice(["AND", "OR", "XOR", "NAND", "NOR"]), one, other])
        wires.append(f"g{at}")
    instance = {"inputs": [rng.randrange(2) for _ in range(n)], "gates": gates}
    return instance, solve(instance)


def observe(instance):
    given = ", ".join(f"x{i} = {bit}" for i, bit in enumerate(instance["inputs"]))
    gates = "\n".join(f"g{i} = {name} of {one} and {other}" for i, (name, one, other) in enumerate(instance["gates"]))
    return (
        f"A circuit has the inputs {given} and these gates:\n{gates}\n"
        "Write what the gates give, g0 first, as one word of 0 and 1."
    )


def solve(instance):
    wires = {f"x{i}": bit for i, bit in enumerate(instance["inputs"])}
    for at, (name, one, other) in enumerate(instance["gates"]):
        a, b = wires[one], wires[other]
        wires[f"g{at}"] = {"AND": a & b, "OR": a | b, "XOR": a ^ b, "NAND": 1 - (a & b), "NOR": 1 - (a | b)}[name]
    return "".join(str(wires[f"g{at}"]) for at in range(len(instance["gates"])))


def verify(instance, reference, answer):
    return answer.strip() == reference
