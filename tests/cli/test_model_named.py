"""A command that asks a model asks none that nobody named, leaves nothing behind; what stands in for one says so."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from simulation import TEACHER

from evosyn.cli import group
from evosyn.errors import UsageError
from evosyn.strategies import load_known

ASKING = {
    "quickstart": (),
    "evolve": ("builtin:python-seeds",),
    "evolve --proposer rewrite": ("builtin:python-seeds",),
    "evolve --dry-run": ("builtin:python-seeds",),
    "synthesize": ("STRATEGY", "--seeds", "builtin:python-seeds"),
    "synthesize --shard-size 2": ("STRATEGY", "--seeds", "builtin:python-seeds"),
    "synthesize --dry-run": ("STRATEGY", "--seeds", "builtin:python-seeds"),
    "env make": (),
    "env make --dry-run": (),
    "env evolve": (),
    'env evolve --student openai/m --set proposers.arms={"knobs":1}': (),
    "env evolve --dry-run": (),
    "world make": ("bike-rental",),
    "world rollout": ("builtin:library",),
}


@pytest.fixture
def strategy(tmp_path: Path) -> Path:
    path = tmp_path / "strategy.py"
    path.write_text(load_known("gap"))
    return path


@pytest.mark.parametrize("command", ASKING)
def test_a_command_that_asks_a_model_refuses_where_none_is_named(command: str, strategy: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    words = [str(strategy) if word == "STRATEGY" else word for word in ASKING[command]]
    if command != "quickstart":
        words += ["--out", str(out)]
    with pytest.raises(UsageError, match="no model is named: --model provider/name, --teacher local:PATH") as refused:
        CliRunner().invoke(group, [*command.split(), *words], catch_exceptions=False, standalone_mode=False)
    assert refused.value.exit_code == 2 and not out.exists()


def test_what_stands_in_for_a_model_is_told_in_the_first_line(strategy: Path, tmp_path: Path) -> None:
    words = ["synthesize", str(strategy), "--seeds", "builtin:python-seeds", "--teacher", TEACHER, "--problems", "1"]
    words += ["-M", "2", "-N", "2", "--quiet", "--allow-weak-sandbox", "--out", str(tmp_path / "out")]
    made = subprocess.run([sys.executable, "-m", "evosyn", *words], capture_output=True, text=True, check=False)
    assert made.stderr.splitlines()[0].startswith("SIMULATED: offline-teacher"), made.stderr
