"""The Python API: what docs/api.md shows works, and nothing else is public."""

import subprocess
import sys
from pathlib import Path

import pytest

import evosyn
from evosyn.domains import check_task
from evosyn.errors import InputError, SandboxUnavailable, UsageError
from evosyn.jobs import Limits
from evosyn.matrices import write_matrices
from evosyn.records import Pool, Problem, Solution, Testing
from evosyn.sandbox import open_sandbox
from evosyn.tasks import task_of
from tests.train.shell_rows import shell_sample

TASK = {"entry_point": "f", "testing": {"kind": "cases", "cases": [{"input": [2], "output": 4}]}}
RIGHT = "```python\ndef f(x):\n    return 2 * x\n```"


@pytest.fixture(scope="module")
def sandbox():
    with evosyn.open_sandbox(workers=1, packages=("numpy",)) as opened:
        yield opened


def pool(name: str):
    problem = Problem(name, "python-function", "Return twice x.", payload={"entry_point": "f"})
    solutions = tuple(Solution(f"def f(x):\n    return {body}\n") for body in ("2 * x", "x + x", "x + 2", "0"))
    cases = [[([2], 4)], [([3], 6)], [([0], 2)]]
    testings = [Testing("cases", {"cases": [{"input": given, "output": out} for given, out in some]}) for some in cases]
    return Pool(problem, solutions, tuple(testings))


def test_from_a_pool_to_the_best_solution(sandbox) -> None:
    pools = [pool("a"), pool("b")]
    matrices = evosyn.cross_execute(pools, sandbox=sandbox)
    assert ["".join(row) for row in matrices[0].verdicts_MN] == ["PPF", "PPF", "PFP", "FFF"]
    rankings = evosyn.rank("codet", matrices, sandbox=sandbox)
    assert [ranking.solution_scores_M.argmax() for ranking in rankings] == [0, 0]


def test_what_was_executed_is_remembered_in_a_file_by_its_limits_and_ranked_from_a_file(sandbox, tmp_path) -> None:
    verdicts, slow = tmp_path / "verdicts.sqlite", Limits(cpu_s=5.0)
    first = evosyn.cross_execute([pool("a")], cache=verdicts, sandbox=sandbox)
    again = evosyn.cross_execute([pool("a")], cache=str(verdicts), sandbox=sandbox)
    other = evosyn.cross_execute([pool("a")], cache=verdicts, limits=slow, sandbox=sandbox)
    assert (again[0].durations_MN == first[0].durations_MN).all(), "nothing ran again"
    assert (other[0].durations_MN != first[0].durations_MN).any(), "under other limits everything runs"
    write_matrices(tmp_path / "matrices.jsonl", first)
    from_file = evosyn.rank("codet", tmp_path / "matrices.jsonl", sandbox=sandbox)[0]
    asked = evosyn.rank("codet", first, sandbox=sandbox)[0]
    assert from_file.solution_scores_M.tolist() == asked.solution_scores_M.tolist()


def test_bundled_seeds_are_loaded_and_a_bad_file_is_named(tmp_path: Path) -> None:
    assert len(evosyn.load("builtin:python-seeds")) == 64
    path = tmp_path / "pool.jsonl"
    path.write_text('{"problem_id": "p", "domain": "python-function", "statement": "x"}\n')
    with pytest.raises(InputError, match=r"pool.jsonl:1: field 'entry_point': is missing"):
        evosyn.load(path)


def test_completions_are_paid(sandbox) -> None:
    assert evosyn.reward([TASK, TASK], [RIGHT, "I do not know"], sandbox=sandbox) == [1.0, 0.0]
    with pytest.raises(UsageError, match=r"tasks\[1\].entry_point: must be a text"):
        evosyn.reward([TASK, {**TASK, "entry_point": 3}], [RIGHT, RIGHT], sandbox=sandbox)
    with pytest.raises(UsageError, match="2 tasks and 1 completions"):
        evosyn.reward([TASK, TASK], [RIGHT], sandbox=sandbox)


@pytest.fixture(params=["one that stays open", "one of each call", "one of the caller's own"])
def lent(request):
    """The sandboxes that may be passed, or not."""
    if request.param == "one of each call":
        yield None
    elif request.param == "one that stays open":
        with evosyn.open_sandbox(workers=1, allow_weak=True) as opened:
            yield opened
    else:
        with open_sandbox(workers=1, allow_weak=True) as opened:
            yield opened


def test_tasks_of_agents_are_decided_as_the_commands_decide_them(lent) -> None:
    samples = [shell_sample(0), shell_sample(1)]
    scripts = ["ls -A /root/a | wc -l", "ls /root/a | wc -l", "mkdir /root/b/sub", "touch /root/b/sup"]
    try:
        paid = evosyn.reward(
            [samples[at // 2] for at in range(4)], [f"```bash\n{script}\n```" for script in scripts], sandbox=lent
        )
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    assert paid == [1.0, 0.0, 1.0, 0.0]
    pools = [
        Pool(task.problem, tuple(Solution(one.source) for one in sample.ranked), (task.testing,))
        for sample, task in zip(samples, [task_of(sample, check_task) for sample in samples], strict=True)
    ]
    matrices = evosyn.cross_execute(pools, sandbox=lent)
    assert [["".join(row) for row in matrix.verdicts_MN] for matrix in matrices] == [["P", "F"], ["P", "F"]]


def test_options_of_a_sandbox_are_checked_before_it_is_opened() -> None:
    with pytest.raises(UsageError, match="unknown key 'imagee'"):
        evosyn.open_sandbox("docker", options={"imagee": "x"})


def test_a_strategy_without_a_ranking_says_why(sandbox, tmp_path: Path) -> None:
    (tmp_path / "s.py").write_text("def rank(evidence):\n    return 1 / 0\n")
    with pytest.raises(UsageError, match=r"s\.py: gives no ranking: ZeroDivisionError"):
        evosyn.rank(tmp_path / "s.py", evosyn.cross_execute([pool("a")], sandbox=sandbox), sandbox=sandbox)
    with pytest.raises(UsageError, match="no such strategy"):
        evosyn.rank("codett", [], sandbox=sandbox)


def test_nothing_else_is_public_and_importing_loads_nothing() -> None:
    functions = {"cross_execute", "load", "open_sandbox", "rank", "reward"}
    of_trainers = {"ShellEnv", "compute_score", "compute_scores", "tool_environments", "trl_reward"}
    assert set(evosyn.__all__) == functions | of_trainers
    assert all(callable(getattr(evosyn, name)) for name in evosyn.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        evosyn.nothing  # noqa: B018
    seen = "import sys, evosyn; print(sorted(name for name in sys.modules if name.startswith(('evosyn.', 'numpy'))))"
    done = subprocess.run([sys.executable, "-c", seen], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
