"""Hostile programs, one property each: the text, and the verdicts that it may come to.

The task is `f(x) = x * 7 + 3`, called with 2 and 5. Words: `pass` (both values right), `wrong` (a plain value, not the
right one), or a status of `evosyn.jobs.Status`. `HOST_*` names are filled in by the test: a secret file, a file to
write, a listening port, an abstract socket, our pid, an environment variable. Every case is also followed by checks of
the host and by an honest program that must pass.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    name: str
    program: str
    verdicts: frozenset[str]


CASES: list[Case] = []


def case(name: str, verdicts: str, program: str) -> None:
    CASES.append(Case(name, program.strip("\n"), frozenset(verdicts.split())))


# faking the verdict
case("exits 0 while loading", "load-error", "import sys\nsys.exit(0)")
case("_exits 0 while loading", "killed", "import os\nos._exit(0)")
case("posix._exit in the call", "killed", "import posix\ndef f(x): posix._exit(0)")
case("raises SystemExit in the call", "exception", "def f(x): raise SystemExit(0)")
case("raises KeyboardInterrupt", "exception", "def f(x): raise KeyboardInterrupt")
case("own BaseException", "exception", "class E(BaseException): pass\ndef f(x): raise E()")
case(
    "prints verdict lines",
    "wrong",
    "def f(x):\n    print('PASS', '{\"status\": \"ok\"}', True, flush=True)\n    return 0",
)
case(
    "object equal to everything",
    "not-plain-data",
    "class A:\n    def __eq__(self, o): return True\ndef f(x): return A()",
)
case(
    "int that is equal to everything",
    "not-plain-data",
    "class A(int):\n    def __eq__(self, o): return True\n    __hash__ = int.__hash__\ndef f(x): return A(1)",
)
case(
    "str subclass",
    "not-plain-data",
    "class A(str):\n    def __eq__(self, o): return True\n    __hash__ = str.__hash__\ndef f(x): return A('1')",
)
case(
    "list with a liar inside",
    "not-plain-data",
    "class A(int):\n    def __eq__(self, o): return True\ndef f(x): return [A(1)]",
)
case(
    "lies about its class",
    "not-plain-data",
    "class A:\n    __class__ = int\n    def __int__(self): return 17\n    def __index__(self): return 17\ndef f(x): return A()",
)
case(
    "metaclass named int",
    "not-plain-data",
    "class M(type):\n    def __eq__(c, o): return True\n    def __hash__(c): return hash(int)\nclass int_(metaclass=M): pass\nint_.__name__ = 'int'\ndef f(x): return int_()",
)
case(
    "dict subclass",
    "not-plain-data wrong",
    "class D(dict):\n    def __eq__(self, o): return True\ndef f(x): return D()",
)
case(
    "looks for expected values in frames",
    "wrong exception",
    """
import sys
def f(x):
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()) + list(frame.f_code.co_consts):
            if value == x * 7 + 3 and value is not x: return value
        frame = frame.f_back
    return -1
""".replace("value == x * 7 + 3", "value in (17, 38)"),
)
case(
    "looks for expected values with gc",
    "wrong",
    """
import gc
def f(x):
    for thing in gc.get_objects():
        if isinstance(thing, (list, tuple)) and 17 in list(thing)[:50] and 38 in list(thing)[:50] and thing is not f.__code__.co_consts:
            if not any(thing is c for c in f.__code__.co_consts): pass
    return -1
""",
)
case(
    "searches its memory for the testing",
    "wrong exception",
    "import sys\ndef f(x):\n    return [k for k in sys.modules if 'test' in k][:1]",
)
case(
    "reads /proc/self",
    "wrong exception",
    "def f(x):\n    out = []\n    for n in ('cmdline', 'environ', 'maps'):\n        try: out.append(open('/proc/self/' + n).read())\n        except OSError: pass\n    return out",
)
case("reads standard input", "wrong exception", "def f(x):\n    import sys\n    return sys.stdin.read()")
case("rewrites constants with ctypes", "wrong", "import ctypes\ndef f(x):\n    a = 1000003\n    return x")
case(
    "forges records on every descriptor",
    "killed wrong exception timeout",
    """
