"""A million cells must not need a million cells' memory: items are taken, and matrices given away, as they come."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

SCRIPT = '''
import re, sys
from pathlib import Path
from evosyn.domains import domains_named
from evosyn import registry
from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.crossexec import verdict_cache
from evosyn.jobs import ItemOutcome, Protection, Status
from evosyn.records import Problem, Solution, Testing

class Instant:
    """Answers at once; what is measured is our own process."""
    protection = Protection("instant", "weak", "1")
    def run(self, jobs, *, on_done=None):
        results = []
        for index, job in enumerate(jobs):
            items = getattr(job, "calls", None) or job.checks
            results.append(tuple(ItemOutcome(Status.OK, number, "", 0.001) for number in range(len(items))))
            if on_done is not None:
                on_done(index, results[-1])
        return results

def items(problems, M, N):
    for p in range(problems):
        human = Testing("cases", {"cases": [{"input": [-1], "output": 0}]})
        given = {"entry_point": "f"}
        problem = Problem(f"p{p}", "python-function", f"Problem {p}.", payload=given, human_testing=human)
        yield (
            problem,
            [Solution(f"def f(x):\\n    return x + {p} * {s}\\n") for s in range(M)],
            [Testing("asserts", {"asserts": [f"assert f({n + k}) == {n + p}" for k in range(3)]}) for n in range(N)],
        )

problems, remembered = map(int, sys.argv[1:])
domains = domains_named(["python-function"])
verdict_cache.MOST_IN_MEMORY = remembered
made = CrossExecutor(Judge(Instant(), domains, cache=verdict_cache.MemoryVerdicts()))
cells = sum(matrix.verdicts_MN.size for _, matrix in made.stream(items(problems, 64, 64)))
assert cells == made.counts.cells == problems * 64 * 64
# not ru_maxrss, which remembers the process that started this one
print(cells, int(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1]) // 1024)
'''


def peak_mb(problems: int, remembered: int) -> int:
    command = [sys.executable, "-c", SCRIPT, str(problems), str(remembered)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout.split()[1])


@pytest.mark.long
def test_memory_does_not_grow_with_the_number_of_problems() -> None:
    assert peak_mb(120, 1000) < peak_mb(60, 1000) + 20


@pytest.mark.long
def test_a_million_cells_stay_under_500_mb() -> None:
    assert peak_mb(245, 200_000) < 500
