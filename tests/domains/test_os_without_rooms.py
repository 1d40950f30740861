"""On a machine that gives no rooms: recorded answers are judged, tasks are skipped by name, and nothing is drawn."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from simulation import TEACHER

import evosyn.worlds.shell
from evosyn.cli import group
from evosyn.errors import SandboxUnavailable
from evosyn.records import Problem, Solution, Testing
from evosyn.trajectories import ANSWER, BASH, ToolUse, Trajectory
from evosyn.workbench import SandboxConfig, Workbench, WorkbenchConfig

WORLD = {"image": "host", "init": [{"code": "mkdir -p /root/d; touch /root/d/a"}]}
WHY = "no rooms for shell worlds on this machine"


@pytest.fixture(autouse=True)
def no_rooms(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise SandboxUnavailable(WHY)

    monkeypatch.setattr(evosyn.worlds.shell, "open_shells", refuse)


@pytest.fixture
def workbench() -> Workbench:
    with Workbench(WorkbenchConfig(sandbox=SandboxConfig(workers=1, allow_weak=True))) as opened:
        yield opened


def question() -> Problem:
    human = Testing("value", {"expected": "1", "compare": "integer"})
    return Problem("count", "os-shell", "How many files are in /root/d?", {"world": WORLD, "asks": "answer"}, human)


def answered(text: str) -> Solution:
    looked = ToolUse(BASH, {"script": "ls /root/d | wc -l"}, out=text, status=0)
    return Solution(Trajectory((looked,), ANSWER, text, f"st_{'0' * 32}").text)


def test_recorded_answers_are_judged_by_testings_that_run_nothing(workbench: Workbench) -> None:
    said = [Testing("value", {"expected": one, "compare": "integer"}) for one in ("1", "2")]
    (matrix,) = workbench.crossexec.matrices([(question(), [answered("1"), answered("2")], said)])
    assert np.array_equal(matrix.passed_MN, [[True, False], [False, True]])
    assert matrix.human_M is not None and list(matrix.human_M) == ["P", "F"]


def test_what_needs_a_room_is_told_as_that_and_not_as_a_verdict(workbench: Workbench) -> None:
    assert workbench.lacks(question()) == (f"rooms: {WHY}",)
    looking = Testing("answer", {"script": {"code": "ls /root/d | wc -l"}, "compare": "integer"})
    with pytest.raises(SandboxUnavailable, match=WHY):
        workbench.crossexec.matrices([(question(), [answered("1")], [looking])])


def test_a_pool_is_checked_but_for_what_needs_rooms_by_name(tmp_path: Path) -> None:
    row = {
        "problem_id": "count",
        "domain": "os-shell",
        "statement": "How many files are in /root/d?",
        "payload": {"world": WORLD, "asks": "answer"},
        "human_testing": {"kind": "value", "expected": "1"},
        "reference_solution": "ls /root/d | wc -l",
    }
    pool = tmp_path / "pool.jsonl"
    pool.write_text(json.dumps(row) + "\n")
    found = CliRunner().invoke(group, ["pool", "check", str(pool), "--execute", "--allow-weak-sandbox"])
    assert found.exit_code == 0, found.output
    assert (
        f"1 problems need what this machine does not give, so they were skipped: count (rooms: {WHY})" in found.output
    )


def test_a_search_ends_before_anything_is_drawn(tmp_path: Path) -> None:
    line = ["evolve", "builtin:os-seeds", "--out", str(tmp_path / "run"), "--allow-weak-sandbox", "--teacher", TEACHER]
    found = CliRunner().invoke(group, line, standalone_mode=False)
    assert isinstance(found.exception, SandboxUnavailable) and WHY in str(found.exception)
    assert not (tmp_path / "run" / "turns.jsonl").exists()
