"""Press lamps until all are dark."""

import itertools

CATEGORY = "games-search"
KIND = "feasible"
LEVELS = 5
KNOBS = {"rows": (2, 3, 3, 4, 5), "columns": (3, 3, 4, 4, 4)}


def generate(rng, knobs):
    rows, columns = knobs["rows"], knobs["columns"]
    while True:
        presses = [[rng.randrange(2) for _ in range(columns)] for _ in range(rows)]
        lamps = after([[0] * columns for _ in range(rows)], presses)
        if any(map(any, lamps)):
            return {"lamps": lamps}, None


def after(lamps, presses):
    rows, columns = len(lamps), len(lamps[0])
    return [
        [
            (
                lamps[r][c]
                + sum(
                    presses[y][x]
                    for y, x in ((r, c), (r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1))
                    if 0 <= y < rows and 0 <= x < columns
                )
            )
            % 2
            for c in range(columns)
        ]
        for r in range(rows)
    ]


def text(cells):
    return " ".join("".join(map(str, row)) for row in cells)


def observe(instance):
    rows = "\n".join(text(instance["lamps"]).split())
    return (
        f"Lamps, 1 is lit and 0 is dark:\n{rows}\nPressing a lamp changes it and its neighbours above, below, left and "
        "right. Which lamps must be pressed so that all are dark? Write 1 for each that is pressed and 0 for the "
        "others, row by row as above, the rows separated by blanks."
    )


def solve(instance):
    lamps = instance["lamps"]
    for first in itertools.product([0, 1], repeat=len(lamps[0])):
        presses = [list(first)]
        for _ in lamps[1:]:
            done = after(lamps[: len(presses)], presses)
            presses.append(done[-1])
        if not any(map(any, after(lamps, presses))):
            return text(presses)
    return ""


def verify(instance, reference, answer):
    lamps, words = instance["lamps"], answer.split()
    if [len(word) for word in words] != [len(row) for row in lamps] or not set("".join(words)) <= {"0", "1"}:
        return False
    return not any(map(any, after(lamps, [[int(one) for one in word] for word in words])))
