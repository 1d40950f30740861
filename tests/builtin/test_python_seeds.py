"""The bundled problems: well formed, their programs right, their examples true, their testings hard to fool."""

from __future__ import annotations

import ast
from collections import Counter
from pathlib import Path

import pytest
from simulation import TEACHER

import evosyn
from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Judge
from evosyn.domains import domains_named
from evosyn.jobs import Call, CallsJob, Limits, Status, StdioJob
from evosyn.ports import Sandbox, TeacherTools
from evosyn.randomness import SeedTree
from evosyn.records import Json, Problem, Solution, Testing
from evosyn.registry import make

FOLDER = Path(evosyn.__file__).parent / "builtin" / "python_seeds"
INPUTS = 32
MAKE = """

def make_inputs(numbers):
    import random

    return [generate(random.Random(number), index % 4) for index, number in enumerate(numbers)]
"""


def cases(problem: Problem) -> list[dict[str, Json]]:
    assert problem.human_testing is not None
    return list(problem.human_testing.body["cases"])


def right_programs(problem: Problem) -> list[Solution]:
    return [Solution(text) for text in (problem.reference_solution or "", *problem.meta["alternatives"])]


def drawn_inputs(sandbox: Sandbox, problems: list[Problem]) -> list[list[Json]]:
    """For each problem `INPUTS` inputs of its generator."""
    jobs = []
    for problem in problems:
        numbers = [SeedTree(5).child(problem.problem_id, index).integer() for index in range(INPUTS)]
        jobs.append(CallsJob(problem.meta["input_generator"] + MAKE, "make_inputs", (Call(args=(numbers,)),)))
    outcomes = [outcome for (outcome,) in sandbox.run(jobs)]
    bad = [
        problem.problem_id
        for problem, outcome in zip(problems, outcomes, strict=True)
        if outcome.status is not Status.OK
    ]
    assert not bad
    return [outcome.value for outcome in outcomes]


def answered(sandbox: Sandbox, problem: Problem, inputs: list[Json]) -> list[Json]:
    """What the reference says to each input."""
    program = problem.reference_solution or ""
    if problem.payload.get("entry_point") is None:
        outcomes = sandbox.run([StdioJob(program, tuple(inputs))])[0]
    else:
        calls = tuple(Call(args=tuple(value)) for value in inputs)
        outcomes = sandbox.run([CallsJob(program, problem.payload.get("entry_point"), calls)])[0]
    assert {outcome.status for outcome in outcomes} == {Status.OK}, problem.problem_id
    return [outcome.value for outcome in outcomes]


def test_there_are_enough_problems_of_each_domain(problems: list[Problem]) -> None:
    counts = Counter(problem.domain for problem in problems)
    assert counts["python-function"] >= 40
    assert counts["python-stdin"] >= 16
    assert set(counts) == {"python-function", "python-stdin"}


def test_a_problem_is_named_like_its_file(problems: list[Problem]) -> None:
    assert sorted(problem.problem_id for problem in problems) == sorted(path.stem for path in FOLDER.glob("*.yaml"))


def test_problems_are_distinct(problems: list[Problem]) -> None:
    for texts in (
        [problem.id for problem in problems],
        [problem.statement for problem in problems],
        [problem.reference_solution for problem in problems],
        [problem.payload.get("entry_point") for problem in problems if problem.payload.get("entry_point")],
    ):
        assert [text for text, count in Counter(texts).items() if count > 1] == []


def test_every_problem_is_complete(problems: list[Problem]) -> None:
    for problem in problems:
        meta, name = problem.meta, problem.problem_id
        assert problem.human_testing is not None and problem.reference_solution, name
        assert meta["licence"] == "Apache-2.0", name
        assert 0 <= meta["difficulty"] <= 1, name
        assert meta["topic"] and len(meta["alternatives"]) >= 1 and len(meta["wrong_hints"]) >= 1, name
        assert problem.reference_solution not in meta["alternatives"], name
        if problem.domain == "python-stdin":
            assert problem.payload.get("entry_point") is None and problem.payload.get("starter_code") is None, name
        else:
            assert problem.payload.get("starter_code"), name


