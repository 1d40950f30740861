"""Complete a board of queens that do not attack each other."""

CATEGORY = "constraint"
KIND = "feasible"
LEVELS = 5
KNOBS = {"size": (5, 6, 7, 8, 9), "given": (1, 1, 2, 2, 2)}


def generate(rng, knobs):
    n = knobs["size"]
    while True:
        columns = place(n, {}, rng.sample(range(n), n))
        if columns:
            break
    rows = sorted(rng.sample(range(n), knobs["given"]))
    return {"size": n, "given": [[row + 1, columns[row] + 1] for row in rows]}, None


def place(n, fixed, order):
    columns = []

    def go():
        row = len(columns)
        if row == n:
            return True
        for column in [fixed[row]] if row in fixed else order:
            if all(column != c and abs(column - c) != row - r for r, c in enumerate(columns)):
                columns.append(column)
                if go():
                    return True
                columns.pop()
        return False

    return columns if go() else None


def observe(instance):
    n = instance["size"]
    given = ", ".join(f"row {row}, column {column}" for row, column in instance["given"])
    return (
        f"On a board of {n} rows and {n} columns queens stand at: {given}. Add queens so that each row has one and no "
        "two share a column or a diagonal. Write the column of the queen of each row, row 1 first, separated by blanks."
    )


def solve(instance):
    n = instance["size"]
    fixed = {row - 1: column - 1 for row, column in instance["given"]}
    return " ".join(str(column + 1) for column in place(n, fixed, range(n)))


def verify(instance, reference, answer):
    n, words = instance["size"], answer.split()
    if len(words) != n or not all(word in map(str, range(1, n + 1)) for word in words):
        return False
    columns = [int(word) for word in words]
    if any(columns[row - 1] != column for row, column in instance["given"]):
        return False
    pairs = [(a, b) for b in range(n) for a in range(b)]
    return all(columns[a] != columns[b] and abs(columns[a] - columns[b]) != b - a for a, b in pairs)
