"""Whether verdicts depend on what else the machine does: one pool, in turn on a quiet machine and beside busy loops.

    python benchmarks/load.py [--problems 20] [--loops 6] [--rounds 3] [--cpu 1.0]

Work: the recorded HumanEval pool of `../shared/data` where it is there, rows that hang included; the bundled seeds with
their alternatives, and programs that hang, otherwise. Every run executes every cell anew. Printed: cells whose letter
differs between any two runs, those that differ between PASS and FAIL, and the seconds that the runs took.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from evosyn.crossexec.executor import CrossExecutor, Item
from evosyn.crossexec.judge import Judge
from evosyn.domains import domains_named, load_pools
from evosyn.jobs import Limits
from evosyn.records import Solution, Testing
from evosyn.sandbox import open_sandbox

POOL = Path(__file__).parents[2] / "shared/data/humaneval_codegen16b_even.jsonl.gz"
M, N = 16, 8
BUSY = "while True: pass"


def recorded(problems: int) -> list[Item]:
    """Problems of the recorded pool; those with hanging solutions first, so that time limits decide many cells."""
    pools = [pool for pool in load_pools(POOL) if len(pool.solutions) >= M and len(pool.testings) >= N]
    hangs = {id(pool): str(pool.problem.meta.get("recorded_verdicts")).count("T") for pool in pools}
    chosen = sorted(pools, key=lambda pool: -hangs[id(pool)])[: problems // 4]
    chosen += [pool for pool in pools if pool not in chosen][: problems - len(chosen)]
    return [(pool.problem, pool.solutions[:M], pool.testings[:N]) for pool in chosen]


def bundled(problems: int) -> list[Item]:
    items: list[Item] = []
    for pool in load_pools("builtin:python-seeds"):
        problem = pool.problem
        cases = problem.human_testing.body.get("cases", []) if problem.human_testing else []
        if problem.domain != "python-function" or not isinstance(cases, list) or not problem.reference_solution:
            continue
        name = str(problem.payload.get("entry_point"))
        sources = [problem.reference_solution, *problem.meta.get("alternatives", ())]
        sources += [f"def {name}(*a):\n    while True: pass\n", f"import time\ndef {name}(*a): time.sleep(99)\n"]
        testings = [Testing("cases", {"cases": cases[n::4] or cases}) for n in range(4)]
        items.append((problem, [Solution(source) for source in sources], testings))
    return items[:problems]


@contextmanager
def busy(loops: int) -> Iterator[None]:
    running = [subprocess.Popen([sys.executable, "-c", BUSY]) for _ in range(loops)]
    try:
        yield
    finally:
        for process in running:
            process.kill()
            process.wait()


def letters(items: Sequence[Item], cpu_s: float) -> NDArray[np.str_]:
    """All letters of one run, case by case."""
    domains = domains_named({problem.domain for problem, _, _ in items})
    with open_sandbox("local") as sandbox:
        made = CrossExecutor(Judge(sandbox, domains, Limits(cpu_s=cpu_s, budget_s=10 * cpu_s))).matrices(items)
    return np.concatenate([matrix.verdicts_MN.ravel() for matrix in made])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=int, default=20)
    parser.add_argument("--loops", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--cpu", type=float, default=1.0, help="CPU seconds for a call")
    options = parser.parse_args()
    items = recorded(options.problems) if POOL.exists() else bundled(options.problems)
    runs: list[NDArray[np.str_]] = []
    for number in range(options.rounds):
        for loops in (0, options.loops):
            began = time.monotonic()
            with busy(loops):
                runs.append(letters(items, options.cpu))
            counts = dict(zip(*np.unique(runs[-1], return_counts=True), strict=True))
            shown = " ".join(f"{letter}:{count}" for letter, count in sorted(counts.items()))
            print(f"round {number + 1}, {loops} busy loops: {time.monotonic() - began:6.1f} s   {shown}", flush=True)
    stack = np.stack(runs)
    differ = (stack != stack[0]).any(axis=0)
    opposed = (stack == "P").any(axis=0) & (stack == "F").any(axis=0)
    same = 100 * (1 - differ.mean())
    print(
        f"{stack.shape[1]} cells, {len(runs)} runs: {int(differ.sum())} differ ({same:.3f} % the same), "
        f"{int(opposed.sum())} of them PASS against FAIL"
    )
    for cell in np.flatnonzero(differ)[:10]:
        print(f"  cell {cell}: {' '.join(stack[:, cell])}")


if __name__ == "__main__":
    main()
