"""`evosyn evolve --model` over real HTTP against a scripted server: models, bursts around them, waste, resume."""

import hashlib
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from simulation.scripted_server import Refusal, ScriptedServer

from evosyn.cli import group
from evosyn.evolve.events import Committed, Fate, events_of
from evosyn.reading.opening import open_directory
from evosyn.rundir import RunDir
from evosyn.strategies.proposers.genetic import AROUND
from evosyn.teachers.chat import QUESTION

SETS = ("scoring.draws=2", "islands.count=2", "proposers.burst=4", "proposers.around=6", "finalists=5")
SMALL = ["-M", "8", "-N", "6", *(f"--set={key}" for key in SETS)]


def program(body, times):  # noqa: ARG001
    """A valid strategy whose constants depend on the request; now and then prose."""
    value = int(hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:6], 16) / 16**6
    if value < 0.5:
        return "I would rather talk about it."
    testing = f"(p * s[:, None]).mean(axis=0) - {value:.4f} * p.mean(axis=0)"
    return (
        "Here it is.\n```python\nimport numpy as np\n\n\ndef rank(evidence):\n    p = evidence.passed.astype(float)\n"
        f"    s = p.mean(axis=1) ** {value + 0.5:.4f}\n    return s, {testing}\n```\n"
    )


def evolve(source: Path, out: Path, server: ScriptedServer, *more: str, **options) -> subprocess.CompletedProcess:
    arguments = [sys.executable, "-m", "evosyn", "evolve", str(source), "--out", str(out), *SMALL]
    arguments += ["--model", "openai/scripted", "--base-url", server.base_url, "--quiet", *more]
    environment = {**os.environ, "OPENAI_API_KEY": "sk-secret-for-the-test"}
    return subprocess.run(arguments, capture_output=True, text=True, timeout=300, env=environment, **options)


def commits(out: Path) -> list[Committed]:
    return [event for event in events_of(RunDir(out).journal) if isinstance(event, Committed)]


def test_models_and_genetic_bursts_work_on_one_archive(tmp_path, pool_file):
    with ScriptedServer(program) as server:
        result = evolve(pool_file, tmp_path / "out", server, "--iterations", "40")
        assert result.returncode in (0, 1), result.stderr
        requests = server.counts.requests
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert 5 < report["model_calls"] == requests
    tokens = report["spent"]["search"]["tokens"]
    assert tokens["input"] > 1000 and tokens["output"] > 0
    steps = [event.step for event in commits(tmp_path / "out")]
    modelled = {trial.candidate.id for step in steps if step.replies for trial in step.trials}
    assert any(step.proposer == "genetic" and step.parent in modelled for step in steps)
    assert any(step.waste for step in steps)
    assert b"sk-secret" not in b"".join(path.read_bytes() for path in (tmp_path / "out").rglob("*") if path.is_file())


UNREAD = """I count the votes.
```python
import numpy as np


def rank(evidence):
    p = evidence.passed.astype(float)
    votes = p.mean(axis=1)
    for row in range(len(p)):
        votes[row] += 0.25 * p[row].max()
    return votes, p.mean(axis=0) * 0.5
```
"""
READ = (
    "I vote.\n```python\nimport numpy as np\n\n\ndef rank(evidence):\n"
    "    passed = evidence.passed.astype(float)  # solutions x testings\n"
    "    solution_scores = tidy(power(vote(passed, fair_gap(passed)), 1.5))\n"
    "    testing_scores = tidy(gap(passed, solution_scores))\n    return solution_scores, testing_scores\n```\n"
)


