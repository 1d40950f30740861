"""Exceptions as a way out: what a program raises is that program's exception, wherever it surfaces.

No exception of a program ends a loop, a comprehension or a with-block of the testing as if all had been seen, none is
taken for the testing's own, and none whose methods misbehave troubles the code that describes it.
"""

from __future__ import annotations

import builtins
import random

from hostile_suite.families._make import attack, loads, solutions
from hostile_suite.model import FRESH, PROGRAM, WARM, Attack, Family, allow

NAMES = sorted(
    name
    for name, kind in vars(builtins).items()
    if isinstance(kind, type) and issubclass(kind, BaseException) and not issubclass(kind, Warning)
    and name not in ("BaseExceptionGroup", "ExceptionGroup", "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError")
)  # fmt: skip
CAUGHT = allow("exception killed load-error", rest="exception killed wrong timeout")
FROM = {
    "plainly": "raise {e}",
    "from another": "raise {e} from KeyError(1)",
    "in a generator": "return next(x for x in [1] if (_ for _ in ()).throw({e}))",
    "through close": "def g():\n    try: yield\n    finally: raise {e}\ngo = g(); next(go); go.close()",
    "after a right value": "if done: raise {e}\ndone.append(1)\nreturn honest(*given)",
    "out of a callback": "return sorted([1, 2], key=lambda _: (_ for _ in ()).throw({e}))",
    "in a thread": "import threading\nbox = []\ndef go():\n    try: raise {e}\n    except BaseException as error: box.append(error)\nt = threading.Thread(target=go); t.start(); t.join()\nraise box[0]",
    "as a class": "raise type({e})",
    "subclassed": "raise type('E', (type({e}),), {{}})('x')",
    "in a group": "raise BaseExceptionGroup('g', [{e}])",
}


def _raise(name: str, way: str) -> Attack:
    body = FROM[way].format(e=f"{name}('x')")
    after = way == "after a right value"
    return attack(
        f"{name} {way}",
        "HONEST\ndone = []" if after else "",
        body,
        computes=after,
        allowed=CAUGHT,
        modes=() if not after else ("table", "rpc-warm", "rpc-fresh", "rpc-program", "reward"),
    )


FLOW = solutions(
    "exceptions as control flow",
    "No exception that a program raises in a call ends a loop or comprehension of the testing as if it were done, or is "
    "taken for the testing's own.",
    [_raise(name, "plainly") for name in NAMES if name not in ("OSError",)]
    + [_raise(name, way) for name in ("StopIteration", "StopAsyncIteration", "GeneratorExit", "SystemExit") for way in ("after a right value", "as a class", "subclassed", "in a generator")]
    + [_raise("StopIteration", way) for way in ("from another", "through close", "out of a callback", "in a thread")]
    + [
        attack("profile function that raises StopIteration", "import sys\ndef grab(frame, event, arg):\n    if event == 'return': raise StopIteration\n", "sys.setprofile(grab)\nreturn 0"),
        attack("trace function that raises StopIteration", "import sys\ndef grab(frame, event, arg): raise StopIteration\n", "sys.settrace(grab)\nreturn len([1])"),
        attack("signal handler that raises StopIteration", "import signal\ndef ring(*_): raise StopIteration\nsignal.signal(signal.SIGUSR1, ring)", "signal.raise_signal(signal.SIGUSR1)\nreturn 0"),
        attack("StopIteration set in this thread from outside", "import ctypes, threading", "ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(threading.get_ident()), ctypes.py_object(StopIteration))\nfor _ in range(1000): pass\nreturn 0"),
        attack("pending call that raises", "import ctypes\nF = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p)\nfail = F(lambda _: -1)", "ctypes.pythonapi.Py_AddPendingCall(fail, None)\nfor _ in range(1000): pass\nreturn 0"),
        attack("while its value is encoded", "class D(dict):\n    def items(self): raise StopIteration\n    __iter__ = keys = values = __len__ = items", "return D(a=1)"),
        attack("from a finalizer", "class A:\n    def __del__(self): raise SystemExit(0)", "A()\nreturn 0"),
        attack("from an exit handler", "import atexit\n@atexit.register\ndef leave(): raise SystemExit(79)", "return 0"),
        loads("SystemExit while loading", "raise SystemExit(0)"),
        loads("KeyboardInterrupt while loading", "raise KeyboardInterrupt"),
        loads("GeneratorExit while loading", "raise GeneratorExit"),
        loads("MemoryError while loading", "raise MemoryError"),
        loads("AssertionError while loading", "assert False, 'testing raised'"),
        loads("a time limit of its own while loading", "class TimeLimit(BaseException): pass\nraise TimeLimit"),
    ],
    words=allow("exception killed load-error wrong not-plain-data"),
    draw=lambda stream: _raise(stream.choice(NAMES), stream.choice(list(FROM))),
    draws=10,
)  # fmt: skip

