"""The report of a search as one that has ended writes it, as far as what tells of it reads it."""

from evosyn.records import Json

ROW = {"score": 0.5, "ci": [0.4, 0.6], "invalid": None, "control": False, "criterion1": 0.5,
       "testing_balanced_accuracy": 0.5}  # fmt: skip


def row(name: str, **changes: Json) -> Json:
    return {"strategy": name, **ROW, **changes}


def board(*rows: Json, problems: int = 20, tasks: int = 20) -> Json:
    return {"problems": problems, "tasks": tasks, "strategies": list(rows), "M": 8, "N": 8, "ties": "expected",
            "oracle": 1.0, "reachable": None, "pools": {}}  # fmt: skip


def side(name: str = "c", score: float | None = 0.5, proposer: str = "", invalid: str | None = None) -> Json:
    return {"id": name, "proposer": proposer, "heldout_score": score, "heldout_invalid": invalid}


def search_report(held: Json = None, **changes: Json) -> Json:
    held = held or board()
    report = {
        "best": side(), "initial": side(), "difference": {"heldout": 0.0, "ci": None}, "beats_initial": False,
        "evaluations": 3, "simulated": False, "unusable_replies": {}, "spent": {}, "proposers": {},
        "selection": {"winner_is": "evolved", "gain": None}, "leaderboard": {"train": held, "heldout": held},
    }  # fmt: skip
    return {**report, **changes}
