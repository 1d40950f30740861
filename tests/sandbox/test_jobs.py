"""The four kinds of job on a real sandbox: what comes back for right, wrong, broken and hostile programs."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Check, ChecksJob, HarnessJob, ItemOutcome, Limits, Status, StdioJob
from evosyn.ports import Sandbox
from evosyn.sandbox import _jail, open_sandbox

AMPLE = Limits(cpu_s=20.0, wall_s=300.0, budget_s=300.0, memory_mb=512)
"""So that no load of the machine makes a timeout of what is none."""
SHORT = Limits(cpu_s=1.0, wall_s=60.0, budget_s=60.0, memory_mb=512)
"""Where something is to run out of its time."""


def enough_for(status: Status) -> Limits:
    return SHORT if status is Status.TIMEOUT else AMPLE


def one_call(sandbox: Sandbox, program: str, *args: object, limits: Limits = AMPLE) -> ItemOutcome:
    ((outcome,),) = sandbox.run([CallsJob(program, "f", (Call(args),), limits)])
    return outcome


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        -7,
        12345678901234567890,
        -(2**40),
        0.1,
        -0.0,
        1j,
        "é\ud800",
        b"\0\xff",
        [1, (2, [3.5])],
        {"a": {1, 2}, 3: frozenset([b"x"])},
        [],
        {},
    ],
    ids=repr,
)
def test_plain_values_go_in_and_come_back_with_their_types(sandbox: Sandbox, value: object) -> None:
    outcome = one_call(sandbox, "def f(x): return x", value)
    assert outcome.status is Status.OK
    assert repr(outcome.value) == repr(value)


def test_integers_of_any_size_come_back(sandbox: Sandbox) -> None:
    outcome = one_call(sandbox, "def f(x): return -x * 7", 10**5000)
    assert outcome.value == -7 * 10**5000


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ("return object()", Status.NOT_PLAIN),
        ("return [type('I', (int,), {'__eq__': lambda one, other: True})(3)]", Status.NOT_PLAIN),
        ("x = []; x.append(x); return x", Status.NOT_PLAIN),
        ("import itertools; return itertools.count()", Status.NOT_PLAIN),
        ("raise ValueError('no')", Status.EXCEPTION),
        ("raise SystemExit(0)", Status.EXCEPTION),
        ("raise KeyboardInterrupt", Status.EXCEPTION),
        ("return f(x)", Status.EXCEPTION),
        ("import os; os._exit(0)", Status.KILLED),
        ("import ctypes; ctypes.string_at(0)", Status.KILLED),
        ("return bytearray(1 << 40)", Status.KILLED),
        ("return 'x' * (3 << 20)", Status.OUTPUT_LIMIT),
        ("while True: pass", Status.TIMEOUT),
        ("import time; time.sleep(60)", Status.TIMEOUT),
    ],
)
def test_a_call_ends_with_the_status_that_says_why(sandbox: Sandbox, body: str, status: Status) -> None:
    outcome = one_call(sandbox, f"def f(x):\n    {body}", 1, limits=enough_for(status))
    assert outcome.status is status


@pytest.mark.parametrize(
    ("program", "status"),
    [
        ("def f(x:", Status.LOAD_ERROR),
        ("1/0", Status.LOAD_ERROR),
        ("raise SystemExit(0)", Status.LOAD_ERROR),
        ("def f(x): return x\0", Status.LOAD_ERROR),
        ("(" * 20000, Status.LOAD_ERROR),
        ("g = 1", Status.NO_ENTRY),
        ("f = 1", Status.NO_ENTRY),
        ("while True: pass", Status.TIMEOUT),
        ("import os; os._exit(0)", Status.KILLED),
    ],
)
def test_a_program_that_does_not_load_gives_the_same_status_to_every_call(
    sandbox: Sandbox, program: str, status: Status
) -> None:
    (outcomes,) = sandbox.run([CallsJob(program, "f", (Call((1,)), Call((2,))), enough_for(status))])
    if status is Status.LOAD_ERROR and program.startswith("("):
        assert outcomes[0].status in (Status.LOAD_ERROR, Status.KILLED)
    else:
        assert [outcome.status for outcome in outcomes] == [status, status]


def test_calls_after_a_crash_or_a_timeout_still_run(sandbox: Sandbox) -> None:
    program = (
        "import os\ndef f(x):\n    if x == 1: os._exit(0)\n    if x == 2:\n        while True: pass\n    return x * 2\n"
    )
    (outcomes,) = sandbox.run([CallsJob(program, "f", tuple(Call((x,)) for x in range(4)), SHORT)])
    assert [outcome.status for outcome in outcomes] == [Status.OK, Status.KILLED, Status.TIMEOUT, Status.OK]
    assert (outcomes[0].value, outcomes[3].value) == (0, 6)


def test_arguments_given_as_python_are_evaluated_inside(sandbox: Sandbox) -> None:
    calls = (
        Call(python="[2 ** 5]"),
        Call(python="n = 3\nreturn {'x': n}"),
        Call(python="return 1 / 0"),
        Call(python="7"),
    )
    (outcomes,) = sandbox.run([CallsJob("def f(x): return x", "f", calls)])
    assert [outcome.value for outcome in outcomes[:2]] == [32, 3]
    assert [outcome.status for outcome in outcomes[2:]] == [Status.TESTING_BROKEN] * 2


def test_what_the_budget_does_not_reach_is_not_run(sandbox: Sandbox) -> None:
    limits = Limits(wall_s=0.3, budget_s=0.5)
    (outcomes,) = sandbox.run([CallsJob("def f(x):\n    while True: pass", "f", (Call((1,)),) * 5, limits)])
    assert [outcome.status for outcome in outcomes] == [Status.TIMEOUT] * 2 + [Status.NOT_RUN] * 3


PROGRAM = (
    "import math\nclass Odd(Exception): pass\n"
    "def f(x):\n    if x == 3: raise ValueError('bad')\n    if x == 4: raise Odd('odd')\n"
    "    if x == 5: raise AssertionError('mine')\n    if x == 6:\n        while True: pass\n"
    "    if x == 7: return object()\n    return x + 1\n"
    "def g(x): return x * 2\n"
)


@pytest.mark.parametrize(
    ("code", "status", "detail"),
    [
        ("assert f(1) == 2", Status.OK, ""),
        ("assert candidate(1) == 2 and math.isclose(f(1), 2)", Status.OK, ""),
        ("assert g(2) == 4", Status.TESTING_BROKEN, "NameError"),
        ("assert f(1) == 3, 'told'", Status.EXCEPTION, "AssertionError: told"),
        ("assert f(3) == 3", Status.EXCEPTION, "program raised ValueError: bad"),
        ("assert f(4) == 3", Status.EXCEPTION, "program raised Odd: odd"),
        ("assert f(5) == 3", Status.EXCEPTION, "program raised AssertionError: mine"),
        ("assert f(1)[0] == 3", Status.EXCEPTION, "testing raised TypeError"),
        ("try:\n    f(3)\n    assert False\nexcept ValueError as e:\n    assert str(e) == 'bad'", Status.OK, ""),
        ("assert f(6) == 1", Status.TIMEOUT, ""),
        ("assert f(7) == 1", Status.NOT_PLAIN, "'object'"),
        ("assert ____(1) == 1", Status.TESTING_BROKEN, "NameError"),
        ("assert", Status.TESTING_BROKEN, "SyntaxError"),
        ("import os\nos._exit(0)", Status.TESTING_BROKEN, "the testing ended"),
        ("while True: pass", Status.TIMEOUT, ""),
        ("f = lambda x: 3\nassert f(1) == 3", Status.OK, ""),
    ],
)
def test_a_check_says_whose_fault_it_is(sandbox: Sandbox, code: str, status: Status, detail: str) -> None:
    ((outcome,),) = sandbox.run([ChecksJob(PROGRAM, "f", (Check(code),), enough_for(status))])
    assert outcome.status is status
    assert outcome.detail.startswith(detail)


def test_checks_do_not_disturb_each_other_and_keep_their_order(sandbox: Sandbox) -> None:
    codes = [
        "import os\nos._exit(0)",
        "assert f(1) == 2",
        "f = None",
        "assert f(6)",
        "assert f(2) == 3",
        "import builtins\nbuiltins.len = None",
        "assert len([f(1)]) == 1",
    ]
    (outcomes,) = sandbox.run([ChecksJob(PROGRAM, "f", tuple(Check(code) for code in codes), SHORT)])
    assert [outcome.status for outcome in outcomes] == [
        Status.TESTING_BROKEN,
        Status.OK,
        Status.OK,
        Status.TIMEOUT,
        Status.OK,
        Status.OK,
        Status.OK,
    ]


def test_the_call_of_a_check_runs_after_its_code(sandbox: Sandbox) -> None:
    code = "def check(candidate):\n    assert candidate(1) == {}"
    checks = (Check(code.format(2), "check(candidate)"), Check(code.format(5), "check(f)"))
    (outcomes,) = sandbox.run([ChecksJob(PROGRAM, "f", checks, AMPLE)])
    assert [outcome.status for outcome in outcomes] == [Status.OK, Status.EXCEPTION]


@pytest.mark.parametrize(
    ("program", "given", "status", "value"),
    [
        ("n = int(input())\nprint(n * 2)", "21\n", Status.OK, "42\n"),
        ("import sys\nprint(sum(map(int, sys.stdin.read().split())))\nsys.exit(0)", "1 2\n3", Status.OK, "6\n"),
        ("import os\nprint('x', flush=True)\nos._exit(0)", "", Status.OK, "x\n"),
        ("if __name__ == '__main__':\n    print(1)", "", Status.OK, "1\n"),
        ("print('é\\u20ac')", "", Status.OK, "é\u20ac\n"),
        ("print('y' * 200000)", "", Status.OK, "y" * 200000 + "\n"),
        ("import sys\nsys.exit(3)", "", Status.EXCEPTION, None),
        ("input()", "", Status.EXCEPTION, None),
        ("x =", "", Status.LOAD_ERROR, None),
        ("while True: print('x' * 1000)", "", Status.OUTPUT_LIMIT, None),
        ("while True: pass", "", Status.TIMEOUT, None),
    ],
)
def test_a_program_over_standard_input(
    sandbox: Sandbox, program: str, given: str, status: Status, value: str | None
) -> None:
    ((outcome,),) = sandbox.run([StdioJob(program, (given,), enough_for(status))])
    assert (outcome.status, outcome.value) == (status, value)


def test_each_input_gets_a_fresh_process(sandbox: Sandbox) -> None:
    program = "import builtins\nn = getattr(builtins, 'seen', 0)\nbuiltins.seen = n + 1\nprint(n, input())"
    (outcomes,) = sandbox.run([StdioJob(program, ("a", "b"))])
    assert [outcome.value for outcome in outcomes] == ["0 a\n", "0 b\n"]


def test_the_first_input_is_treated_like_the_others(sandbox: Sandbox) -> None:
    flood = "while True: print('x' * 1000)"
    crash = "import ctypes\nctypes.string_at(0)"
    for program, status in ((flood, Status.OUTPUT_LIMIT), (crash, Status.KILLED), ("x =", Status.LOAD_ERROR)):
        (outcomes,) = sandbox.run([StdioJob(program, ("a", "b", "c"), AMPLE)])
        assert [outcome.status for outcome in outcomes] == [status] * 3


def test_what_one_input_does_to_the_files_around_it_does_not_reach_the_next(sandbox: Sandbox) -> None:
    program = """
