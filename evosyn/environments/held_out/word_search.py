"""Find a word in a square of letters."""

CATEGORY = "grid-spatial"
KIND = "exact"
LEVELS = 5
KNOBS = {"size": (6, 7, 9, 11, 14), "word": (4, 4, 5, 5, 6)}
STEPS = {"right": (0, 1), "left": (0, -1), "down": (1, 0), "up": (-1, 0)}


def generate(rng, knobs):
    n, k = knobs["size"], knobs["word"]
    while True:
        word = "".join(rng.choice("abcdef") for _ in range(k))
        grid = [[rng.choice("abcdef") for _ in range(n)] for _ in range(n)]
        down, right = rng.choice(list(STEPS.values()))
        row, column = rng.randrange(n), rng.randrange(n)
        if 0 <= row + down * (k - 1) < n and 0 <= column + right * (k - 1) < n:
            for at, letter in enumerate(word):
                grid[row + down * at][column + right * at] = letter
            instance = {"rows": ["".join(line) for line in grid], "word": word}
            if len(places(instance)) == 1:
                return instance, solve(instance)


def places(instance):
    rows, word = instance["rows"], instance["word"]
    n = len(rows)
    return [
        f"{row + 1} {column + 1} {name}"
        for row in range(n)
        for column in range(n)
        for name, (down, right) in STEPS.items()
        if all(
            0 <= row + down * at < n
            and 0 <= column + right * at < n
            and rows[row + down * at][column + right * at] == one
            for at, one in enumerate(word)
        )
    ]


def observe(instance):
    rows = "\n".join(instance["rows"])
    return (
        f"Letters:\n{rows}\nThe word {instance['word']} stands in one place among them, to be read to the "
        "right, to the "
        "left, down or up. Write the row and the column of its first letter, counted from 1, and then right, left, "
        "down or up, separated by blanks."
    )


def solve(instance):
    return places(instance)[0]


def verify(instance, reference, answer):
    return answer.lower().split() == reference.split()
