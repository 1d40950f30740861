"""Agreement with verdicts that a plain one-process-per-candidate runner recorded on model-written texts."""

from pathlib import Path

import pytest

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domains_named, load_pools
from evosyn.sandbox import open_sandbox

REAL = Path(__file__).parents[3] / "shared" / "data" / "humaneval_codegen16b_even.jsonl.gz"
HASH_ORDER = {"HumanEval/158"}  # two of its solutions iterate over a set of texts
M = N = 16


@pytest.mark.slow
@pytest.mark.skipif(not REAL.exists(), reason="the recorded pool is not at hand")
def test_pass_and_not_pass_agree_with_the_recorded_verdicts() -> None:
    pools = [pool for pool in load_pools(REAL) if pool.testings and pool.problem.problem_id not in HASH_ORDER]
    items, recorded, humans = [], [], []
    for pool in pools:
        seen, human = pool.problem.meta["recorded_verdicts"], pool.problem.meta["recorded_human"]
        quick = [m for m in range(len(pool.solutions)) if "T" not in seen[m][:N] and human[m] not in "TK"][:M]
        items.append((pool.problem, [pool.solutions[m] for m in quick], pool.testings[:N]))
        recorded.append([seen[m][:N] for m in quick])
        humans.append([human[m] for m in quick])
    with open_sandbox("local", allow_weak=True) as sandbox:
        domains = domains_named(["python-function"])
        made = CrossExecutor(Judge(sandbox, domains))
        matrices = made.matrices(items)
    cells = 0
    for matrix, rows, human in zip(matrices, recorded, humans, strict=True):
        assert matrix.human_M is not None
        for m, row in enumerate(rows):
            assert [letter == "P" for letter in matrix.verdicts_MN[m]] == [letter == "P" for letter in row]
            assert (matrix.human_M[m] == "P") == (human[m] == "P")
            cells += len(row) + 1
    assert cells > 10_000
    assert made.counts.unknown == 0
