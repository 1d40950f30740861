"""What an execution records for strategies beside verdicts: calls, values, the problem; and nothing that is human."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.crossexec.verdict_cache import SqliteVerdicts
from evosyn.domains import domains_named
from evosyn.domains.math_answer import MathAnswer
from evosyn.jobs import Limits
from evosyn.matrices import matrix_from_json, matrix_to_json
from evosyn.ports import Sandbox, VerdictCache
from evosyn.records import (
    Invalid,
    Json,
    ParsedCall,
    ParsedCalls,
    PassMatrix,
    Problem,
    Provenance,
    Ranking,
    Solution,
    Testing,
)
from evosyn.sandbox import open_sandbox
from evosyn.strategies import load_known
from evosyn.strategies.evidence import evidence_of, select, unknown
from evosyn.strategies.running.packing import pack
from evosyn.strategies.running.sandboxed import SandboxedRunner

DOMAINS = domains_named(("python-function", "python-stdin", "math-answer"))
PROBLEM = Problem(
    "double",
    "python-function",
    "Return twice x.",
    payload={"entry_point": "double", "starter_code": "def double(x):\n    pass\n"},
    human_testing=Testing("cases", {"cases": [{"input": ["zebra"], "output": "zebrazebra"}]}),
    reference_solution="def double(x):\n    return x * 2  # walrus\n",
    meta={"recorded_verdicts": ["giraffe"], "recorded_human": "gazelle", "copies": [1, 1, 1, 1]},
)
SOLUTIONS = [
    Solution(f"def double(x):\n    return {body}\n") for body in ("2 * x", "x * 2.0", "x * x", "[][x] if x else 0")
]
TESTINGS = [
    Testing("cases", {"cases": [{"input": [0], "output": 0}, {"input": [3], "output": 6}]}),
    Testing("asserts", {"asserts": ["assert double(3) == 6", "assert double(1) == double(2) / 2"]}),
    Testing("asserts", {"asserts": ["import os\nassert double(3) == 6"]}),
    Testing("cases", {"cases": {"python": "def build_cases():\n    return [{'input': [2], 'output': 4}] * 2"}}),
]


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("local", workers=2, packages=("numpy",), allow_weak=True) as opened:
        yield opened


def matrix_of(sandbox: Sandbox, cache: VerdictCache | None = None) -> PassMatrix:
    made = CrossExecutor(Judge(sandbox, DOMAINS, Limits(cpu_s=2.0), cache))
    return made.matrices([(PROBLEM, SOLUTIONS, TESTINGS)])[0]


def test_calls_and_values_stand_beside_the_cases_that_they_are_of(sandbox: Sandbox) -> None:
    matrix = matrix_of(sandbox)
    assert ["".join(row) for row in matrix.verdicts_MN] == ["PPPP", "PPPP", "FFFP", "EEEE"]
    three = ParsedCall("[3]", "6")
    assert matrix.calls_N == ((ParsedCall("[0]", "0"), three), (three, None), (None,), None)
    assert matrix.values_NMC is not None
    cases, asserts, code, built = matrix.values_NMC
    assert cases is not None
    assert asserts is not None
    assert built is not None
    assert code is None, "what runs as code gives us no values"
    assert len({*cases[:3, 0].tolist()}) == 1
    assert cases[0, 1] == cases[1, 1] == asserts[0, 0] != cases[2, 1], "2 * 3 equals 3 * 2.0"
    assert cases[3, 1] == 0, "it raises"
    assert asserts[:, 1].tolist() == [0] * 4, "two calls in one case"
    assert len({*built[:3].ravel().tolist()}) == 1
    assert (matrix.statement, matrix.payload) == (PROBLEM.statement, PROBLEM.payload)


class Faulty(MathAnswer):
    """A domain of which one method does not work."""

    name = "faulty"

    def calls(self, problem: Problem, testing: Testing) -> ParsedCalls | None:
        return super().calls(problem, testing.boddy)  # type: ignore[attr-defined]


def test_what_a_text_is_to_blame_for_has_no_calls_and_a_fault_of_the_domain_is_raised(sandbox: Sandbox) -> None:
    deep: Json = 0
    for _ in range(sys.getrecursionlimit() * 3 // 5):
        deep = [deep]
    broken = [
        Testing("cases", {}),
        Testing("cases", {"cases": [{"input": [1]}]}),
        Testing("asserts", {"asserts": [3]}),
        Testing("answer", {"answer": "2"}),
        Testing("cases", {"cases": [{"input": [deep], "output": 0}]}),
    ]
    for one in broken:
        assert made(sandbox, PROBLEM, [SOLUTIONS[0].text], [one]).calls_N == (None,)
    problem, testing = Problem("sum", "faulty", "What is 1/4 + 1/4?"), Testing("answer", {"answer": "1/2"})
    judge = Judge(sandbox, {"faulty": Faulty()}, Limits(cpu_s=2.0))
    with pytest.raises(AttributeError, match="boddy"):
        CrossExecutor(judge).matrices([(problem, [Solution("1/2")], [testing])])


def made(sandbox: Sandbox, problem: Problem, solutions: Sequence[str], testings: Sequence[Testing]) -> PassMatrix:
    judge = Judge(sandbox, DOMAINS, Limits(cpu_s=2.0))
    return CrossExecutor(judge).matrices([(problem, [Solution(text) for text in solutions], testings)])[0]


def test_what_programs_print_can_be_compared_where_nobody_passes(sandbox: Sandbox) -> None:
    problem = Problem("halves", "python-stdin", "Print half of each number.")
    lines = ("print(x / 2)", "print(f'{x / 2:.3f}  ')", "print(x // 2)", "raise SystemExit(3)")
    solutions = [f"for x in map(int, input().split()):\n    {line}\n" for line in lines]
    wrong = Testing("stdin", {"cases": [{"input": "3 5", "output": "9\n9\n"}, {"input": "4", "output": "9\n"}]})
    matrix = made(sandbox, problem, solutions, [wrong])
    assert ["".join(row) for row in matrix.verdicts_MN] == ["F", "F", "F", "E"]
    assert matrix.values_NMC is not None and matrix.values_NMC[0] is not None
    odd, even = matrix.values_NMC[0].T.tolist()
    assert odd[0] == odd[1] != odd[2] and even[0] == even[1] == even[2] and odd[3] == even[3] == 0


def test_final_answers_can_be_compared_where_nobody_passes(sandbox: Sandbox) -> None:
    problem = Problem("sum", "math-answer", "What is 1/4 + 1/4?")
    texts = ("So it is \\boxed{1/2}", "The answer is 0.5", "\\boxed{2}", "I give up: it is far too much for me " * 20)
    matrix = made(sandbox, problem, texts, [Testing("answer", {"answer": "7"})])
    assert "P" not in matrix.verdicts_MN
    assert matrix.values_NMC is not None and matrix.values_NMC[0] is not None
    one, same, other, none = matrix.values_NMC[0][:, 0].tolist()
    assert one == same != other and none == 0


def test_values_that_no_testing_has_are_unknown(sandbox: Sandbox) -> None:
    code = Testing("asserts", {"asserts": ["import os\nassert double(3) == 6"]})
    evidence = evidence_of(made(sandbox, PROBLEM, [one.text for one in SOLUTIONS], [code]))
    assert evidence.values_NMC is None and "values" in unknown(evidence)
    whole = evidence_of(matrix_of(sandbox))
    assert "values" not in unknown(whole)
    assert "values" in unknown(select(whole, np.arange(4), np.array([2])))
    (found,) = SandboxedRunner(sandbox).rank([load_known("mbr")], [evidence])
    assert isinstance(found, Invalid) and "evidence.values" in found.reason


def one_similarity(matrix: PassMatrix) -> np.ndarray:
    assert matrix.solution_similarity_MM is not None and matrix.testing_similarity_NN is not None
    return np.concatenate([matrix.solution_similarity_MM.ravel(), matrix.testing_similarity_NN.ravel()])


def test_a_cache_and_a_file_give_the_same_evidence_again(sandbox: Sandbox, tmp_path: Path) -> None:
    with SqliteVerdicts(tmp_path / "v.sqlite") as cache:
        first, second = matrix_of(sandbox, cache), matrix_of(sandbox, cache)
    again = matrix_from_json(matrix_to_json(first))
    for other in (second, again):
        assert other.calls_N == first.calls_N
        np.testing.assert_array_equal(one_similarity(other), one_similarity(first))
        for one, two in zip(first.values_NMC or (), other.values_NMC or (), strict=True):
            np.testing.assert_array_equal(one, two)  # type: ignore[arg-type]


def test_what_a_model_said_of_its_texts_is_the_mean_over_equal_ones(sandbox: Sandbox) -> None:
    def said(of: Solution | Testing, **detail: Json) -> Any:
        return replace(of, provenance=Provenance("m", detail=detail))

    told = [{"logprob": {"mean": mean, "sum": -9.0, "tokens": 9}} for mean in (-0.1, -0.3)]
    solutions = [said(SOLUTIONS[0], **told[0]), SOLUTIONS[1], said(SOLUTIONS[0], **told[1]), said(SOLUTIONS[2])]
    testings = [said(TESTINGS[0], logprobs=[-1.0, -2.0]), said(TESTINGS[1], logprobs=[None, None]), TESTINGS[2]]
    executor = CrossExecutor(Judge(sandbox, DOMAINS, Limits(cpu_s=2.0), None))
    (matrix,), bare = executor.matrices([(PROBLEM, solutions, testings)]), matrix_of(sandbox)
    np.testing.assert_array_equal(matrix.solution_logprob_M, [-0.2, np.nan, -0.2, np.nan])
    np.testing.assert_array_equal(evidence_of(matrix).testing_logprob_N, [-1.5, np.nan, np.nan])
    assert bare.solution_logprob_M is None and bare.logprobs_NC is None


def test_nothing_human_of_a_problem_reaches_strategies(sandbox: Sandbox) -> None:
    evidence = evidence_of(matrix_of(sandbox))
    for text in (repr(evidence), repr(pack([evidence]))):
        assert "Return twice x." in text
        for secret in ("zebra", "walrus", "giraffe", "gazelle", "recorded", "human"):  # digits stand in seconds as well
            assert secret not in text


def test_a_strategy_in_the_sandbox_can_rank_by_what_solutions_gave(sandbox: Sandbox) -> None:
    program = (
        "def rank(evidence):\n"
        "    given = evidence.values[0]\n"
        "    agreeing = ((given[:, None] == given[None]) & (given > 0)[:, None]).mean(2).sum(1)\n"
        "    asked = [sum(len(call[0]) for call in calls if call) if calls else 0 for calls in evidence.calls]\n"
        "    assert evidence.verdicts[3][0] == 'E' and evidence.payload['entry_point'] == 'double'\n"
        "    assert evidence.statement and evidence.solution_similarity.shape == (4, 4)\n"
        "    return agreeing, asked\n"
    )
    ((ranking,),) = SandboxedRunner(sandbox).rank([program], [evidence_of(matrix_of(sandbox))])  # type: ignore[misc]
    assert isinstance(ranking, Ranking)
    assert ranking.solution_scores_M.tolist() == [3.0, 3.0, 2.5, 2.0]
    assert ranking.testing_scores_N.tolist() == [6.0, 3.0, 0.0, 0.0]
