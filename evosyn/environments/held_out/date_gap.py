"""On which day does a chain of waits end?"""

import datetime

CATEGORY = "date-time"
KIND = "exact"
LEVELS = 5
KNOBS = {"steps": (1, 2, 3, 5, 8), "longest": (40, 90, 150, 250, 400)}


def generate(rng, knobs):
    start = datetime.date(rng.randrange(1990, 2050), rng.randrange(1, 13), rng.randrange(1, 29))
    steps = []
    for _ in range(knobs["steps"]):
        unit = rng.choice(["days", "weeks"])
        most = knobs["longest"] if unit == "days" else knobs["longest"] // 7
        steps.append([rng.choice(["later", "earlier"]), rng.randrange(2, most + 1), unit])
    instance = {"start": start.isoformat(), "steps": steps}
    return instance, solve(instance)


def observe(instance):
    steps = ", then ".join(f"{number} {unit} {way}" for way, number, unit in instance["steps"])
    return (
        f"Begin on {instance['start']} (year-month-day). Which day is it {steps}? Mind leap years. Write the "
        "date in the "
        "same form, and after a blank the day of the week in English."
    )


def solve(instance):
    day = datetime.date.fromisoformat(instance["start"])
    for way, number, unit in instance["steps"]:
        gap = datetime.timedelta(days=number * (7 if unit == "weeks" else 1))
        day = day + gap if way == "later" else day - gap
    names = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
    return f"{day.isoformat()} {names[day.weekday()]}"


def verify(instance, reference, answer):
    return answer.lower().replace(",", " ").split() == reference.lower().split()
