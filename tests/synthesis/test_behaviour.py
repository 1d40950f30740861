"""Decontamination by behaviour: a problem whose best solution passes a benchmark's human testing is that problem, in
whatever words; judged by the real judge in the real sandbox."""

import asyncio

import pytest

from evosyn.crossexec.judge import Judge
from evosyn.records import Pool, Problem, Solution, Testing
from evosyn.synthesis.decontaminate import BenchmarkItem, DecontaminateConfig, OverlapIndex
from evosyn.synthesis.instance import Instance
from evosyn.synthesis.prune import Choice, Decision
from evosyn.synthesis.stages.behaviour import CompareBehaviour
from evosyn.workbench import Workbench

WORDS = "warehouse shelves parcels weights largest smallest courier morning difference scales"


def benchmark(name: str, outputs: list[int], cases: int = 3) -> BenchmarkItem:
    listed = [{"input": [[1, 5]], "output": outputs[0]}, {"input": [[2, 2]], "output": outputs[1]}]
    listed += [{"input": [[7, 1, 3]], "output": outputs[2]}]
    problem = Problem(
        problem_id=name,
        domain="python-function",
        statement=f"{WORDS} benchmark",
        payload={"entry_point": "spread_of"},
        human_testing=Testing("cases", {"cases": listed[:cases]}),
    )
    return BenchmarkItem(f"bench#{name}", problem.statement, problem)


def instance(program: str, *, chosen: bool = True) -> Instance:
    problem = Problem(
        problem_id="syn-000000",
        domain="python-function",
        statement=f"Quite another story of {WORDS}",
        payload={"entry_point": "gap_of"},
    )
    pool = Pool(problem, (Solution("raise SystemExit\n"), Solution(program)), (Testing("asserts", {"asserts": []}),))
    choice = Choice(testing=0, best=1) if chosen else None
    decision = Decision("", "", (), choice, choice)
    return Instance(0, problem, pool.solutions, pool.testings, decision=decision)


RIGHT = "def gap_of(weights):\n    return max(weights) - min(weights)\n"
SAME, OTHER = benchmark("same", [4, 0, 6]), benchmark("other", [6, 4, 11])


@pytest.fixture(scope="module")
def bench():
    with Workbench() as opened:
        yield opened


def compared(bench: Workbench, items: list[BenchmarkItem], one: Instance, **config: int) -> Instance:
    index = OverlapIndex(items, DecontaminateConfig(**config))
    return asyncio.run(CompareBehaviour(index, bench.judge, batch=1).run(one))


@pytest.mark.slow
def test_a_solution_that_passes_a_benchmark_s_testing_under_another_name_is_that_problem(bench):
    found = compared(bench, [OTHER, SAME], instance(RIGHT))
    assert found.ended is not None
    assert (found.ended.stage, found.ended.reason) == ("behaviour", "benchmark-behaviour")
    assert found.ended.detail == "its best solution passes the human testing of bench#same"
    assert found.usage.cells == 2


def test_a_problem_that_could_not_be_compared_is_not_said_to_be_another(bench):
    index = OverlapIndex([SAME], DecontaminateConfig())
    found = asyncio.run(CompareBehaviour(index, Judge(bench.sandbox, {}), batch=1).run(instance(RIGHT)))
    assert found.ended is not None and found.ended.reason == "not-compared"
    assert "bench#same" in found.ended.detail and "not served" in found.ended.detail


@pytest.mark.slow
@pytest.mark.parametrize(
    ("items", "one"),
    [
        ([OTHER], instance(RIGHT)),
        ([benchmark("few", [4, 0, 6], cases=2)], instance(RIGHT)),
        ([SAME], instance("def gap_of(weights):\n    return max(weights)\n")),
        ([BenchmarkItem("bench#text", SAME.text)], instance(RIGHT)),
        ([SAME], instance(RIGHT, chosen=False)),
    ],
    ids=["another task", "two checks say nothing", "another answer", "a text without a testing", "nothing chosen"],
)
def test_what_does_not_pass_is_kept(bench, items, one):
    assert compared(bench, items, one).ended is None


@pytest.mark.slow
def test_none_are_compared_where_none_are_asked_for(bench):
    assert compared(bench, [SAME], instance(RIGHT), behaviour=0).ended is None
