"""`evosyn world rollout` leaves the same bytes at any concurrency, and after a kill at any instant."""

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from simulation import AGENT

FILES = ("episodes.jsonl", "report.json", "manifest.json", "dataset/evosyn.parquet")
LINE = [sys.executable, "-m", "evosyn", "world", "rollout", "builtin:library", "--agent", f"{AGENT}:sloppy:0.2", "--user", "scripted",
        "--limit", "3", "--episodes", "2", "--seed", "3", "--allow-weak-sandbox"]  # fmt: skip


def begun(out, *more):
    # its own group: what it started dies with it
    return subprocess.Popen([*LINE, "--out", str(out), *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)  # fmt: skip


def left(out):
    return {name: (out / name).read_bytes() for name in FILES}


def calls(out):
    """How many calls the journal of a rollout has by now."""
    path = out / "turns.jsonl"
    return path.read_bytes().count(b"\n") if path.is_file() else 0


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    out = tmp_path_factory.mktemp("whole") / "r"
    assert begun(out, "--set", "workbench.agent.rooms=1").wait() == 0
    return left(out), calls(out)


def test_concurrency_changes_nothing(whole, tmp_path):
    assert begun(tmp_path, "--set", "workbench.agent.rooms=16", "--workers", "3").wait() == 0
    assert left(tmp_path) == whole[0]


def killed(out, instant):
    """Whether a rollout was killed as soon as its journal had so many calls."""
    process = begun(out)
    while process.poll() is None and calls(out) < instant:
        time.sleep(0.002)
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def see_the_same_after_kills(whole, out, instants):
    struck = [killed(out, one) for one in sorted(random.Random(0).sample(range(1, whole[1] - 1), instants))]
    assert begun(out).wait() == 0
    assert left(out) == whole[0]
    assert struck[0], "the first kill came too late"


def test_a_killed_rollout_goes_on_and_leaves_the_same(whole, tmp_path):
    see_the_same_after_kills(whole, tmp_path, 2)


@pytest.mark.long
def test_a_rollout_that_is_killed_twenty_times_leaves_the_same(whole, tmp_path):
    see_the_same_after_kills(whole, tmp_path, 20)