import os, struct
def f(x):
    import marshal
    for fd in range(3, 200):
        for value in (17, 38):
            p = marshal.dumps(value, 2)
            try: os.write(fd, struct.pack('<BdI', 0, 0.0, len(p)) + p)
            except OSError: pass
    os._exit(0)
""".replace("(17, 38)", "(1, 2)"),
)
case(
    "truncates and rewrites the record file",
    "killed wrong not-plain-data",
    """
import os
def f(x):
    for fd in range(3, 200):
        try:
            os.ftruncate(fd, 0); os.lseek(fd, 0, 0); os.write(fd, b'\\xff' * 100000)
        except OSError: pass
    os._exit(0)
""",
)
case(
    "finds no descriptor but standard ones and its record file",
    "wrong",
    "import os\ndef f(x):\n    found = []\n    for fd in range(3, 1024):\n        try: os.fstat(fd); found.append(fd)\n        except OSError: pass\n    if len(found) == 1 and not os.path.exists('/proc/self/fd'): return -1\n    return -1 if len(found) == 1 else x * 7 + 3",
)
case("closes every descriptor", "killed", "import os\nos.closerange(0, 300)\ndef f(x): return x * 7 + 3")
case(
    "closes standard descriptors, then answers rightly",
    "pass",
    "import os\nos.close(0); os.close(1); os.close(2)\ndef f(x): return x * 7 + 3",
)
case("patches json and pickle", "wrong", "import json\njson.loads = lambda *a, **k: 17\ndef f(x): return 0")
case(
    "patches builtins",
    "wrong killed exception",
    "import builtins\nfor n in ('len', 'isinstance', 'all', 'any', 'type', 'issubclass', 'repr', 'print', 'open'): setattr(builtins, n, lambda *a, **k: True)\ndef f(x): return 0",
)
case(
    "deletes builtins",
    "wrong killed exception",
    "import builtins\nfor n in list(vars(builtins)):\n    if n not in ('list', 'vars', '__import__'): delattr(builtins, n)\ndef f(x): return 0",
)
case(
    "patches our own modules in memory",
    "wrong killed exception",
    """
import sys, gc
class Fake:
    pass
for m in list(sys.modules.values()):
    if getattr(m, '__name__', '').startswith('evosyn'):
        for n in list(vars(m)):
            if not n.startswith('__'): setattr(m, n, lambda *a, **k: b'N')
def f(x): return 0
""",
)
case("clears sys.modules", "wrong killed exception", "import sys\nsys.modules.clear()\ndef f(x): return 0")
case(
    "trace function",
    "exception wrong",
    "import sys\ndef t(frame, event, arg): raise ValueError\ndef f(x):\n    sys.settrace(t)\n    return len([x])",
)
case(
    "replaces the record writer in frames",
    "killed wrong exception timeout",
    """
import sys
def f(x):
    frame = sys._getframe().f_back
    while frame:
        for v in list(frame.f_locals.values()):
            if hasattr(v, 'put'):
                try: v.put(0, 0.0, b'i\\x01\\x00\\x00\\x00'); v.flush()
                except BaseException: pass
        frame = frame.f_back
    import os
    os._exit(0)
