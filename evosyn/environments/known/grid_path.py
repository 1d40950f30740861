"""Find a shortest way through a walled grid."""

from collections import deque

CATEGORY = "grid-spatial"
KIND = "feasible"
LEVELS = 5
KNOBS = {"size": (4, 5, 6, 7, 9)}
MOVES = {"U": (-1, 0), "D": (1, 0), "L": (0, -1), "R": (0, 1)}


def generate(rng, knobs):
    n = knobs["size"]
    while True:
        rows = ["".join("#" if rng.random() < 0.33 else "." for _ in range(n)) for _ in range(n)]
        start, goal = ([rng.randrange(n), rng.randrange(n)] for _ in range(2))
        instance = {"rows": rows, "start": start, "goal": goal}
        if rows[start[0]][start[1]] == rows[goal[0]][goal[1]] == "." and len(solve(instance)) >= n:
            return instance, solve(instance)


def observe(instance):
    rows = [list(row) for row in instance["rows"]]
    for mark, (row, column) in (("S", instance["start"]), ("G", instance["goal"])):
        rows[row][column] = mark
    grid = "\n".join("".join(row) for row in rows)
    return (
        f"A grid, # are walls:\n{grid}\nGo from S to G in as few moves as possible, each to a neighbouring field that "
        "is no wall: U up, D down, L left, R right. Write the moves as one word."
    )


def solve(instance):
    start, goal = tuple(instance["start"]), tuple(instance["goal"])
    ways = {start: ""}
    queue = deque([start])
    while queue:
        at = queue.popleft()
        for name, (down, right) in MOVES.items():
            there = (at[0] + down, at[1] + right)
            if there not in ways and is_free(instance["rows"], there):
                ways[there] = ways[at] + name
                queue.append(there)
    return ways.get(goal, "")


def is_free(rows, place):
    row, column = place
    return 0 <= row < len(rows) and 0 <= column < len(rows) and rows[row][column] == "."


def verify(instance, reference, answer):
    word, at = answer.strip(), tuple(instance["start"])
    for name in word:
        if name not in MOVES:
            return False
        at = (at[0] + MOVES[name][0], at[1] + MOVES[name][1])
        if not is_free(instance["rows"], at):
            return False
    return list(at) == instance["goal"] and len(word) == len(reference)
