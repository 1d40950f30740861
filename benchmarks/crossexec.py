"""What cross-execution costs, beside the ways that others use. Figures, not assertions.

    python benchmarks/crossexec.py rates      cells per CPU second: table, rpc, stdio, and the peers, in one run
    python benchmarks/crossexec.py hang       pools where many calls hang, against ideal packing of the timeouts
    python benchmarks/crossexec.py growth     8 x 8 grown to 16 x 16 executes the new distinct cells only
    python benchmarks/crossexec.py memory     peak memory of our process for many cells
    python benchmarks/crossexec.py all

Work: the HumanEval pool of `../shared/data` where it is there, the bundled seeds otherwise. CPU time is that of the
whole process tree; engines take turns within a run and the best round of each counts, so that ratios hold on a loaded
machine.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import multiprocessing
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from evosyn.crossexec.executor import CrossexecConfig, CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domain as domain_named
from evosyn.domains import load_pools
from evosyn.domains.python_function import PythonFunction
from evosyn.jobs import Call, CallsJob, Check, ChecksJob, Limits, Status, StdioJob
from evosyn.records import Problem, Solution, Testing
from evosyn.sandbox import open_sandbox

Engine: TypeAlias = "Callable[[Sequence[Row]], list[bool]]"
POOL = Path(__file__).parents[2] / "shared/data/humaneval_codegen16b_even.jsonl.gz"
WALL_S = 3.0
M = N = 16


@dataclass(frozen=True)
class Row:
    """One solution and its testings."""

    problem: Problem
    solution: Solution
    testings: tuple[Testing, ...]


def real_rows(limit: int) -> list[Row]:
    """Rows of the recorded pool without those in which a call is known to hang."""
    rows: list[Row] = []
    for pool in load_pools(POOL):
        if len(pool.solutions) < M or len(pool.testings) < N:
            continue
        for solution, seen in zip(pool.solutions[:M], pool.problem.meta["recorded_verdicts"], strict=False):
            if "T" not in seen[:N]:
                rows.append(Row(pool.problem, solution, pool.testings[:N]))
    return rows[:limit]


def seed_rows(limit: int) -> list[Row]:
    rows = []
    for pool in load_pools("builtin:python-seeds"):
        problem = pool.problem
        if problem.domain != "python-function" or problem.human_testing is None or not problem.reference_solution:
            continue
        cases = problem.human_testing.body.get("cases", [])
        if not cases or any(isinstance(case["output"], dict) and "python" in case["output"] for case in cases):
            continue
        testings = tuple(Testing("cases", {"cases": cases[n::4] or cases}) for n in range(4))
        for source in (problem.reference_solution, *problem.meta.get("alternatives", ())):
            rows.append(Row(problem, Solution(source), testings))
    return rows[:limit]


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


# the engines: each runs (rows) and gives pass/not-pass per cell, row by row


def bare(rows: Sequence[Row]) -> list[bool]:
    """One process, fresh compile for each cell, an alarm, no isolation."""
    found = []
    for row in rows:
        for testing in row.testings:
            found.append(
                run_cell(row.solution.text + "\n" + asserts_of(testing, row.problem.payload.get("entry_point", "")))
            )
    return found


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
        for testing in row.testings:
            text = row.solution.text + "\n" + asserts_of(testing, row.problem.payload.get("entry_point", ""))
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
        for testing in row.testings:
            text = row.solution.text + "\n" + asserts_of(testing, row.problem.payload.get("entry_point", ""))
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
            for testing in row.testings:
                text = row.solution.text + "\n" + asserts_of(testing, row.problem.payload.get("entry_point", ""))
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
            jobs = []
            for row in rows:
                entry = row.problem.payload.get("entry_point", "")
                checks = tuple(Check(asserts_of(testing, entry)) for testing in row.testings)
                jobs.append(ChecksJob(row.solution.text, entry, checks, limits))
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


def tree_cpu() -> float:
    """CPU seconds of this process, of what it waited for, and of all live descendants."""
    own, waited = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    total = own.ru_utime + own.ru_stime + waited.ru_utime + waited.ru_stime
    children: dict[int, list[tuple[int, float]]] = {}
    tick = os.sysconf("SC_CLK_TCK")
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        children.setdefault(int(fields[1]), []).append((int(entry.name), sum(map(int, fields[11:15])) / tick))
    below = [os.getpid()]
    while below:
        for pid, seconds in children.get(below.pop(), []):
            total += seconds
            below.append(pid)
    return total


@dataclass
class Figure:
    """The best round of one engine."""

    cells: int
    cpu_ms: float = float("inf")
    wall_ms: float = float("inf")
    verdicts: Sequence[bool] = ()

    def take(self, engine: Engine, rows: Sequence[Row]) -> None:
        cpu, wall = tree_cpu(), time.perf_counter()
        self.verdicts = engine(rows)
        self.wall_ms = min(self.wall_ms, (time.perf_counter() - wall) / self.cells * 1000)
        self.cpu_ms = min(self.cpu_ms, (tree_cpu() - cpu) / self.cells * 1000)


def rates(rounds: int, limit: int, few: int) -> None:
    rows = real_rows(limit) if POOL.exists() else seed_rows(limit)
    some = rows[:: max(1, len(rows) // few)][:few]
    cells = sum(len(row.testings) for row in rows)
    print(f"{len(rows)} solutions, {cells} cells; {'HumanEval, CodeGen-16B' if POOL.exists() else 'bundled seeds'}")
    with open_sandbox("local") as sandbox:
        table, rpc = Jailed(sandbox, "table"), Jailed(sandbox, "rpc")
        table(rows[:8])
        many: dict[str, Engine] = {"bare exec, one process": bare, "table mode": table, "rpc mode": rpc}
        dear: dict[str, Engine] = {"fork per cell (reference)": per_cell_fork, "HumanEval's way": per_cell_manager}
        bwrap, docker = bwrap_command(), docker_command()
        if bwrap is not None:
            dear["bubblewrap + python"] = per_cell_command(bwrap)
        figures = {name: Figure(cells) for name in many}
        figures |= {name: Figure(sum(len(row.testings) for row in some)) for name in dear}
        for _ in range(rounds):
            for name, engine in many.items():
                figures[name].take(engine, rows)
            for name, engine in dear.items():
                figures[name].take(engine, some)
        if docker is not None:
            few_rows = [Row(row.problem, row.solution, row.testings[:1]) for row in some[:8]]
            figures["docker run"] = Figure(len(few_rows))
            figures["docker run"].take(per_cell_command(docker), few_rows)
        show(figures)
        differ = [
            n
            for n, seen in enumerate(per_cell_fork(rows))
            if (seen, seen) != (figures["table mode"].verdicts[n], figures["rpc mode"].verdicts[n])
        ]
        print(f"cells whose pass/not-pass differs from a process per cell: {len(differ)} of {cells}: {differ[:10]}")
        stdio(sandbox, rounds)


def show(figures: dict[str, Figure]) -> None:
    table, bare_ms = figures["table mode"], figures["bare exec, one process"].cpu_ms
    heads = f"{'CPU ms':>10}{'cells/CPU s':>13}{'x bare':>9}{'x table':>9}{'wall ms':>10}{'wall x':>9}"
    print(f"{'engine':28}{'cells':>8}{heads}")
    for name, figure in figures.items():
        print(
            f"{name:28}{figure.cells:8}{figure.cpu_ms:10.3f}{1000 / figure.cpu_ms:13.0f}{figure.cpu_ms / bare_ms:9.2f}"
            f"{figure.cpu_ms / table.cpu_ms:9.2f}{figure.wall_ms:10.3f}{figure.wall_ms / table.wall_ms:9.1f}"
        )


def stdio(sandbox: Any, rounds: int) -> None:
    program = "import sys\ndata = sys.stdin.read().split()\nn = int(data[0])\nprint(sum(map(int, data[1:n + 1])))\n"
    inputs = tuple(f"{n}\n{' '.join(map(str, range(n)))}\n" for n in range(16))
    best = float("inf")
    for _ in range(rounds):
        cpu = tree_cpu()
        sandbox.run([StdioJob(program, inputs)] * 40)
        best = min(best, (tree_cpu() - cpu) / 640)
    print(f"stdin/stdout programs: {1 / best:.0f} runs per CPU second")


def hang(limit_s: float) -> None:
    """Solutions that hang on many calls among quick ones; ideal = all timeouts spread evenly over the cores."""
    cores = len(os.sched_getaffinity(0))
    limits = Limits(cpu_s=limit_s, budget_s=5 * limit_s)
    calls = tuple(Call((n,)) for n in range(16))
    hanging = "import time\ndef f(x):\n    if x % 2:\n        time.sleep(1000)\n    return x\n"
    swallowing = (
        "def f(x):\n    while x % 2:\n        try:\n            while True: len('')\n"
        "        except BaseException: pass\n    return x\n"
    )
    for name, program in (("sleeps", hanging), ("swallows the limit", swallowing)):
        jobs = [CallsJob(program, "f", calls, limits)] * 5
        jobs += [CallsJob(f"def f(x): return x + {n}", "f", calls, limits) for n in range(200)]
        with open_sandbox("local") as sandbox:
            sandbox.run([CallsJob("def f(x): return x", "f", calls)] * 4)
            began = time.perf_counter()
            outcomes = sandbox.run(jobs)
            took = time.perf_counter() - began
        timeouts = sum(item.status is Status.TIMEOUT for row in outcomes for item in row)
        ideal = -(-timeouts // cores) * limit_s
        print(
            f"{name}: {timeouts} timeouts of {limit_s} s on {cores} cores: {took:.2f} s, ideal {ideal:.2f} s, "
            f"x {took / ideal:.3f}"
        )


def growth() -> None:
    rows = real_rows(200) if POOL.exists() else seed_rows(200)
    problem = rows[0].problem
    solutions = [Solution(f"{rows[0].solution.text}\n# {n}\nn{n} = {n}\n") for n in range(16)]
    testings = [Testing("cases", {"cases": [{"input": [[1.0, n], 0.5], "output": False}]}) for n in range(16)]
    domain = domain_named("python-function")
    with open_sandbox("local") as sandbox:
        executor = CrossExecutor(Judge(sandbox, {domain.name: domain}), config=CrossexecConfig(canaries=False))
        bare_problem = Problem(
            problem.problem_id,
            problem.domain,
            problem.statement,
            payload={"entry_point": problem.payload.get("entry_point")},
        )
        executor.matrices([(bare_problem, solutions[:8], testings[:8])])
        first = executor.counts.executed
        executor.matrices([(bare_problem, solutions, testings)])
    print(f"8 x 8: {first} cells executed; grown to 16 x 16: {executor.counts.executed - first} more (192 are new)")


def memory(cells: int) -> None:
    domain = domain_named("python-function")
    count = cells // 256
    items = (
        (
            Problem(f"p{p}", "python-function", f"add {p}", payload={"entry_point": "f"}),
            [Solution(f"def f(x): return x + {p} + {m} * 0") for m in range(16)],
            [Testing("cases", {"cases": [{"input": [n], "output": n + p}]}) for n in range(16)],
        )
        for p in range(count)
    )
    with open_sandbox("local") as sandbox:
        executor = CrossExecutor(Judge(sandbox, {domain.name: domain}), config=CrossexecConfig(canaries=False))
        began = time.perf_counter()
        passed = sum(int(matrix.passed_MN.sum()) for _, matrix in executor.stream(items))
        took = time.perf_counter() - began
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(
        f"{count * 256} cells, {passed} passed, {count * 256 / took:.0f} cells/s end to end; peak memory {peak:.0f} MB"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["rates", "hang", "growth", "memory", "all"])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rows", type=int, default=10_000, help="solutions to run")
    parser.add_argument("--few", type=int, default=4, help="solutions to run on the dear engines")
    parser.add_argument("--limit", type=float, default=3.0, help="time limit of hang, seconds")
    parser.add_argument("--cells", type=int, default=1_000_000, help="cells of memory")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)  # PR_SET_CHILD_SUBREAPER
    if options.what in ("rates", "all"):
        rates(options.rounds, options.rows, options.few)
    if options.what in ("hang", "all"):
        hang(options.limit)
    if options.what in ("growth", "all"):
        growth()
    if options.what in ("memory", "all"):
        memory(options.cells)


if __name__ == "__main__":
    main()
