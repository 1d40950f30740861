# ruff: noqa: E501 - programs and testings, one a line
"""What texts and values from outside may cost evosyn's own process: little; and whom they may harm: their own cell."""

from __future__ import annotations

import resource
import time
from collections import deque
from collections.abc import Iterator
from decimal import Decimal
from fractions import Fraction

import pytest

from evosyn.crossexec.judge import Cell, Judge
from evosyn.domains import python_stdin
from evosyn.domains.python.compare import Printed
from evosyn.domains.python.context import Broken, context_of
from evosyn.domains.python.expressions import NotLiftable
from evosyn.domains.python.lifting import FAIL, PASS, lift_assert, lift_program
from evosyn.domains.python.preparing import decided
from evosyn.domains.python.table import prepare
from evosyn.domains.python_function import PythonFunction
from evosyn.domains.python_stdin import PythonStdin
from evosyn.jobs import Call, CallsJob, ItemOutcome, Job, Limits, Status, StdioJob
from evosyn.ports import Sandbox
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.sandbox import open_sandbox, outcomes
from evosyn.sandbox._inside import wire
from evosyn.sandbox._inside.kinds import Items, Named

LIMITS = Limits(cpu_s=1.0, budget_s=10.0)
DOMAINS = {"python-function": PythonFunction(), "python-stdin": PythonStdin()}
PROBLEM = Problem(
    "p", "python-function", "Some text.", payload={"entry_point": "f", "starter_code": "def f(x):\n    pass\n"}
)
CONTEXT = context_of(PROBLEM)


def asserts(*texts: str) -> Testing:
    return Testing("asserts", {"asserts": list(texts)})


def cases(*pairs: tuple[object, object], **more: object) -> Testing:
    return Testing("cases", {"cases": [{"input": given, "output": output} for given, output in pairs], **more})


def program(*lines: str) -> Testing:
    return Testing("program", {"code": "def check(candidate):\n" + "".join(f"    {line}\n" for line in lines)})


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with open_sandbox("local", workers=1) as opened:
        yield opened


def verdicts(sandbox: Sandbox, source: str, *testings: Testing, problem: Problem = PROBLEM) -> str:
    asked = [Cell(problem, Solution(source), testing) for testing in testings]
    return "".join(cell.verdict.value for cell in Judge(sandbox, DOMAINS, LIMITS).verify(asked))


def test_integers_of_five_thousand_digits_are_integers(sandbox: Sandbox) -> None:
    import_ = "import math\n"
    assert (
        verdicts(sandbox, "def f(x): return {10**5000: x}", cases(([1], {"a": 1})), cases(([1], {"1" + "0" * 5000: 1})))
        == "FP"
    )
    generated = cases(([{"python": "math.factorial(2000)"}], {"python": "math.factorial(2000) + 1"}))
    assert verdicts(sandbox, "def f(x): return x + 1", generated) == "P"
    texts = (
        "assert f(10**5000) == 10**5000 + 1",
        "assert f(10**5000)\nassert f(1) == 2",
        "assert {f(10**5000): 1} == {10**5000 + 1: 1}",
    )
    assert verdicts(sandbox, "def f(x): return x + 1", *map(asserts, texts)) == "PPP"
    assert (
        verdicts(
            sandbox,
            import_ + "def f(x): return math.factorial(x)",
            asserts("import math\nassert f(2000) == math.factorial(2000)"),
        )
        == "P"
    )
    assert (
        verdicts(
            sandbox, "def f(x): return x", asserts("assert f(1) == str(10**5000)"), asserts("assert str(f(10**5000))")
        )
        == "BF"
    )
    huge = "0x" + "f" * 9000
    assert (
        verdicts(
            sandbox,
            "def f(x): return x",
            asserts(f"assert f({huge}) == {huge}"),
            asserts(f"assert f([{huge}, *[1]]) == [{huge}, 1]"),
        )
        == "PP"
    )


