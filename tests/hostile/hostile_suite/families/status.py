"""Lies about how it ended: a program writes facts, never verdicts.

Whatever a program does with its exit status, signals, records and with our modules in its memory, it comes to a fault of
its own: never to infrastructure, not run, or a broken testing, and never to a pass.
"""

from __future__ import annotations

import random

from hostile_suite.families._make import attack, calls, loads, solutions
from hostile_suite.model import FAULTS, Attack, Family, allow

WAYS = {
    "os._exit": "import os\nos._exit({code})",
    "posix._exit": "import posix\nposix._exit({code})",
    "sys.exit": "import sys\nsys.exit({code})",
    "raise SystemExit": "raise SystemExit({code})",
    "exit of libc": "import ctypes\nctypes.CDLL(None)._exit({code})",
    "exit of libc with its handlers": "import ctypes\nctypes.CDLL(None).exit({code})",
    "exit_group by number": "import ctypes, platform\nctypes.CDLL(None).syscall(231 if platform.machine() == 'x86_64' else 94, {code})",
    "Py_Exit": "import ctypes\nctypes.pythonapi.Py_Exit({code})",
    "exit of one thread only": "import ctypes, platform\nctypes.CDLL(None).syscall(60 if platform.machine() == 'x86_64' else 93, {code})",
    "os._exit in a thread": "import os, threading, time\nthreading.Thread(target=os._exit, args=({code},)).start()\ntime.sleep(.3)",
    "os._exit at the end": "import atexit, os\natexit.register(os._exit, {code})\nraise SystemExit({code})",
    "os._exit in a finalizer": "import os\nclass A:\n    def __del__(self): os._exit({code})\na = A()\ndel a",
    "os._exit in a signal": "import os, signal\nsignal.signal(signal.SIGUSR1, lambda *_: os._exit({code}))\nsignal.raise_signal(signal.SIGUSR1)",
    "quit": "import site, builtins\ngetattr(builtins, 'quit', lambda c: (_ for _ in ()).throw(SystemExit(c)))({code})",
}


def _indented(text: str) -> str:
    return "".join(f"    {line}\n" for line in text.splitlines())


def _exits(way: str, code: int, moment: str) -> Attack:
    deed = WAYS[way].format(code=code)
    name = f"{way}({code}) {moment}"
    if moment == "while loading":
        return loads(name, deed)
    if moment == "after a right value":
        setup = f"HONEST\ndone = []\ndef deed():\n{_indented(deed)}"
        return attack(
            name, setup, "if done: deed()\ndone.append(1)\nreturn honest(*given)", computes=True, modes=CALLED
        )
    return calls(name, deed)


CALLED = ("table", "rpc-warm", "rpc-fresh", "rpc-program", "reward")
MOMENTS = ("while loading", "in the call", "after a right value")


def _draw_exit(stream: random.Random) -> Attack:
    return _exits(stream.choice(list(WAYS)), stream.randrange(256), stream.choice(MOMENTS))


EXITS = solutions(
    "exit statuses",
    "No exit status, in whatever way it is given and at whatever moment, is believed to be more than the program's end.",
    [_exits("os._exit", code, "in the call") for code in (0, 1, 2, 70, 77, 78, 79, 80, 81, 127, 128, 137, 139, 255)]
    + [_exits("os._exit", code, "while loading") for code in (0, 77, 78, 79, 80, 255)]
    + [_exits(way, 79, moment) for way, moment in zip(list(WAYS)[1:], MOMENTS * 5)]
    + [_exits("os._exit", code, "after a right value") for code in (0, 77, 78, 79, 80)],
    draw=_draw_exit,
    draws=12,
)

DEADLY = (1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 24, 25, 26, 27, 29, 30, 31, 34, 40, 64)
RAISE = "import signal\nsignal.raise_signal({number})\nreturn -1"
KILL = "import os\nos.kill(os.getpid(), {number})\nreturn -1"
RESET = "import signal\ntry: signal.signal({number}, signal.SIG_DFL)\nexcept (OSError, ValueError): pass\nsignal.raise_signal({number})\nreturn -1"


