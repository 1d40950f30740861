"""A small real run and a small real dataset, each also with texts that try to be more than text."""

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from evosyn.evolve.events import Committed, Fate, Step, Trial, events_of
from evosyn.journal import Journal
from evosyn.matrices import write_matrices
from evosyn.records import Candidate, Evaluation, PassMatrix, Problem
from evosyn.synthesis.config import SynthesizeConfig

HOSTILE = "</script><img src=x onerror=alert(1)><script>alert(2)</script><!--&\u2028\u202e\x1b[31m"
"""Closes the script, brings its own, and holds what a page must escape: line and direction marks, a control code."""
VISIBLE = "</script><img src=x onerror=alert(1)><script>alert(2)</script><!--&\\u2028\\u202e\\x1b[31m"
SETS = ("scoring.draws=2", "islands.count=2", "proposers.burst=4", "finalists=5")
SMALL = ["-M", "5", "-N", "4", *(f"--set={key}" for key in SETS)]


def _toy_parts() -> ModuleType:
    spec = importlib.util.spec_from_file_location("toy_parts", Path(__file__).parents[1] / "synthesis" / "conftest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="session")
def run_dir(tmp_path_factory) -> Path:
    folder, rng, made = tmp_path_factory.mktemp("view-run"), np.random.default_rng(3), []
    for number in range(14):
        right = rng.random(8) < 0.5
        right[:2] = True, False
        chance = np.where((rng.random(6) < 0.5)[None, :], np.where(right[:, None], 0.95, 0.1), 0.9)
        verdicts = np.where(rng.random((8, 6)) < chance, "P", "F")
        made.append(PassMatrix(f"problem-{number}", verdicts, human_M=np.where(right, "P", "F")))
    write_matrices(folder / "m.jsonl", made)
    command = [sys.executable, "-m", "evosyn", "evolve", str(folder / "m.jsonl"), "--out", str(folder / "run"), *SMALL]
    result = subprocess.run([*command, "--evaluations", "150"], capture_output=True, text=True, check=False)
    assert result.returncode in (0, 1), result.stderr
    return folder / "run"


@pytest.fixture
def hostile_run(run_dir, tmp_path) -> Path:
    """The run before its report, with one more candidate, whose every text is hostile."""
    copy = tmp_path / "run"
    shutil.copytree(run_dir, copy)
    (copy / "report.json").unlink()
    journal = Journal(copy / "journal.jsonl")
    events = events_of(journal)
    steps = [event.step for event in events if isinstance(event, Committed)]
    parent = steps[0].trials[0].candidate.id
    candidate = Candidate(HOSTILE + "\ud800", (parent,), "genetic", {"operator": HOSTILE, "prompt": HOSTILE})
    evaluation = Evaluation(score=None, invalid=HOSTILE)
    step = Step(steps[-1].index + 1, 0, HOSTILE, parent, (Trial(candidate, "hostile", evaluation),), waste=HOSTILE)
    events.append(Committed(step, (Fate.INVALID,)))
    journal.close()
    return copy


@pytest.fixture(scope="session")
def data_dir(tmp_path_factory) -> Path:
    """A dataset whose statements and checks are hostile."""
    parts = _toy_parts()
    nouns = ("harbour", "meadow", "lantern", "orchard", "granite")
    seeds = [
        Problem(f"seed-{at}", parts.TOY, f"add {at} to every {noun}", payload={"entry_point": "f"})
        for at, noun in enumerate(nouns)
    ]

    class Hostile(parts.ToyTeacher):
        def _text(self, request, key):
            text = super()._text(request, key)
            return text + " " + HOSTILE if request.purpose in ("problem", "solution") and text[:4] == "add " else text

    out = tmp_path_factory.mktemp("view-data") / "data"
    parts.Toy(tuple(seeds)).run(out, SynthesizeConfig(problems=24, solutions=5, testings=4), Hostile())
    assert json.loads((out / "report.json").read_text())["kept"]
    return out


@pytest.fixture
def visible() -> str:
    """The hostile text as a reader sees it."""
    return VISIBLE