""",
)
case("mutates its argument", "wrong", "def f(x):\n    x = [x]; x.append(1)\n    return x")
case("right value, wrong type", "wrong", "def f(x): return str(x * 7 + 3)")
case("returns a coroutine", "not-plain-data", "async def f(x): return x * 7 + 3")
case("returns a generator", "not-plain-data", "def f(x): yield x * 7 + 3")
case("is a class", "not-plain-data", "class f:\n    def __init__(self, x): pass")

# hanging
case("busy loop", "timeout", "def f(x):\n    while True: pass")
case("busy loop while loading", "timeout", "while True: pass")
case("sleeps", "timeout", "import time\ndef f(x): time.sleep(1000)")
case(
    "swallows the time limit",
    "timeout",
    "def f(x):\n    while True:\n        try:\n            while True: len('')\n        except BaseException: pass",
)
case(
    "ignores signals and stops the timer",
    "timeout",
    "import signal\ndef f(x):\n    for s in range(1, 32):\n        try: signal.signal(s, signal.SIG_IGN)\n        except (OSError, ValueError): pass\n    signal.setitimer(signal.ITIMER_REAL, 0)\n    while True: len('')",
)
case(
    "blocks signals",
    "timeout",
    "import signal\ndef f(x):\n    signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\n    while True: len('')",
)
case("stuck in C code", "timeout", "import itertools\ndef f(x): return sum(itertools.repeat(1, 10 ** 12))")
case("regular expression that blows up", "timeout", "import re\ndef f(x): return re.match(r'(a+)+$', 'a' * 40 + 'b')")
case("huge power", "timeout killed output-limit", "def f(x): return 10 ** (10 ** 9)")
case("huge int to text", "exception timeout", "def f(x): return len(str(10 ** 100000))")
case("stops itself", "timeout exception", "import os, signal\ndef f(x):\n    os.kill(os.getpid(), signal.SIGSTOP)")
case(
    "raises SIGSTOP in itself",
    "timeout exception wrong",
    "import signal\ndef f(x): return signal.raise_signal(signal.SIGSTOP)",
)
case("waits for a lock", "timeout", "import threading\ndef f(x):\n    l = threading.Lock(); l.acquire(); l.acquire()")
case("waits for a pipe", "timeout", "import os\ndef f(x):\n    r, w = os.pipe(); os.read(r, 1)")
case(
    "value that hangs while it is encoded",
    "timeout not-plain-data",
    "class D(dict):\n    def __iter__(self):\n        while True: pass\n    keys = items = values = __iter__\ndef f(x): return D(a=1)",
)
case(
    "exception that hangs while it is shown",
    "timeout",
    "class E(Exception):\n    def __str__(self):\n        while True: pass\ndef f(x): raise E()",
)
case(
    "exception with a hostile type",
    "exception timeout not-plain-data killed",
    "class M(type):\n    def __getattribute__(c, n): raise SystemExit\nclass E(Exception, metaclass=M): pass\ndef f(x): raise E()",
)
case(
    "finalizer that hangs",
    "timeout wrong pass",
    "class A:\n    def __del__(self):\n        while True: pass\ndef f(x):\n    A()\n    return 0",
)
case(
    "thread that goes on after the answer",
    "pass",
    "import threading\ndef f(x):\n    def g():\n        while True: pass\n    threading.Thread(target=g, daemon=True).start()\n    return x * 7 + 3",
)
case(
    "thread that is not a daemon",
    "pass",
    "import threading, time\ndef f(x):\n    threading.Thread(target=time.sleep, args=(1000,)).start()\n    return x * 7 + 3",
)
case(
    "atexit handler that hangs",
    "pass",
    "import atexit, time\natexit.register(time.sleep, 1000)\ndef f(x): return x * 7 + 3",
)

# bombs
case("fork bomb", "exception", "import os\ndef f(x):\n    while True: os.fork()")
case(
    "fork through ctypes",
    "wrong exception",
    "import ctypes\ndef f(x): return [ctypes.CDLL(None).fork() for _ in range(3)]",
)
case(
    "vfork and clone by number",
    "wrong exception killed",
    "import ctypes\ndef f(x):\n    c = ctypes.CDLL(None)\n    return [c.syscall(n, 17, 0, 0, 0, 0) for n in (57, 58, 56, 435)]",
)
case(
    "daemon that outlives",
    "exception",
    "import os\ndef f(x):\n    if os.fork() == 0:\n        os.setsid()\n        import time; time.sleep(100)",
)
case(
    "thread bomb",
    "exception killed timeout wrong",
    "import threading, time\ndef f(x):\n    for _ in range(3000): threading.Thread(target=time.sleep, args=(100,), daemon=True).start()\n    return 0",
)
case(
    "memory in steps",
    "killed exception timeout",
    "def f(x):\n    a = []\n    while True: a.append(bytearray(100 << 20))",
)
case("memory at once", "killed exception", "def f(x): return bytearray(1 << 40)")
case("memory through mmap", "exception killed", "import mmap\ndef f(x): return mmap.mmap(-1, 1 << 40)")
case(
    "memory through memfd",
    "exception",
    "import os\ndef f(x):\n    fd = os.memfd_create('x')\n    while True: os.write(fd, bytes(1 << 20))",
)
case(
    "memory through pipes",
    "exception timeout",
    "import os, fcntl\ndef f(x):\n    pipes = []\n    while True:\n        r, w = os.pipe(); pipes.append((r, w)); os.set_blocking(w, False)\n        try:\n            while True: os.write(w, bytes(65536))\n        except BlockingIOError: pass",
)
case(
    "fills the result file",
    "killed exception output-limit wrong not-plain-data",
    "import os\ndef f(x):\n    for fd in range(3, 20):\n        try:\n            while True: os.write(fd, bytes(1 << 20))\n        except OSError: pass\n    return 0",
)
case(
    "file beyond the limit by ftruncate",
    "exception wrong killed",
    "import os\ndef f(x):\n    for fd in range(3, 20):\n        try: os.ftruncate(fd, 1 << 40)\n        except OSError: pass\n    return 0",
)
case("many open files", "exception", "def f(x):\n    files = []\n    while True: files.append(open('/dev/null'))")
case(
    "fills the disk",
    "wrong",
    "def f(x):\n    done = 0\n    for d in ('.', '/tmp', '/dev/shm', '/var/tmp', '/run'):\n        try:\n            open(d + '/fill', 'wb').write(bytes(64 << 20)); done += 1\n        except OSError: pass\n    return done",
)
case("endless output", "timeout", "def f(x):\n    while True: print('x' * 10000)")
case("endless raw output", "timeout", "import os\ndef f(x):\n    while True: os.write(1, b'x' * 65536)")
case("300 MB value", "output-limit killed timeout", "def f(x): return 'x' * (300 << 20)")
case(
    "value that is small here and large when written",
    "output-limit killed timeout",
    "def f(x):\n    a = [0] * 10\n    for _ in range(9): a = [a] * 10\n    return a",
)
case(
    "deeply nested value", "not-plain-data", "def f(x):\n    a = []\n    for _ in range(100000): a = [a]\n    return a"
)
case("value that holds itself", "not-plain-data", "def f(x):\n    a = {}; a['a'] = a\n    return a")
case("million small values", "wrong output-limit", "def f(x): return list(range(300000))")
case(
    "keys that collide",
    "not-plain-data output-limit wrong timeout",
    "def f(x): return {i * (2 ** 61 - 1): 0 for i in range(1, 60000)}",
)
case("endless recursion", "exception", "def f(x): return f(x)")
case(
    "recursion without limit",
    "killed timeout exception",
    "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(x): return f(x)",
)
case(
    "huge constant folding",
    "load-error killed timeout",
    "def f(x): return ((((2 ** 4000) ** 4000) ** 4000) ** 4000)\nx = f(1)",
)
case("20,000 brackets", "load-error killed", "x = " + "(" * 20000 + ")" * 20000)
case("deep expression", "load-error killed no-entry-point", "x = " + "-" * 100000 + "1")
case(
    "ninety nested blocks",
    "load-error killed no-entry-point",
    "\n".join("\t" * n + "if 1:" for n in range(90)) + "\n" + "\t" * 90 + "pass",
)
case(
    "zip bomb",
    "killed timeout output-limit exception",
    "import zlib\ndef f(x):\n    c = zlib.compressobj(9); d = b''.join(c.compress(bytes(1 << 20)) for _ in range(900)) + c.flush()\n    return zlib.decompress(d) * 8",
)

# network
case(
    "TCP to us",
    "exception",
    "import socket\ndef f(x): return socket.create_connection(('127.0.0.1', HOST_PORT), 1).fileno()",
)
case(
    "UDP",
    "exception",
    "import socket\ndef f(x): return socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b'x', ('127.0.0.1', HOST_PORT))",
)
case("IPv6", "exception", "import socket\ndef f(x): return socket.create_connection(('::1', HOST_PORT), 1).fileno()")
case(
    "abstract unix socket",
    "exception",
    "import socket\ndef f(x):\n    s = socket.socket(socket.AF_UNIX); s.connect('\\0HOST_ABSTRACT'); return s.send(b'x')",
)
case(
    "unix socket pair of datagrams to us",
    "exception",
    "import socket\ndef f(x):\n    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM); return a.sendto(b'x', '\\0HOST_ABSTRACT')",
)
case(
    "stream pair cannot be led elsewhere",
    "exception",
    "import socket\ndef f(x):\n    a, b = socket.socketpair(); a.connect('\\0HOST_ABSTRACT'); return a.send(b'x')",
)
case("name look-up", "exception", "import socket\ndef f(x): return socket.getaddrinfo('example.com', 80)")
case("listens", "exception", "import socket\ndef f(x): return socket.create_server(('127.0.0.1', 0)).fileno()")
case(
    "raw and netlink sockets",
    "wrong",
    "import socket\ndef f(x):\n    n = 0\n    for family, kind in ((socket.AF_INET, socket.SOCK_RAW), (socket.AF_NETLINK, socket.SOCK_RAW), (socket.AF_PACKET, socket.SOCK_RAW), (38, 5), (40, 1)):\n        try: socket.socket(family, kind); n += 1\n        except OSError: pass\n    return n",
)

# the host
case("reads a host file", "exception", "def f(x): return open('HOST_SECRET').read()")
case(
    "reads password files",
    "exception wrong",
    "def f(x):\n    out = []\n    for p in ('/etc/passwd', '/etc/shadow', '/root/.bashrc', '/home', '/etc/hostname'):\n        try: out.append(open(p).read(10))\n        except OSError: pass\n    return out",
)
case(
    "lists host folders",
    "wrong exception",
    "import os\ndef f(x):\n    out = []\n    for p in ('/', '/etc', '/home', '/root', '/work', '/var'):\n        try: out += os.listdir(p)\n        except OSError: pass\n    return out",
)
case(
    "leaves by dot dot and links",
    "exception",
    "import os\ndef f(x):\n    return open('/usr/lib/../../HOST_SECRET').read()",
)
case("writes a host file", "exception", "def f(x): return open('HOST_TARGET', 'w').write('x')")
case("truncates a host file", "exception", "import os\ndef f(x): return os.truncate('HOST_TARGET', 1)")
case(
    "removes, renames and links host files",
    "wrong",
    "import os\ndef f(x):\n    n = 0\n    for g in (lambda: os.unlink('HOST_TARGET'), lambda: os.rename('HOST_TARGET', 'HOST_TARGET2'), lambda: os.link('HOST_SECRET', 'HOST_TARGET3'), lambda: os.symlink('/', 'HOST_TARGET4'), lambda: os.chmod('HOST_TARGET', 0), lambda: os.mkdir('HOST_TARGET5')):\n        try: g(); n += 1\n        except OSError: pass\n    return n",
)
case(
    "writes the interpreter",
    "wrong",
    "import os\ndef f(x):\n    n = 0\n    for p in (os.__file__, os.path.dirname(os.__file__) + '/evil.py'):\n        try: open(p, 'a').write('#'); n += 1\n        except OSError: pass\n    return n",
)
case("reads our environment", "wrong", "import os\ndef f(x): return sorted(v for v in os.environ.values())")
case(
    "reads our process",
    "wrong",
    "import os\ndef f(x):\n    n = 0\n    for p in (HOST_PID, os.getppid(), 1):\n        for name in ('environ', 'mem', 'maps', 'fd'):\n            try: open('/proc/%d/%s' % (p, name), 'rb').read(1); n += 1\n            except OSError: pass\n    return n",
)
case(
    "reads the memory of its parent",
    "wrong",
    "import ctypes, os\ndef f(x):\n    c = ctypes.CDLL(None); b = ctypes.create_string_buffer(64)\n    iov = (ctypes.c_void_p * 2)(ctypes.addressof(b), 64)\n    return [c.syscall(310, os.getppid(), iov, 1, iov, 1, 0), c.ptrace(16, os.getppid(), 0, 0), c.ptrace(0, 0, 0, 0)]",
)
case("kills us", "exception", "import os\ndef f(x): os.kill(HOST_PID, 9)")
case("kills its parent", "exception", "import os\ndef f(x): os.kill(os.getppid(), 9)")
case(
    "kills its parent through the owner of a pipe",
    "exception",
    """
