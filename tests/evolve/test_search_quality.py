"""The report of the protocol for searches: what is counted once, and what it refuses to put together."""

import argparse
import importlib.util
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evosyn.errors import UsageError
from evosyn.matrices import write_matrices
from evosyn.records import PassMatrix

PATH = Path(__file__).parents[2] / "benchmarks" / "search_quality.py"
SPEC = importlib.util.spec_from_file_location("search_quality", PATH)
assert SPEC is not None and SPEC.loader is not None
quality = importlib.util.module_from_spec(SPEC)
sys.modules["search_quality"] = quality
SPEC.loader.exec_module(quality)
PER_FOLD = 8


def tasks_of(fold: int) -> list[str]:
    return [f"HumanEval/{fold * PER_FOLD + at}" for at in range(PER_FOLD)]


def scores(tasks: list[str], ahead: float) -> list[float]:
    return [round(0.4 + ahead * (int(task.split("/")[1]) % 3), 4) for task in tasks]


def known_line(setting: str, fold: int) -> dict[str, Any]:
    tasks = tasks_of(fold)
    return {
        "problems": [f"{setting}/{task}" for task in tasks],
        "tasks": tasks,
        "pools": [""] * PER_FOLD,
        "rows": {"codet_gap": scores(tasks, 0.0), "codet": scores(tasks, -0.1)},
        "chosen": "codet_gap",
        "oracle": scores(tasks, 0.3),
        quality.REACHABLE: scores(tasks, 0.2),
    }


def searched(fold: int, ahead: float) -> dict[str, Any]:
    return {
        "scores": scores(tasks_of(fold), ahead),
        "searched": 0.5,
        "fresh": 0.45,
        "evolved_wins": True,
        "gain": [0.02, 0.01, 0.004],
        "draws": {"fresh": 160, "single": 0, "problems": PER_FOLD},
        "elsewhere": {quality.UNRECORDED: {"best": "codet", "ahead": -0.01 * fold, "problems": PER_FOLD}},
    }


def filled(folder: Path, setting: str, evolve: float = 0.1, arms: tuple[str, ...] = ("evolve", "iid")) -> None:
    results = quality.Results(folder, setting)
    results.begin({"version": quality.VERSION, "setting": setting, "evaluations": 3})
    for part in quality.PARTS:
        if part.arm is None:
            results.add(part, known_line(setting, part.fold))
        elif part.arm in arms:
            results.add(part, searched(part.fold, evolve if part.arm == "evolve" else 0.05))


def report_of(folder: Path, *settings: str) -> list[Any]:
    return [quality.SettingReport(folder, setting) for setting in settings]


def test_a_row_has_its_difference_its_share_and_its_interval(tmp_path: Path) -> None:
    filled(tmp_path, "lists")
    (report,) = report_of(tmp_path, "lists")
    lines = list(report.lines())
    assert lines[0] == "## lists: 35 of 50 parts" and "40 problems" in lines[1]
    rows = {line.split(" | ")[0].removeprefix("| "): line for line in lines if line.startswith("| ")}
    assert " 3 | 0.497 | +0.098 [" in rows["evolve"] and rows["evolve"].endswith("| +33% |")
    assert {quality.ORACLE, quality.REACHABLE, quality.BEST, "iid", "codet"} <= rows.keys()
    told = "\n".join(lines)
    assert "evolve over iid: +0.049 [" in told and "hillclimb" not in told
    assert "winners on without texts and values, over the rule that is best there with hindsight: -0.020" in told


def test_a_task_of_two_settings_counts_once_and_what_has_both_is_left_out(tmp_path: Path) -> None:
    for setting in ("lists", "asserts", "both"):
        filled(tmp_path, setting)
    (alone,) = (list(quality.together(report_of(tmp_path, "lists"))),)
    shared = list(quality.together(report_of(tmp_path, "lists", "asserts", "both")))
    assert alone[0].split("]")[0] == shared[0].split("]")[0], "the same tasks twice are no surer"
    assert "40 problems" in alone[0] and "80 problems" in shared[0]
    assert alone[1] == shared[1] and alone[1].startswith("40 tasks")


def test_what_is_simulated_stands_apart_and_says_so(tmp_path: Path) -> None:
    filled(tmp_path, "lists")
    filled(tmp_path, "mixed", evolve=0.3)
    real, _, simulated, _ = quality.together(report_of(tmp_path, "lists", "mixed"))
    assert "real pools: +0.04" in real and "(SIMULATED): +0.24" in simulated
    assert next(report_of(tmp_path, "mixed")[0].lines()).startswith("## mixed (SIMULATED")


def test_parts_of_another_protocol_are_refused_and_a_torn_line_is_done_again(tmp_path: Path) -> None:
    filled(tmp_path, "strong")
    file = tmp_path / "strong.jsonl"
    file.write_bytes(file.read_bytes()[:-20])
    results = quality.Results(tmp_path, "strong")
    assert len(results.parts) == 34
    with pytest.raises(UsageError, match="parts of another protocol"):
        results.begin({"version": quality.VERSION, "setting": "strong", "evaluations": 4})
    other = quality.Results(tmp_path, "weak")
    other.begin({"version": quality.VERSION + 1})
    with pytest.raises(UsageError, match="another version"):
        quality.SettingReport(tmp_path, "weak")


def test_a_task_has_one_name_in_all_pools() -> None:
    cells = np.array([list("PF")])
    named = {quality._with_task(PassMatrix(name, cells)).meta["task"] for name in ("HumanEval/3", "mixed/HumanEval/3")}
    assert named == {"HumanEval/3"}


def recorded(number: int) -> PassMatrix:
    rng = np.random.default_rng(number)
    right = np.arange(20) % 2 == 0
    passed = right[:, None] ^ (rng.random((20, 20)) < 0.25)
    return PassMatrix(f"HumanEval/{number}", np.where(passed, "P", "F"), np.where(right, "P", "F"))


@pytest.mark.slow
def test_parts_are_done_side_by_side_and_a_second_run_does_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(PATH.parent))  # for the processes, which import it by its name
    write_matrices(tmp_path / "strong.jsonl", map(recorded, range(40)))
    given = {"pool": None, "strong": str(tmp_path / "strong.jsonl"), "work": tmp_path / "work", "processes": 2}
    arguments = argparse.Namespace(**given, results=tmp_path / "results", evaluations=20, minutes=float("inf"))
    parts = [*quality.PARTS[: quality.FOLDS], quality.Part(0, 0, "evolve")]
    for count in (quality.FOLDS, len(parts)):
        monkeypatch.setattr(quality, "PARTS", parts[:count])
        quality.run(arguments, ["strong"])
        assert quality.Results(tmp_path / "results", "strong").parts.keys() == set(parts[:count])
    found = quality.Results(tmp_path / "results", "strong").parts
    held = {name for part in parts[: quality.FOLDS] for name in found[part]["problems"]}
    assert held == {f"HumanEval/{number}" for number in range(40)}, "every problem is held out once"
    assert len(found[parts[-1]]["scores"]) == len(found[parts[0]]["problems"])