import os, struct
word = input()
if word == "forge":
    for fd in range(64):
        for data in (b"", struct.pack("<BdI", 4, 0.0, 3) + b"bad"):
            try: os.ftruncate(fd, len(data)); os.pwrite(fd, data, 0)
            except OSError: pass
    os._exit(0)
print(word)
"""
    (outcomes,) = sandbox.run([StdioJob(program, ("forge", "a", "forge", "b"), AMPLE)])
    assert [outcome.value for outcome in outcomes[1::2]] == ["a\n", "b\n"]


def test_a_testing_process_that_dies_leaves_neither_verdicts_nor_processes_behind(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dies = "package.rpc.serve = lambda *_: os._exit(0)\npackage.boot.start("
    monkeypatch.setattr(_jail, "BOOT", _jail.BOOT.replace("package.boot.start(", dies))
    checks = tuple(Check(f"assert f({x}) == {x}") for x in range(3))
    job = ChecksJob("def f(x): return x if x < 2 else 0", "f", checks, AMPLE)
    with open_sandbox("local", workers=1) as opened:
        opened.run([CallsJob("def f(x): return x", "f", (Call((1,)),), AMPLE)])
        before = descendants()
        found = opened.run([job] * 20)
        assert descendants() == before, "zombies count"
    expected = [Status.OK, Status.OK, Status.EXCEPTION]
    assert [[check.status for check in outcomes] for outcomes in found] == [expected] * 20


def descendants() -> set[int]:
    """Our processes, those that ended and were not waited for included."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parents[int(entry.name)] = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    found = {os.getpid()}
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found


