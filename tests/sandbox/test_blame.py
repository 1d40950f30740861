"""No answer of a program makes its testing look broken; what a testing does by itself is not the program's."""

from __future__ import annotations

import pytest

from evosyn.jobs import Check, ChecksJob, Limits, Status
from evosyn.ports import Sandbox
from evosyn.sandbox._inside.peer import Peer

pytestmark = pytest.mark.slow

LOOP = "def check(candidate):\n    for i in range(3):\n        assert candidate(i) == i\n"
CHECKS = (Check("assert f(1) == 1"), Check(LOOP, "check(candidate)"), Check(f"class Helper: pass\n{LOOP}check(f)"))
WILD = {
    "UnicodeDecodeError": ("utf-8", b"abc", -(2**40), -(2**40) + 1, "x"),
    "UnicodeEncodeError": ("utf-8", "abc", 2**40, 2**40 + 1, "x"),
    "UnicodeTranslateError": ("abc", -(2**62), 2**62, "x"),
    "SyntaxError": ("x", ("f", -(2**40), 2**40, "text", -(2**40), 2**40)),
    "OSError": (-(2**40), "x", "f", 2**40, "g"),
    "ImportError": (10**400,),
    "SystemExit": (10**400,),
    "ValueError": (10**5000,),
    "KeyError": (float("nan"), b"\xff"),
}


def fails(sandbox: Sandbox, program: str) -> None:
    limits = Limits(cpu_s=1.0, budget_s=20.0)
    (outcomes,) = sandbox.run([ChecksJob(program, "f", CHECKS, limits)])
    assert {outcome.status for outcome in outcomes} <= {Status.EXCEPTION, Status.KILLED, Status.TIMEOUT}, outcomes


@pytest.mark.parametrize("name", WILD)
def test_an_exception_of_any_class_with_any_arguments_is_the_programs(name: str, sandbox: Sandbox) -> None:
    program = f"""
class E(Exception):
    __module__ = "builtins"
E.__name__ = E.__qualname__ = "{name}"
import sys
sys.set_int_max_str_digits(0)
nan = float("nan")
def f(x):
    raise E(*{hex_of(WILD[name])})
"""
    fails(sandbox, program)


def hex_of(value: object) -> str:
    """Its source, with integers that are not too long to be written."""
    if isinstance(value, tuple):
        return f"({''.join(hex_of(one) + ', ' for one in value)})"
    return hex(value) if isinstance(value, int) else repr(value)


@pytest.mark.parametrize("then", ["while True: pass", "return x", "import time; time.sleep(1000)", "os._exit(0)"])
@pytest.mark.parametrize("close", ["os.close(fd)", "os.dup2(os.open('/dev/null', os.O_RDWR), fd)"])
def test_a_program_that_closes_its_pipes_is_the_one_that_fails(close: str, then: str, sandbox: Sandbox) -> None:
    program = f"""
import os, stat
def f(x):
    for fd in range(3, 64):
        try:
            if stat.S_ISFIFO(os.fstat(fd).st_mode):
                {close}
        except OSError:
            pass
    {then}
"""
    fails(sandbox, program)


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("import ctypes\nctypes.string_at(0)", Status.TESTING_BROKEN),
        ("import ctypes\nassert f(1) == 1\nctypes.string_at(0)", Status.EXCEPTION),
        ("import os\nassert f(1) == 1\nos._exit(3)", Status.TESTING_BROKEN),
    ],
)
def test_a_testing_that_dies_by_a_signal_is_broken_only_before_it_asks_its_program(
    text: str, status: Status, sandbox: Sandbox
) -> None:
    ((outcome,),) = sandbox.run([ChecksJob("def f(x): return x", "f", (Check(text),))])
    assert outcome.status is status


HONEST = """
import json
def f(x):
    if x == 0: raise ValueError("v")
    if x == 1: raise KeyError("k")
    if x == 2: return b"\\xff".decode()
    if x == 3: raise OSError(2, "no", "name")
    if x == 4: return json.loads("{")
    if x == 5: raise SystemExit(3)
    if x == 6: raise ExceptionGroup("group", [ValueError(1)])
    raise UnicodeDecodeError("utf-8", b"abc", 1, 2, "odd")
"""
LOOKS = """
import json
EXPECTED = ((0, ValueError, "v"), (1, KeyError, "'k'"), (3, FileNotFoundError, "[Errno 2] no: 'name'"),
            (4, json.JSONDecodeError, None), (5, SystemExit, "3"), (6, Exception, None), (7, UnicodeDecodeError, None))
def check(f):
    for x, kind, text in EXPECTED:
        try:
            f(x)
        except kind as error:
            assert text is None or str(error) == text, str(error)
            assert repr(error)
            if x == 0: assert type(error) is ValueError and error.args == ("v",)
            if x == 3: assert error.errno == 2 and error.strerror == "no"
            if x == 5: assert error.code == 3
            if x == 7: assert (error.start, error.end, error.reason, error.object) == (1, 2, "odd", b"abc")
        else:
            assert False, x
"""


def test_a_testing_finds_in_an_exception_what_the_program_put_there(sandbox: Sandbox) -> None:
    ((outcome,),) = sandbox.run([ChecksJob(HONEST, "f", (Check(LOOKS, "check(candidate)"),))])
    assert outcome.status is Status.OK, outcome


def test_a_group_of_exceptions_is_an_exception_of_its_text() -> None:
    peer = Peer.__new__(Peer)
    peer.names = {}
    made = peer._error(("g (1 sub-exception)", ("ExceptionGroup", "BaseExceptionGroup", "Exception"), None))
    assert (type(made).__name__, str(made), isinstance(made, Exception)) == (
        "ExceptionGroup",
        "g (1 sub-exception)",
        True,
    )


LISTING = ("[[x] for x in f(0)] == [[9]]", "[x * x for x in f(0)] == [9]", "{x: [x] for x in f(0)} == {}")


@pytest.mark.parametrize("given", ["range(10**70)", "iter(range(10**70))"])
def test_a_testing_that_runs_out_of_time_over_an_endless_answer_is_not_broken(given: str, sandbox: Sandbox) -> None:
    """Freeing what it made until then takes so long that the alarm rings again."""
    checks = tuple(Check(f"import os\nassert {text}") for text in LISTING)
    (outcomes,) = sandbox.run([ChecksJob(f"def f(x): return {given}", "f", checks, Limits(cpu_s=0.5, budget_s=20.0))])
    assert {outcome.status for outcome in outcomes} <= {Status.EXCEPTION, Status.KILLED, Status.TIMEOUT}, outcomes
