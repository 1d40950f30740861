"""Draw a figure in one stroke."""

import itertools

CATEGORY = "graph"
KIND = "feasible"
LEVELS = 5
KNOBS = {"points": (5, 6, 7, 9, 11), "lines": (6, 9, 12, 17, 24)}


def generate(rng, knobs):
    while True:
        way, lines = [rng.randrange(1, knobs["points"] + 1)], set()
        while len(lines) < knobs["lines"]:
            near = [
                i
                for i in range(1, knobs["points"] + 1)
                if i != way[-1] and (min(i, way[-1]), max(i, way[-1])) not in lines
            ]
            if not near:
                break
            there = rng.choice(near)
            lines.add((min(there, way[-1]), max(there, way[-1])))
            way.append(there)
        if len(lines) == knobs["lines"] and way[0] != way[-1]:
            shown = rng.sample(sorted(lines), len(lines))
            return {"start": way[0], "lines": [list(line) for line in shown]}, " ".join(map(str, way))


def observe(instance):
    lines = ", ".join(f"{a}-{b}" for a, b in instance["lines"])
    return (
        f"A figure has the lines {lines} between its points. Draw it in one stroke: begin at point {instance['start']} "
        "and go along every line exactly once, in either direction. Write the points in the order in which you come "
        "to them, the first included, separated by blanks."
    )


def solve(instance):
    left = [tuple(line) for line in instance["lines"]]
    stack, way = [instance["start"]], []
    while stack:
        line = next((one for one in left if stack[-1] in one), None)
        if line is None:
            way.append(stack.pop())
        else:
            left.remove(line)
            stack.append(line[0] + line[1] - stack[-1])
    return " ".join(map(str, way[::-1]))


def verify(instance, reference, answer):
    words = answer.split()
    if not words or words[0] != str(instance["start"]):
        return False
    steps = [sorted(step) for step in itertools.pairwise(words)]
    return sorted(steps) == sorted(sorted(map(str, line)) for line in instance["lines"])