def test_a_harness_runs_beside_the_program_with_its_shared_context(backend: str) -> None:
    numpy = pytest.importorskip("numpy")
    harness = (
        "def main(program, context, argument):\n    names = {}\n    exec(program, names)\n"
        "    return names['rank'](context['a']) * argument\n"
    )
    with open_sandbox(backend, workers=1, packages=("numpy",)) as opened:
        key = opened.share({"a": numpy.arange(6.0).reshape(2, 3)})
        jobs = [HarnessJob(harness, f"def rank(a): return {body}", key, 2) for body in ("a.sum()", "a.shape", "1 / 0")]
        (good,), (shape,), (bad,) = opened.run(jobs)
    assert (good.status, good.value) == (Status.OK, 30.0)
    assert shape.value == (2, 3, 2, 3)
    assert (bad.status, bad.detail) == (Status.EXCEPTION, "ZeroDivisionError: division by zero")


def test_results_come_in_the_order_of_the_jobs_and_each_is_reported_once(sandbox: Sandbox) -> None:
    seen: dict[int, object] = {}
    jobs = [CallsJob(f"def f(x): return x + {n}", "f", (Call((1,)),)) for n in range(50)]
    results = sandbox.run(jobs, on_done=lambda index, outcomes: seen.setdefault(index, outcomes))
    assert [outcomes[0].value for outcomes in results] == [n + 1 for n in range(50)]
    assert sorted(seen) == list(range(50))


def test_an_argument_that_is_not_plain_data_is_the_callers_error(sandbox: Sandbox) -> None:
    with pytest.raises(TypeError, match="plain data"):
        sandbox.run([CallsJob("def f(x): return x", "f", (Call((object(),)),))])


def test_a_closed_sandbox_says_so(backend: str) -> None:
    with open_sandbox(backend, workers=1) as opened:
        pass
    with pytest.raises(SandboxUnavailable, match="closed"):
        opened.run([CallsJob("def f(x): return x", "f", (Call((1,)),))])
