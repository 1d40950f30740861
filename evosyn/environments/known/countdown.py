"""Reach a target with given numbers and arithmetic."""

import re

CATEGORY = "expression"
KIND = "feasible"
LEVELS = 5
KNOBS = {"numbers": (3, 3, 4, 4, 5), "largest": (9, 25, 25, 60, 60)}


def generate(rng, knobs):
    while True:
        numbers = [rng.randrange(2, knobs["largest"] + 1) for _ in range(knobs["numbers"])]
        value, text = numbers[0], str(numbers[0])
        for number in numbers[1:]:
            operator = rng.choice("+-*")
            text = f"({text} {operator} {number})"
            value = apply(operator, value, number)
        if 9 < value < 1000 and value not in numbers:
            return {"numbers": rng.sample(numbers, len(numbers)), "target": value}, text[1:-1]


def apply(operator, one, other):
    return {"+": one + other, "-": one - other, "*": one * other}[operator]


def observe(instance):
    numbers = ", ".join(map(str, instance["numbers"]))
    return (
        f"Write an expression of the value {instance['target']} in which each of the numbers {numbers} stands exactly "
        "once (one that is listed twice, twice), joined by +, - and *, with brackets where they are needed."
    )


def solve(instance):
    def go(parts):
        if len(parts) == 1:
            return parts[0][1] if parts[0][0] == instance["target"] else None
        for i in range(len(parts)):
            for j in range(len(parts)):
                if i != j:
                    rest = [part for at, part in enumerate(parts) if at not in (i, j)]
                    for operator in "+-*":
                        if operator == "-" or i < j:
                            value = apply(operator, parts[i][0], parts[j][0])
                            found = go([(value, f"({parts[i][1]} {operator} {parts[j][1]})"), *rest])
                            if found:
                                return found
        return None

    return go([(number, str(number)) for number in instance["numbers"]])[1:-1]


def value_of(tokens):
    """The value of an expression by recursive descent; it raises ValueError where there is none."""

    def factor():
        token = tokens.pop(0) if tokens else ""
        if token == "(":
            value = total()
            if not tokens or tokens.pop(0) != ")":
                raise ValueError("bracket")
            return value
        return int(token)

    def product():
        value = factor()
        while tokens and tokens[0] == "*":
            tokens.pop(0)
            value *= factor()
        return value

    def total():
        value = product()
        while tokens and tokens[0] in "+-":
            value = apply(tokens.pop(0), value, product())
        return value

    value = total()
    if tokens:
        raise ValueError("rest")
    return value


def verify(instance, reference, answer):
    if not re.fullmatch(r"[0-9+*() -]{1,200}", answer):
        return False
    tokens = re.findall(r"\d+|[+*()-]", answer)
    if sorted(token for token in tokens if token.isdigit()) != sorted(map(str, instance["numbers"])):
        return False
    try:
        return value_of(tokens) == instance["target"]
    except ValueError:
        return False
