"""Every kind of bad strategy and bad reply in one search: each gets its verdict, none stops it or harms another."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simulation.scripted_server import ScriptedServer

from evosyn.evolve.events import KEPT, Committed, Fate, events_of
from evosyn.matrices import write_matrices
from evosyn.records import PassMatrix
from evosyn.rundir import RunDir
from evosyn.teachers.chat import QUESTION

GOOD = """import numpy as np


def rank(evidence):
    p = evidence.passed
    return p.sum(axis=1), p.sum(axis=0) - 0.125
"""
TIES = "def rank(evidence):\n    m, n = evidence.passed.shape\n    return [0.0] * m, [0.0] * n\n"


def strategy(line: str) -> str:
    return GOOD.replace("    p = evidence.passed\n", f"    p = evidence.passed\n    {line}\n")


PROGRAMS = {
    "loops": (strategy("while True: pass"), "time limit"),
    "allocates": (strategy("x = [0] * 10**12"), "MemoryError"),
    "grows": (strategy("x = np.ones(10**10)"), "Memory"),
    "recurses": (strategy("rank(evidence)"), "RecursionError"),
    "prints": (strategy("print(p)"), "no input or output: print()"),
    "forks": (strategy("import os; os.fork()"), "cannot import 'os'"),
    "imports": ("import scipy\n" + GOOD, "cannot import 'scipy'"),
    "exits": (strategy("raise SystemExit(0)"), "SystemExit"),
    "length": (GOOD.replace("p.sum(axis=1)", "p.sum(axis=1)[1:]"), "must have shape"),
    "nan": (GOOD.replace("- 0.125", "+ np.nan"), "is nan, must be finite"),
    "mutates": (strategy("p[0, 0] = True"), "read-only"),
    "global": ("seen = []\n" + strategy("seen.append(1)").replace("- 0.125", "* len(seen)"), "must not depend on"),
    "patches": (strategy("import builtins; builtins.len = None"), "cannot import 'builtins'"),
}
REPLIES = {
    "prose": ("I would rather talk about it.", "prose"),
    "another language": ("```java\nclass Strategy { }\n```", "prose"),
    "no patch": ("<<<<<<< SEARCH\nnot there\n=======\nnothing\n>>>>>>> REPLACE", "diff-does-not-apply"),
    "does not parse": ("```python\ndef rank(evidence:\n    return\n```", "does-not-parse"),
    "no rank": ("```python\nx = 1\n```", "no-entry-point"),
    "100 kB": ("```python\n" + "value = 1\n" * 12_000 + "```", "no-entry-point"),
    "nothing": ("", "empty"),
}


class Script:
    """Answers one thing after the other; a request for repair gets the same again."""

    def __init__(self) -> None:
        self.replies = [f"```python\n{text}```\n" for text, _ in PROGRAMS.values()]
        self.replies += [text for text, _ in REPLIES.values()]
        self.replies += [f"```python\n{text}```\n" for text in (TIES, GOOD)]
        self.at = -1

    def __call__(self, body, times):  # noqa: ARG002
        if body["messages"][-1]["content"] == QUESTION:
            return "ready"
        if not any(message["role"] == "assistant" for message in body["messages"]):
            self.at += 1
        return self.replies[self.at]


@pytest.fixture(scope="module")
def out(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("bad")
    rng, made = np.random.default_rng(3), []
    for number in range(8):
        right = np.arange(6) % 2 == 0
        verdicts = np.where(rng.random((6, 5)) < np.where(right, 0.9, 0.3)[:, None], "P", "F")
        made.append(PassMatrix(f"problem-{number}", verdicts, human_M=np.where(right, "P", "F")))
    write_matrices(folder / "m.jsonl", made)
    count = len(PROGRAMS) + len(REPLIES) + 2
    with ScriptedServer(Script()) as server:
        arguments = [sys.executable, "-m", "evosyn", "evolve", folder / "m.jsonl", "--out", folder / "out"]
        arguments += ["-M", "6", "-N", "5", "--iterations", count]
        settings = ("scoring.draws=2", "loop.lag=1", "loop.concurrency=1", "known=false")
        arguments += [word for key in settings for word in ("--set", key)]
        arguments += ["--proposer", "diff", "--model", "openai/scripted", "--base-url", server.base_url, "--quiet"]
        environment = {**os.environ, "OPENAI_API_KEY": "none"}
        result = subprocess.run(list(map(str, arguments)), capture_output=True, text=True, timeout=300, env=environment)
    assert result.returncode in (0, 1), result.stderr
    return folder / "out"


@pytest.fixture(scope="module")
def proposals(out) -> list[Committed]:
    events = events_of(RunDir(out).journal)
    return [event for event in events if isinstance(event, Committed) and event.step.index >= 0]


def inspect(out: Path, *options: str) -> str:
    command = [sys.executable, "-m", "evosyn", "inspect", str(out), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_a_bad_strategy_has_its_reason_in_the_journal_and_in_inspect(out, proposals, name):
    event = proposals[list(PROGRAMS).index(name)]
    (trial,) = event.step.trials
    reason = PROGRAMS[name][1]
    assert event.fates == (Fate.INVALID,) and reason in trial.evaluation.invalid
    assert reason.split()[0] in inspect(out, "--why", trial.candidate.id)


@pytest.mark.slow
@pytest.mark.parametrize("name", REPLIES)
def test_a_bad_reply_is_waste_with_a_name(out, proposals, name):
    step = proposals[len(PROGRAMS) + list(REPLIES).index(name)].step
    waste = REPLIES[name][1]
    assert step.waste == waste and not step.trials and step.replies
    assert waste in inspect(out)


@pytest.mark.slow
def test_ties_everywhere_are_scored_as_such_and_warned_of(out, proposals):
    (tied,), (good,) = (event.step.trials for event in proposals[-2:])
    assert set(proposals[-2].fates) <= {*KEPT, Fate.NOT_BETTER, Fate.SAME_BEHAVIOUR}
    assert tied.evaluation.score < good.evaluation.score
    assert "solution scores are constant" in inspect(out, "--program", tied.candidate.id)


@pytest.mark.slow
def test_the_good_program_after_all_of_them_is_scored(proposals):
    (trial,) = proposals[-1].step.trials
    assert set(proposals[-1].fates) <= {*KEPT, Fate.NOT_BETTER, Fate.SAME_BEHAVIOUR}
    assert trial.evaluation.score > 0