@pytest.mark.parametrize(
    "value",
    [
        Decimal("sNaN"), Decimal("1E+999999"), Fraction(1, 3), 10**30000, [10**9000] * 50, Items([1, 2], "ValueError: x"), deque([1]),
        range(10**18), range(10**30), {1: [2]}.items(), Named([1, 2]), bytearray(b"x"), "\ud800" * 10, float("nan"), "%1000000000d", {10**9000: 1},
        frozenset([10**9000]), [[[]]] * 9,
    ],
    ids=range(18),
)  # fmt: skip
@pytest.mark.parametrize("tolerance", [None, 1e-6])
def test_any_value_gets_a_verdict_from_any_check(value: object, tolerance: float | None) -> None:
    texts = [
        "f(1) == 5",
        "f(1) == [1]",
        "abs(f(1) - 1) < 2",
        "sorted(f(1)) == [1]",
        "f(1) in [1, 2]",
        "3 in f(1)",
        "str(f(1)) == ''",
    ]
    texts += [
        "repr(f(1)) == ''",
        "int(f(1)) == 1",
        "round(f(1), 2) == 1",
        "f(1) < 5",
        "f(1) ** 2 == 4",
        "f(1) * f(1) == 4",
        "-f(1) == 1",
    ]
    texts += [
        "f(1) % 2 == 0",
        "set(f(1)) == {1}",
        "dict(f(1)) == {}",
        "sum(f(1)) == 3",
        "max(f(1)) == 2",
        "f(1)[0] == 1",
        "len(f(1)) == 9",
    ]
    texts += [
        "list(zip(f(1), f(1))) == []",
        "f(1) + f(1) == 3",
        "f(1) | f(1) == 3",
        "[f(1)] * 3 == [1]",
        "all(f(1))",
        "f(1) == f(2)",
    ]
    outputs = [5, [1], {"a": 1}, {"1": 2}, None, "x", 1.5]
    testings = [
        asserts(*[f"assert {text}" for text in texts]),
        cases(*[([1], output) for output in outputs], tolerance=tolerance),
    ]
    prepared = prepare(PROBLEM, testings)
    began = time.thread_time()
    results = prepared.judge(
        [tuple([ItemOutcome(Status.OK, value) for _ in job]) for job in (prepared.calls, prepared.coded) if job]
    )
    assert time.thread_time() - began < 5
    assert [len(result.cases) for result in results] == [len(texts), len(outputs)]
    assert results[1].verdict in (Verdict.PASS, Verdict.FAIL, Verdict.ERROR)


@pytest.mark.parametrize(
    "text",
    [
        "f(1) == " + "repr(" * 34 + r"'\\'" + ")" * 34,
        "f(1) == " + "str([" * 40 + "'x'" + "])" * 40,
        "f(1) == list(zip(*[range(900000)] * 9))",
        "f(1) == sum([[1] * 1000] * 20000, [])",
        "f(1) == sorted([[0] * 1000] * 10000)",
        "f(1) == (0.5 in range(10**18))",
        "f(1) == all(range(1, 10**18))",
        "f(1) == max(range(10**18))",
        "f(1) == set(range(0, 10**18, 2**61 - 1))",
        "f(1) == {" + ", ".join(str(n * (2**61 - 1)) for n in range(5000)) + "}",
        "f(1) == {" + ", ".join(f"{n * (2**61 - 1)}: 1" for n in range(5000)) + "}",
        "f(1) == len(set([" + ", ".join(str(n * (2**61 - 1)) for n in range(5000)) + "]))",
        "f(1) == int('1' * 900000, 3)",
        "f(1) == 7 ** 20000 ** 2",
        "f(1) == 10 ** 9999 // 7 ** 5000 % 3 ** 12000 * 10 ** 9999",
        "f(1) == ((('a' * 999) * 999) * 999)",
        "f(1) == [[0] * 999] * 999 * 999",
        "f(1) == " + " + ".join(["[0] * 100000"] * 300),
        "f(1) == " + " in ".join(["'a' * 100000"] * 200),
        "f(1) == " + "[" * 80 + "list(range(5000))" + "]" * 80,
        "f(1) == str(b'x' * 100, 'idna')",
        "f(" + "(" * 90 + "list(range(9000))" + ")" * 90 + ") == 1",
        "f(**{'x': list(range(10**6))}) == 1",
        "f(x=[0] * 10**6) == 1",
        "f(" + ", ".join(["[0] * 10**5"] * 200) + ") == 1",
        "f(" + ", ".join(["10**4000"] * 3000) + ") == 1",
    ],
    ids=range(26),
)
def test_a_testing_costs_our_process_little_whatever_it_asks_for(text: str) -> None:
    began, before = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    try:
        lifted = lift_assert(f"assert {text}", CONTEXT)
        decided(lifted.judge, [ItemOutcome(Status.OK, 1)] * len(lifted.calls))
    except (NotLiftable, Broken):
        pass
    assert time.thread_time() - began < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 200_000


