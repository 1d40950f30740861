"""Rows of agents as a taskset of verifiers: its own tool finds them valid, and its own loop plays an episode."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from evosyn.dataset import write_dataset
from tests.train.shell_rows import NAMES, shell_sample

pytestmark = pytest.mark.consumers


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The name of the written package, installed with pip beside the packages that it asks for."""
    home = tmp_path_factory.mktemp("agents")
    write_dataset(home / "data", "evosyn", [shell_sample(index) for index in range(len(NAMES))])
    line = [sys.executable, "-P", "-m", "evosyn", "export", str(home / "data"), "--format", "verifiers"]
    subprocess.run([*line, "--out", str(home / "out"), "--name", "shell tasks"], check=True, capture_output=True)
    line = [sys.executable, "-m", "pip", "install", "-qq", "--no-index", "--no-build-isolation", str(home / "out")]
    subprocess.run(line, check=True, capture_output=True, text=True)
    return "shell-tasks"


def test_verifiers_own_tool_finds_every_row_valid(package: str, tmp_path: Path) -> None:
    line = [str(Path(sys.executable).with_name("vf-validate")), package, "-n", str(len(NAMES))]
    ended = subprocess.run(
        [*line, "--runtime.type", "subprocess", "-o", str(tmp_path / "run")],
        capture_output=True, text=True, timeout=600, check=False,
    )  # fmt: skip
    results = [json.loads(line) for path in (tmp_path / "run").rglob("results.jsonl") for line in path.open()]
    assert len(results) == len(NAMES), ended.stdout + ended.stderr
    assert all(row["valid"] is True and row["gold"]["valid"] and row["noop"]["valid"] for row in results), results
