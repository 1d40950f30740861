"""Under the system-call filter an ordinary program finds what it needs, in every kind of job; what it must not do fails
with an error that Python programs understand."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Check, ChecksJob, HarnessJob, StdioJob
from evosyn.ports import Sandbox
from evosyn.sandbox import _jail, _probe
from evosyn.sandbox.local import LocalSandbox

ORDINARY = {
    "asyncio": """
        import asyncio
        async def double(x):
            await asyncio.sleep(0.001)
            return 2 * x
        async def work(x):
            queue = asyncio.Queue()
            for part in await asyncio.gather(*(double(i) for i in range(x))):
                await queue.put(part)
            async with asyncio.timeout(5), asyncio.Semaphore(1):
                return sum([await queue.get() for _ in range(x)])
        def f(x):
            return asyncio.run(work(x)) + x - x * (x - 1)
        """,
    "asyncio with threads": """
        import asyncio, concurrent.futures
        async def work(x):
            loop = asyncio.get_running_loop()
            async with asyncio.TaskGroup() as group:
                task = group.create_task(asyncio.to_thread(lambda: x))
            with concurrent.futures.ThreadPoolExecutor(2) as pool:
                return await loop.run_in_executor(pool, sum, [x, await task])
        def f(x):
            return asyncio.run(work(x)) - x
        """,
    "asyncio over a pair of sockets": """
        import asyncio, socket
        async def work(x):
            ours, theirs = socket.socketpair()
            reader, writer = await asyncio.open_connection(sock=ours)
            theirs.sendall(b"%d\\n" % x)
            found = int(await reader.readline())
            writer.close()
            theirs.close()
            return found
        def f(x):
            return asyncio.run(work(x))
        """,
    "threads and locks": """
        import threading, queue
        def f(x):
            lock, done, total = threading.Condition(), queue.Queue(), []
            def work(i):
                with lock:
                    total.append(i)
                    lock.notify_all()
                done.put(i)
            threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
            for thread in threads:
                thread.start()
            with lock:
                lock.wait_for(lambda: len(total) == 8, 5)
            for thread in threads:
                thread.join()
            return x if sorted(total) == list(range(8)) == sorted(done.get() for _ in range(8)) else None
        """,
    "the locale of the environment": """
        import locale
        def f(x):
            locale.setlocale(locale.LC_ALL, "")
            return x if locale.getlocale() else None
        """,
    "numbers in small letters": """
        import decimal
        def f(x):
            decimal.getcontext().capitals = 0
            return x if str(decimal.Decimal("1E+30")) == "1e+30" else None
        """,
    "a data base in memory": """
        import sqlite3
        def f(x):
            base = sqlite3.connect(":memory:")
            base.execute("create table t (a integer)")
            base.executemany("insert into t values (?)", [(i,) for i in range(100)])
            base.commit()
            return base.execute("select max(a) from t").fetchone()[0] - 99 + x
        """,
    "terminals and descriptors": """
        import os, sys, mmap, tempfile
        def f(x):
            assert not sys.stdin.isatty() and not os.isatty(1)
            read, write = os.pipe()
            os.set_blocking(read, False)
            os.set_inheritable(read, True)
            os.write(write, b"x")
            assert os.read(read, 5) == b"x"
            with mmap.mmap(-1, 8192) as memory:
                memory[:3] = b"abc"
                memory.flush()
                memory.madvise(mmap.MADV_WILLNEED)
            with open(os.devnull, "w") as null:
                print("x", file=null, flush=True)
            return x
        """,
    "clocks": """
        import time, resource, datetime
        def f(x):
            for clock in (time.CLOCK_REALTIME, time.CLOCK_MONOTONIC, 3, time.CLOCK_BOOTTIME):
                assert time.clock_gettime(clock) > 0
            before = time.process_time(), time.thread_time(), time.perf_counter()
            time.sleep(0.001)
            resource.getrlimit(resource.RLIMIT_STACK)
            assert datetime.datetime.now().year > 2000
            return x
        """,
}

HARNESS = """
def main(program, context, argument):
    names = {}
    exec(program, names)
    return names["f"](argument)