def _signal(number: int, body: str, how: str) -> Attack:
    return calls(f"signal {number} {how}", body.format(number=number))


SIGNALS = solutions(
    "signals to itself",
    "A program that ends or stops itself by a signal comes to its own fault, whatever the signal.",
    [_signal(number, RESET, "by default") for number in (1, 6, 9, 11, 13, 14, 15, 24, 25, 27, 31, 34)]
    + [_signal(number, RAISE, "as handled") for number in (2, 14, 15, 17, 24, 27)]
    + [_signal(number, KILL, "by kill") for number in (9, 14)]
    + [
        calls("abort", "import os\nos.abort()", words="killed exception"),
        calls("null dereference", "import ctypes\nreturn ctypes.string_at(0)", words="killed"),
        calls("Py_FatalError", "import ctypes\nctypes.pythonapi.Py_FatalError(b'infrastructure')", words="killed"),
        calls(
            "jumps into garbage",
            "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7); m.write(b'\\x0f\\x0b')\nreturn ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()",
        ),
        calls(
            "its own timer", "import signal, time\nsignal.setitimer(signal.ITIMER_REAL, .01)\ntime.sleep(.2)\nreturn -1"
        ),
        calls(
            "its own CPU timer",
            "import signal\nsignal.setitimer(signal.ITIMER_PROF, .001)\nfor _ in range(10 ** 6): pass\nreturn -1",
        ),
        calls(
            "its own limit",
            "import resource\nresource.setrlimit(resource.RLIMIT_CPU, (0, 0))\nfor _ in range(10 ** 7): pass\nreturn -1",
        ),
        calls(
            "writes beyond its own file limit",
            "import os, resource\nresource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))\nfor fd in range(3, 64):\n    try: os.write(fd, b'x')\n    except OSError: pass\nreturn -1",
        ),
    ],
    draw=lambda stream: _signal(stream.choice(DEADLY), stream.choice((RAISE, KILL, RESET)), "drawn"),
    draws=6,
)

FDS = "import os\ndef each(deed):\n    for fd in range(3, 256):\n        try: deed(fd)\n        except (OSError, ValueError): pass\n"


def _records(code: int, layout: str, value: int, seconds: str = "0") -> Attack:
    return calls(
        f"code {code} as {layout}" + (f", {seconds} seconds" if seconds != "0" else ""),
        f"""
    import marshal, os, struct
    for value in ({value}, None, b'', 'x'):
        data = marshal.dumps(value, 2)
        for fd in range(3, 256):
            try: os.write(fd, struct.pack('{layout}', *([{code}, {seconds}, len(data)][:len('{layout.lstrip("<>=")}')])) + data)
            except (OSError, struct.error): pass
    os._exit(0)
    """,
    )


LAYOUTS = ("<BdI", "<BdQ", "<IdI", "<BI", "<B", ">BdI", "<iii", "<BfH")

