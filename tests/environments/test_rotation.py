"""Pool rotation: what leaves, what comes in and from where; a pool is the same after any kill."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evosyn.chat import Message
from evosyn.dataset import write_dataset
from evosyn.domains import check_task, domain
from evosyn.environments import environment
from evosyn.environments.rotation import RotatingPool, RotationConfig
from evosyn.environments.rows import rows_of, samples_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import UsageError
from evosyn.journal import Journal
from evosyn.ports import GroupOutcome
from evosyn.randomness import SeedTree
from evosyn.sandbox import open_sandbox
from tests.train.conftest import sample_of

NAMES = ("brackets", "robot-commands")


@pytest.fixture(scope="module")
def opened():
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        runner = EnvironmentRunner(sandbox)
        rows = [row for name in NAMES for row in rows_of(environment(name), runner, 10, SeedTree(0))]
        yield runner, samples_of(rows, domain("environment"))


@pytest.fixture
def pool(opened, tmp_path):
    def made(active=8, fits=lambda _: True, folder=tmp_path, **config):
        runner, samples = opened
        journal = Journal(folder / "journal.jsonl")
        return RotatingPool(samples, RotationConfig(active=active, **config), runner, journal, SeedTree(1), fits)

    return made


def outcome(row, passed, known=4):
    return GroupOutcome(row.task.row_id, passed, known)


def level(row):
    return row.task.problem.meta["level"]


def of(row):
    return row.task.problem.meta["environment"]


def everything(pool):
    return {row.task.row_id: row for row in pool.rows(0, len(pool))}


def test_the_first_pool_has_every_environment_alike(pool):
    rows = everything(pool()).values()
    assert len(rows) == 8
    assert sorted([of(row) for row in rows].count(environment(name).id) for name in NAMES) == [4, 4]


def test_rows_without_variance_leave_for_fresh_instances_of_their_environment_and_others_stay(pool):
    found = pool()
    first = found.rows(0, 4)
    passed = (0, 4, 2, 1)
    found.report(0, [outcome(row, count) for row, count in zip(first, passed, strict=True)])
    now = everything(found)
    assert [row.task.row_id in now for row in first] == [False, False, True, True]
    fresh = [row for row in now.values() if "fresh" in row.task.problem.problem_id]
    assert sorted(map(of, fresh)) == sorted(of(row) for row in first[:2])
    assert found.figures()["rotated"] == 0.5
    shown = [row.task.row_id for row in found.rows(1, 8)]
    assert {row.task.row_id for row in first[2:]} == set(shown[6:])  # all others come before those that were drawn


def test_fresh_instances_ask_what_their_testing_decides(pool, opened):
    runner, _ = opened
    found = pool()
    found.report(0, [outcome(row, 0) for row in found.rows(0, 8)])
    for row in everything(found).values():
        body, asked = row.task.testing.body, row.task.problem.statement
        assert asked in row.prompt[-1].content
        (own,) = [one for one in map(environment, NAMES) if one.source == body["program"]]
        assert runner.observe(own, [body["instance"]]) == [asked]
        check_task(row.task)


def test_levels_follow_what_the_student_solves(pool):
    """Levels up to 2 are always solved, those from 4 on never: what comes in gathers at 3, where it has signal."""
    found = pool(active=16)
    for step in range(40):
        rows = found.rows(step, 8)
        found.report(step, [outcome(row, 4 if level(row) < 3 else 2 if level(row) == 3 else 0) for row in rows])
    at_three = [level(row) == 3 for row in everything(found).values()]
    assert sum(at_three) / len(at_three) > 0.8


def test_a_level_is_judged_by_questions_that_nobody_chose_to_keep(pool):
    """One question in eight has answers that differ: asked again and again, it says nothing of the other seven."""
    found, met = pool(active=16), {}
    for step in range(60):
        rows = found.rows(step, 8)
        for row in rows:
            met.setdefault(row.task.row_id, len(met) % 8 == 0)
        found.report(step, [outcome(row, 2 if met[row.task.row_id] else 0) for row in rows])
    rates = found.state()["rates"].values()
    passed, known = (sum(rate[place] for rate in rates) for place in (0, 1))
    assert sum(met.values()) > 10
    assert passed / known < 0.15


def test_a_worn_environment_gives_its_places_to_others_and_keeps_a_way_back(pool):
    found, worn = pool(active=16), environment(NAMES[0]).id
    for step in range(60):
        rows = found.rows(step, 8)
        found.report(step, [outcome(row, 4 if of(row) == worn else 2) for row in rows])
    assert [of(row) for row in everything(found).values()].count(worn) <= 4
    told = {one["environment"]: one for one in found.summary()}
    assert told[worn]["fresh"] > 0
    assert min(float(rate.split(":")[1]) for rate in told[worn]["rates"].split()) > 0.8


def test_what_nobody_could_judge_is_no_failure(pool):
    found = pool()
    rows = found.rows(0, 4)
    before = set(everything(found))
    found.report(0, [GroupOutcome(row.task.row_id, 0, 1) for row in rows])
    assert set(everything(found)) == before


def test_a_row_stays_where_no_instance_fits(pool):
    found = pool(fits=lambda prompt: isinstance(prompt[0], Message) and len(prompt[0].content) < 3)
    rows = found.rows(0, 4)
    found.report(0, [outcome(row, 0) for row in rows])
    assert {row.task.row_id for row in rows} <= set(everything(found))
    assert found.figures()["rotated"] == 0.0


def test_rows_of_other_kinds_and_a_journal_of_another_pool_are_refused(opened, pool, tmp_path):
    runner, _ = opened
    with pytest.raises(UsageError, match=r"rotation.active: the row d_\w+ \(python-function\) is of no environment"):
        RotatingPool([sample_of(0, "evosyn")], RotationConfig(active=2), runner, Journal(tmp_path / "x"), SeedTree(0))
    pool()
    with pytest.raises(UsageError, match="floor"):
        pool(floor=0.2)


KILLED = """
import sys
from pathlib import Path
from tests.environments.test_rotation import lead
lead(Path(sys.argv[1]), Path(sys.argv[2]), int(sys.argv[3]))
"""


def lead(data, folder, steps):
    """A pool from its directory on, step by step; outcomes are those of the rows."""
    from evosyn.dataset import read_dataset

    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        config, journal = RotationConfig(active=12), Journal(folder / "journal.jsonl")
        found = RotatingPool(read_dataset(data), config, EnvironmentRunner(sandbox), journal, SeedTree(1))
        done = folder / "done"
        at = int(done.read_text()) if done.exists() else 0
        found.rewind(at)
        for step in range(at, steps):
            rows = found.rows(step, 6)
            rng = SeedTree(step).random()
            found.report(step, [outcome(row, rng.choice((0, 2, 4))) for row in rows])
            if step % 3 == 2:
                done.write_text(str(step + 1))
        (folder / "state.json").write_text(json.dumps(found.state()))


@pytest.mark.parametrize("kills", [2, pytest.param(20, marks=pytest.mark.long)])
def test_killed_at_random_instants_it_ends_in_the_same_state(kills, opened, tmp_path):
    _, samples = opened
    write_dataset(tmp_path / "data", "evosyn", samples)
    steps, rng = 12 * kills, SeedTree(kills).random()
    for name in ("whole", "killed"):
        (tmp_path / name).mkdir()
    line = [sys.executable, "-c", KILLED, str(tmp_path / "data")]
    root = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [Path(__file__).parents[2], *sys.path]))}
    subprocess.run([*line, str(tmp_path / "whole"), str(steps)], env=root, check=True)
    journal = tmp_path / "killed" / "journal.jsonl"
    for _ in range(kills):
        size = journal.stat().st_size if journal.exists() else 0
        process = subprocess.Popen([*line, str(tmp_path / "killed"), str(steps)], env=root)
        while process.poll() is None and (journal.stat().st_size if journal.exists() else 0) <= size:
            time.sleep(0.005)
        time.sleep(rng.random() * 0.2)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([*line, str(tmp_path / "killed"), str(steps)], env=root, check=True)
    states = [(tmp_path / name / "state.json").read_text() for name in ("whole", "killed")]
    assert states[0] == states[1]
