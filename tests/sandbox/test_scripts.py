"""A program over standard input begins and ends as a script that Python runs: with all that `site` adds, and with threads,
`atexit`, flushing and finalizers at its end, under its limits and with its exit status."""

from __future__ import annotations

import pytest

from evosyn.jobs import Call, CallsJob, Check, ChecksJob, Limits, Status, StdioJob
from evosyn.ports import Sandbox

CORE = "import sys\nanswer = sum(map(int, sys.stdin.read().split()))\n"
RIGHT = {
    "exit()": CORE + "print(answer)\nexit()",
    "quit() in a function": CORE + "def main():\n    print(answer)\n    quit(0)\nmain()",
    "an exit status of 256": CORE + "print(answer)\nsys.exit(256)",
    "False as an exit status": CORE + "print(answer)\nsys.exit(False)",
    "atexit": CORE + "import atexit\natexit.register(lambda: print(answer))",
    "a thread that is not joined": "import threading\nthreading.Thread(target=lambda: print(sum(map(int, input().split())))).start()",
    "a timer": CORE + "import threading\nthreading.Timer(0.02, print, [answer]).start()",
    "an executor that is not shut down": CORE
    + "import concurrent.futures as f\nf.ThreadPoolExecutor(2).submit(print, answer)",
    "a file of its own": CORE + "out = open(1, 'w')\nout.write(str(answer))",
    "a file of its own, in a cycle": CORE
    + "class Out:\n    def __init__(self): self.me, self.out = self, open(1, 'w')\nout = Out()\nout.out.write(str(answer))",
    "a file that others hold": CORE
    + "import signal\nout = open(1, 'w')\nout.write(str(answer))\nsignal.signal(2, lambda *_: out)",
    "another standard output": CORE + "sys.stdout.write(str(answer))\nimport io\nsys.stdout = io.StringIO()",
    "what was captured, written at last": CORE
    + "import io\nold, sys.stdout = sys.stdout, io.StringIO()\nprint(answer)\nold.write(sys.stdout.getvalue())",
    "a closed standard output": CORE + "print(answer)\nsys.stdout.close()",
    "no standard output": CORE + "print(answer, flush=True)\nsys.stdout = None",
    "a finalizer": CORE + "class A:\n    def __del__(self):\n        print(answer)\na = A()",
    "a finalizer that raises": CORE + "class A:\n    def __del__(self): raise SystemExit(3)\na = A()\nprint(answer)",
    "an exit handler that raises": CORE + "import atexit\natexit.register(sys.exit, 3)\nprint(answer)",
    "a thread that raises": CORE + "import threading\nthreading.Thread(target=lambda: 1 / 0).start()\nprint(answer)",
    "fileinput": "import fileinput\nprint(sum(int(word) for line in fileinput.input() for word in line.split()))",
    "no arguments": CORE + "assert len(sys.argv) == 1\nprint(answer)",
    "its own file": CORE + "import os\nassert os.path.basename(__file__) == sys.argv[0]\nprint(answer)",
    "a larger stack": CORE
    + "import resource\nresource.setrlimit(resource.RLIMIT_STACK, (-1, -1))\nsys.setrecursionlimit(10**6)\nprint(answer)",
    "/dev/stdin": "print(sum(map(int, open('/dev/stdin').read().split())))",
    "/dev/stdin as a path": "import pathlib\nprint(sum(map(int, pathlib.Path('/dev/stdin').read_text().split())))",
    "/dev/fd/0 and /dev/stdout": "import os\ntext = os.read(os.open('/dev/fd/0', 0), 99)\nwith open('/dev/stdout', 'w') as out: out.write(str(sum(map(int, text.split()))))",
    "builtins of its own": "import builtins\nbuiltins.sum = lambda items: __builtins__.max(items) * 2\nprint(sum(map(int, input().split())))",
}
FAILED = {
    "exit(3)": "print(6)\nexit(3)",
    "a text as exit status": "print(6)\nimport sys\nsys.exit('no')",
    "an exit status beyond 64 bits": "print(6)\nimport sys\nsys.exit(2 ** 64)",
    "an exception": "print(6)\n1 / 0",
    "an exception, then a handler that is content": "import atexit\natexit.register(print, 6)\n1 / 0",
    "an output that cannot be flushed": "import os\nprint(6)\nos.close(1)",
}


@pytest.mark.parametrize("name", RIGHT)
def test_a_script_that_python_runs_well_prints_the_same_here(name: str, sandbox: Sandbox) -> None:
    ((one, two),) = sandbox.run([StdioJob(RIGHT[name], ("1 2 3\n", "3 3\n"))])
    assert [(one.status, one.value.split()), (two.status, two.value.split())] == [(Status.OK, ["6"])] * 2


@pytest.mark.parametrize("name", FAILED)
def test_an_exit_status_that_is_not_zero_is_an_exception(name: str, sandbox: Sandbox) -> None:
    (outcomes,) = sandbox.run([StdioJob(FAILED[name], ("", ""))])
    assert [outcome.status for outcome in outcomes] == [Status.EXCEPTION] * 2


@pytest.mark.parametrize(
    "text",
    [
        "import threading, time\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
        "import atexit\ndef spin():\n    while True: pass\natexit.register(spin)",
        "class A:\n    def __del__(self):\n        while True: pass\na = A()",
    ],
)
def test_the_end_of_a_script_is_under_its_time_limit(text: str, sandbox: Sandbox) -> None:
    ((outcome,),) = sandbox.run([StdioJob(f"print(1)\n{text}", ("",), Limits(cpu_s=0.5))])
    assert outcome.status is Status.TIMEOUT


def test_functions_find_what_scripts_find(sandbox: Sandbox) -> None:
    program = "import sys\ndef f(x):\n    return callable(exit), callable(quit), len(sys.argv), x"
    ((outcome,),) = sandbox.run([CallsJob(program, "f", (Call((1,)),))])
    assert outcome.value == (True, True, 1, 1)


def test_a_testing_that_exits_is_broken(sandbox: Sandbox) -> None:
    checks = (Check("assert f(1) == 1\nexit()"), Check("import math\nassert f(1) == 1\nexit()"))
    (outcomes,) = sandbox.run([ChecksJob("def f(x): return x", "f", checks)])
    assert [outcome.status for outcome in outcomes] == [Status.TESTING_BROKEN] * 2