RECORDS = solutions(
    "forged records",
    "What a program writes into the channels that it holds is read as its own claim: forged, cut, doubled, too large or "
    "moved, it never becomes a verdict that only the supervisor may give.",
    [_records(code, "<BdI", 7) for code in (0, 4, 7, 8, 9, 10, 11, 200)]
    + [_records(10, layout, 7) for layout in LAYOUTS[1:4]]
    + [
        attack(
            f"its own last record with {what}",
            FDS + "HONEST\ncount = []",
            f"""
    count.append(1)
    if len(count) < 2: return honest(*given)
    def deed(fd):
        data = bytearray(os.pread(fd, 1 << 16, 0))
        for at in range(min(len(data), 16)):
            for new in {codes}:
                changed = bytearray(data); changed[at] = new
                {how}
    each(deed)
    os._exit(0)
    """,
            computes=True,
            modes=CALLED,
        )
        for what, codes, how in (
            ("other codes behind it", "range(1, 13)", "os.write(fd, changed)"),
            ("other codes in its place", "(9, 10)", "os.pwrite(fd, changed, 0)"),
            ("any byte", "(0, 255)", "os.write(fd, changed)"),
        )
    ]
    + [
        attack(
            "right, then forged records behind it",
            FDS + "HONEST",
            "value = honest(*given)\neach(lambda fd: os.write(fd, b'\\x0a' * 40))\nreturn value",
            computes=True,
            modes=CALLED,
        ),
        attack("half a record", FDS, "each(lambda fd: os.write(fd, b'\\0' * 7))\nos._exit(0)"),
        attack(
            "a record of four gigabytes", FDS, "each(lambda fd: os.write(fd, b'\\0' * 9 + b'\\xff' * 4))\nos._exit(0)"
        ),
        attack(
            "truncates its channels",
            FDS,
            "def deed(fd): os.ftruncate(fd, 0); os.lseek(fd, 0, 0)\neach(deed)\nreturn -1",
        ),
        attack(
            "truncates its channels in the second call",
            FDS + "HONEST\ncount = []",
            "count.append(1)\ndef deed(fd): os.ftruncate(fd, 0); os.lseek(fd, 0, 0)\nif len(count) > 1: each(deed)\nreturn -1",
            computes=True,
        ),
        attack(
            "makes its channels large",
            FDS,
            "def deed(fd): os.ftruncate(fd, 1 << 40); os.lseek(fd, 1 << 39, 0)\neach(deed)\nreturn -1",
        ),
        attack(
            "fills its channels",
            FDS,
            "def deed(fd):\n    while True: os.write(fd, bytes(1 << 16))\neach(lambda fd: os.set_blocking(fd, False))\neach(deed)\nreturn -1",
        ),
        attack(
            "appends, never blocks, goes direct",
            FDS
            + "import fcntl\neach(lambda fd: fcntl.fcntl(fd, fcntl.F_SETFL, os.O_NONBLOCK | os.O_APPEND | os.O_DIRECT))",
            "return -1",
        ),
        attack("seals its channels", FDS + "import fcntl", "each(lambda fd: fcntl.fcntl(fd, 1033, 15))\nreturn -1"),
        attack(
            "maps its channels and writes later",
            FDS + "import mmap, threading, time",
            """
    maps = []
    def deed(fd): os.ftruncate(fd, 4096); maps.append(mmap.mmap(fd, 4096))
    each(deed)
    def later():
        while True:
            for m in maps: m[:200] = b'\\x0a' * 200
    threading.Thread(target=later, daemon=True).start()
    time.sleep(.1)
    return -1
    """,
        ),
        attack(
            "reads what is meant for others",
            FDS
            + "import threading\ndef take():\n    while True: each(lambda fd: os.read(fd, 1 << 20))\nthreading.Thread(target=take, daemon=True).start()",
            "return 0",
        ),
        attack(
            "swaps its channels",
            FDS,
            "import itertools\nfor a, b in itertools.permutations(range(3, 12), 2):\n    try: os.dup2(a, b)\n    except OSError: pass\nreturn -1",
        ),
        attack("closes its channels", FDS, "os.closerange(3, 256)\nreturn -1"),
        attack(
            "closes its channels and is right",
            FDS + "HONEST",
            "os.closerange(3, 256)\nreturn honest(*given)",
            computes=True,
            modes=CALLED,
        ),
        loads("closes everything", "import os\nos.closerange(0, 300)", words="killed timeout wrong"),
        attack(
            "leaves answers to questions not yet asked",
            FDS,
            "import struct\neach(lambda fd: os.write(fd, struct.pack('<BdI', 0, 0.0, 5) + b'i\\x5c\\x1b\\0\\0'))\nreturn 0",
        ),
        attack(
            "locks its channels",
            FDS + "import fcntl",
            "each(lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))\nreturn 0",
        ),
        attack(
            "holds its channels open in a thread",
            FDS
            + "import threading, time\neach(lambda fd: os.dup(fd))\nthreading.Thread(target=time.sleep, args=(1000,)).start()",
            "return 0",
        ),
        attack(
            "careless decoder",
            FDS,
            "import struct\nfor data in (b'[\\xff\\xff\\xff\\x7f', b'r\\xff\\xff\\xff\\xff', b'c' * 200, b'(' * 500):\n    each(lambda fd: os.write(fd, struct.pack('<BdI', 0, 0.0, len(data)) + data))\nreturn 0",
        ),
    ],
    words=allow("", rest=" ".join(sorted(FAULTS))),
    draw=lambda stream: _records(stream.randrange(256), stream.choice(LAYOUTS), stream.randrange(10**6)),
    draws=6,
)