@pytest.mark.slow
@pytest.mark.parametrize("reply", [UNREAD, READ], ids=["outside the grammar", "of the grammar"])
def test_one_paid_call_is_followed_by_more_than_a_hundred_variants_that_cost_nothing(tmp_path, pool_file, reply):
    more = ("--proposer=rewrite", "--proposer=genetic", "--set=stop.model_calls=1", "--iterations=16",
            "--set=proposers.around=128", "--set=loop.lag=2")  # fmt: skip
    with ScriptedServer(lambda body, times: reply) as server:  # noqa: ARG005
        result = evolve(pool_file, tmp_path / "out", server, *more)
        assert result.returncode in (0, 1), result.stderr
        asked = server.counts.requests
    report = json.loads((tmp_path / "out" / "report.json").read_text())
    assert asked == report["model_calls"] == 2 and report["spent"]["check"]["calls"] == 1  # one question before
    assert (report["spent"]["search"]["calls"], report["proposals"], report["stopped"]) == (1, 16, "proposals")
    steps = [event.step for event in commits(tmp_path / "out")]
    (paid,) = [step for step in steps if step.replies]
    (burst,) = [step for step in steps if step.proposer == "genetic" and step.parent == paid.trials[0].candidate.id]
    evaluated = [one for one in burst.trials if one.evaluation is not None]
    assert len(evaluated) >= 100
    assert sum(one.evaluation.score is not None for one in evaluated) >= 100
    operators = {one.candidate.detail["operator"] for one in evaluated}
    assert operators >= ({"constant", "grafted-opening"} if reply is UNREAD else {"constant", "opening"})


NUMPY = """I weigh each solution's group.
```python
import numpy as np


def rank(evidence):
    passed = evidence.passed
    same = (passed[:, None, :] == passed[None, :, :]).all(axis=2)
    score = np.sqrt(same.sum(axis=1)) * passed.sum(axis=1)
    accepted = passed.sum(axis=0)
    inside = score @ passed / np.maximum(accepted, 1)
    outside = score @ ~passed / np.maximum(len(passed) - accepted, 1)
    return score, np.where((accepted == 0) | (accepted == len(passed)), -1e9, inside - outside)
```
"""
RAISES = NUMPY.replace("np.sqrt(same", "np.sqrt(evidence.same")
MENDED = NUMPY.replace("np.sqrt(same.sum(axis=1))", "same.sum(axis=1) ** 1.5")


@pytest.mark.slow
def test_more_than_a_hundred_free_programs_follow_each_paid_reply_also_where_one_was_repaired(tmp_path, pool_file):
    replies = iter([READ, NUMPY, RAISES, MENDED, UNREAD])

    def script(body, times):  # noqa: ARG001
        return "ready" if body["messages"][-1]["content"] == QUESTION else next(replies)

    more = ("--proposer=rewrite", "--proposer=genetic", "--set=stop.model_calls=5", "--iterations=40",
            f"--set=proposers.around={AROUND}", "--set=loop.lag=1", "--set=loop.concurrency=1")  # fmt: skip
    with ScriptedServer(script) as server:
        result = evolve(pool_file, tmp_path / "out", server, *more)
    assert result.returncode in (0, 1), result.stderr
    steps = [event.step for event in commits(tmp_path / "out")]
    paid = [step for step in steps if step.replies]
    assert sorted(len(step.replies) for step in paid) == [1, 1, 1, 2]
    found = {}
    for step in paid:
        (burst,) = [one for one in steps if one.proposer == "genetic" and one.index == step.index + 1]
        assert burst.parent == step.trials[-1].candidate.id
        found[len(step.replies)] = len([one for one in burst.trials if one.evaluation is not None])
        assert found[len(step.replies)] >= 100 * len(step.replies)
    assert found[2] > AROUND
    bursts = [step for step in steps if step.proposer == "genetic"]
    operators = {one.candidate.detail["operator"] for step in bursts for one in step.trials}
    assert operators >= {"near", "near-without", "near-opening", "grafted-opening", "without", "constant"}


@pytest.mark.slow
def test_a_killed_run_asks_no_reply_twice_and_ends_like_an_undisturbed_one(tmp_path, pool_file):
    arguments = ("--iterations", "30", *(f"--set=workbench.teacher.price_{way}" for way in ("in=3", "out=9")))
    with ScriptedServer(program) as server:
        evolve(pool_file, tmp_path / "whole", server, *arguments)
        asked = server.counts.requests
    with ScriptedServer(program) as server:
        evolve(pool_file, tmp_path / "cut", server, *arguments)
        assert b'"cost":0.' in (tmp_path / "cut" / "journal.jsonl").read_bytes()
        whole = (tmp_path / "cut" / "journal.jsonl").read_bytes()
        for share in (0.2, 0.55, 0.9):
            (tmp_path / "cut" / "journal.jsonl").write_bytes(whole[: int(len(whole) * share)])
            evolve(pool_file, tmp_path / "cut", server, *arguments)
            assert (tmp_path / "cut" / "journal.jsonl").read_bytes() == whole
        assert server.counts.requests == asked