"""

REFUSED = """
import os, fcntl, errno
PATHS = ("/dev/null", os.__file__, "/tmp", "/nothing")
ACTS = {
    "truncate": lambda path: os.truncate(path, 0),
    "rename": lambda path: os.rename(path, path + ".moved"),
    "replace": lambda path: os.replace("/nothing", path),
    "unlink": os.unlink,
    "rmdir": os.rmdir,
    "mkdir": lambda path: os.mkdir(path + ".made"),
    "link": lambda path: os.link(path, "/tmp/linked"),
    "symlink": lambda path: os.symlink("/", path + ".link"),
    "chmod": lambda path: os.chmod(path, 0o777),
    "chown": lambda path: os.chown(path, os.getuid(), os.getgid()),
    "utime": lambda path: os.utime(path, (0, 0)),
    "mkfifo": lambda path: os.mkfifo(path + ".pipe"),
    "setxattr": lambda path: os.setxattr(path, "user.x", b"x"),
    "cut while reading": lambda path: os.open(path, os.O_RDONLY | os.O_TRUNC),
    "cut without a mode": lambda path: os.open(path, os.O_RDWR | os.O_WRONLY | os.O_TRUNC),
}
LOCKS = {
    "flock": lambda handle: fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB),
    "lock": lambda handle: fcntl.lockf(handle, fcntl.LOCK_SH | fcntl.LOCK_NB),
    "lease": lambda handle: fcntl.fcntl(handle, fcntl.F_SETLEASE, fcntl.F_RDLCK),
    "notify": lambda handle: fcntl.fcntl(handle, fcntl.F_NOTIFY, 1),
    "owner": lambda handle: fcntl.fcntl(handle, fcntl.F_SETOWN, os.getpid()),
}

def f(name):
    said = set()
    for path in PATHS if name in ACTS else (os.__file__,):
        try:
            if name in ACTS:
                ACTS[name](path)
            else:
                with open(path) as file:
                    LOCKS[name](file.fileno())
            said.add("done")
        except OSError as error:
            said.add(errno.errorcode[error.errno])
    return sorted(said)
"""


@pytest.fixture(scope="module", params=["bwrap", "bare"])
def sandbox(request: pytest.FixtureRequest) -> Iterator[Sandbox]:
    try:
        protection = _probe.protection_of(request.param)
    except SandboxUnavailable as error:
        pytest.skip(f"{request.param}: {error}")
    with LocalSandbox(_jail.launcher(_jail.JailSpec(request.param)), protection, 1) as opened:
        yield opened


@pytest.mark.parametrize("name", ORDINARY)
def test_an_ordinary_program_works_in_every_kind_of_job(name: str, sandbox: Sandbox) -> None:
    program = textwrap.dedent(ORDINARY[name])
    jobs = [
        CallsJob(program, "f", (Call((5,)),)),
        ChecksJob(program, "f", (Check("assert f(5) == 5"),)),
        ChecksJob(program, "f", (Check("import math\nassert math.isqrt(f(25)) == 5"),)),
        ChecksJob("def f(x): return x", "f", (Check(f"{program}\nassert f(5) == 5"),)),
        StdioJob(f"{program}\nprint(f(int(input())))", ("5\n",)),
        HarnessJob(HARNESS, program, argument=5),
    ]
    found = [(outcome.status.value, outcome.value, outcome.detail) for (outcome,) in sandbox.run(jobs)]
    assert found == [("ok", 5, ""), *[("ok", None, "")] * 3, ("ok", "5\n", ""), ("ok", 5, "")]


def test_changing_a_file_by_its_name_is_an_ordinary_error(sandbox: Sandbox) -> None:
    names = [name for name in namespace()["ACTS"] if name != "cut without a mode"]
    (outcomes,) = sandbox.run([CallsJob(REFUSED, "f", tuple(Call((name,)) for name in names))])
    said = {name: outcome.value for name, outcome in zip(names, outcomes, strict=True)}
    assert said == {name: ["EROFS"] for name in names}


def test_what_reaches_others_through_a_readable_file_is_refused(sandbox: Sandbox) -> None:
    names = ["cut without a mode", *namespace()["LOCKS"]]
    (outcomes,) = sandbox.run([CallsJob(REFUSED, "f", tuple(Call((name,)) for name in names))])
    said = {name: outcome.value for name, outcome in zip(names, outcomes, strict=True)}
    assert said == {name: ["EROFS" if name == names[0] else "EPERM"] for name in names}


def namespace() -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = {}
    exec(REFUSED, found)  # definitions only
    return found
