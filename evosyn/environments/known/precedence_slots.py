"""When can each task of a project begin?"""

CATEGORY = "order-schedule"
KIND = "exact"
LEVELS = 5
KNOBS = {"tasks": (5, 7, 9, 12, 15), "most": (1, 2, 2, 3, 3)}


def generate(rng, knobs):
    tasks = []
    for at in range(knobs["tasks"]):
        needs = rng.sample(range(1, at + 1), min(at, rng.randrange(knobs["most"] + 1))) if at else []
        tasks.append({"days": rng.randrange(1, 10), "needs": sorted(needs)})
    instance = {"tasks": tasks}
    return instance, solve(instance)


def observe(instance):
    lines = [
        f"Task {i} takes {task['days']} days"
        + (f" and needs {', '.join(map(str, task['needs']))}" * bool(task["needs"]))
        for i, task in enumerate(instance["tasks"], 1)
    ]
    return (
        "\n".join(lines)
        + "\nA task begins as soon as all that it needs are finished; those that need nothing begin on "
        "day 0, and any number run at once. Write the day on which each task begins, task 1 first, with blanks between."
    )


def solve(instance):
    begin, end = [], []
    for task in instance["tasks"]:
        begin.append(max((end[i - 1] for i in task["needs"]), default=0))
        end.append(begin[-1] + task["days"])
    return " ".join(map(str, begin))


def verify(instance, reference, answer):
    return answer.split() == reference.split()