def test_constants_that_a_testing_computes_are_not_kept_by_the_hundred(sandbox: Sandbox) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    texts = [f"assert f({i}) == list(range(10**6 - {i}))" for i in range(200)]
    prepared = prepare(PROBLEM, [asserts(*texts), asserts(*[f"assert f({i}) == [{i}] * 3000" for i in range(200)])])
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000
    assert len(prepared.coded) >= 200 + 190
    assert (
        verdicts(
            sandbox, "def f(x): return [x] * 3000", asserts(*[f"assert f({i}) == [{i}] * 3000" for i in range(30)])
        )
        == "P"
    )


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("len(set(f(3))) == 5", [n * (2**61 - 1) for n in range(19_899)]),
        ("dict(f(3)) == 5", [(n * (2**61 - 1), 1) for n in range(19_899)]),
        ("frozenset(f(3)) == 5", [(n * (2**61 - 1),) for n in range(19_899)]),
        ("sorted(f(3)) == 5", [[0] * 500] * 20_000),
        ("f(3) + f(4) == 5", ["x" * 1000] * 100_000),
        ("sum(f(3), []) == 5", [[0]] * 30_000),
        ("repr(f(3)) == ''", "\0" * 3_000_000),
        ("f(3) == f(4)", {n * 7: {m: m for m in range(300)} for n in range(300)}),
        ("f(3) & f(4) == f(5)", set(range(60_000))),
        ("f(3) <= f(4)", set(range(60_000))),
        ("f(3) * 1000 == 5", [0] * 900_000),
        ("f(3) ** 5000 == 5", 10**900),
        ("int(f(3)) == 5", Decimal("1E+999999")),
        ("round(f(3)) == 5", Decimal("1E+999999")),
        ("f(3) ** 100000 == 5", Fraction(10**300, 7)),
        ("0.5 in f(3)", range(10**15)),
    ],
    ids=range(16),
)
def test_a_value_costs_our_process_little_whatever_is_asserted_of_it(text: str, value: object) -> None:
    lifted = lift_assert(f"assert {text}", CONTEXT)
    began, before = time.thread_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    assert decided(lifted.judge, [ItemOutcome(Status.OK, value)] * len(lifted.calls)) in (Verdict.PASS, Verdict.FAIL)
    assert time.thread_time() - began < 5
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 300_000


def test_a_testing_that_cannot_be_prepared_is_broken_and_its_neighbours_are_not(sandbox: Sandbox) -> None:
    deep: object = []
    for _ in range(5000):
        deep = [deep]
    good = cases(([1], 1))
    bad = [
        cases(([1], 1), ([deep], 1)),
        Testing("asserts", {"asserts": ["assert f(1) == 1", 5]}),
        Testing("program", {"code": None}),
    ]
    for one in bad:
        prepared = prepare(PROBLEM, [good, one, good])
        assert prepared.calls == (Call((1,)),)
        found = prepared.judge([(ItemOutcome(Status.OK, 1),)] if prepared.calls and not prepared.coded else [])
        assert [result.verdict for result in found] == [Verdict.PASS, Verdict.BROKEN, Verdict.PASS]
        assert "cannot" in found[1].detail


@pytest.mark.parametrize(
    "made",
    ["[{'input': [1], 'output': 1, 10**5000: 2}]", "[{10**5000: 1}]", "[[10**5000]]", "[{'input': [range(3)], 'output': 1}]", "10**5000",
     "[{'input': {10**5000: 1}, 'output': 1}]", "[{'input': [1], 'output': 1, 'tolerance': 10**5000}]", "(n for n in range(3))",
     "[{'input': [1], 'output': __import__('decimal').Decimal('sNaN')}]"],
)  # fmt: skip
def test_a_generator_gives_cases_or_a_broken_testing_and_never_an_error(sandbox: Sandbox, made: str) -> None:
    testing = Testing("cases", {"cases": {"python": f"def build_cases():\n    return {made}\n"}})
    assert verdicts(sandbox, "def f(x): return x", testing, cases(([1], 1))) == "BP"
    single = cases(([1], {"python": f"({made})[0]['output']"}))
    assert verdicts(sandbox, "def f(x): return x", single, cases(([1], 1)))[1] == "P"


HELPERS = "from typing import List\nimport math\nLIMIT = 3\n\ndef twice(x):\n    return x * LIMIT\n\ndef encode(x):\n    ...\n\ndef f(x):\n    pass\n"