def test_a_model_that_only_talks_ends_with_4_and_is_resumable(tmp_path, pool_file):
    with ScriptedServer(lambda body, times: "no") as server:  # noqa: ARG005
        arguments = ("--iterations", "200", "--proposer", "rewrite", "--set", "stop.failures=5")
        result = evolve(pool_file, tmp_path / "out", server, *arguments)
    assert result.returncode == 4
    assert "5 times in a row" in result.stderr and "Traceback" not in result.stderr


def test_a_search_whose_proposals_are_cut_says_which_key_gives_room_and_goes_on_with_it(tmp_path, pool_file):
    def cut(body):
        if "single word" in body["messages"][-1]["content"] or body["max_tokens"] >= 20_000:
            return None
        choice = {"message": {"content": "def rank("}, "finish_reason": "length"}
        return Refusal(200, {"choices": [choice], "usage": {"prompt_tokens": 1, "completion_tokens": 9}})

    arguments = ("--iterations", "8", "--proposer", "rewrite", "--set", "stop.failures=3")
    with ScriptedServer(program, refuse=[cut]) as server:
        ended = evolve(pool_file, tmp_path / "out", server, *arguments)
        assert ended.returncode == 4
        assert "truncated" in ended.stderr and "--set sampling.strategy.max_tokens=" in ended.stderr
        again = evolve(pool_file, tmp_path / "out", server, *arguments, "--set", "sampling.strategy.max_tokens=20000")
    assert again.returncode in (0, 1), again.stderr
    assert sum(step.step.waste == "truncated" for step in commits(tmp_path / "out")) == 3


@pytest.mark.parametrize("arms", [(), ("--proposer", "rewrite", "--proposer", "diff@openai/other")])
def test_a_budget_of_calls_stops_with_3_and_leaves_a_report(tmp_path, pool_file, arms):
    with ScriptedServer(program) as server:
        result = evolve(
            pool_file, tmp_path / "out", server, "--iterations", "100", "--set", "workbench.budget.max_calls=6", *arms
        )
        assert server.counts.requests <= 6
    assert result.returncode == 3, result.stderr
    assert json.loads((tmp_path / "out" / "report.json").read_text())["best"]


@pytest.mark.parametrize("arm", ["diff@openai/other=0.5", "rewrite"])
def test_arms_name_proposers_models_and_shares(tmp_path, arm, pool_file):
    with ScriptedServer(program) as server:
        result = evolve(
            pool_file, tmp_path / "out", server, "--iterations", "8", "--proposer", arm, "--proposer", "genetic"
        )
    assert result.returncode in (0, 1), result.stderr
    with sqlite3.connect(tmp_path / "out" / "replies.sqlite") as db:
        models = {json.loads(row[0])["reply"]["model"] for row in db.execute("SELECT reply FROM replies")}
    assert models == {"openai/other" if "@" in arm else "openai/scripted"}