def test_difficulties_spread_over_the_scale(problems: list[Problem]) -> None:
    difficulties = sorted(problem.meta["difficulty"] for problem in problems)
    assert difficulties[len(difficulties) // 5] <= 0.3
    assert difficulties[-len(difficulties) // 5] >= 0.5


def test_every_human_testing_has_distinct_cases(problems: list[Problem]) -> None:
    for problem in problems:
        inputs = [repr(case["input"]) for case in cases(problem)]
        assert len(inputs) >= 8, problem.problem_id
        assert len(set(inputs)) == len(inputs), problem.problem_id


def test_no_constant_passes_half_of_a_human_testing(problems: list[Problem]) -> None:
    for problem in problems:
        outputs = Counter(repr(case["output"]) for case in cases(problem))
        assert max(outputs.values()) <= 0.55 * sum(outputs.values()), (problem.problem_id, outputs.most_common(1))


def test_starter_code_has_the_signature_of_the_reference(problems: list[Problem]) -> None:
    for problem in problems:
        if problem.payload.get("entry_point") is None:
            continue
        signatures = []
        for text in (
            problem.payload.get("starter_code") or "",
            *(solution.text for solution in right_programs(problem)),
        ):
            found = [node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef)]
            (function,) = [node for node in found if node.name == problem.payload.get("entry_point")]
            signatures.append((ast.unparse(function.args), ast.unparse(function.returns or ast.Constant(None))))
        assert len(set(signatures)) == 1, problem.problem_id


def test_the_examples_of_a_statement_are_cases_of_its_human_testing(problems: list[Problem]) -> None:
    for problem in problems:
        known = [(case["input"], case["output"]) for case in cases(problem)]
        shown = stdin_examples(problem) if problem.payload.get("entry_point") is None else call_examples(problem)
        assert len(shown) >= 2, problem.problem_id
        assert all(example in known for example in shown), problem.problem_id


def call_examples(problem: Problem) -> list[tuple[Json, Json]]:
    found = []
    for line in problem.statement.split("Examples:\n")[1].splitlines():
        call, _, value = line.strip().rpartition(" -> ")
        node = ast.parse(call, mode="eval").body
        assert isinstance(node, ast.Call) and ast.unparse(node.func) == problem.payload.get("entry_point")
        found.append(([ast.literal_eval(arg) for arg in node.args], ast.literal_eval(value)))
    return found


def stdin_examples(problem: Problem) -> list[tuple[Json, Json]]:
    blocks: list[str] = []
    for line in problem.statement.splitlines():
        if line.startswith("Example ") and line.endswith("put:"):
            blocks.append("")
        elif blocks and line.startswith("    "):
            blocks[-1] += line[4:] + "\n"
    return list(zip(blocks[::2], blocks[1::2], strict=True))


def test_generators_give_the_same_inputs_for_the_same_stream(sandbox: Sandbox, problems: list[Problem]) -> None:
    first, second = drawn_inputs(sandbox, problems), drawn_inputs(sandbox, problems)
    for problem, one, other in zip(problems, first, second, strict=True):
        assert one == other, problem.problem_id
        assert len({repr(value) for value in one}) >= INPUTS // 4, problem.problem_id
        kind = str if problem.payload.get("entry_point") is None else list
        assert {type(value) for value in one} == {kind}, problem.problem_id


def test_right_programs_pass_the_human_testing_and_agree_on_drawn_inputs(
    sandbox: Sandbox, crossexec: CrossExecutor, problems: list[Problem]
) -> None:
    items = []
    for problem, inputs in zip(problems, drawn_inputs(sandbox, problems), strict=True):
        outputs = answered(sandbox, problem, inputs)
        pairs = [{"input": given, "output": expected} for given, expected in zip(inputs, outputs, strict=True)]
        kind = "stdin" if problem.payload.get("entry_point") is None else "cases"
        items.append((problem, right_programs(problem), [Testing(kind, {"cases": pairs})]))
    for problem, matrix in zip(problems, crossexec.matrices(items), strict=True):
        assert matrix.human_M is not None and set(matrix.human_M) == {"P"}, problem.problem_id
        assert set(matrix.verdicts_MN.ravel()) == {"P"}, problem.problem_id


def test_human_testings_reject_the_wrong_hints(crossexec: CrossExecutor, problems: list[Problem]) -> None:
    items = [(problem, [Solution(text) for text in problem.meta["wrong_hints"]], []) for problem in problems]
    for problem, matrix in zip(problems, crossexec.matrices(items), strict=True):
        assert matrix.human_M is not None
        assert set(matrix.human_M) <= {"F", "E", "T", "K"}, problem.problem_id


FEW = ("enclosed-lakes", "free-slots", "orvan-calendar", "parcel-fee", "runoff-vote", "sparse-polynomial")


@pytest.mark.long
def test_few_human_testings_reject_the_mistakes_of_the_offline_teacher(
    sandbox: Sandbox, problems: list[Problem]
) -> None:
    assert_rejected(sandbox, [problem for problem in problems if problem.problem_id in FEW])


@pytest.mark.long
def test_all_human_testings_reject_the_mistakes_of_the_offline_teacher(
    sandbox: Sandbox, problems: list[Problem]
) -> None:
    assert_rejected(sandbox, problems)


def assert_rejected(sandbox: Sandbox, problems: list[Problem]) -> None:
    """Of each problem's mutants that differ from the reference on drawn inputs, at least 95 % fail its testing."""
    teacher = make("teachers", TEACHER, TeacherTools(sandbox=lambda: sandbox))
    domains = domains_named(("python-function", "python-stdin"))
    short = CrossExecutor(Judge(sandbox, domains, Limits(wall_s=2.0, budget_s=3.0), recheck=False))
    items = []
    for problem in problems:
        wrong = [Solution(text) for mistake in teacher.mistakes(problem) for text in mistake.sources]
        assert len(wrong) >= 20, problem.problem_id
        items.append((problem, wrong, []))
    slipped = {}
    for (problem, wrong, _), matrix in zip(items, short.matrices(items), strict=True):
        assert matrix.human_M is not None and "U" not in matrix.human_M
        through = [solution.text for solution, verdict in zip(wrong, matrix.human_M, strict=True) if verdict == "P"]
        if len(through) > 0.05 * len(wrong):
            slipped[problem.problem_id] = through
    assert slipped == {}
