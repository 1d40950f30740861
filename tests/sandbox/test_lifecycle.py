"""What is left behind: nothing, however the process that opened the sandbox ends."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Limits
from evosyn.sandbox import open_sandbox

SCRIPT = """
import sys
from evosyn.jobs import Call, CallsJob, Check, ChecksJob, Limits
from evosyn.sandbox import _jail, open_sandbox
if sys.argv[1] == "bare":
    _jail.bwrap_path = lambda: None
sandbox = open_sandbox("local", workers=2, allow_weak=True)
sandbox.run([ChecksJob("def f(x): return x", "f", (Check("assert f(1) == 1"),))] * 20)
print("ready", flush=True)
sandbox.run([CallsJob("def f(x):\\n    while True: pass", "f", (Call((1,)),) * 9, Limits(wall_s=60))] * 4)
"""


def tree(root: int) -> set[int]:
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        if fields[0] != "Z":
            parents[int(entry.name)] = int(fields[1])
    found = {root}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found & set(parents)


def alive(pids: set[int]) -> set[int]:
    found = set()
    for pid in pids:
        try:
            state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if state != "Z":
            found.add(pid)
    return found


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("kind", ["best", "bare"])
def test_no_process_outlives_a_killed_parent(number: signal.Signals, kind: str) -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, kind], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    time.sleep(0.5)
    ours = tree(process.pid)
    assert len(ours) >= 5, "us, and in each of two jails a fork server, a supervisor and a process that runs checks"
    process.send_signal(number)
    process.wait(20)
    until = time.monotonic() + 20
    while alive(ours) and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(ours) == set()


def test_close_ends_every_process_and_removes_every_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    before = tree(os.getpid())
    with open_sandbox("local", workers=2) as sandbox:
        sandbox.run([CallsJob("def f(x): return x", "f", (Call((1,)),))] * 20)
        assert tree(os.getpid()) - before
    assert tree(os.getpid()) - before == set()
    assert list(tmp_path.iterdir()) == []


def test_a_sandbox_that_is_dropped_ends_its_processes() -> None:
    before = tree(os.getpid())
    sandbox = open_sandbox("local", workers=1)
    sandbox.run([CallsJob("def f(x): return x", "f", (Call((1,)),))])
    del sandbox
    assert tree(os.getpid()) - before == set()


def test_closing_during_a_run_ends_it_with_an_error() -> None:
    import threading

    sandbox = open_sandbox("local", workers=1)
    threading.Timer(0.5, sandbox.close).start()
    with pytest.raises(SandboxUnavailable, match="closed"):
        sandbox.run([CallsJob("def f(x):\n    while True: pass", "f", (Call((1,)),), Limits(wall_s=60))])


def test_a_fork_of_our_process_neither_uses_nor_ends_the_sandbox() -> None:
    with open_sandbox("local", workers=1) as sandbox:
        sandbox.run([CallsJob("def f(x): return x", "f", (Call((1,)),))])
        pid = os.fork()
        if pid == 0:
            try:
                sandbox.run([CallsJob("def f(x): return x", "f", (Call((1,)),))])
            except SandboxUnavailable:
                sandbox.close()
                os._exit(7)
            finally:
                os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7
        ((outcome,),) = sandbox.run([CallsJob("def f(x): return x", "f", (Call((4,)),))])
        assert outcome.value == 4
