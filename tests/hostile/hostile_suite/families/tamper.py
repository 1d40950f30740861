"""Tampering: builtins, modules, hooks, signals, timers and the interpreter itself are the program's to break, for itself.

A program that spoils what it runs on comes to its own fault; the next program finds everything as it was.
"""

from __future__ import annotations

import builtins
import random

from hostile_suite.families._make import attack, loads, solutions
from hostile_suite.model import Attack, Family

WORDS = "wrong exception load-error killed timeout not-plain-data no-entry-point output-limit"
NAMES = [name for name, value in vars(builtins).items() if callable(value) and name != "__loader__"]
FAKES = {
    "true": "lambda *a, **k: True",
    "nothing": "None",
    "its argument": "lambda *a, **k: a[0] if a else None",
    "an exception": "lambda *a, **k: (_ for _ in ()).throw(StopIteration)",
    "an end": "lambda *a, **k: real_exit(0)",
    "a class": "type('C', (), {})",
}


def _builtin(name: str, fake: str) -> Attack:
    return attack(
        f"{name} is {fake}", f"import builtins, os\nreal_exit = os._exit\nbuiltins.{name} = {FAKES[fake]}", "return 0"
    )


BUILTINS = solutions(
    "builtins",
    "A program that replaces or deletes builtins harms its own results only.",
    [
        _builtin(name, fake)
        for name, fake in zip(
            (
                "len",
                "isinstance",
                "type",
                "compile",
                "exec",
                "repr",
                "print",
                "open",
                "AssertionError",
                "Exception",
                "BaseException",
                "__import__",
                "dict",
                "bytes",
            ),
            list(FAKES) * 3,
        )
    ]
    + [
        loads(
            "all that matter are true",
            "import builtins\nfor n in ('len', 'isinstance', 'all', 'any', 'type', 'issubclass', 'repr', 'print', 'open'): setattr(builtins, n, lambda *a, **k: True)",
        ),
        loads(
            "all are deleted",
            "import builtins\nfor n in list(vars(builtins)):\n    if n not in ('list', 'vars', '__import__'): delattr(builtins, n)",
        ),
        loads(
            "exceptions are swapped",
            "import builtins\nbuiltins.AssertionError, builtins.ValueError = ValueError, AssertionError\nbuiltins.BaseException = builtins.Exception = KeyError",
        ),
        loads(
            "builtins is another dictionary",
            "import builtins, sys\nfor m in list(sys.modules.values()):\n    try: m.__builtins__ = {}\n    except Exception: pass",
        ),
        loads(
            "subclasses are hooked",
            "import builtins\nreal = builtins.__build_class__\nbuiltins.__build_class__ = lambda f, n, *b, **k: real(f, 'int', *b, **k)",
        ),
    ],
    words=WORDS,
    draw=lambda stream: _builtin(stream.choice(NAMES), stream.choice(list(FAKES))),
    draws=8,
)

TARGETS = (
    *(
        "os.write",
        "os.pwrite",
        "os.read",
        "os._exit",
        "os.fork",
        "os.close",
        "os.fstat",
        "os.ftruncate",
        "os.memfd_create",
    ),
    *("struct.pack", "struct.Struct", "marshal.dumps", "marshal.loads", "json.loads", "json.dumps", "pickle.loads"),
    *("time.monotonic", "time.time", "time.process_time", "time.perf_counter", "time.sleep", "signal.signal"),
    *("signal.setitimer", "signal.alarm", "resource.setrlimit", "resource.getrusage", "ctypes.CDLL", "gc.collect"),
    *(
        "gc.enable",
        "sys.exit",
        "sys._getframe",
        "sys.stdout.flush",
        "sys.stdin.read",
        "copy.deepcopy",
        "types.ModuleType",
    ),
    *("io.TextIOWrapper", "io.BytesIO", "collections.OrderedDict", "functools.reduce", "select.poll", "select.select"),
)
RETURNS = ("b''", "b'N'", "0", "-1", "None", "float('nan')", "10 ** 9", "True", "'x'")