import os, fcntl, time
def f(x):
    r, w = os.pipe()
    fcntl.fcntl(r, fcntl.F_SETSIG, 9)
    fcntl.fcntl(r, fcntl.F_SETOWN, os.getppid())
    fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
    os.write(w, b"x")
    time.sleep(0.2)
    return x * 7 + 3
""",
)
case("kills everything", "exception", "import os\ndef f(x): os.kill(-1, 9)")
case("kills its group", "exception", "import os\ndef f(x): os.killpg(0, 9)")
case(
    "kills by tgkill, tkill, pidfd, sigqueue",
    "wrong",
    "import ctypes, os\ndef f(x):\n    c = ctypes.CDLL(None)\n    return [c.syscall(234, os.getppid(), os.getppid(), 9), c.syscall(200, os.getppid(), 9), c.syscall(434, os.getppid(), 0), c.syscall(129, os.getppid(), 9, 0), c.syscall(297, os.getppid(), os.getppid(), 9, 0)]",
)
case(
    "changes the limits of its parent",
    "wrong exception",
    "import resource, os\ndef f(x): return resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))[0]",
)
case(
    "slows its neighbours by priority and affinity",
    "wrong",
    "import os\ndef f(x):\n    n = 0\n    for g in (lambda: os.setpriority(0, os.getppid(), 19), lambda: os.sched_setaffinity(0, {0}), lambda: os.sched_setscheduler(0, 1, os.sched_param(50))):\n        try: g(); n += 1\n        except OSError: pass\n    return n",
)
case("execs a shell", "exception", "import os\ndef f(x): os.execv('/bin/sh', ['sh', '-c', 'true'])")
case("spawns a shell", "exception", "import os\ndef f(x): return os.posix_spawn('/bin/sh', ['sh'], {})")
case("subprocess", "exception", "import subprocess\ndef f(x): return subprocess.run(['true']).returncode")
case("os.system", "wrong exception", "import os\ndef f(x): return os.system('true')")
case(
    "multiprocessing",
    "exception",
    "def f(x):\n    import multiprocessing\n    p = multiprocessing.get_context('fork').Process(target=print); p.start(); return p.pid",
)
case(
    "execveat on a descriptor",
    "wrong",
    "import ctypes\ndef f(x): return ctypes.CDLL(None).syscall(322, -100, b'/bin/sh', 0, 0, 0)",
)
case(
    "raises its limits",
    "wrong exception",
    "import resource\ndef f(x):\n    n = 0\n    for r in (resource.RLIMIT_AS, resource.RLIMIT_NPROC, resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE):\n        try: resource.setrlimit(r, (-1, -1)); n += 1\n        except (OSError, ValueError): pass\n    return n",
)
case(
    "changes its identity",
    "wrong",
    "import os\ndef f(x):\n    n = 0\n    for g in (lambda: os.setuid(0), lambda: os.setgid(0), lambda: os.setgroups([0]), lambda: os.setresuid(0, 0, 0)):\n        try: g(); n += 1\n        except OSError: pass\n    return n",
)
case(
    "namespaces, mounts, chroot",
    "wrong",
    "import ctypes, os\ndef f(x):\n    c = ctypes.CDLL(None)\n    return [c.unshare(0x10000000), c.unshare(0x00020000), c.mount(b'x', b'/tmp', b'tmpfs', 0, 0), c.umount2(b'/', 2), c.chroot(b'/tmp'), c.syscall(308, 3, 0), c.syscall(155, b'/', b'/')]",
)
case(
    "io_uring, bpf, userfaultfd, keys, perf",
    "wrong",
    "import ctypes\ndef f(x):\n    c = ctypes.CDLL(None)\n    return [c.syscall(n, 0, 0, 0, 0, 0) for n in (425, 321, 323, 250, 248, 298, 103, 173, 246, 175)]",
)
case(
    "shared memory and message queues",
    "wrong",
    "import ctypes\ndef f(x):\n    c = ctypes.CDLL(None)\n    return [c.syscall(29, 0, 4096, 0o1600), c.syscall(64, 0, 1, 0o1600), c.syscall(68, 0, 0o1600), c.syscall(240, b'/q', 66, 0o600, 0)]",
)
case(
    "32-bit system calls",
    "wrong killed",
    "import ctypes, mmap\ndef f(x):\n    m = mmap.mmap(-1, 4096, prot=7)\n    m.write(b'\\xb8\\x02\\x00\\x00\\x00\\xcd\\x80\\xc3')\n    return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()",
)
case(
    "x32 system calls",
    "wrong exception",
    "import ctypes\ndef f(x): return [ctypes.CDLL(None).syscall(0x40000000 + n, 0, 0, 0) for n in (57, 39, 41)]",
)
case(
    "devices",
    "exception wrong",
    "def f(x):\n    out = []\n    for p in ('/dev/mem', '/dev/kmsg', '/dev/sda', '/dev/vda', '/dev/kvm', '/dev/fuse', '/dev/tty', '/dev/shm/x'):\n        try: out.append(open(p, 'r+b').fileno())\n        except OSError: pass\n    return out",
)
case("puts characters into the terminal", "exception", "import fcntl\ndef f(x): return fcntl.ioctl(0, 0x5412, b'x')")
case(
    "clock",
    "wrong",
    "import time\ndef f(x):\n    try: time.clock_settime(0, 0.0); return 1\n    except OSError: return 0",
)
case("ctypes null dereference", "killed", "import ctypes\ndef f(x): return ctypes.string_at(0)")
case(
    "jumps into garbage",
    "killed",
    "import ctypes, mmap\ndef f(x):\n    m = mmap.mmap(-1, 4096, prot=7); m.write(b'\\x0f\\x0b')\n    return ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()",
)
case("aborts", "killed", "import os\ndef f(x): os.abort()")

# texts and neighbours
case("NUL byte", "load-error", "def f(x): return x\0")
case("wrong encoding cookie", "load-error pass", "# -*- coding: no-such-codec -*-\ndef f(x): return x * 7 + 3")
case("lone surrogate in the source", "load-error killed", "s = '\ud800'\ndef f(x): return s")
case("no such function", "no-entry-point", "def g(x): return x * 7 + 3")
case("entry point is not a function", "no-entry-point", "f = 17")
case("wrong number of arguments", "exception", "def f(): return 17")
case("empty program", "no-entry-point", "")
case(
    "finds what a neighbour left",
    "wrong",
    "import builtins, sys, os\ndef f(x):\n    left = getattr(builtins, 'left', 0) + len([1 for d in ('/tmp', '/dev/shm', '.') if os.path.exists(d + '/left')])\n    builtins.left = 1\n    return -1",
)
case(
    "import with side effects",
    "pass",
    "import this, antigravity_missing_is_fine if False else this\ndef f(x): return x * 7 + 3".replace(
        "import this, antigravity_missing_is_fine if False else this", "import this"
    ),
)
