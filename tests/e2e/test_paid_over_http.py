"""Commands that pay an endpoint, killed or on a disk that fills up: nothing is lost, and little is paid twice."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from _replies import script
from simulation.scripted_server import ScriptedServer

from evosyn.dataset import SETTINGS
from evosyn.domains import load_pools
from evosyn.matrices import write_matrices
from evosyn.pools import write_pools
from evosyn.records import PassMatrix
from evosyn.strategies import load_known

pytestmark = pytest.mark.long
CALLS = 4
"""At once, and so many may be in flight when a process is killed."""
KILLS = 5


def program(body: dict, times: int) -> str:  # noqa: ARG001
    """A strategy that depends on the request."""
    value = len(str(body)) % 89 / 100
    return (
        "Here it is.\n```python\nimport numpy as np\n\n\ndef rank(evidence):\n    p = evidence.passed.astype(float)\n"
        f"    s = p.mean(axis=1) ** {value + 0.5:.2f}\n"
        f"    return s, (p * s[:, None]).mean(axis=0) - {value:.2f} * p.mean(axis=0)\n```\n"
    )


class Paid(NamedTuple):
    """A command that asks a model: arguments, who answers, the files that it comes to, a disk that is too small."""

    arguments: Callable[[Path], list[str]]
    script: Callable[[dict, int], str]
    files: tuple[str, ...]
    disk: str


def synthesize(inputs: Path) -> list[str]:
    line = ["synthesize", str(inputs / "strategy.py"), "--seeds", str(inputs / "seeds.jsonl")]
    return [*line, "--problems", "8", "-M", "5", "-N", "5"]


def evolve(inputs: Path) -> list[str]:
    keys = ("scoring.draws=2", "islands.count=2", "proposers.burst=4", "proposers.around=6", "finalists=5")
    sets = [word for key in keys for word in ("--set", key)]
    return ["evolve", str(inputs / "matrices.jsonl"), "-M", "8", "-N", "6", "--iterations", "40", *sets]


COMMANDS = {
    "synthesize": Paid(
        synthesize,
        lambda body, times: script(body, 1),  # noqa: ARG005 - asked again it answers the same
        ("problems.jsonl", "candidates.jsonl", "matrices.jsonl", "rejects.jsonl", "report.json",
         *(f"dataset/{setting}.parquet" for setting in SETTINGS)),
        "96k",
    ),
    "evolve": Paid(evolve, program, ("strategy.py", "journal.jsonl"), "160k"),
}  # fmt: skip


class Run:
    """A command against a server of its own, which counts what it was asked."""

    def __init__(self, paid: Paid, inputs: Path, server: ScriptedServer) -> None:
        self._paid, self._inputs, self.server = paid, inputs, server

    def start(self, out: Path) -> subprocess.Popen[str]:
        line = [sys.executable, "-P", "-m", "evosyn", *self._paid.arguments(self._inputs), "--out", str(out)]
        model = ["--model", "openai/scripted", "--base-url", self.server.base_url]
        more = ["--set", f"workbench.teacher.calls={CALLS}", "--quiet", "--allow-weak-sandbox"]
        cache = out.parent / f"{out.name}-cache"  # of its own: what another run was answered is no help
        environment = {**os.environ, "OPENAI_API_KEY": "sk-secret-for-the-test", "XDG_CACHE_HOME": str(cache)}
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*line, *model, *more], stdout=pipe, stderr=pipe, text=True, env=environment, start_new_session=True
        )

    def whole(self, out: Path) -> None:
        process = self.start(out)
        _, said = process.communicate(timeout=600)
        assert process.returncode in (0, 1), said

    def content(self, out: Path) -> dict[str, bytes]:
        return {name: (out / name).read_bytes() for name in self._paid.files}


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    (folder / "strategy.py").write_text(load_known("codet"))
    pools = {pool.problem.domain: pool for pool in load_pools("builtin:python-seeds")}
    write_pools(folder / "seeds.jsonl", pools.values())
    rng, made = np.random.default_rng(3), []
    for number in range(10):
        right = np.arange(8) % 2 == 0
        good = np.arange(6) % 3 > 0
        chance = np.where(good[None, :], np.where(right[:, None], 0.95, 0.1), 0.9)
        verdicts = np.where(rng.random((8, 6)) < chance, "P", "F")
        made.append(PassMatrix(f"problem-{number}", verdicts, human_M=np.where(right, "P", "F")))
    write_matrices(folder / "matrices.jsonl", made)
    return folder


@pytest.fixture(scope="module", params=COMMANDS, ids=str)
def paid(request: pytest.FixtureRequest) -> Paid:
    return COMMANDS[request.param]


@pytest.fixture
def run(paid: Paid, inputs: Path) -> Iterator[Run]:
    with ScriptedServer(paid.script, latency_s=0.05) as server:
        yield Run(paid, inputs, server)


def test_killed_again_and_again_it_comes_to_the_same_and_pays_only_what_was_in_flight_twice(
    run: Run, tmp_path: Path
) -> None:
    run.whole(tmp_path / "whole")
    asked, draw = run.server.counts.requests, random.Random(0)
    killed = 0
    for share in sorted(draw.uniform(0.05, 0.95) for _ in range(KILLS)):
        process = run.start(tmp_path / "killed")
        while process.poll() is None and run.server.counts.requests < asked * (1 + share):
            time.sleep(0.002)
        if process.poll() is None:
            killed += 1
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
    run.whole(tmp_path / "killed")
    assert killed >= KILLS - 1
    assert run.content(tmp_path / "killed") == run.content(tmp_path / "whole")
    assert asked <= run.server.counts.requests - asked <= asked + CALLS * killed


@pytest.mark.root
def test_a_disk_that_fills_up_is_said_and_once_there_is_room_the_same_command_goes_on(
    run: Run, paid: Paid, tmp_path: Path
) -> None:
    run.whole(tmp_path / "whole")
    asked, disk = run.server.counts.requests, tmp_path / "disk"
    disk.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={paid.disk}", "tmpfs", str(disk)], check=True)
    try:
        process = run.start(disk / "run")
        _, said = process.communicate(timeout=600)
        assert process.returncode == 4, said
        assert "the disk is full" in said and str(disk / "run") in said and "Traceback" not in said
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        run.whole(disk / "run")
        assert run.content(disk / "run") == run.content(tmp_path / "whole")
        assert asked <= run.server.counts.requests - asked <= asked + CALLS
    finally:
        subprocess.run(["umount", str(disk)], check=True)