def _module(target: str, gives: str) -> Attack:
    owner, _, name = target.rpartition(".")
    root = owner.partition(".")[0]
    return attack(
        f"{target} gives {gives}",
        f"import {root}\ntry: {owner}.{name} = lambda *a, **k: {gives}\nexcept (AttributeError, TypeError): pass",
        "return 0",
    )


MODULES = solutions(
    "modules",
    "A program that replaces functions of the standard library, or modules themselves, harms its own results only.",
    [_module(target, RETURNS[place % len(RETURNS)]) for place, target in enumerate(TARGETS)]
    + [
        loads("sys.modules is emptied", "import sys\nsys.modules.clear()"),
        loads("sys.modules is another", "import sys\nsys.modules = {}"),
        loads("every module is a stranger", "import sys, types\nfor name in list(sys.modules): sys.modules[name] = types.ModuleType(name)"),
        loads("modules whose attributes raise", "import sys\nclass M(type(sys)):\n    def __getattribute__(self, n): raise KeyboardInterrupt\nfor m in list(sys.modules.values()):\n    try: m.__class__ = M\n    except TypeError: pass"),
        loads("its own module is another", "import sys\nsys.modules[__name__] = None\n__name__ = '__main__'\n__builtins__ = None"),
        loads("a module of ours is pretended", "import sys, types\nfor n in ('evosyn', 'evosyn.sandbox', 'evosyn.jobs'): sys.modules[n] = types.ModuleType(n)"),
        loads("the path leads elsewhere", "import sys\nsys.path[:] = ['/tmp', 'HOST_FOLDER']; sys.path_importer_cache.clear(); sys.path_hooks.clear()"),
        loads("imports lie", "import sys\nclass F:\n    def find_spec(self, *a): raise SystemExit(79)\nsys.meta_path.insert(0, F()); sys.modules.pop('json', None)"),
        loads("codecs lie", "import codecs\ncodecs.register(lambda n: codecs.lookup('rot13'))\ncodecs.register_error('strict', lambda e: ('x', e.end)); codecs.register_error('replace', lambda e: (0, 0)); codecs.register_error('backslashreplace', lambda e: 1 / 0)"),
        loads("standard streams are nothing", "import sys\nsys.stdin = sys.stdout = sys.stderr = sys.__stdout__ = sys.__stdin__ = None"),
        loads("standard streams are liars", "import sys\nclass S:\n    def __getattr__(self, n): return lambda *a: '[1]' if 'read' in n else 10 ** 9\nsys.stdout = sys.stdin = sys.stderr = S()"),
        loads("standard streams are one another", "import sys\nsys.stdout, sys.stdin = sys.stdin, sys.stdout"),
    ],
    words=WORDS,
    draw=lambda stream: _module(stream.choice(TARGETS), stream.choice(RETURNS)),
    draws=6,
)  # fmt: skip