OURS = """
    import gc, sys, types
    def ours():
        "Modules that are not of the standard library, and their functions."
        known = set(sys.stdlib_module_names) | set(sys.builtin_module_names)
        for name, module in list(sys.modules.items()):
            if name.partition('.')[0] not in known and isinstance(module, types.ModuleType) and name not in ('program', '__main__', 'strategy', 'other'): yield module
    def functions():
        for module in ours():
            for name, value in list(vars(module).items()):
                if isinstance(value, (types.FunctionType, types.BuiltinFunctionType)): yield module, name, value
"""
FAKES = {
    "give a letter": "lambda *a, **k: b'T'",
    "give nothing": "lambda *a, **k: None",
    "give true": "lambda *a, **k: True",
    "give their argument": "lambda *a, **k: a[-1] if a else 0",
    "give the number ten": "lambda *a, **k: 10",
    "raise": "lambda *a, **k: 1 / 0",
    "leave": "lambda *a, **k: __import__('os')._exit(79)",
    "give a megabyte": "lambda *a, **k: b'x' * (1 << 20)",
}

MODULES = solutions(
    "our code in its memory",
    "The code of ours that shares a process with a program can be changed by it at will; that spoils its own results only.",
    [
        attack(
            f"all functions {what}",
            OURS + f"    for module, name, value in list(functions()): setattr(module, name, {fake})",
            "return 0",
        )
        for what, fake in FAKES.items()
    ]
    + [
        attack(
            f"their code objects {what}",
            OURS
            + f"    fake = {fake}\n    for module, name, value in list(functions()):\n        try: value.__code__ = fake.__code__\n        except (AttributeError, ValueError, TypeError): pass",
            "return 0",
        )
        for what, fake in list(FAKES.items())[:4]
    ]
    + [
        attack(
            "constants move on by one",
            OURS
            + "    for module in ours():\n        for name, value in list(vars(module).items()):\n            if type(value) is int: setattr(module, name, value + 1)",
            "return 0",
        ),
        attack(
            "constants are all ten",
            OURS
            + "    for module in ours():\n        for name, value in list(vars(module).items()):\n            if type(value) is int: setattr(module, name, 10)",
            "raise ValueError",
        ),
        attack(
            "constants are all nought",
            OURS
            + "    for module in ours():\n        for name, value in list(vars(module).items()):\n            if type(value) is int: setattr(module, name, 0)",
            "raise ValueError",
        ),
        attack(
            "methods of its classes",
            OURS
            + """
    for module in ours():
        for kind in list(vars(module).values()):
            if isinstance(kind, type):
                for name, value in list(vars(kind).items()):
                    if isinstance(value, types.FunctionType):
                        try: setattr(kind, name, lambda *a, **k: None)
                        except TypeError: pass
    """,
            "return 0",
        ),
        attack(
            "its writers are called",
            OURS
            + """
    def deed():
        for thing in gc.get_objects():
            kind = type(thing)
            if kind.__module__ in [m.__name__ for m in ours()]:
                for name in dir(kind):
                    if not name.startswith('__') and callable(getattr(thing, name, None)):
                        for args in ((10, 0.0, b''), (9, 0.0, b'x'), (0, 0.0, b'N'), ()):
                            try: getattr(thing, name)(*args)
                            except Exception: pass
    """,
            "deed()\nimport os\nos._exit(0)",
        ),
        attack(
            "its frames are cleared",
            OURS,
            "frame = sys._getframe().f_back\nwhile frame:\n    try: frame.clear()\n    except RuntimeError: pass\n    frame = frame.f_back\nreturn 0",
        ),
        attack(
            "its records have other bytes",
            OURS
            + "    import struct, marshal, os\n    real = os.write\n    os.write = lambda fd, data: real(fd, bytes([10]) + bytes(data)[1:])\n    os.pwrite = lambda fd, data, at: real(fd, bytes([9]) + bytes(data)[1:])",
            "return 0",
        ),
        attack(
            "what it imported",
            OURS
            + "    for module in ours():\n        for name, value in list(vars(module).items()):\n            if isinstance(value, types.ModuleType): setattr(module, name, types.SimpleNamespace())",
            "return 0",
        ),
    ],
    draws=6,
)