def test_a_testing_reads_no_name_that_only_a_solution_defines(sandbox: Sandbox) -> None:
    source = "import heapq\ndef isclose(*_): return True\nmath = None\ndef twice(x): return x\ndef f(x): return 0\n"
    undeclared = [program("assert isclose(candidate(3), 24)"), program("v = candidate(3)", "assert isclose(v, 24)"), asserts("assert isclose(f(3), 24)"),
                  program("assert heapq.nlargest(1, [candidate(1)]) == [0]"), program("assert candidate(1) == 0 or other"), asserts("x = f(1)\nassert helper(x)")]  # fmt: skip
    assert verdicts(sandbox, source, *undeclared) == "B" * len(undeclared)
    problem = Problem("p", "python-function", "Some text.", payload={"entry_point": "f", "starter_code": HELPERS})
    declared = [
        program("assert math.isclose(candidate(1), 0)"),
        program("assert twice(candidate(1)) + twice(1) == 3"),
        asserts("assert twice(f(1)) == 0", "assert math.floor(f(1)) == 0"),
    ]
    assert verdicts(sandbox, source, *declared, problem=problem) == "PPP"


def test_a_function_that_the_starter_code_only_declares_is_the_solutions(sandbox: Sandbox) -> None:
    problem = Problem("p", "python-function", "Some text.", payload={"entry_point": "f", "starter_code": HELPERS})
    testing = [program("assert candidate(encode(5)) == 5"), asserts("assert f(encode('a')) == 'a'")]
    assert verdicts(sandbox, "def encode(x): return [x]\ndef f(x): return x[0]", *testing, problem=problem) == "PP"
    assert verdicts(sandbox, "def f(x): return x[0]", *testing, problem=problem) == "EE"


def test_a_method_is_called_on_the_class_of_the_solution(sandbox: Sandbox) -> None:
    problem = Problem(
        "p",
        "python-function",
        "Some text.",
        payload={"entry_point": "Stack.push", "starter_code": "class Stack:\n    def push(self, x):\n        pass\n"},
    )
    source = "class Stack:\n    def __init__(self): self.kept = []\n    def push(self, x):\n        self.kept.append(x)\n        return len(self.kept)\n"
    testing = [
        asserts("s = Stack()\nassert s.push(1) == 1 and s.push(2) == 2 and s.kept == [1, 2]"),
        program("assert candidate(5) == 1"),
        asserts("assert push(5) == 1"),
    ]
    assert verdicts(sandbox, source, *testing, problem=problem) == "PPP"


def test_only_what_a_testing_needs_of_the_starter_code_runs_before_it() -> None:
    context = context_of(
        Problem(
            "p",
            "python-function",
            "x",
            payload={
                "entry_point": "f",
                "starter_code": HELPERS + "d = {}\nd['k'] = twice(2)\nfrom os.path import *\n",
            },
        )
    )
    assert context.before("assert f(1) == 1") == "from os.path import *\n"
    assert context.before("assert twice(f(1))").splitlines()[0] == "LIMIT = 3"
    assert "typing" not in context.before("assert twice(f(1))")
    assert context.before("assert d[f(1)]").splitlines()[-2:] == ["d['k'] = twice(2)", "from os.path import *"]
    assert context.before("(" * 500).count("\n") > 6


@pytest.mark.parametrize(
    ("text", "value", "verdict"),
    [
        ("assert f(1) == 1 or 1 / 0", 1, Verdict.PASS),
        ("assert f(1) == zip([1], [2])", [(1, 2)], Verdict.FAIL),
        ("assert list(f(1)) == list(zip([1], [2]))", Items([(1, 2)]), Verdict.PASS),
        ("assert f(1) == [1]", Items([1]), Verdict.FAIL),
        ("assert list(f(1)) == [1] and f(1)", Items([1]), Verdict.PASS),
        ("assert len(f(1)) == 1", Items([1]), Verdict.FAIL),
        ("assert list(f(1)) == [1]", Items([1], "ValueError: x"), Verdict.ERROR),
        ("assert f(1) == [0, 1, 2]", range(3), Verdict.FAIL),
        ("assert list(f(1)) == [0, 1, 2] and f(1) == range(3)", range(3), Verdict.PASS),
        ("assert f(1) == {1, 2} and list(f(1)) == [2, 1]", {2: 0, 1: 0}.keys(), Verdict.PASS),
        ("assert f(1) == (1, 2)", [1, 2], Verdict.FAIL),
        ("assert f(1) == 0.5 and f(1) + f(1) == 1", Fraction(1, 2), Verdict.PASS),
        ("assert f(1) == (1, 2) and isinstance(f(1), tuple)", Named([1, 2]), Verdict.PASS),
        ("assert 0 < f(1) < (1 if f(1) else [][0])", 0.5, Verdict.PASS),
    ],
)  # fmt: skip
def test_a_lifted_assert_means_what_python_means(text: str, value: object, verdict: Verdict) -> None:
    try:
        lifted = lift_assert(text, CONTEXT)
    except NotLiftable:
        return
    assert decided(lifted.judge, [ItemOutcome(Status.OK, value)] * len(lifted.calls)) is verdict