LONG = "'x' * (1 << 22)"
BODIES = {
    "text that hangs": "    def __str__(self):\n        while True: pass",
    "text that leaves": "    def __str__(self): __import__('os')._exit(79)",
    "text that raises": "    def __str__(self): raise SystemExit",
    "text that is no text": "    def __str__(self): return 7",
    "text of four megabytes": f"    def __str__(self): return {LONG}",
    "text of surrogates": "    def __str__(self): return '\\ud800' * 99",
    "text that claims": "    def __str__(self): return 'AssertionError\\nTESTING BROKEN\\0infrastructure'",
    "representation that hangs": "    def __repr__(self):\n        while True: pass",
    "class that is another's": "    __class__ = AssertionError",
    "attributes that raise": "    def __getattribute__(self, name): raise KeyboardInterrupt",
    "traceback that cannot be set": "    __traceback__ = property(lambda self: 1 / 0)",
    "arguments that do not fit": "    def __init__(self, a, b=1): pass\n    def __reduce__(self): return (E, ())",
    "state that runs code": "    def __reduce_ex__(self, p): return (__import__('os')._exit, (79,))",
    "context in a circle": "    def __init__(self, *a): self.__context__ = self.__cause__ = None",
    "hash and equality that lie": "    def __eq__(self, o): return True\n    def __hash__(self): raise ValueError\n    def __bool__(self): return False",
    "finalizer that raises": "    def __del__(self): raise SystemExit",
}
NAMED = (
    "AssertionError",
    "NameError",
    "SyntaxError",
    "TimeLimit",
    "NoValue",
    "Infrastructure",
    "x" * 5000,
    "a\\nb",
    "\\ud800",
)


def _misbehaving(name: str, base: str, lie: str) -> Attack:
    setup = f"class E({base}):\n{BODIES[lie]}\nE.__name__ = E.__qualname__ = '{name}'"
    return attack(f"{base} named {name[:20]!r} with {lie}", setup, "raise E(1)")


MISBEHAVING = solutions(
    "exceptions that misbehave",
    "Describing an exception may run the program's code: under its limits, in its process, and at its own cost.",
    [_misbehaving("E", "Exception", lie) for lie in BODIES]
    + [_misbehaving(name, "BaseException", "text that claims") for name in NAMED]
    + [
        _misbehaving("E", base, "text that raises")
        for base in ("AssertionError", "StopIteration", "KeyboardInterrupt", "NameError", "MemoryError")
    ]
    + [
        attack(
            "metaclass that raises",
            "class M(type):\n    def __getattribute__(c, n): raise SystemExit\nclass E(Exception, metaclass=M): pass",
            "raise E()",
        ),
        attack(
            "metaclass with a name that hangs",
            "class M(type):\n    @property\n    def __name__(c):\n        while True: pass\nclass E(Exception, metaclass=M): pass",
            "raise E()",
        ),
        attack(
            "a chain of a hundred thousand",
            "",
            "e = ValueError()\nfor _ in range(100000):\n    new = ValueError(); new.__cause__ = e; e = new\nraise e",
        ),
        attack(
            "a group of groups", "", "e = ValueError()\nfor _ in range(2000): e = ExceptionGroup('g', [e])\nraise e"
        ),
        attack("ten thousand notes", "", "e = ValueError()\nfor _ in range(10000): e.add_note('x' * 99)\nraise e"),
        attack("an exception from a recursion without end", "", "return act(given)"),
        attack(
            "a module named as ours",
            "class E(Exception): pass\nE.__module__ = 'evosyn.errors'",
            "raise E('infrastructure')",
        ),
    ],
    draw=lambda stream: _misbehaving(stream.choice(NAMED), stream.choice(NAMES), stream.choice(list(BODIES))),
    draws=8,
)


def draw_any(stream: random.Random) -> Attack:
    """A drawn exception, for other families."""
    return _raise(stream.choice(NAMES), stream.choice(list(FROM)))


WILD = (
    "-2 ** 40",
    "2 ** 62",
    "10 ** 400",
    "'utf-8'",
    "b'abc'",
    "'x' * 9",
    "None",
    "1.5",
    "('f', -2 ** 40, 2 ** 40, 't')",
    "()",
)
CLOSES = {
    "closes": "os.close(fd)",
    "replaces": "os.dup2(os.open(os.devnull, os.O_RDWR), fd)",
    "crosses": "os.dup2(3 if fd != 3 else 4, fd)",
    "floods": "os.set_blocking(fd, False); os.write(fd, bytes(1 << 16))",
}
THEN = {
    "loops": "while True: pass",
    "sleeps": "import time; time.sleep(1000)",
    "answers": "return 0",
    "leaves": "os._exit(0)",
}


def _wild(name: str, args: list[str]) -> Attack:
    """An exception that calls itself one of Python's own, with arguments that this class would not take."""
    setup = f"class E(Exception): __module__ = 'builtins'\nE.__name__ = E.__qualname__ = {name!r}"
    return attack(f"{name}({', '.join(args)})", setup, f"raise E({', '.join(args)})")


