"""Which of these statements about numbers are true?"""

CATEGORY = "expression"
KIND = "exact"
LEVELS = 5
KNOBS = {"lines": (4, 5, 6, 7, 8), "terms": (2, 2, 3, 3, 4)}


def generate(rng, knobs):
    lines = []
    for _ in range(knobs["lines"]):
        terms = [[rng.randrange(20), rng.choice(["<", ">", "=="]), rng.randrange(20)] for _ in range(knobs["terms"])]
        for term in terms:
            if term[1] == "==" and rng.random() < 0.6:
                term[2] = term[0]
        lines.append({"terms": terms, "joins": [rng.choice(["and", "or"]) for _ in terms[1:]]})
    instance = {"lines": lines}
    return instance, solve(instance)


def observe(instance):
    lines = []
    for number, line in enumerate(instance["lines"], 1):
        words = [f"{a} {sign} {b}" for a, sign, b in line["terms"]]
        lines.append(
            f"{number}. " + words[0] + "".join(f" {j} {w}" for j, w in zip(line["joins"], words[1:], strict=True))
        )
    return (
        "\n".join(lines) + "\n`and` binds stronger than `or`. For each line write T if it is true and F if it is not, "
        "line 1 first, as one word."
    )


def solve(instance):
    found = ""
    for line in instance["lines"]:
        values = [{"<": a < b, ">": a > b, "==": a == b}[sign] for a, sign, b in line["terms"]]
        groups = [[values[0]]]
        for join, value in zip(line["joins"], values[1:], strict=True):
            if join == "and":
                groups[-1].append(value)
            else:
                groups.append([value])
        found += "T" if any(map(all, groups)) else "F"
    return found


def verify(instance, reference, answer):
    return answer.strip() == reference