def test_inspect_shows_the_prompt_and_the_reply(tmp_path, pool_file):
    with ScriptedServer(program) as server:
        evolve(pool_file, tmp_path / "out", server, "--iterations", "12", "--proposer", "rewrite")
    steps = [event.step for event in commits(tmp_path / "out")]
    made = next(trial.candidate.id for step in steps if step.replies for trial in step.trials)
    shown = subprocess.run(
        [sys.executable, "-m", "evosyn", "inspect", str(tmp_path / "out"), "--prompt", made],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert shown.returncode == 0, shown.stderr
    assert "Here it is." in shown.stdout and "rank(evidence)" in shown.stdout
    shared, config = tmp_path / "shared.sqlite", tmp_path / "out" / "config.yaml"
    (tmp_path / "out" / "replies.sqlite").rename(shared)
    config.write_text(config.read_text().replace("replies: null", f"replies: {shared}"))
    assert open_directory(tmp_path / "out").prompt(made).replies[0].text is not None


HOSTILE = {
    "while True:\n    pass\n": "time",
    "def rank(evidence):\n    while True:\n        pass\n": "time",
    "def rank(evidence):\n    return [0.0] * 10**10, [0.0]\n": "",
    "def rank(evidence):\n    return rank(evidence)\n": "RecursionError",
    "import os\n\n\ndef rank(evidence):\n    os.fork()\n": "cannot import 'os'",
    "import subprocess\n\n\ndef rank(evidence):\n    return 1, 2\n": "cannot import 'subprocess'",
    "def rank(evidence):\n    print('x' * 10**8)\n    return 1, 2\n": "print",
    "def rank(evidence):\n    return [1.0], [2.0]\n": "shape",
    "def rank(evidence):\n    m, n = evidence.passed.shape\n    return [float('nan')] * m, [0.0] * n\n": "finite",
    "def rank(evidence):\n    evidence.passed[:] = True\n    return 1, 2\n": "read-only",
    "def rank(evidence):\n    raise SystemExit(0)\n": "SystemExit",
    "import builtins\n\n\ndef rank(evidence):\n    return 1, 2\n": "cannot import",
    "C = []\n\n\ndef rank(e):\n    C.append(1)\n    return e.passed.sum(1), e.passed.sum(0) * len(C)\n": "global state",
}


def test_hostile_programs_are_data_with_a_reason_and_none_stops_the_run(tmp_path, pool_file):
    programs = list(HOSTILE)

    def hostile(body, times):  # noqa: ARG001
        number = int(hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()[:6], 16)
        return f"```python\n{programs[number % len(programs)]}```"

    with ScriptedServer(hostile) as server:
        arguments = ("--iterations", "70", "--proposer", "rewrite", "--proposer", "genetic=0.1")
        result = evolve(pool_file, tmp_path / "out", server, *arguments)
    assert result.returncode in (0, 1), result.stderr
    reasons = {
        trial.candidate.text: trial.evaluation.invalid
        for event in commits(tmp_path / "out")
        for trial, fate in zip(event.step.trials, event.fates, strict=True)
        if fate is Fate.INVALID
    }
    for text, said in HOSTILE.items():
        if text in reasons:
            assert said in reasons[text], (text, reasons[text])
    assert len(set(HOSTILE) & set(reasons)) >= 8


@pytest.mark.long
def test_ablate_search_asks_the_model_within_its_calls(tmp_path, pool_file):
    sizes = ["-M", "5", "-N", "4", "--draws", "2", "--seeds", "2", "--calls", "6", "--set", "proposers.burst=4"]
    with ScriptedServer(program) as server:
        arguments = [
            sys.executable,
            "-m",
            "evosyn",
            "ablate",
            "search",
            "--pool",
            pool_file,
            "--out",
            tmp_path / "o",
            *sizes,
        ]
        arguments += ["--searches", "evolve,iid", "--model", "openai/scripted", "--base-url", server.base_url]
        arguments += ["--out", tmp_path / "o"]
        environment = {**os.environ, "OPENAI_API_KEY": "sk-test"}
        result = subprocess.run(arguments, capture_output=True, text=True, timeout=300, env=environment)
        assert result.returncode == 0, result.stderr
        requests = server.counts.requests
    assert "evolution" in result.stdout and "Unclosed" not in result.stderr
    assert 6 <= requests <= 4 * 7, "at most one call above the limit, for a repair"


@pytest.mark.parametrize("search", [(), ("--proposer", "rewrite", "--iterations", "9"), ("--set", "stop.proposals=7")])
def test_a_model_that_a_key_or_a_file_names_gives_the_defaults_that_the_flag_gives(search, tmp_path, pool_file):
    def plan(*words: str) -> dict:
        line = ["evolve", str(pool_file), "--out", str(tmp_path / "run"), "--dry-run", "--json", *search, *words]
        return json.loads(CliRunner().invoke(group, line, catch_exceptions=False).stdout)

    (tmp_path / "mine.yaml").write_text("workbench: {teacher: {model: openai/m}}\n")
    asked = plan("--model", "openai/m")
    assert plan("--set", "workbench.teacher.model=openai/m") == asked
    assert plan("--config", str(tmp_path / "mine.yaml")) == asked
    assert search or asked != plan()
    if not search:
        assert (asked["proposals"], asked["evaluations"], "diff" in asked["proposers"]) == (200, None, True)