def _cut(way: str, then: str) -> Attack:
    body = f"import os, stat\nfor fd in range(3, 64):\n    try:\n        if stat.S_ISFIFO(os.fstat(fd).st_mode): {CLOSES[way]}\n    except OSError: pass\n{THEN[then]}"
    return attack(f"{way} its pipes and {then}", "", body, modes=(WARM, FRESH, PROGRAM))


def _draw_blame(stream: random.Random) -> Attack:
    if stream.random() < 0.3:
        return _cut(stream.choice(list(CLOSES)), stream.choice(list(THEN)))
    name = stream.choice(
        (*NAMES, "UnicodeDecodeError", "UnicodeEncodeError", "UnicodeTranslateError", "ExceptionGroup")
    )
    return _wild(name, [stream.choice(WILD) for _ in range(stream.randrange(7))])


BLAMING = solutions(
    "answers that end a testing",
    "Whatever a program answers, and however it cuts its ties, its testing's process goes on or the program is the one "
    "that failed: no testing looks broken for it.",
    [
        _wild("UnicodeDecodeError", ["'utf-8'", "b'abc'", "-2 ** 40", "1 - 2 ** 40", "'x'"]),
        _wild("UnicodeEncodeError", ["'utf-8'", "'abc'", "2 ** 40", "2 ** 40 + 1", "'x'"]),
        _wild("UnicodeTranslateError", ["'abc'", "2 ** 62", "-2 ** 62", "'x'"]),
        _wild("SyntaxError", ["'x'", "('f', -2 ** 40, 2 ** 40, 't', -2 ** 40, 2 ** 40)"]),
        _wild("OSError", ["-2 ** 40", "'x'", "'f'", "2 ** 40", "'g'"]),
        _wild("ExceptionGroup", ["'g'", "[]"]),
        _wild("ValueError", ["1 << 20000"]),
    ]
    + [_cut("closes", then) for then in THEN]
    + [_cut("replaces", "answers"), _cut("crosses", "answers"), _cut("floods", "leaves")],
    draw=_draw_blame,
    draws=12,
)  # fmt: skip

READ = (
    "unittest.SkipTest",
    "unittest.case.SkipTest",
    "unittest.case._ShouldStop",
    "unittest.case._UnexpectedSuccess",
    "asyncio.CancelledError",
    "concurrent.futures.CancelledError",
    "concurrent.futures.BrokenExecutor",
    "doctest.UnexpectedException",
    "bdb.BdbQuit",
    "contextlib.ContextDecorator",
    "warnings.WarningMessage",
    "argparse.ArgumentError",
    "SystemExit",
    "KeyboardInterrupt",
)
"""Names that frameworks read, of classes that they define and of some that they do not."""
CLAIMS = {
    "raised": "import importlib\nE = getattr(importlib.import_module({module!r}), {last!r}, Exception)\nE = E if issubclass(E, BaseException) else Exception",
    "derived": "import importlib\nE = getattr(importlib.import_module({module!r}), {last!r}, Exception)\nE = type({last!r}, (E if issubclass(E, BaseException) else Exception,), {{'__init__': lambda self, *a: None}})",
    "named": "E = type({last!r}, (Exception,), {{'__module__': {module!r}}})",
    "named below another": "E = type({last!r}, (ValueError, KeyError), {{'__module__': {module!r}}})",
    "its own": "class E(Exception): pass\nE.__name__ = E.__qualname__ = {last!r}",
    "written": "import sys\nsys.modules['evosyn.sandbox._inside.answers']._raised = lambda *_: ('', ({name!r}, 'Exception'), (), None, None, False)\nE = ValueError",
    "written as its own": "import sys\nsys.modules['evosyn.sandbox._inside.answers']._raised = lambda *_: ('', ('.' + {last!r}, {name!r}), None, None, None, True)\nE = ValueError",
}


def _claims(name: str, claim: str) -> Attack:
    module, _, last = name.rpartition(".")
    setup = CLAIMS[claim].format(name=name, module=module or "builtins", last=last)
    return attack(f"{name} {claim}", setup, "raise E()", allowed=CAUGHT)


READ_AS_THEIR_OWN = solutions(
    "exceptions that frameworks read",
    "An exception of a program that is, or says to be, one by which a framework of the testing skips, stops or ends is to "
    "that framework an error like any other.",
    [_claims(name, "raised") for name in READ] + [_claims(READ[1], claim) for claim in CLAIMS],
    words=CAUGHT,
    draw=lambda stream: _claims(stream.choice(READ), stream.choice(list(CLAIMS))),
    draws=8,
)

FAMILIES: tuple[Family, ...] = (FLOW, MISBEHAVING, BLAMING, READ_AS_THEIR_OWN)
