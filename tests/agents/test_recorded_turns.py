"""Turns of agents and testings, written by hand to the requests of `evosyn evolve` on tasks of a Linux system, through
the whole command and real rooms."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from evosyn.cli.evolve import command
from evosyn.cli.synthesize import command as synthesize
from evosyn.dataset import read_dataset, read_rejects
from evosyn.matrices import load_matrices
from evosyn.pools import load_pools, write_pools
from evosyn.strategies import load_known
from evosyn.trajectories import trajectory_of
from tests.recorded.playing import HERE, teacher, written

RECORDED, NEW = HERE / "turns", HERE / "tasks"
TASKS = ("batch-rename-1", "csv-sum-1", "hidden-count-1", "ini-section-1")
SIZES = ("-M", "2", "-N", "2", "--evaluations", "10", "--proposer", "genetic", "--quiet")
SETS = ("pool.solutions=2", "pool.testings=3", "scoring.draws=2", "finalists=2", "known=false")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("turns")
    pools = {pool.problem.problem_id: pool for pool in load_pools("builtin:os-seeds")}
    write_pools(place / "seeds.jsonl", [pools[name] for name in TASKS])
    line = [str(place / "seeds.jsonl"), "--out", str(place / "run"), "--teacher", teacher(RECORDED), *SIZES]
    ended = CliRunner().invoke(command, [*line, *(f"--set={one}" for one in SETS)], standalone_mode=False)
    assert (place / "run" / "report.json").is_file(), (ended.output, ended.exception)
    return place / "run"


def test_there_are_twelve_replies_of_each_kind():
    assert written(RECORDED, "turn") >= 12 and written(RECORDED, "testing") >= 12 and written(NEW, "problem") >= 12


def test_every_episode_comes_to_its_end_and_every_reply_is_played(run: Path):
    pools = load_pools(run / "pools.jsonl.gz")
    runs = [trajectory_of(one.text) for pool in pools for one in pool.solutions]
    assert [one.end for one in runs] == ["finish"] * 2 + ["answer"] * 4 + ["finish"] * 2
    assert [one.answer for one in runs if one.end == "answer"] == ["256", "46", "19", "14"]
    calls = json.loads((run / "report.json").read_text())["spent"]["drawing"]["calls"]
    assert calls == len(list(RECORDED.glob("*.md"))) + 1, "one testing was cut twice: the second time nothing came"


def test_what_cannot_be_used_is_counted_and_right_work_is_told_from_wrong(run: Path):
    lost = sorted((one.problem_id, one.reason) for one in read_rejects(run) if one.stage == "testing")
    assert [name for name, _ in lost] == ["batch-rename-1", "ini-section-1", "ini-section-1"]
    (file,) = (run / "matrices").glob("*")
    found = {one.problem_id: one for one in load_matrices(file)}
    assert {name: "".join(found[name].human_M) for name in TASKS} == dict.fromkeys(TASKS, "PF")
    verdicts = {name: ["".join(row) for row in found[name].verdicts_MN] for name in TASKS}
    assert verdicts == {
        "batch-rename-1": ["PPP", "FPF"],  # the second testing forgets what must stay
        "csv-sum-1": ["PPF", "FFP"],  # the third one was worked out wrongly
        "hidden-count-1": ["PFP", "FFF"],
        "ini-section-1": ["PP", "FF"],
    }


def test_new_tasks_are_made_from_the_second_reply_and_the_careless_agent_is_refused(tmp_path: Path):
    (tmp_path / "strategy.py").write_text(load_known("initial"))
    line = [str(tmp_path / "strategy.py"), "--out", str(tmp_path / "data"), "--teacher", teacher(NEW), "--quiet"]
    sizes = ["--problems", "6", "-M", "2", "-N", "1", "--seeds", "builtin:os-seeds"]
    ended = CliRunner().invoke(synthesize, [*line, *sizes], standalone_mode=False)
    data = tmp_path / "data"
    assert (data / "report.json").is_file(), (ended.output, ended.exception)
    lost = sorted((one.stage, one.index) for one in read_rejects(data) if one.item == "reply")
    assert lost == [("problem", index) for index in range(6)]
    assert json.loads((data / "report.json").read_text())["calls"] == len(list(NEW.glob("*.md"))) == 42
    # the testing of the second task compares exactly, and forgets the line end that `cat` prints
    strict = {(one.index, one.reason) for one in read_rejects(data) if "relaxed" in one.settings}
    assert strict == {(1, "top-solution-fails-top-testing")}
    rows = read_dataset(data, "relaxed")
    assert [[one["verdict"] for one in json.loads(row.solutions_ranked)] for row in rows] == [["P", "F"]] * 5