SECONDS = solutions(
    "claims of seconds",
    "What a program says of the seconds that it was charged counts only as far as it was seen to compute or to wait: no "
    "claim spends the budget of its job, so that items would not be run.",
    [_records(0, "<BdI", 7, seconds) for seconds in ("1e5", "1e300", "-1e5", "float('inf')", "float('nan')")]
    + [
        attack(
            f"what tells the seconds says {said}",
            OURS
            + f"""
    for module in ours():
        for kind in list(vars(module).values()):
            if isinstance(kind, type) and hasattr(kind, 'stop'): kind.stop = lambda *a, **k: {said}
    """,
            "return 0",
        )
        for said in ("1e5", "-1e5", "float('nan')")
    ]
    + [
        attack(
            f"its clocks {what}",
            OURS
            + f"""
    import itertools
    ticks = itertools.count()
    for module in ours():
        for name in ('monotonic', 'process_time'):
            if hasattr(module, name): setattr(module, name, lambda: {ticks})
    """,
            "return 0",
        )
        for what, ticks in (("run ahead", "next(ticks) * 1e4"), ("run back", "next(ticks) * -1e4"), ("stand", "0.0"))
    ],
    draw=lambda stream: _records(0, "<BdI", stream.randrange(10**6), f"{10 ** stream.uniform(-3, 6):.3g}"),
)


SLEEPS = "lambda *a, **k: __import__('time').sleep(99)"
HANGING = solutions(
    "our code that hangs",
    "Where a program makes our code in its memory hang, it runs into its own limit, which is enforced from outside.",
    [
        attack(
            "all functions",
            OURS + f"    for module, name, value in list(functions()): setattr(module, name, {SLEEPS})",
            "return 0",
        ),
        attack(
            "all methods",
            OURS
            + f"""
    for module in ours():
        for kind in list(vars(module).values()):
            if isinstance(kind, type):
                for name, value in list(vars(kind).items()):
                    if isinstance(value, types.FunctionType):
                        try: setattr(kind, name, {SLEEPS})
                        except TypeError: pass
    """,
            "return 0",
        ),
        attack(
            "what it imported",
            OURS
            + f"""
    class Slow(types.ModuleType):
        def __getattr__(self, name): return {SLEEPS}
    for module in ours():
        for name, value in list(vars(module).items()):
            if isinstance(value, types.ModuleType): setattr(module, name, Slow(name))
    """,
            "return 0",
        ),
    ],
    slow=True,
    draws=1,
)

FAMILIES: tuple[Family, ...] = (EXITS, SIGNALS, RECORDS, MODULES, SECONDS, HANGING)
