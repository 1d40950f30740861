"""How many assignments make a formula true?"""

import itertools

CATEGORY = "logic"
KIND = "exact"
LEVELS = 5
KNOBS = {"variables": (3, 4, 4, 5, 5), "operators": (3, 5, 7, 10, 14)}


def generate(rng, knobs):
    while True:
        formula = build(rng, "abcde"[: knobs["variables"]], knobs["operators"])
        instance = {"variables": knobs["variables"], "formula": formula}
        if 0 < int(solve(instance)) < 2 ** knobs["variables"]:
            return instance, solve(instance)


def build(rng, names, operators):
    if operators == 0:
        return rng.choice(names)
    if rng.random() < 0.2:
        return ["not", build(rng, names, operators - 1)]
    left = rng.randrange(operators)
    operator = rng.choice(["and", "or", "xor"])
    return [operator, build(rng, names, left), build(rng, names, operators - 1 - left)]


def value(formula, given):
    if isinstance(formula, str):
        return given[formula]
    if formula[0] == "not":
        return not value(formula[1], given)
    left, right = value(formula[1], given), value(formula[2], given)
    return {"and": left and right, "or": left or right, "xor": left != right}[formula[0]]


def text(formula):
    if isinstance(formula, str):
        return formula
    if formula[0] == "not":
        return f"not {text(formula[1])}"
    return f"({text(formula[1])} {formula[0]} {text(formula[2])})"


def observe(instance):
    names = ", ".join("abcde"[: instance["variables"]])
    return (
        f"The variables {names} are each true or false. How many of the {2 ** instance['variables']} assignments make "
        f"this formula true?\n{text(instance['formula'])}\n`not` binds strongest; xor is true if exactly one side is. "
        "Answer with the number."
    )


def solve(instance):
    names = "abcde"[: instance["variables"]]
    rows = itertools.product([False, True], repeat=len(names))
    return str(sum(value(instance["formula"], dict(zip(names, row, strict=True))) for row in rows))


def verify(instance, reference, answer):
    return answer.strip() == reference
