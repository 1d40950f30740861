"""No answer of a program makes its testing look broken; what a testing does by itself is not the program's."""

from __future__ import annotations

import pytest

from evosyn.jobs import Call, CallsJob, Check, ChecksJob, Job, Limits, Status, StdioJob
from evosyn.ports import Sandbox
from evosyn.sandbox._inside.blame import CheckText
from evosyn.sandbox._inside.raised import made_anew

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
        ("import os\nos._exit(3)", Status.TESTING_BROKEN),
        ("import os\nos._exit(80)", Status.TESTING_BROKEN),
        ("import os\nassert f(1) == 1\nos._exit(3)", Status.EXCEPTION),
        ("import os\nif f(1) == 1: os._exit(80)", Status.EXCEPTION),
    ],
)
def test_a_testing_that_ends_its_process_is_broken_only_before_it_asks_its_program(
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
    names = ("ExceptionGroup", "BaseExceptionGroup", "Exception")
    made = made_anew(("g (1 sub-exception)", names, None, None, None, False), CheckText()).error
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


UNITTEST = """
import io, unittest
def check(candidate):
    class T(unittest.TestCase):
        @classmethod
        def setUpClass(cls): SETS_UP
        def test_one(self):
            TESTS
    tests = unittest.defaultTestLoader.loadTestsFromTestCase(T)
    assert unittest.TextTestRunner(stream=io.StringIO()).run(tests).wasSuccessful()
"""
PLAIN = "self.assertEqual(candidate(1), 2)"


def of_unittest(tests: str = PLAIN, sets_up: str = "pass") -> str:
    return UNITTEST.replace("SETS_UP", sets_up).replace("TESTS", tests)


FRAMEWORKS = {
    "unittest": of_unittest(),
    "unittest that skips by itself": of_unittest(f"candidate is None and self.skipTest('')\n            {PLAIN}"),
    "unittest whose names stand there": "from unittest import SkipTest\n" + of_unittest(),
    "unittest whose class raises": of_unittest(f"unittest.SkipTest\n            with self.subTest(): {PLAIN}"),
    "unittest that sets up": of_unittest("pass", "candidate(1)"),
    "unittest as a program": """
import sys, unittest
def check(candidate):
    class T(unittest.TestCase):
        @classmethod
        def setUpClass(cls): candidate(1)
        def test_one(self): pass
    sys.modules["__main__"].T = T
    try: unittest.main(argv=["x"])
    except SystemExit as end: assert not end.code
""",
    "asyncio": """
import asyncio
def check(candidate):
    async def call(): return candidate(1)
    async def main():
        task = asyncio.ensure_future(call())
        await asyncio.wait([task])
        try: return task.result()
        except asyncio.CancelledError: return 2
    assert asyncio.run(main()) == 2
""",
    "doctest": """
import doctest
def check(candidate):
    test = doctest.DocTestParser().get_doctest(">>> candidate(1)\\n2\\n", {"candidate": candidate}, "x", None, 0)
    assert doctest.DocTestRunner(verbose=False).run(test, out=lambda _: None).failed == 0
""",
    "a signal of its own": """
class Skip(Exception): pass
def needs(what):
    if not what: raise Skip("nothing to see")
def check(candidate):
    try:
        needs(candidate)
        assert candidate(1) == 2
    except Skip: pass
""",
}
WRITES = "import sys\nsys.modules['evosyn.sandbox._inside.answers']._raised = lambda *_: {}\ndef f(x): raise ValueError"
STEERING = {
    "SkipTest": "import unittest\ndef f(x): raise unittest.SkipTest('x')",
    "below SkipTest": "import unittest\nclass Skip(unittest.SkipTest, ValueError): pass\ndef f(x): raise Skip('x')",
    "_ShouldStop": "import unittest.case\ndef f(x): raise unittest.case._ShouldStop",
    "named SkipTest": "class E(Exception): __module__ = 'unittest.case'\nE.__name__ = 'SkipTest'\ndef f(x): raise E",
    "its own SkipTest": "class SkipTest(Exception): pass\ndef f(x): raise SkipTest",
    "its own Skip": "class Skip(Exception): pass\ndef f(x): raise Skip",
    "a record of SkipTest": WRITES.format("('', ('unittest.case.SkipTest',), None, None, None, False)"),
    "a record of two": WRITES.format("('', ('.SkipTest', 'unittest.SkipTest'), (), None, None, False)"),
    "a record of an end": WRITES.format("('', ('.E', 'SystemExit'), None, None, None, False)"),
    "SystemExit": "import sys\ndef f(x): sys.exit()",
    "SystemExit of 256": "def f(x): raise SystemExit(256)",
    "KeyboardInterrupt": "def f(x): raise KeyboardInterrupt",
    "GeneratorExit": "def f(x): raise GeneratorExit",
    "StopIteration": "def f(x): raise StopIteration(2)",
    "below BaseException": "class B(BaseException): pass\ndef f(x): raise B",
    "CancelledError": "import asyncio\ndef f(x): raise asyncio.CancelledError",
    "BdbQuit": "import bdb\ndef f(x): raise bdb.BdbQuit",
    "a group": "import unittest\ndef f(x): raise BaseExceptionGroup('g', [unittest.SkipTest('x')])",
    "a failed assertion": "def f(x): assert False",
}


def test_nothing_that_a_program_raises_steers_the_framework_of_its_testing(sandbox: Sandbox) -> None:
    limits = Limits(cpu_s=5.0, budget_s=100.0)
    checks = tuple(Check(text, "check(f)") for text in FRAMEWORKS.values())
    programs = {"right": "def f(x): return 2", "wrong": "def f(x): return 3", **STEERING}
    found = dict(
        zip(programs, sandbox.run([ChecksJob(one, "f", checks, limits) for one in programs.values()]), strict=True)
    )
    assert [one.status for one in found.pop("right")] == [Status.OK] * len(checks)
    found.pop("wrong")
    for name, outcomes in found.items():
        for framework, outcome in zip(FRAMEWORKS, outcomes, strict=True):
            assert outcome.status is Status.EXCEPTION, (name, framework, outcome)
            assert outcome.detail.startswith("program raised"), (name, framework, outcome)


NO_EXCEPTION = ("SystemExit", "KeyboardInterrupt", "GeneratorExit", "below BaseException", "CancelledError", "BdbQuit")


def test_who_excepts_errors_alone_gets_no_exit_of_a_program(sandbox: Sandbox) -> None:
    checks = (Check("try:\n    f(1)\nexcept Exception: pass"), Check("try:\n    f(1)\nexcept BaseException: pass"))
    found = sandbox.run([ChecksJob(STEERING[name], "f", checks) for name in NO_EXCEPTION])
    statuses = {name: [one.status for one in outcomes] for name, outcomes in zip(NO_EXCEPTION, found, strict=True)}
    within = [Status.OK, Status.OK]  # bdb.BdbQuit is an Exception
    assert statuses == {name: [Status.EXCEPTION, Status.OK] if name != "BdbQuit" else within for name in NO_EXCEPTION}


@pytest.mark.parametrize(
    ("raises", "expects"),
    [
        ("raise ValueError('a.b', 1)", "except ValueError as e: assert type(e) is ValueError and e.args == ('a.b', 1)"),
        ("1 / 0", "except ZeroDivisionError as e: assert str(e) == 'division by zero'"),
        ("{}['k']", "except KeyError as e: assert e.args == ('k',)"),
        ("json.loads('{')", "except json.JSONDecodeError as e: assert isinstance(e, ValueError)"),
        ("json.loads('{')", "except ValueError as e: assert type(e).__name__ == 'JSONDecodeError'"),
        ("decimal.Decimal('x')", "except decimal.DecimalException as e: assert type(e).__name__ == 'InvalidOperation'"),
        ("decimal.Decimal(1) / 0", "except ZeroDivisionError: pass"),
        ("queue.Queue().get_nowait()", "except queue.Empty: pass"),
        ("raise Own('o')", "except Own as e: assert type(e) is Own and e.args == ('o',)"),
        ("raise type('Below', (Own,), {})('o')", "except Own as e: assert str(e) == 'o'"),
        (
            "raise type('Both', (ValueError, KeyError), {})('o')",
            "except KeyError as e: assert isinstance(e, ValueError)",
        ),
        ("assert x, 'not that'", "except AssertionError as e: assert str(e) == 'not that'"),
        ("raise SystemExit(3)", "except SystemExit as e: assert e.code == 3"),
        ("raise KeyboardInterrupt", "except KeyboardInterrupt: pass"),
        ("raise NotImplementedError", "except Exception as e: assert type(e) is NotImplementedError"),
    ],
)
def test_what_the_language_or_the_problem_names_is_raised_as_that(raises: str, expects: str, sandbox: Sandbox) -> None:
    own = "import decimal, json, queue\nclass Own(Exception): pass\n"
    plain = f"try: f(0)\n{expects}\nelse: assert False, 'nothing raised'"
    kind = expects.partition(" ")[2].partition(" ")[0].rstrip(":")
    framed = of_unittest(f"self.assertRaises({kind}, candidate, 0)", f"{kind} is Own")
    program = f"{own}def f(x): {raises}"
    (outcomes,) = sandbox.run([ChecksJob(program, "f", (Check(own + plain), Check(own + framed, "check(f)")))])
    assert [outcome.status for outcome in outcomes] == [Status.OK] * 2, outcomes


PATHS = {
    "a module that is missing": "import nothing_of_that_name",
    "a name that is missing": "nothing_of_that_name",
    "an argument that cannot cross": "f(lambda: 1)",
    "an argument of its type": "f(type(f(1)))",
    "its own exit": "import os; os._exit(3)",
    "an exit as of our limits": "import os; os._exit(80)",
    "an exit as of a lost program": "import os; os._exit(81)",
    "a signal": "import ctypes; ctypes.string_at(0)",
}
LEADING = (
    "if f(1) != 1: {}",
    "for _ in f(1): {}",
    "while f(1):\n    {}",
    "try:\n    f(0)\nexcept ValueError:\n    {}",
    "def late(x):\n    {}\nlist(map(late, f(1)))",
    "def late(x):\n    {}\nsorted(f(1), key=late)",
    "def late():\n    if f(1) == 1: return\n    {}\nlate()",
    "class T:\n    def __bool__(self):\n        {}\n        return True\nassert f(1) == 1 or T()",
)
CHOICES = """
import collections
def f(x):
    if x == 0: raise ValueError
    return collections.deque([2]) if x == 1 else x
"""


@pytest.mark.parametrize("leads", LEADING)
def test_no_answer_leads_a_testing_to_where_it_is_broken(leads: str, sandbox: Sandbox) -> None:
    checks = tuple(Check(leads.format(path)) for path in PATHS.values())
    checks += tuple(
        Check(f"def check(f):\n    {leads.format(path).replace(chr(10), chr(10) + '    ')}", "check(f)")
        for path in PATHS.values()
    )
    (outcomes,) = sandbox.run([ChecksJob(CHOICES, "f", checks, Limits(budget_s=60.0))])
    bad = [(check.code, one) for check, one in zip(checks, outcomes, strict=True) if one.status not in FAULTS]
    assert not bad, bad


FAULTS = (Status.EXCEPTION, Status.NOT_PLAIN, Status.KILLED)


@pytest.mark.parametrize("answer", ["return 1", "return [2]", "return None"])
@pytest.mark.parametrize(
    "text",
    [
        "f(1)\nimport nothing_of_that_name",
        "x = f(1)\nif x: pass\nassert f or x, 'y'\nnothing_of_that_name",
        "import os\nimport nothing_of_that_name\nf(1)",
    ],
)
def test_a_testing_that_comes_to_a_missing_module_or_name_after_any_answer_is_broken(
    text: str, answer: str, sandbox: Sandbox
) -> None:
    checks = (Check(text), Check(f"def check(f):\n    {text.replace(chr(10), chr(10) + '    ')}", "check(f)"))
    (outcomes,) = sandbox.run([ChecksJob(f"def f(x): {answer}", "f", checks)])
    assert [outcome.status for outcome in outcomes] == [Status.TESTING_BROKEN] * 2, outcomes


def test_a_name_that_an_answer_leaves_unbound_breaks_no_testing(sandbox: Sandbox) -> None:
    texts = (
        "if f(1) == 1:\n    def check(c): pass\n",
        "if f(1) == 1: exec('def check(c): pass')",
        "if f(1) == 1: globals()['check'] = print",
    )
    (outcomes,) = sandbox.run([ChecksJob(CHOICES, "f", tuple(Check(text, "check(f)") for text in texts))])
    assert {outcome.status for outcome in outcomes} == {Status.EXCEPTION}, outcomes


SAYS = """
import os, struct
def say():
    for fd in range(3, 64):
        try: os.write(fd, struct.pack('<BdI', 2, 0.0, 0))
        except OSError: pass
"""
PATCH = """
import sys
ours = lambda name: sys.modules['evosyn.sandbox._inside.' + name]
put, record = ours('child').Writer.put, ours('wire').record
"""
UP = {
    "an exit": "import os\ndef f(x): os._exit(80)",
    "an exit while loading": "import os\nos._exit(80)\ndef f(x): return 1",
    "a record": SAYS + "def f(x): say(); os._exit(0)",
    "a record while loading": SAYS + "say(); os._exit(0)\ndef f(x): return 1",
    "an answer": PATCH + "ours('wire').record = lambda c, s, p: record(2, s, p)\ndef f(x): return 1",
    "its writer": PATCH + "ours('child').Writer.put = lambda self, c, s, p: put(self, 2, s, p)\ndef f(x): return 1",
    "our exception": PATCH + "def f(x): raise ours('alarm').TimeLimit",
    "our exception while loading": PATCH + "raise ours('alarm').TimeLimit\ndef f(x): return 1",
    "pipes that are cut": "import os, time\ndef f(x): os.closerange(3, 64); time.sleep(99)",
    "a loading without end": "while True: pass\ndef f(x): return 1",
}
ITEMS = 8


@pytest.mark.parametrize("name", UP)
def test_a_program_that_says_its_time_is_up_spends_no_budget_of_others(name: str, sandbox: Sandbox) -> None:
    """So no end of a program that costs nothing leaves its other items undecided."""
    limits, program = Limits(cpu_s=1.0, budget_s=3.0), UP[name]
    warm = tuple(Check(f"assert f({x}) == 2") for x in range(ITEMS))
    fresh = tuple(Check(f"import os\nassert f({x}) == 2") for x in range(ITEMS))
    jobs: list[Job] = [
        CallsJob(program, "f", tuple(Call((x,)) for x in range(ITEMS)), limits),
        ChecksJob(program, "f", warm, limits),
        ChecksJob(program, "f", fresh, limits),
    ]
    really = name == "a loading without end"
    if not really:
        jobs.append(StdioJob(f"{program}\nf(1)", tuple("x" * x for x in range(ITEMS)), limits))
    for job, outcomes in zip(jobs, sandbox.run(jobs), strict=True):
        statuses = {outcome.status for outcome in outcomes}
        assert statuses <= ({Status.TIMEOUT} if really else {*FAULTS, Status.OK}), (type(job).__name__, outcomes)