HOOKS = {
    "trace function that raises": "def h(*a): raise ValueError\nsys.settrace(h)",
    "profile function that raises": "def h(*a): raise ValueError\nsys.setprofile(h)",
    "profile function that leaves": "import os\nsys.setprofile(lambda f, e, a: os._exit(79) if e == 'return' else None)",
    "trace functions of threads": "import threading\ndef h(*a): raise SystemExit\nthreading.settrace(h); threading.setprofile(h)",
    "exception hooks": "import threading\nsys.excepthook = sys.unraisablehook = threading.excepthook = lambda *a: __import__('os')._exit(79)\nclass A:\n    def __del__(self): raise ValueError\nA()",
    "display hooks": "sys.displayhook = sys.breakpointhook = lambda *a: 1 / 0",
    "audit hook that raises": "n = [0]\ndef h(name, args):\n    n[0] += 1\n    if n[0] > 20: raise KeyboardInterrupt\nsys.addaudithook(h)",
    "audit hook that leaves": "n = [0]\ndef h(name, args):\n    n[0] += 1\n    if n[0] > 40: import os; os._exit(79)\nsys.addaudithook(h)",
    "collector callbacks": "import gc\ngc.callbacks.append(lambda *a: 1 / 0); gc.set_threshold(1)",
    "collector is off, threshold odd": "import gc\ngc.disable(); gc.freeze(); gc.set_threshold(0)",
    "switch interval": "sys.setswitchinterval(1e9)",
    "recursion limit": "sys.setrecursionlimit(5)",
    "recursion limit of a million": "sys.setrecursionlimit(10 ** 6)",
    "digits limit": "sys.set_int_max_str_digits(0)",
    "async hooks": "sys.set_asyncgen_hooks(lambda g: 1 / 0, lambda g: 1 / 0); sys.set_coroutine_origin_tracking_depth(9)",
    "warnings are errors": "import warnings\nwarnings.simplefilter('error'); warnings.showwarning = lambda *a: 1 / 0",
    "weak reference callbacks": "import weakref\nclass A: pass\na = A(); w = weakref.ref(a, lambda _: 1 / 0); del a",
    "exit handlers": "import atexit, os\natexit.register(os._exit, 79); atexit._run_exitfuncs",
    "fault handler": "import faulthandler\nfaulthandler.enable(); faulthandler.dump_traceback_later(.05, exit=True)\nimport time\ntime.sleep(.3)",
    "fork handlers": "import os\nos.register_at_fork(before=lambda: 1 / 0)",
    "logging is a trap": "import logging\nlogging.raiseExceptions = True; logging.Handler.handle = lambda *a: 1 / 0; logging.root.handlers[:] = [logging.Handler()]",
    "locale": "import locale\ntry: locale.setlocale(locale.LC_ALL, 'tr_TR')\nexcept locale.Error: pass",
    "float formatting": "import decimal\ndecimal.getcontext().prec = 1; decimal.getcontext().traps = {s: True for s in decimal.getcontext().traps}",
    "random is seeded by it": "import random\nrandom.seed(0); random.Random.random = lambda *a: 2",
    "environment": "import os\nos.environ.clear(); os.environ['PYTHONHASHSEED'] = '1'; os.environ['LD_PRELOAD'] = '/tmp/x.so'",
    "working folder and mask": "import os\nos.chdir('/'); os.umask(0)",
}
HOOKED = solutions(
    "hooks",
    "Hooks, handlers and settings of the interpreter that a program sets live and die with its own process.",
    [loads(name, f"import sys\n{body}") for name, body in HOOKS.items()],
    words=WORDS,
    draws=4,
)

TIMERS = solutions(
    "signals and timers",
    "A program may stop, block or ring every alarm: the limit of an item is enforced from outside all the same.",
    [
        loads(name, f"import signal, time\n{body}")
        for name, body in {
            "every handler is its own": "for s in range(1, 65):\n    try: signal.signal(s, lambda *a: None)\n    except (OSError, ValueError): pass",
            "every signal is ignored": "for s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass",
            "every signal is blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))",
            "the timer rings at once": "for w in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF): signal.setitimer(w, 1e-6, 1e-6)",
            "the timer is stopped": "for w in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF): signal.setitimer(w, 0)",
            "the wake-up descriptor": "import os\nr, w = os.pipe(); os.set_blocking(w, False); signal.set_wakeup_fd(w)",
            "the wake-up descriptor is a channel": "import os\nfor fd in range(3, 30):\n    try: os.set_blocking(fd, False); signal.set_wakeup_fd(fd)\n    except (OSError, ValueError): pass\nsignal.signal(signal.SIGUSR1, lambda *a: None); signal.raise_signal(signal.SIGUSR1)",
            "interrupted calls": "for s in range(1, 32):\n    try: signal.siginterrupt(s, True)\n    except OSError: pass",
            "the alternate stack": "import ctypes\nctypes.CDLL(None).sigaltstack((ctypes.c_long * 3)(0, 0, 0), None)",
            "its handler raises": "def h(*a): raise SystemExit\nfor s in (2, 10, 12, 14, 26, 27):\n    signal.signal(s, h)\nsignal.setitimer(signal.ITIMER_REAL, .001, .001)\nfor _ in range(10 ** 5): pass",
            "clocks that go back": "time.monotonic = time.perf_counter = time.process_time = time.time = iter(range(10 ** 6, 0, -1)).__next__",
            "clocks that are NaN": "time.monotonic = time.perf_counter = time.process_time = time.time = lambda: float('nan')",
            "timer descriptors and event descriptors": "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.timerfd_create(1, 0), libc.eventfd(0, 0), libc.timer_create(0, None, (ctypes.c_int * 2)())",
        }.items()
    ],
    words=WORDS,
    draws=4,
)

