"""Which classes does a thing surely belong to?"""

CATEGORY = "logic"
KIND = "exact"
LEVELS = 5
KNOBS = {"classes": (5, 7, 9, 12, 15), "extra": (1, 2, 3, 4, 5)}


def generate(rng, knobs):
    n = knobs["classes"]
    names = [a + b + c for a in ("bl", "cr", "dw", "fl", "gr", "pl") for b in "aeiou" for c in ("ck", "mp", "nt", "sk")]
    names = rng.sample(names, n)
    chain = 2 + (n - 2) // 2
    rules = [[names[i], names[i + 1]] for i in range(chain)]
    for at in range(chain + 1, n):
        rules.append([names[at], names[rng.randrange(at)]])
    for _ in range(knobs["extra"]):
        low, high = sorted(rng.sample(range(chain + 1), 2))
        rules.append([names[low], names[high]] if rng.random() < 0.5 else [names[high - 1], names[high]])
    rules = [list(pair) for pair in dict.fromkeys(map(tuple, rules))]
    rng.shuffle(rules)
    instance = {"rules": rules, "start": names[rng.randrange(2)]}
    return instance, solve(instance)


def observe(instance):
    lines = "\n".join(f"Every {one} is a {other}." for one, other in instance["rules"])
    return (
        f"{lines}\nTom is a {instance['start']}. What else is Tom for sure? Give all such words in alphabetical "
        f"order, separated by commas, without {instance['start']} itself."
    )


def solve(instance):
    known = [instance["start"]]
    for one in known:
        known += [b for a, b in instance["rules"] if a == one and b not in known]
    return ", ".join(sorted(known[1:]))


def verify(instance, reference, answer):
    return [word.strip() for word in answer.split(",")] == reference.split(", ")
