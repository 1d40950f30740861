"""A feed in a process that is killed again and again, and goes on: what every co-evolution must stand."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from evosyn.ports import Feed
from evosyn.randomness import SeedTree
from evosyn.rundir import write_atomic

ROOT = Path(__file__).parents[2]


def checkpoint(folder: Path) -> int:
    """The step that a run goes on from."""
    done = folder / "done"
    return int(done.read_text()) if done.exists() else 0


def go_on(
    folder: Path, feed: Feed, report: Callable[[int], None], steps: int, *, cut: int, names: Sequence[str], every: int
) -> None:
    """Go on from the last checkpoint, one every so many steps, to the end.

    Args:
        report: reports a step to the feed.
        cut: bytes that the larger of the journals `names` may still grow by, before the process is killed within a
            write; 0 for as many as they want.
    """
    at = checkpoint(folder)
    feed.rewind(at)
    if cut:
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        largest = max((folder / name).stat().st_size for name in names if (folder / name).exists())
        resource.setrlimit(resource.RLIMIT_FSIZE, (largest + cut, resource.RLIM_INFINITY))
    for step in range(at, steps):
        report(step)
        if step % every == every - 1:
            write_atomic(folder / "done", str(step + 1))
    (folder / "state.json").write_text(json.dumps([feed.state(), feed.summary()]))


def killed_and_whole(module: str, folder: Path, *, kills: int, steps: int, pause_s: float) -> Path:
    """Lead a run to its end, and another one through kills; see that both end in the same state.

    Every second time it is killed within a write, else with kill -9.

    Args:
        module: leads, as `python -m MODULE RUN STEPS CUT`.
        pause_s: at most between growth of the journal and a kill.

    Returns:
        The run that was killed.
    """
    line, rng = [sys.executable, "-m", module], SeedTree(kills).random()
    root = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, [ROOT, *sys.path]))}
    whole, killed = folder / "whole", folder / "killed"
    subprocess.run([*line, str(whole), str(steps), "0"], env=root, check=True)
    journal, ends = killed / "journal.jsonl", []
    for number in range(kills):
        size = journal.stat().st_size if journal.exists() else 0
        cut = rng.randrange(1, 4000) if number % 2 else 0
        process = subprocess.Popen([*line, str(killed), str(steps), str(cut)], env=root)
        while not cut and process.poll() is None and (journal.stat().st_size if journal.exists() else 0) <= size:
            time.sleep(0.005)
        if not cut:
            time.sleep(rng.random() * pause_s)
            process.send_signal(signal.SIGKILL)
        ends.append(process.wait(240))
    subprocess.run([*line, str(killed), str(steps), "0"], env=root, check=True)
    assert -signal.SIGXFSZ in ends
    assert (killed / "state.json").read_text() == (whole / "state.json").read_text()
    return killed
