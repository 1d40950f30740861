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
import ctypes
import os
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from _engines import (
    Engine,
    Jailed,
    Row,
    bare,
    bwrap_command,
    docker_command,
    per_cell_command,
    per_cell_fork,
    per_cell_manager,
)

from evosyn.crossexec.executor import CrossexecConfig, CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domain as domain_named
from evosyn.domains import load_pools
from evosyn.jobs import Call, CallsJob, Limits, Status, StdioJob
from evosyn.records import Problem, Solution, Testing
from evosyn.sandbox import open_sandbox

POOL = Path(__file__).parents[2] / "shared/data/humaneval_codegen16b_even.jsonl.gz"
M = N = 16


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
