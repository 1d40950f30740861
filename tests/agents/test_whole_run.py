"""From seeds to a student without a key, and a run that is killed again and again ends as one that was not."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from simulation import TEACHER

from evosyn.pools import load_pools, write_pools
from evosyn.trajectories import trajectory_of

pytestmark = pytest.mark.long
SMALL = ("-M", "4", "-N", "4", "--evaluations", "40", "--quiet", "--teacher", TEACHER, "--proposer", "genetic")


def command(*arguments):
    return [sys.executable, "-m", "evosyn", *map(str, arguments)]


def run(*arguments):
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=500, check=False)
    assert done.returncode in (0, 1), done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def seeds(tmp_path_factory):
    path = tmp_path_factory.mktemp("seeds") / "seeds.jsonl"
    write_pools(path, load_pools("builtin:os-seeds")[::4])
    return path


@pytest.fixture(scope="module")
def whole(seeds):
    out = seeds.parent / "whole"
    run("evolve", seeds, "--out", out, *SMALL)
    return out


def rooms_of(pid):
    """Processes that descend from this one, or did."""
    listed = subprocess.run(["ps", "-eo", "pid,ppid,args"], capture_output=True, text=True, check=True).stdout
    return [line for line in listed.splitlines() if "worlds.shell._inside" in line and f" {pid} " in line]


def done(solution):
    """What is the same in two runs: `ls -l` shows when the world was made."""
    run = trajectory_of(solution.text)
    return run.actions, run.end, run.answer, run.state


def test_a_run_that_is_killed_ends_as_one_that_was_not(seeds, whole):
    out = seeds.parent / "killed"
    for seconds in (3, 6, 9, 13):
        process = subprocess.Popen(command("evolve", seeds, "--out", out, *SMALL), stdout=subprocess.DEVNULL)
        time.sleep(seconds)
        process.send_signal(signal.SIGKILL)
        process.wait()
        until = time.monotonic() + 20
        while rooms_of(process.pid) and time.monotonic() < until:
            time.sleep(0.1)
        assert not rooms_of(process.pid)
    before = (out / "turns.jsonl").stat().st_size if (out / "turns.jsonl").is_file() else 0
    run("evolve", seeds, "--out", out, *SMALL)
    assert (out / "turns.jsonl").stat().st_size >= before > 0
    one, other = ([list(map(done, pool.solutions)) for pool in load_pools(folder / "pools.jsonl.gz")]
                  for folder in (whole, out))  # fmt: skip
    assert one == other
    found = [json.loads((folder / "report.json").read_text()) for folder in (whole, out)]
    assert found[0]["best"] == found[1]["best"]


def test_a_dataset_of_trajectories_is_made_shown_and_exported(whole):
    data = whole.parent / "data"
    run("synthesize", whole, "--out", data, "--problems", "4", "-M", "4", "-N", "4", "--quiet", "--teacher", TEACHER)
    shown = run("inspect", data, "--sample", "1")
    assert "SIMULATED" in shown and "$ " in shown and "os-shell" in shown
    run("export", data, "--format", "sft", "--out", data / "sft")
    rows = [json.loads(line) for line in Path(data / "sft" / "train.jsonl").read_text().splitlines()]
    assert rows and all(any("tool_calls" in turn for turn in row["messages"]) and row["tools"] for row in rows)
    run("distill", data, "--model", "builtin:tiny", "--out", data / "student", "--steps", "2")
    assert (data / "student" / "report.json").is_file()


def test_each_trajectory_that_came_to_its_end_names_what_it_left(whole):
    pools = load_pools(whole / "pools.jsonl.gz")
    runs = [trajectory_of(one.text) for pool in pools for one in pool.solutions]
    assert all(one.state or not one.ended for one in runs)
