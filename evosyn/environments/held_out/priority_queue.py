"""What leaves a queue in which the urgent go first?"""

CATEGORY = "state-machine"
KIND = "exact"
LEVELS = 5
KNOBS = {"events": (7, 10, 14, 20, 28)}


def generate(rng, knobs):
    events, waiting = [], 0
    urgencies = rng.sample(range(1, 100), knobs["events"])
    while len(events) < knobs["events"] or waiting:
        if len(events) < knobs["events"] and (waiting < 2 or rng.random() < 0.55):
            events.append(["add", urgencies.pop()])
            waiting += 1
        elif len(events) >= knobs["events"] and rng.random() < 0.3:
            break
        else:
            events.append(["take", 0])
            waiting -= 1
    instance = {"events": events}
    return instance, solve(instance)


def observe(instance):
    events = ", ".join(f"add {number}" if what == "add" else "take" for what, number in instance["events"])
    return (
        f"A queue is empty at first. Events: {events}. A take removes the largest number that is in the queue then. "
        "Write the numbers that are taken, in the order in which they leave, separated by blanks."
    )


def solve(instance):
    waiting, taken = [], []
    for what, number in instance["events"]:
        if what == "add":
            waiting.append(number)
        else:
            taken.append(max(waiting))
            waiting.remove(taken[-1])
    return " ".join(map(str, taken))


def verify(instance, reference, answer):
    return answer.split() == reference.split()