CTYPES = solutions(
    "the interpreter's own memory",
    "A program that overwrites the interpreter under its feet crashes or errs alone.",
    [
        loads(name, f"import ctypes, sys\n{body}")
        for name, body in {
            "small integers": "for n in (0, 1, 2, 7, 8, 9, 10): ctypes.c_int.from_address(id(n) + 24).value = 10",
            "one is nought": "ctypes.c_int.from_address(id(1) + 24).value = 0",
            "counts of references": "for o in (None, True, (), '', int, dict): ctypes.c_long.from_address(id(o)).value = 1",
            "None is a number": "ctypes.c_void_p.from_address(id(None) + 8).value = id(int)",
            "equality of integers": "ctypes.c_void_p.from_address(id(int) + 200).value = ctypes.c_void_p.from_address(id(object) + 200).value",
            "the code of the caller": "c = sys._getframe().f_code\nctypes.memset(id(c) + 100, 0x53, 64)",
            "every code object of ours": "import gc, types\nfor f in gc.get_objects():\n    if type(f) is types.FunctionType and 'evosyn' in str(f.__module__): ctypes.memset(id(f.__code__) + 200, 0x53, 32)",
            "constants of every function": "import gc, types\nfor f in gc.get_objects():\n    if type(f) is types.FunctionType:\n        for at, c in enumerate(f.__code__.co_consts):\n            if type(c) is int: ctypes.c_void_p.from_address(id(f.__code__.co_consts) + 24 + 8 * at).value = id(True)",
            "the true singleton": "ctypes.c_void_p.from_address(id(False) + 8).value = id(int); ctypes.c_int.from_address(id(False) + 24).value = 1",
            "type slots": "ctypes.memset(id(bytes) + 24, 0, 400)",
            "the interpreter ends": "ctypes.pythonapi.Py_Finalize()",
            "the interpreter begins again": "ctypes.pythonapi.Py_Initialize(); ctypes.pythonapi.Py_NewInterpreter()",
            "the lock is given away": "ctypes.pythonapi.PyEval_SaveThread()",
            "an error without an exception": "ctypes.pythonapi.PyErr_SetNone(ctypes.py_object(StopIteration))",
            "frozen, unfrozen, collected": "import gc\nfor _ in range(3): gc.freeze(); gc.unfreeze(); gc.collect()",
            "protection of its memory": "import mmap\nlibc = ctypes.CDLL(None)\nlibc.mprotect(ctypes.c_void_p(id(int) & ~4095), 4096, 0)",
            "its memory unmapped": "libc = ctypes.CDLL(None)\nlibc.munmap(ctypes.c_void_p(id([]) & ~0x3ffff), 1 << 18)",
        }.items()
    ],
    words=WORDS,
    draws=3,
)  # fmt: skip


def draw_any(stream: random.Random) -> Attack:
    """A drawn tampering, for other families."""
    return stream.choice([*HOOKED.fixed, *CTYPES.fixed, *TIMERS.fixed])


FAMILIES: tuple[Family, ...] = (BUILTINS, MODULES, HOOKED, TIMERS, CTYPES)