@pytest.mark.parametrize(
    "code",
    ["x = undefined\ndef check(candidate):\n    assert candidate(1) == 1", "x = [1][3]\ndef check(candidate):\n    assert candidate(1) == 1",
     "a, b = 1\ndef check(candidate):\n    assert candidate(1) == 1", "f = 5\ndef check(candidate):\n    assert candidate(1) == 1",
     "x = {[]: 1}\ndef check(candidate):\n    assert candidate(1) == 1"],
)  # fmt: skip
def test_a_statement_that_may_do_something_is_not_passed_over(code: str) -> None:
    with pytest.raises((NotLiftable, Broken)):
        lift_program(code, CONTEXT)


def test_a_byte_order_mark_before_a_testing_means_nothing(sandbox: Sandbox) -> None:
    bom = "\ufeff"
    testings = [
        asserts(f"{bom}assert f(1) == 1", f"{bom}x = 1\nassert f(x) == 1"),
        Testing("program", {"code": f"{bom}def check(g):\n    for x in [1]:\n        assert g(x) == x\n"}),
    ]
    assert verdicts(sandbox, f"{bom}def f(x): return x", *testings) == "PP"


def test_printed_texts_that_cannot_be_compared_fail_their_own_case() -> None:
    testing = Testing(
        "stdin",
        {
            "cases": [{"input": "1", "output": "x " * 100_000 + "1.0"}, {"input": "1", "output": "1"}],
            "tolerance": 10**290,
        },
    )
    plan = DOMAINS["python-stdin"].plan(Problem("p", "python-stdin", "x"), Solution(""), [testing], LIMITS)
    (result,) = plan.judge([(ItemOutcome(Status.OK, "x " * 100_000 + "1.00"),)])
    assert [case.value for case in result.cases] == ["P", "F"]


def large(kind: type[Job], value: object) -> outcomes.LargeOutcome:
    payload = value.encode() if isinstance(value, str) else wire.encode(value)
    return outcomes.LargeOutcome(kind, wire.Record(wire.OK, 0.0, payload))


@pytest.fixture
def decoded(monkeypatch: pytest.MonkeyPatch) -> list[wire.Record]:
    """The records that were decoded since."""
    found: list[wire.Record] = []
    decode = outcomes.outcome_of

    def noting(kind: type[Job], record: wire.Record) -> ItemOutcome:
        found.append(record)
        return decode(kind, record)

    monkeypatch.setattr(outcomes, "outcome_of", noting)
    return found


def test_large_answers_are_decoded_again_as_long_as_the_testing_can_pay(decoded: list[wire.Record]) -> None:
    calls, checks = 12, 24
    testing = asserts(
        *[f"assert {' + '.join([f'f({call})[{place}]' for call in range(calls)])} == 0" for place in range(checks)]
    )
    for size, most in ((100_000, 2 * calls + checks), (4000, calls)):
        answers = tuple([large(CallsJob, [0] * size) for _ in range(calls)])
        decoded.clear()
        (cell,) = prepare(PROBLEM, [testing]).judge((answers,))
        assert len(decoded) <= most
        assert cell.cases[0] is Verdict.PASS
    assert cell.verdict is Verdict.PASS


def test_what_a_call_gave_is_decoded_once_for_all_checks_of_it_and_once_to_be_told_apart(
    decoded: list[wire.Record], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outcomes, "KEPT_BYTES", 1)
    testings = [cases(*[([call], [number] * 1000) for call in range(3)]) for number in range(4)]
    answers = tuple([large(CallsJob, [0] * 1000) for _ in range(3)])
    judged = prepare(PROBLEM, testings).judge((answers,))
    assert "".join(cell.verdict.value for cell in judged) == "PFFF"
    assert len(decoded) <= 2 * len(answers)


def test_a_printed_text_is_split_once_for_all_that_is_expected_of_it(monkeypatch: pytest.MonkeyPatch) -> None:
    split: list[str] = []

    class Noting(Printed):
        def __init__(self, text: str) -> None:
            split.append(text)
            super().__init__(text)

    monkeypatch.setattr(python_stdin, "Printed", Noting)
    testings = [
        Testing("stdin", {"cases": [{"input": given, "output": f"{given} {more}\n"} for given in "ab"]})
        for more in "xyz"
    ]
    plan = DOMAINS["python-stdin"].plan(PROBLEM, Solution(""), testings, LIMITS)
    judged = plan.judge((tuple([large(StdioJob, text) for text in ("a x", "b y")]),))
    assert [cell.cases for cell in judged] == [(PASS, FAIL), (FAIL, PASS), (FAIL, FAIL)]
    assert split == ["a x", "b y"]
