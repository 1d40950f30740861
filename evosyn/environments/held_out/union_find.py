"""Who belongs together, as groups are merged?"""

CATEGORY = "sets-tables"
KIND = "exact"
LEVELS = 5
KNOBS = {"people": (6, 8, 11, 15, 20), "questions": (4, 5, 6, 7, 8)}


def generate(rng, knobs):
    n = knobs["people"]
    events = [["join", *rng.sample(range(1, n + 1), 2)] for _ in range(n * 2 // 3)]
    for _ in range(knobs["questions"]):
        events.insert(rng.randrange(2, len(events) + 1), ["ask", *rng.sample(range(1, n + 1), 2)])
    instance = {"people": n, "events": events}
    return instance, solve(instance)


def observe(instance):
    lines = [
        f"The groups of {a} and {b} merge." if what == "join" else f"Question: are {a} and {b} in one group now?"
        for what, a, b in instance["events"]
    ]
    return (
        f"People 1 to {instance['people']} are each a group at first. In order:\n"
        + "\n".join(lines)
        + "\nAnswer each question with Y or N, as one word, and after a blank say how many groups there are at the end."
    )


def solve(instance):
    group, answers = {i: i for i in range(1, instance["people"] + 1)}, ""
    for what, a, b in instance["events"]:
        if what == "ask":
            answers += "Y" if group[a] == group[b] else "N"
        else:
            old, new = group[a], group[b]
            group = {i: new if one == old else one for i, one in group.items()}
    return f"{answers} {len(set(group.values()))}"


def verify(instance, reference, answer):
    return answer.split() == reference.split()
