"""`evosyn world` and what `evosyn inspect` says of its directories."""

import json
import sys

from click.testing import CliRunner

from evosyn.cli import group
from evosyn.worlds.tools.files import read_tasks


def run(*arguments):
    return CliRunner().invoke(group, [str(one) for one in arguments])


def test_a_rollout_is_written_told_and_can_be_looked_at(tmp_path):
    out = tmp_path / "r"
    found = run("world", "rollout", "builtin:library", "--agent", "gold", "--limit", 1, "--out", out, "--json")
    assert not found.exception, found.output
    report = json.loads(found.stdout)
    assert report["avg@1"] == 1.0 and report["simulated"] and json.loads((out / "report.json").read_text())["kept"] == 1
    (line,) = (out / "episodes.jsonl").read_text().splitlines()
    assert json.loads(line)["reward"] == 1.0 and json.loads(line)["trajectory"]["state"].startswith("st_")
    task = read_tasks("builtin:library")[0]
    shown = run("inspect", out, "--why", task.id)
    assert f"> {task.reference[0][0]} " in shown.stdout and "reward 1.0" in shown.stdout
    assert "avg@1" in run("inspect", out).stdout


def test_worlds_that_come_with_evosyn_are_listed():
    rows = json.loads(run("world", "list", "--json").stdout)["worlds"]
    assert [row["name"] for row in rows] == ["clinic", "library", "parcel"]
    assert all(row["tools"] >= 11 and row["tables"] >= 5 and row["tasks"] >= 18 for row in rows)


def test_what_is_missing_is_said(tmp_path):
    assert "did you mean library" in str(run("world", "check", "builtin:librari").exception)
    assert "no agent" in str(run("world", "rollout", "builtin:library", "--out", tmp_path).exception)
    assert "greedy-distractor" in str(
        run("world", "rollout", "builtin:library", "--agent", "best", "--out", tmp_path).exception
    )
    assert "has no world.json" in str(run("world", "tasks", tmp_path, "--out", tmp_path).exception)


def test_serving_a_task_without_the_package_says_which_extra_brings_it(monkeypatch):
    monkeypatch.setenv("EVOSYN_ALLOW_WEAK_SANDBOX", "1")
    monkeypatch.setitem(sys.modules, "mcp", None)
    found = run("world", "serve", "builtin:library", "--task", "0")
    assert "needs the package 'mcp': pip install 'evosyn[mcp]'" in str(found.exception)
    assert "no task of builtin:library" in str(run("world", "serve", "builtin:library", "--task", "k_none").exception)
