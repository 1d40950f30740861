"""Where does a robot end that obeys commands?"""

CATEGORY = "state-machine"
KIND = "exact"
LEVELS = 5
KNOBS = {"commands": (5, 8, 12, 18, 26)}
HEADINGS = "NESW"


def generate(rng, knobs):
    commands = [
        rng.choice(["left", "right", "turn round"]) if rng.random() < 0.4 else f"{rng.choice(['go', 'back'])} {step}"
        for step in (rng.randrange(1, 10) for _ in range(knobs["commands"]))
    ]
    start = [rng.randrange(-9, 10), rng.randrange(-9, 10), rng.choice(HEADINGS)]
    instance = {"start": start, "commands": commands}
    return instance, solve(instance)


def observe(instance):
    x, y, heading = instance["start"]
    return (
        f"A robot stands at ({x}, {y}) and faces {heading}. North (N) is towards larger y, east (E) towards "
        "larger x. It "
        f"obeys: {'; '.join(instance['commands'])}. Left and right are quarter turns; back moves it without turning. "
        "Where is it then, and where does it face? Write x, y and the letter, separated by blanks."
    )


def solve(instance):
    x, y, heading = instance["start"]
    facing = HEADINGS.index(heading)
    for command in instance["commands"]:
        word, _, steps = command.rpartition(" ")
        turn = {"left": 3, "right": 1, "turn round": 2}.get(command)
        if turn:
            facing = (facing + turn) % 4
        else:
            far = int(steps) if word == "go" else -int(steps)
            x, y = x + (0, far, 0, -far)[facing], y + (far, 0, -far, 0)[facing]
    return f"{x} {y} {HEADINGS[facing]}"


def verify(instance, reference, answer):
    return answer.replace(",", " ").split() == reference.split()
