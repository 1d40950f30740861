"""Fill a square of four by four."""

CATEGORY = "constraint"
KIND = "exact"
LEVELS = 5
KNOBS = {"blanks": (4, 6, 8, 9, 10)}


def generate(rng, knobs):
    while True:
        full = fill({}, rng.sample(range(1, 5), 4))[rng.randrange(2)]
        rows = rng.sample([0, 1], 2) + rng.sample([2, 3], 2)
        cells = {4 * r + c: full[4 * rows[r] + c] for r in range(4) for c in range(4)}
        if rng.random() < 0.5:
            cells = {4 * r + c: cells[4 * c + r] for r in range(4) for c in range(4)}
        for cell in rng.sample(range(16), 16):
            less = {at: number for at, number in cells.items() if at != cell}
            if 16 - len(cells) < knobs["blanks"] and len(fill(less, range(1, 5))) == 1:
                cells = less
        if 16 - len(cells) == knobs["blanks"]:
            instance = {"given": [[at // 4 + 1, at % 4 + 1, number] for at, number in sorted(cells.items())]}
            return instance, solve(instance)


def fill(given, order):
    found = []
    cells = [given.get(at, 0) for at in range(16)]

    def fits(at, number):
        row, column = divmod(at, 4)
        return all(
            cells[other] != number or other == at
            for other in range(16)
            if other // 4 == row or other % 4 == column or (other // 8, other % 4 // 2) == (at // 8, column // 2)
        )

    def go(at):
        if len(found) > 1:
            return
        if at == 16:
            found.append(list(cells))
        elif at in given:
            go(at + 1)
        else:
            for number in order:
                if fits(at, number):
                    cells[at] = number
                    go(at + 1)
                    cells[at] = 0

    go(0)
    return found


def observe(instance):
    given = {(row, column): number for row, column, number in instance["given"]}
    rows = [" ".join(str(given.get((r, c), ".")) for c in range(1, 5)) for r in range(1, 5)]
    return (
        "Fill each dot with a number from 1 to 4 so that every row, every column and every quarter of two by two holds "
        "each number once:\n" + "\n".join(rows) + "\nWrite the four rows as four words of four digits."
    )


def solve(instance):
    given = {4 * (row - 1) + column - 1: number for row, column, number in instance["given"]}
    (cells,) = fill(given, range(1, 5))
    digits = "".join(map(str, cells))
    return " ".join(digits[at : at + 4] for at in range(0, 16, 4))


def verify(instance, reference, answer):
    return answer.split() == reference.split()
