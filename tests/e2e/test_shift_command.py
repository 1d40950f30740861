"""A strategy of one kind of pool, a synthesis of another: the command prints the shift that its report holds."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from simulation import TEACHER

from evosyn.domains import load_pools
from evosyn.matrices import write_matrices
from evosyn.pools import write_pools
from evosyn.records import PassMatrix

SMALL = ("scoring.draws=2", "islands.count=1", "proposers.burst=4", "finalists=5")


def evosyn(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "evosyn", *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def hardly_passed(path: Path) -> Path:
    """Recorded matrices in which next to nothing passes, unlike those of the offline teacher."""
    rng = np.random.default_rng(1)
    made = []
    for number in range(16):
        right = np.arange(6) < 2
        passed = rng.random((6, 5)) < np.where(right, 0.2, 0.02)[:, None]
        made.append(PassMatrix(f"p{number}", np.where(passed, "P", "F"), human_M=np.where(right, "P", "F")))
    write_matrices(path, made)
    return path


@pytest.mark.slow
def test_the_command_prints_the_shift_that_report_card_and_inspect_tell(tmp_path: Path) -> None:
    run, data, seeds = tmp_path / "run", tmp_path / "data", tmp_path / "seeds.jsonl"
    options = [f"--set={one}" for one in SMALL]
    source = hardly_passed(tmp_path / "m.jsonl")
    ended = evosyn("evolve", source, "-M", 5, "-N", 4, "--evaluations", 60, "--out", run, "--quiet", *options)
    assert ended.returncode in (0, 1), ended.stderr
    write_pools(seeds, load_pools("builtin:python-seeds")[:4])
    asked = ("--problems", 3, "-M", 5, "-N", 4, "--teacher", f"{TEACHER}:strong", "--set=execute.cpu_s=1")
    ended = evosyn("synthesize", run, "--seeds", seeds, "--out", data, "--quiet", *asked)
    report = json.loads((data / "report.json").read_text())
    trait, said = report["shift"]["traits"]["pass_share"], report["shift"]["said"]
    assert trait["beyond"] and trait["here"] > trait["high"] >= trait["evolved"]
    assert len(said) == 2, "the sizes are those of the search"
    warned = [line.removeprefix("warning: ") for line in ended.stderr.splitlines() if line.startswith("warning: ")]
    assert [line for line in warned if line in said] == said
    assert f"share of testings that a solution passes {trait['here']:g} here, {trait['evolved']:g} there" in said[0]
    assert said[0] in (data / "README.md").read_text()
    shown = " ".join(evosyn("inspect", data).stdout.split())
    assert "These matrices are unlike those on which the strategy was evolved" in shown
