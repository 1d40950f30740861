"""Examples in statements, testings made of cases of several, large inputs: read as models and people write them."""

import pytest

from evosyn.domains import domain, load_pools
from evosyn.jobs import Limits
from evosyn.records import Problem, Testing
from evosyn.sandbox import open_sandbox

FUNCTION, STDIN = domain("python-function"), domain("python-stdin")


def calls(statement: str, name: str = "f") -> object:
    found = FUNCTION.stated(Problem("p", "python-function", statement, payload={"entry_point": name}))
    return None if found is None else [(case["input"], case["output"]) for case in found.body["cases"]]


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("    f([1, 2], 3) -> 4", [([[1, 2], 3], 4)]),
        ("For example `f('a')` == `'b'`.", [(["a"], "b")]),
        ("f(x=1) => {'a': None}", [({"x": 1}, {"a": None})]),
        ("f() returns [True, false]", None),
        ("f((1, 2)) -> (3, 4)  # a pair", [([[1, 2]], [3, 4])]),
        ("f(2) -> 5 (because of the rule)", [([2], 5)]),
        (">>> f(2)\n5", [([2], 5)]),
        ("f(2) -> true", [([2], True)]),
        ("f(2) gives 7.", [([2], 7)]),
        ("def f(x): -> int", None),
        ("f(a, b) -> the larger one", None),
        ("f(1) -> {1, 2}", None),
        ("f(__import__('os').getpid()) -> 1", None),
        ("g(1) -> 2", None),
        ("self(1) -> 2", None),
    ],
)
def test_calls_that_a_statement_shows_are_read(line: str, found: object) -> None:
    assert calls(f"Do something.\n\nExamples:\n{line}\n") == found


def texts(statement: str) -> object:
    found = STDIN.stated(Problem("p", "python-stdin", statement))
    return None if found is None else [(case["input"], case["output"]) for case in found.body["cases"]]


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("Example 1, input:\n    2\n    a b\nExample 1, output:\n    b\n", [("2\na b\n", "b\n")]),
        ("Examples\n\nInput:\n```\n1\n```\nOutput:\n```\n2\n```\n", [("1\n", "2\n")]),
        ("Sample input: 3\nSample output: 4\n", [("3\n", "4\n")]),
        ("Input:\n    n\n    a line\nOutput:\n    the sum\n", None),
        ("Input: each line has a word.\nOutput: the longest.\n", None),
        ("Example input:\n    1\nand no output", None),
    ],
)
def test_texts_that_a_statement_shows_are_read_but_not_the_format(statement: str, found: object) -> None:
    assert texts(statement) == found


@pytest.mark.slow
def test_every_reference_of_the_seeds_gives_what_its_statement_shows() -> None:
    from evosyn.crossexec.judge import Cell, Judge
    from evosyn.records import Solution, Verdict

    problems = [pool.problem for pool in load_pools("builtin:python-seeds")]
    domains = {one.name: one for one in (FUNCTION, STDIN)}
    stated = [domains[problem.domain].stated(problem) for problem in problems]
    assert None not in stated
    cells = [
        Cell(one, Solution(one.reference_solution or ""), testing)
        for one, testing in zip(problems, stated, strict=True)
        if testing is not None
    ]
    with open_sandbox() as sandbox:
        results = Judge(sandbox, domains).verify(cells)
    wrong = [
        one.problem_id for one, result in zip(problems, results, strict=True) if result.verdict is not Verdict.PASS
    ]
    assert wrong == []


def cases(*pairs: tuple[object, object], **more: object) -> Testing:
    return Testing("cases", {"cases": [{"input": given, "output": output} for given, output in pairs], **more})


def test_cases_of_several_testings_are_joined_each_once_with_their_tolerance() -> None:
    joined = FUNCTION.join([(cases(([1], 2), ([2], 3)), (0, 1)), (cases(([2], 3), ([3], 9), tolerance=0.5), (0, 1))])
    assert joined is not None
    assert joined.body["cases"] == [
        {"input": [1], "output": 2},
        {"input": [2], "output": 3},
        {"input": [3], "output": 9, "tolerance": 0.5},
    ]
    FUNCTION.check_shape(joined)
    asserts = [Testing("asserts", {"asserts": ["assert f(1)", text]}) for text in ("assert f(2)", "assert f(3)")]
    found = FUNCTION.join([(asserts[0], (0,)), (asserts[1], (0, 1))])
    assert found is not None
    assert found.body == {"asserts": ["assert f(1)", "assert f(3)"]}


def test_what_json_cannot_say_is_left_out_and_kinds_do_not_mix() -> None:
    assert FUNCTION.join([(cases(([1], {1, 2})), (0,))]) is None
    assert FUNCTION.join([(cases(([1], {1: 2})), (0,))]) is None
    assert FUNCTION.join([(cases(([1], 2)), (0,)), (Testing("asserts", {"asserts": ["assert f(1)"]}), (0,))]) is None
    assert FUNCTION.join([(Testing("program", {"code": "def check(candidate): pass"}), (0,))]) is None
    assert FUNCTION.join([(cases(([1], 2)), ())]) is None


def test_large_inputs_stay_the_code_that_makes_them() -> None:
    code = "def build_inputs():\n    return [[zeros(5)]]"
    zeros = "def zeros(n):\n    return [0] * n"
    reply = "A sketch:\n" + "".join(f"```python\n{block}\n```\n" for block in ("x = 1", zeros, code))
    parsed = FUNCTION.read("inputs", reply, None)
    assert parsed.value is not None
    whole = FUNCTION.answered(FUNCTION.join([(parsed.value, (0,))]), [7])
    assert whole is not None
    assert whole.body["cases"] == [{"input": {"python": f"{zeros}\n\n{code}\nreturn build_inputs()[0]\n"}, "output": 7}]
    assert FUNCTION.answered(whole, ["x" * 30_000]) is None
    assert FUNCTION.read("inputs", "I would rather not.", None).value is None


def test_who_writes_is_told_the_limits() -> None:
    limits = Limits(cpu_s=2.0, memory_mb=256)
    assert "2 s" in FUNCTION.conditions("solution", limits)
    assert "256 MB" in FUNCTION.conditions("solution", limits)
    assert "10 s" in STDIN.conditions("testing", limits)
    assert FUNCTION.conditions("problem", limits) == ""
