"""`evosyn coevolve`: from the command line to the report, with replies that were written by hand, and after a kill."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from click.testing import CliRunner
from simulation import TEACHER

from evosyn.cli import group
from evosyn.domains import load_pools
from evosyn.errors import BudgetSpent, CorruptRun, UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.train.checkpoints import MARK, read_metrics
from evosyn.view.answers import open_view
from tests.recorded.playing import HERE, teacher, written

pytestmark = [
    pytest.mark.train,
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("trl") is None, reason="needs the train extra"),
]
STEPS, WRITTEN = 8, HERE / "mutations"
SMALL = ("tiny.warm_steps=20", "tiny.problems=48", "tiny.width=32", "tiny.layers=1", "rollout.max_completion=6",
         "rollout.prompts=8", "rollout.group=2", "keep.every=2", "coevolution.seeds=8")  # fmt: skip
ALL_LINKS = ("mutation.resample=0", "mutation.both=1", "mutation.distractor=0", "mutation.symbolic=0",
             "curriculum.depth_weight=0.001")  # fmt: skip
"""The mutations whose replies were written: each with all three links, of seeds."""


def command(out: Path, *more: str) -> list[str]:
    line = ["coevolve", "builtin:math-seeds", "--model", "builtin:tiny", "--steps", str(STEPS), "--out", str(out)]
    return [
        *line,
        *(part for one in SMALL for part in ("--set", one)),
        "--allow-weak-sandbox",
        "--teacher",
        TEACHER,
        *more,
    ]


def ran(line: list[str]) -> None:
    assert CliRunner().invoke(group, line, catch_exceptions=False).exit_code == 0


def outcome(out: Path) -> Json:
    names = ("step", "reward", "archive", "learnability", "depth", "arrived", "grad_norm")
    rows = [[row.get(name) for name in names] for row in read_metrics(out / "metrics.jsonl")]
    state = (out / "checkpoints" / f"checkpoint-{STEPS}" / "feed.json").read_text()
    weights = hashlib.sha256((out / "model" / "model.safetensors").read_bytes()).hexdigest()
    return [rows, state, json.loads((out / "report.json").read_text())["feed"], weights]


def cut_back(whole: Path, out: Path, left: int) -> None:
    """What a kill leaves after checkpoint `left`: the journal is further, its last checkpoints are not whole."""
    shutil.copytree(whole, out)
    (out / "report.json").unlink()
    for folder in (out / "checkpoints").glob("checkpoint-*"):
        if int(folder.name.rpartition("-")[2]) > left:
            (folder / MARK).unlink()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("whole") / "run"
    ran(command(out))
    return out


@pytest.fixture(scope="module")
def played(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("played") / "run"
    sets = [part for one in ALL_LINKS for part in ("--set", f"coevolution.{one}")]
    ran(command(out, "--teacher", teacher(WRITTEN), *sets))
    return out


def test_a_simulated_teacher_mutates_while_a_model_trains_and_is_told_of_as_one(whole: Path) -> None:
    rows, _, feed, _ = outcome(whole)
    assert len(rows) == STEPS and all(None not in row[1:6] for row in rows)
    assert feed["simulated"] and feed["mutants"]["tried"]
    shown = CliRunner().invoke(group, ["inspect", str(whole)], catch_exceptions=False).stdout
    assert "(SIMULATED)" in shown and "what became of them" in shown


def test_replies_written_by_hand_become_problems_or_are_lost_for_what_is_wrong_with_them(played: Path) -> None:
    feed = json.loads((played / "report.json").read_text())["feed"]
    assert feed["calls"] == sum(written(WRITTEN, f"mutate-{link}") for link in ("setting", "distractor", "symbolic"))
    assert feed["mutants"] == {"tried": 11, "kept": 6, "lost": 1} and not feed["simulated"]
    assert feed["wasted"] == {
        "distractor:no-json": 2, "distractor:question-changed": 1, "distractor:too-many-sentences": 1,
        "setting:copy-of-parent": 1, "setting:missing-key": 1, "setting:no-json": 4, "setting:not-english": 1,
        "setting:numbers-changed": 2, "symbolic:answer-unchanged": 1, "symbolic:answer-unreadable": 1,
        "symbolic:no-json": 2,
    }  # fmt: skip


def test_where_a_problem_came_from_is_shown_and_what_was_lost_says_why(played: Path) -> None:
    def shown(*words: str) -> str:
        return str(CliRunner().invoke(group, ["inspect", str(played), *words], catch_exceptions=False).stdout)

    lineage = shown("--lineage", "4")
    assert "by setting and distractor and symbolic" in lineage and "the seed salt-mixture-2" in lineage
    assert "lost: setting:copy-of-parent" in shown("--why", "5")
    assert "took a free place" in shown("--why", "0")
    view = open_view(played)
    (problems,) = [one for one in view.answer("overview", {})["tables"] if one["title"] == "problems"]
    told = view.answer(f"why/{problems['rows'][0][0]}", {})
    assert told["name"] == problems["rows"][0][0] and told["lines"]
    assert len(list(view.contents())) == 1 + len(problems["rows"])
    with pytest.raises(UsageError, match="no problem of"):
        CliRunner().invoke(group, ["inspect", str(played), "--why", "c_nothing"], catch_exceptions=False)


def test_what_is_held_at_the_end_is_exported_as_a_pool(played: Path, tmp_path: Path) -> None:
    line = ["export", str(played), "--format", "jsonl", "--out", str(tmp_path / "pool"), "--json"]
    told = json.loads(CliRunner().invoke(group, line, catch_exceptions=False).stdout)
    problems = [pool.problem for pool in load_pools(told["files"][0])]
    assert len(problems) == 14 and Counter(one.meta["depth"] for one in problems) == {0: 8, 1: 6}
    assert all(one.human_testing is not None for one in problems)


@pytest.mark.parametrize("left", [4, pytest.param(0, marks=pytest.mark.long)])
def test_it_goes_on_from_what_a_kill_leaves(left: int, whole: Path, tmp_path: Path) -> None:
    """A kill while the last checkpoint is written, and one before the first."""
    out = tmp_path / "run"
    cut_back(whole, out, left)
    paid = (out / "mutations.jsonl").read_text()
    ran(command(out))
    assert outcome(out) == outcome(whole)
    assert '"rewind"' in (out / "journal.jsonl").read_text() and (out / "mutations.jsonl").read_text() == paid


@pytest.mark.long
def test_a_model_that_mutates_for_itself_does_so_alike_after_a_kill(tmp_path: Path) -> None:
    sets = ("mutation.sampling.max_tokens=6", "mutation.tries=2", "mutation.resample=0.5")
    more = ("--teacher", "self", *(part for one in sets for part in ("--set", f"coevolution.{one}")))
    ran(command(tmp_path / "run", *more))
    feed = outcome(tmp_path / "run")[2]
    assert feed["teacher"] == "self" and feed["calls"] and set(feed["wasted"]) <= {"setting:no-json", "setting:empty"}
    cut_back(tmp_path / "run", tmp_path / "again", 4)
    (tmp_path / "again" / "mutations.jsonl").unlink()  # asked again: of the same weights, in the same streams
    ran(command(tmp_path / "again", *more))
    first, second = outcome(tmp_path / "run"), outcome(tmp_path / "again")
    for found in (first, second):
        del found[2]["calls"], found[2]["tokens"]  # of the file that is gone
    assert first == second


def test_a_model_elsewhere_does_not_mutate_for_itself(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="--teacher self: the model in training mutates with the transformers engine"):
        ran(command(tmp_path, "--teacher", "self", "--set", "rollout.engine=vllm-colocate"))


def test_what_is_spent_ends_it_and_more_goes_on(tmp_path: Path) -> None:
    out, mutator = tmp_path / "run", "tests.synthesis.coevolution.leading:create"
    line = command(out, "--teacher", mutator, *(part for one in ALL_LINKS for part in ("--set", f"coevolution.{one}")))
    with pytest.raises(BudgetSpent):
        ran([*line, "--set", "workbench.teacher.most=15"])
    assert not (out / "report.json").exists() and any((out / "checkpoints").glob("checkpoint-*"))
    paid = (out / "mutations.jsonl").read_text()
    ran(line)
    assert (out / "mutations.jsonl").read_text().startswith(paid)
    keys = [json.loads(one[9:])["key"] for one in (out / "mutations.jsonl").read_text().splitlines() if '"key"' in one]
    assert len({json.dumps(one) for one in keys}) == len(keys) > 15


def test_a_state_from_elsewhere_is_refused(whole: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shutil.copytree(whole, out)
    (out / "report.json").unlink()
    state = out / "checkpoints" / f"checkpoint-{STEPS}" / "feed.json"
    state.write_text(state.read_text().replace("waiting", "waited"))
    with pytest.raises(CorruptRun, match="is not what the journal of the run leads to"):
        ran(command(out))


POOL = ("coevolution.selfplay.judging.reviews=1", "coevolution.selfplay.band.answers=2", "rollout.prompts=4",
        "coevolution.selfplay.drafting.per_step=1", "coevolution.selfplay.band.sampling.max_tokens=6",
        "coevolution.selfplay.ladder.seeds=4")  # fmt: skip


def pool_command(out: Path, *more: str) -> list[str]:
    line = command(out, "--recipe", "evoenv", *(part for one in POOL for part in ("--set", one)), *more)
    return [line[0], "builtin:env-seeds", *line[2:]]


def pool_outcome(out: Path) -> Json:
    rows = [[row.get(name) for name in ("step", "reward", "pool", "admitted", "level", "draft_worth")]
            for row in read_metrics(out / "metrics.jsonl")]  # fmt: skip
    state = (out / "checkpoints" / f"checkpoint-{STEPS}" / "feed.json").read_text()
    weights = hashlib.sha256((out / "model" / "model.safetensors").read_bytes()).hexdigest()
    return [rows, state, json.loads((out / "report.json").read_text())["feed"], weights]


@pytest.fixture(scope="module")
def pool(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("pool") / "run"
    ran(pool_command(out))
    return out


def test_environments_are_drafted_while_a_model_trains_and_a_tiny_one_lets_none_in(pool: Path) -> None:
    rows, _, feed, _ = pool_outcome(pool)
    assert len(rows) == STEPS and all(None not in row for row in rows)
    assert feed["drafts"] == STEPS - 2 and feed["kept"] == 0 and feed["simulated"]
    shown = CliRunner().invoke(group, ["inspect", str(pool)], catch_exceptions=False).stdout
    assert "SIMULATED" in shown and "Nothing came into the pool: the student trained on the seeds alone." in shown
    why = CliRunner().invoke(group, ["inspect", str(pool), "--why", "0"], catch_exceptions=False).stdout
    assert "draft 0: stands on L" in why
    found = json.loads(CliRunner().invoke(group, ["inspect", str(pool), "--json"], catch_exceptions=False).stdout)
    assert found["kind"] == "coevolve-environments" and found["tables"][0]["title"] == "environments"
    assert open_view(pool).answer("overview", {})["conclusion"]["worked"] == "no"


def test_a_pool_goes_on_from_what_a_kill_leaves(pool: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    cut_back(pool, out, 4)
    paid = (out / "drafts.jsonl").read_text()
    ran(pool_command(out))
    assert pool_outcome(out) == pool_outcome(pool) and (out / "drafts.jsonl").read_text() == paid


@pytest.mark.long
def test_a_model_that_drafts_for_itself_is_paid_for_it_and_does_so_alike_after_a_kill(tmp_path: Path) -> None:
    ran(pool_command(tmp_path / "run", "--teacher", "self"))
    feed = pool_outcome(tmp_path / "run")[2]
    assert feed["teacher"] == "self" and feed["drafts"] == (STEPS - 1) * 2 and feed["kept"] == 0
    cut_back(tmp_path / "run", tmp_path / "again", 4)
    ran(pool_command(tmp_path / "again", "--teacher", "self"))
    assert pool_outcome(tmp_path / "again") == pool_outcome(tmp_path / "run")


@pytest.mark.long
def test_killed_at_20_instants_it_ends_as_if_nothing_had_been(whole: Path, tmp_path: Path) -> None:
    killed, instants = tmp_path / "killed", SeedTree(20).random()
    for _ in range(20):
        line = [sys.executable, "-m", "evosyn", *command(killed)]
        process = subprocess.Popen(line, stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 240
        while not (killed / "journal.jsonl").exists() and process.poll() is None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        time.sleep(instants.random() * 3)
        process.send_signal(signal.SIGKILL)
        process.wait()
    subprocess.run([sys.executable, "-m", "evosyn", *command(killed)], check=True, capture_output=True)
    assert outcome(killed) == outcome(whole)
