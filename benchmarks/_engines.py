"""Ways to execute the cells of a grid, ours and those of others: the engines that `crossexec.py` sets side by side.

An engine runs rows and says pass or not for each cell, row by row.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from evosyn.domains.python_function import PythonFunction
from evosyn.jobs import Check, ChecksJob, Limits, Status
from evosyn.records import Problem, Solution, Testing

Engine: TypeAlias = "Callable[[Sequence[Row]], list[bool]]"
WALL_S = 3.0


@dataclass(frozen=True)
class Row:
    """One solution and its testings."""

    problem: Problem
    solution: Solution
    testings: tuple[Testing, ...]

    @property
    def entry_point(self) -> str:
        return str(self.problem.payload.get("entry_point", ""))

    @property
    def checks(self) -> list[str]:
        """Each testing as a text of asserts."""
        return [asserts_of(testing, self.entry_point) for testing in self.testings]

    @property
    def cells(self) -> list[str]:
        """Each cell as a program of its own."""
        return [f"{self.solution.text}\n{check}" for check in self.checks]


def asserts_of(testing: Testing, entry_point: str) -> str:
    """The testing as a text of asserts."""
    if testing.kind == "asserts":
        return "\n".join(testing.body["asserts"])
    lines = []
    for case in testing.body["cases"]:
        given = case["input"]
        call = f"**{given!r}" if isinstance(given, dict) else f"*{given!r}"
        lines.append(f"assert {entry_point}({call}) == {case['output']!r}")
    return "\n".join(lines)


def bare(rows: Sequence[Row]) -> list[bool]:
    """One process, fresh compile for each cell, an alarm, no isolation."""
    return [run_cell(text) for row in rows for text in row.cells]


def run_cell(text: str) -> bool:
    def ring(_number: int, _frame: object) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, WALL_S)
    keep = sys.stdout
    try:
        with open(os.devnull, "w") as sys.stdout:  # noqa: PTH123
            exec(compile(text, "<cell>", "exec"), {"__name__": "cell"})
        return True
    except BaseException:  # noqa: BLE001 - a cell may raise anything
        return False
    finally:
        sys.stdout = keep
        signal.setitimer(signal.ITIMER_REAL, 0)


def per_cell_fork(rows: Sequence[Row]) -> list[bool]:
    """The reference: a forked process for each cell."""
    found = []
    for row in rows:
        for text in row.cells:
            pid = os.fork()
            if pid == 0:
                os._exit(0 if run_cell(text) else 1)
            found.append(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0)
    return found


def _manager_cell(text: str, result: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        result.append("passed" if run_cell(text) else "failed")
        os.chdir("/")


def per_cell_manager(rows: Sequence[Row]) -> list[bool]:
    """One process and one manager process for each cell, the way of the HumanEval harness."""
    context = multiprocessing.get_context("fork")
    found = []
    for row in rows:
        for text in row.cells:
            with context.Manager() as manager:
                result = manager.list()
                process = context.Process(target=_manager_cell, args=(text, result))
                process.start()
                process.join(WALL_S + 1)
                if process.is_alive():
                    process.kill()
                    process.join()
                found.append(list(result) == ["passed"])
    return found


def per_cell_command(prefix: Sequence[str]) -> Callable[[Sequence[Row]], list[bool]]:
    def run(rows: Sequence[Row]) -> list[bool]:
        found = []
        for row in rows:
            for text in row.cells:
                done = subprocess.run([*prefix, "-I", "-S", "-c", text], capture_output=True, timeout=60, check=False)
                found.append(done.returncode == 0)
        reap()
        return found

    return run


def reap() -> None:
    """Take in what a jail left to us, so that its CPU time is counted (we are its subreaper)."""
    with contextlib.suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def bwrap_command() -> list[str] | None:
    if shutil.which("bwrap") is None:
        return None
    python = os.path.realpath(sys._base_executable)  # type: ignore[attr-defined]
    return ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", "/", "/", "--tmpfs", "/tmp", python]


def docker_command() -> list[str] | None:
    """`docker run` of an image that has Python, where an engine answers; wall time only, since the daemon works."""
    if shutil.which("docker") is None:
        return None
    label = '{{index .Config.Labels "evosyn.python"}}'
    seen = subprocess.run(
        ["docker", "image", "inspect", "--format", label, "evosyn-sandbox"], capture_output=True, text=True, check=False
    )
    python = seen.stdout.strip()
    return ["docker", "run", "--rm", "--network", "none", "evosyn-sandbox", python] if seen.returncode == 0 else None


class Jailed:
    """Table or rpc mode on one open sandbox; the plans are made inside the measured time, by a domain that has kept
    nothing of an earlier round."""

    def __init__(self, sandbox: Any, mode: str) -> None:
        self._sandbox, self._mode = sandbox, mode

    def __call__(self, rows: Sequence[Row]) -> list[bool]:
        limits = Limits(cpu_s=WALL_S, budget_s=10 * WALL_S)
        if self._mode == "rpc":
            jobs = [
                ChecksJob(row.solution.text, row.entry_point, tuple(map(Check, row.checks)), limits) for row in rows
            ]
            return [item.status is Status.OK for outcomes in self._sandbox.run(jobs) for item in outcomes]
        domain = PythonFunction()
        plans = [domain.plan(row.problem, row.solution, row.testings, limits) for row in rows]
        outcomes = self._sandbox.run([job for plan in plans for job in plan.jobs])
        found, position = [], 0
        for plan in plans:
            cells = plan.judge(outcomes[position : position + len(plan.jobs)])
            position += len(plan.jobs)
            found += [cell.verdict.value == "P" for cell in cells]
        return found
