"""The machine: network, processes, signals, files, privileges, and system calls by number.

What a program asks of the kernel beyond computing is refused, whichever API or number it asks by; our side sees nothing.
"""

from __future__ import annotations

import random
from typing import Any

from hostile_suite.families._make import attack, calls, solutions
from hostile_suite.model import Attack, Family

REFUSED = "exception wrong killed timeout not-plain-data"
COUNT = """
    n = []
    for deed in deeds():
        try: n.append(deed())
        except (OSError, ValueError, ImportError, AttributeError, RuntimeError, PermissionError) as error: n.append(str(error))
    return repr(n)[:200]
"""


def _deeds(name: str, imports: str, *deeds: str, **rest: Any) -> Attack:
    """Several deeds, one after the other, whatever each comes to."""
    listed = "".join(f"    yield lambda: {deed}\n" for deed in deeds)
    return attack(name, f"import {imports}\ndef deeds():\n{listed}", COUNT, **rest)


FAMILIES_OF_SOCKETS = (
    "AF_INET",
    "AF_INET6",
    "AF_UNIX",
    "AF_NETLINK",
    "AF_PACKET",
    "AF_VSOCK",
    "AF_ALG",
    "AF_BLUETOOTH",
    "AF_CAN",
    "AF_TIPC",
    "AF_XDP",
)
KINDS_OF_SOCKETS = ("SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW", "SOCK_SEQPACKET", "SOCK_RDM")


def _socket(family: str, kind: str) -> Attack:
    place = {
        "AF_INET": "('127.0.0.1', HOST_PORT)",
        "AF_INET6": "('::1', HOST_PORT)",
        "AF_UNIX": "'\\0HOST_ABSTRACT'",
    }.get(family, "(0, 0)")
    return calls(
        f"{family} {kind}",
        f"import socket\ns = socket.socket(getattr(socket, '{family}', 44), socket.{kind})\n"
        f"for deed in (lambda: s.connect({place}), lambda: s.sendto(b'x', {place}), lambda: s.send(b'x'), lambda: s.sendmsg([b'x'], [], 0, {place})):\n"
        "    try: deed()\n    except OSError: pass\nreturn 1",
    )


NETWORK = solutions(
    "network",
    "No packet, connection or datagram leaves a program, by any family, kind or descriptor of sockets.",
    [_socket(family, kind) for family, kind in zip(FAMILIES_OF_SOCKETS[:6] * 2, ("SOCK_STREAM", "SOCK_DGRAM", "SOCK_STREAM", "SOCK_RAW", "SOCK_RAW", "SOCK_STREAM", "SOCK_DGRAM", "SOCK_RAW", "SOCK_DGRAM", "SOCK_DGRAM", "SOCK_DGRAM", "SOCK_DGRAM"))]
    + [
        calls("TCP", "import socket\nreturn socket.create_connection(('127.0.0.1', HOST_PORT), 1).fileno()"),
        calls("name look-up", "import socket\nreturn socket.getaddrinfo('example.com', 80)"),
        calls("listens", "import socket\nreturn socket.create_server(('127.0.0.1', 0)).fileno()"),
        calls("a datagram pair led elsewhere", "import socket\na, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\nreturn a.sendto(b'x', '\\0HOST_ABSTRACT-dgram')"),
        calls("a stream pair led elsewhere", "import socket\na, b = socket.socketpair()\na.connect('\\0HOST_ABSTRACT'); return a.send(b'x')"),
        calls("a descriptor sent through a pair", "import array, os, socket\na, b = socket.socketpair()\nreturn a.sendmsg([b'x'], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array('i', [0, 1, 2, 3]))])"),
        calls("credentials of another", "import os, socket, struct\na, b = socket.socketpair()\nreturn a.sendmsg([b'x'], [(socket.SOL_SOCKET, 2, struct.pack('iii', HOST_PID, 0, 0))])"),
        calls("every inherited descriptor as a socket", "import os, socket\nfor fd in range(256):\n    try: socket.socket(fileno=os.dup(fd)).sendto(b'x', '\\0HOST_ABSTRACT-dgram')\n    except OSError: pass\nreturn 1"),
        calls("by number", "import ctypes\nlibc = ctypes.CDLL(None)\nreturn [libc.syscall(n, 2, 1, 0, 0, 0, 0) for n in (41, 198, 53, 199, 49, 50, 200, 201, 288, 242)]"),
        calls("urllib and http", "import urllib.request\nreturn urllib.request.urlopen('http://127.0.0.1:HOST_PORT/', timeout=1).read()"),
        calls("asyncio", "import asyncio\nasync def go(): return await asyncio.open_connection('127.0.0.1', HOST_PORT)\nreturn repr(asyncio.run(go()))"),
        calls("ioctl on interfaces", "import fcntl\nfor request in (0x8912, 0x8927, 0x8914, 0x5421, 0x541b):\n    for fd in range(8):\n        try: fcntl.ioctl(fd, request, bytes(64))\n        except OSError: pass\nreturn 1"),
    ],
    words=REFUSED,
    draw=lambda stream: _socket(stream.choice(FAMILIES_OF_SOCKETS), stream.choice(KINDS_OF_SOCKETS)),
    draws=5,
)  # fmt: skip

PROCESSES = solutions(
    "processes",
    "A program starts no other process and executes no other file, so that nothing outlives it.",
    [
        calls("fork bomb", "import os\nwhile True: os.fork()"),
        calls("fork", "import os\nif os.fork() == 0: os._exit(0)\nreturn 1"),
        calls(
            "daemon that outlives",
            "import os, time\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0: time.sleep(100)\n    os._exit(0)\nreturn 1",
        ),
        calls("fork through ctypes", "import ctypes\nreturn [ctypes.CDLL(None).fork() for _ in range(3)]"),
        calls(
            "vfork and clone by number",
            "import ctypes\nc = ctypes.CDLL(None)\nreturn [c.syscall(n, 17, 0, 0, 0, 0) for n in (57, 58, 56, 435, 220)]",
        ),
        calls(
            "clone with flags",
            "import ctypes\nc = ctypes.CDLL(None)\nreturn [c.syscall(56, flags, 0, 0, 0, 0) for flags in (0x11, 0x80011, 0x10000011, 0x20000011, 0x100, 0x4000, 0x8000)]",
        ),
        calls(
            "clone3",
            "import ctypes\nbox = (ctypes.c_uint64 * 11)(0, 0, 0, 0, 17)\nreturn [ctypes.CDLL(None).syscall(435, box, size) for size in (64, 80, 88)]",
        ),
        calls("execs a shell", "import os\nos.execv('/bin/sh', ['sh', '-c', 'true'])"),
        calls("execs itself", "import os, sys\nos.execv(sys.executable, [sys.executable, '-c', 'print(1)'])"),
        calls(
            "execs from memory",
            "import ctypes, os\nfd = os.memfd_create('x'); os.write(fd, b'#!/bin/true\\n')\nos.execve(fd, ['x'], {})",
        ),
        calls("spawns a shell", "import os\nreturn os.posix_spawn('/bin/sh', ['sh'], {})"),
        calls("subprocess", "import subprocess\nreturn subprocess.run(['true']).returncode"),
        calls("os.system and popen", "import os\nreturn [os.system('true'), os.popen('true').read()]"),
        calls(
            "multiprocessing",
            "import multiprocessing\np = multiprocessing.get_context('fork').Process(target=print); p.start(); return p.pid",
        ),
        calls(
            "a pool of processes",
            "import concurrent.futures\nwith concurrent.futures.ProcessPoolExecutor(2) as pool: return list(pool.map(abs, [1, 2]))",
        ),
        calls(
            "a shared library of its own",
            "import ctypes, os\nfd = os.memfd_create('x'); os.write(fd, open('/proc/self/exe', 'rb').read(100) if os.path.exists('/proc/self/exe') else b'x')\nctypes.CDLL('/proc/self/fd/%d' % fd); return 1",
        ),
        calls(
            "code in memory that is writable",
            "import ctypes, mmap, platform\nm = mmap.mmap(-1, 4096, prot=7); m.write(b'\\xb8\\x39\\0\\0\\0\\x0f\\x05\\xc3' if platform.machine() == 'x86_64' else b'\\xc0\\x03\\x5f\\xd6')\nreturn ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()",
        ),
        calls(
            "setsid and groups",
            "import os\nfor deed in (os.setsid, lambda: os.setpgid(0, 0), lambda: os.setpgid(os.getppid(), 0), lambda: os.tcsetpgrp(0, 1)):\n    try: deed()\n    except OSError: pass\nreturn 1",
        ),
        calls("pty", "import pty\nreturn pty.fork()"),
        calls(
            "execveat",
            "import ctypes\nc = ctypes.CDLL(None)\nreturn [c.syscall(n, -100, b'/bin/sh', 0, 0, f) for n in (322, 281) for f in (0, 0x1000)]",
        ),
    ],
    words=REFUSED,
    draws=3,
)

TARGETS = ("os.getppid()", "HOST_PID", "-1", "0", "1", "2", "3", "-os.getppid()", "-HOST_PID")
SENDERS = {
    "os.kill": "os.kill({pid}, {number})",
    "os.killpg": "os.killpg(abs({pid}), {number})",
    "kill by number": "libc.syscall(62, {pid}, {number})",
    "tkill": "libc.syscall(200, {pid}, {number})",
    "tgkill": "libc.syscall(234, {pid}, {pid}, {number})",
    "sigqueue": "libc.syscall(129, {pid}, {number}, ctypes.create_string_buffer(128))",
    "tgsigqueue": "libc.syscall(297, {pid}, {pid}, {number}, ctypes.create_string_buffer(128))",
    "pidfd_send_signal": "libc.syscall(424, libc.syscall(434, {pid}, 0), {number}, 0, 0)",
    "pthread_kill": "libc.pthread_kill(ctypes.c_ulong({pid}), {number}) if False else 0",
    "owner of a pipe": "owner({pid}, {number})",
}
OWNER = """
def owner(pid, number):
    import time
    r, w = os.pipe()
    fcntl.fcntl(r, fcntl.F_SETSIG, number); fcntl.fcntl(r, fcntl.F_SETOWN, pid); fcntl.fcntl(r, fcntl.F_SETFL, os.O_ASYNC)
    os.write(w, b'x'); time.sleep(.05)
"""


def _kill(sender: str, pid: str, number: int) -> Attack:
    return attack(
        f"{sender} {number} to {pid}",
        f"import ctypes, fcntl, os\nlibc = ctypes.CDLL(None)\n{OWNER}",
        f"return repr({SENDERS[sender].format(pid=pid, number=number)})",
    )


KILLS = solutions(
    "signals to others",
    "A program signals nobody but itself, by whatever call.",
    [_kill("os.kill", pid, 9) for pid in TARGETS]
    + [_kill(sender, pid, number) for sender, pid, number in zip(list(SENDERS) * 2, ("os.getppid()", "HOST_PID") * 10, (9, 9, 15, 10, 9, 12, 9, 9, 2, 9) * 2)]
    + [
        _deeds("limits, priority, affinity of others", "os, resource", *(f"{deed}" for deed in (
            "resource.prlimit(os.getppid(), resource.RLIMIT_CPU, (1, 1))", "resource.prlimit(HOST_PID, resource.RLIMIT_NOFILE, (3, 3))",
            "os.setpriority(0, os.getppid(), 19)", "os.setpriority(1, 0, 19)", "os.setpriority(0, HOST_PID, 19)",
            "os.sched_setaffinity(os.getppid(), {0})", "os.sched_setaffinity(HOST_PID, {0})", "os.sched_setscheduler(os.getppid(), 5, os.sched_param(0))",
        ))),
        _deeds("limits, priority, affinity of its own", "os, resource", *(f"{deed}" for deed in (
            "resource.setrlimit(resource.RLIMIT_AS, (-1, -1))", "resource.setrlimit(resource.RLIMIT_NPROC, (-1, -1))",
            "resource.setrlimit(resource.RLIMIT_NOFILE, (10 ** 6, 10 ** 6))", "resource.setrlimit(resource.RLIMIT_FSIZE, (-1, -1))",
            "os.setpriority(0, 0, -20)", "os.sched_setscheduler(0, 1, os.sched_param(50))", "os.nice(-5)",
        ))),
    ],
    words=REFUSED,
    draw=lambda stream: _kill(stream.choice(list(SENDERS)), stream.choice(TARGETS), stream.choice((1, 2, 9, 10, 12, 15, 18, 19, 23, 29))),
    draws=6,
)  # fmt: skip

FILE_DEEDS = (
    "open('HOST_SECRET').read()", "open('/usr/lib/../../HOST_SECRET').read()", "open('HOST_TARGET', 'w').write('x')", "open('HOST_TARGET', 'a').write('x')",
    "open('HOST_TARGET', 'r+').write('x')", "os.truncate('HOST_TARGET', 1)", "os.unlink('HOST_TARGET')", "os.rename('HOST_TARGET', 'HOST_TARGET2')",
    "os.replace('HOST_SECRET', 'HOST_TARGET')", "os.link('HOST_SECRET', 'HOST_TARGET3')", "os.symlink('/', 'HOST_TARGET4')", "os.chmod('HOST_TARGET', 0)",
    "os.chown('HOST_TARGET', 0, 0)", "os.mkdir('HOST_TARGET5')", "os.rmdir('HOST_FOLDER')", "os.mkfifo('HOST_TARGET6')", "os.mknod('HOST_TARGET7')",
    "os.utime('HOST_TARGET', (1, 1))", "os.setxattr('HOST_TARGET', 'user.x', b'1')", "os.open('HOST_FOLDER', os.O_TMPFILE | os.O_RDWR)",
    "os.listdir('HOST_FOLDER')", "os.scandir('/home').__next__().name", "os.listdir('/root')", "open('/etc/shadow').read()", "open('/etc/passwd', 'a')",
    "open('/tmp/HOST_MARK', 'w')", "open('/dev/shm/HOST_MARK', 'w')", "open('HOST_MARK', 'w')", "open(os.__file__, 'a').write('#')",
    "open(os.path.dirname(os.__file__) + '/HOST_MARK.py', 'w')", "open('/dev/mem', 'r+b')", "open('/dev/kvm', 'r+b')", "open('/dev/fuse', 'r+b')", "open('/dev/vda', 'r+b')", "open('/dev/sda', 'r+b')", "open('/dev/kmsg', 'w').write('HOST_MARK')", "open('/dev/tty', 'w').write('HOST_MARK')",
    "open('/proc/sys/kernel/hostname', 'w').write('HOST_MARK')", "open('/proc/self/oom_score_adj', 'w').write('-1000')", "open('/sys/power/state', 'w')",
    "os.pivot_root if False else os.chroot('/tmp')", "os.fchdir(os.open('/', os.O_RDONLY)) or open('HOST_SECRET'[1:]).read()", "os.statvfs('HOST_FOLDER').f_bfree and 0",
    "libc.truncate(b'HOST_TARGET', ctypes.c_long(1))", "libc.rename(b'HOST_TARGET', b'HOST_TARGET2')", "libc.syscall(316, -100, b'HOST_TARGET', -100, b'HOST_SECRET', 2)",
    "libc.syscall(437, -100, b'HOST_TARGET', (ctypes.c_uint64 * 3)(1, 0, 0), 24)", "libc.syscall(303, -100, b'HOST_SECRET', ctypes.create_string_buffer(200), ctypes.create_string_buffer(8), 0)",
    "libc.syscall(76, b'HOST_TARGET', 0)", "libc.syscall(77, 0, 0)", "libc.syscall(2, b'HOST_TARGET', 0o1001, 0)", "libc.syscall(85, b'HOST_TARGET', 0)",
    "libc.syscall(452, -100, b'HOST_TARGET', 0, 0)", "libc.syscall(280, -100, b'HOST_TARGET', None, 0)",
)  # fmt: skip


def _files(stream: random.Random) -> Attack:
    chosen = stream.sample(FILE_DEEDS, 4)
    return _deeds(f"drawn: {', '.join(chosen)[:60]}", "ctypes, os\nlibc = ctypes.CDLL(None)", *chosen)


FILES = solutions(
    "files",
    "No file or folder of the host is read, written, truncated, renamed, linked or removed, and none is made.",
    [_deeds(deed[:60], "ctypes, os\nlibc = ctypes.CDLL(None)", deed) for deed in FILE_DEEDS],
    words="wrong exception killed timeout",
    draw=_files,
    draws=6,
)

HARMLESS_NUMBERS = frozenset(
    {0, 7, 15, 23, 34, 60, 61, 130, 202, 219, 230, 231, 232, 247, 270, 271, 281, 93, 94, 73, 72, 139, 449}
)
"""System calls that would only end or hold up the caller."""
NUMBERS = {
    "namespaces and mounts": (272, 308, 165, 166, 155, 161, 428, 429, 430, 431, 432, 433, 442, 457, 458),
    "identity": (105, 106, 113, 114, 116, 117, 119, 122, 123, 126),
    "other processes": (
        101,
        310,
        311,
        312,
        434,
        438,
        440,
        448,
        424,
        62,
        200,
        234,
        129,
        297,
        142,
        144,
        203,
        251,
        302,
        314,
    ),
    "kernel doors": (
        425,
        426,
        427,
        321,
        323,
        298,
        103,
        173,
        172,
        246,
        320,
        175,
        313,
        176,
        169,
        167,
        168,
        212,
        180,
        156,
        134,
        153,
        154,
    ),
    "keys": (248, 249, 250),
    "shared memory and queues": (29, 30, 31, 64, 65, 66, 68, 69, 70, 71, 240, 241, 242, 243, 244, 245),
    "events": (253, 254, 255, 294, 300, 301, 282, 283, 284, 285, 290, 222, 206, 207, 208, 209, 210),
    "memory of a strange kind": (319, 447, 329, 330, 331, 237, 238, 239, 256, 279, 325, 216),
    "settings": (157, 158, 135, 136, 317, 444, 445, 446, 305, 227, 159, 164, 170, 171, 160),
    "copies": (275, 276, 278, 326, 40, 187, 221, 425),
}


def _numbers(name: str, numbers: tuple[int, ...], arguments: tuple[int, ...]) -> Attack:
    return calls(
        name,
        f"import ctypes\nlibc = ctypes.CDLL(None)\nbox = ctypes.create_string_buffer(4096)\nfound = []\n"
        f"for n in {numbers}:\n    for a in ({arguments}, (ctypes.byref(box),) * 6):\n        found.append(libc.syscall(n, *a))\n"
        "return found",
    )


def _draw_numbers(stream: random.Random) -> Attack:
    numbers = tuple(n for n in stream.sample(range(463), 24) if n not in HARMLESS_NUMBERS)
    arguments = tuple(stream.choice((0, 1, 2, 3, -1, 16, 4096, 1 << 28, -100)) for _ in range(6))
    return _numbers(f"{len(numbers)} numbers from {numbers[0]} with {arguments}", numbers, arguments)


NUMBERED = solutions(
    "system calls by number",
    "Only listed system calls pass, whatever their arguments; the rest is refused before the kernel looks at it.",
    [_numbers(name, numbers, (0, 0, 0, 0, 0, 0)) for name, numbers in NUMBERS.items()]
    + [
        calls("personality", "import ctypes\nreturn [ctypes.CDLL(None).personality(p) for p in (0x0040000, 0x0400000, 8, -1)]"),
        calls("prctl", "import ctypes\nc = ctypes.CDLL(None)\nreturn [c.prctl(o, a, 0, 0, 0) for o in (1, 3, 4, 8, 15, 22, 23, 24, 29, 35, 36, 38, 39, 40, 41, 47, 53, 0x59616d61) for a in (0, 1, 2, -1)]"),
        calls("another filter", "import ctypes\nc = ctypes.CDLL(None)\nreturn [c.prctl(22, 2, ctypes.create_string_buffer(16), 0, 0), c.syscall(317, 1, 0, 0), c.syscall(317, 1, 8, ctypes.create_string_buffer(16))]"),
        calls("32-bit system calls", "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7); m.write(b'\\xb8\\x02\\0\\0\\0\\xcd\\x80\\xc3')\nreturn ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()"),
        calls("32-bit code segment", "import ctypes, mmap\nm = mmap.mmap(-1, 4096, prot=7, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x40)\nm.write(b'\\x6a\\x23\\x48\\x8d\\x05\\x02\\0\\0\\0\\x50\\x48\\xcb\\xb8\\x02\\0\\0\\0\\xcd\\x80')\nreturn ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))()"),
        calls("x32 system calls", "import ctypes\nreturn [ctypes.CDLL(None).syscall(0x40000000 + n, 0, 0, 0) for n in (57, 39, 41, 59, 520, 512)]"),
        calls("numbers beyond the table", "import ctypes\nreturn [ctypes.CDLL(None).syscall(n, 0, 0, 0) for n in (-1, 500, 1023, 1 << 16, 1 << 29, (1 << 31) - 1)]"),
        calls("the clock", "import time\ntry: time.clock_settime(0, 0.0)\nexcept OSError: return 0\nreturn 1"),
        calls("characters for the terminal", "import fcntl\nreturn fcntl.ioctl(0, 0x5412, b'x')"),
        calls("ioctl on everything", "import fcntl, os\nfor fd in range(12):\n    for r in (0x5401, 0x5412, 0x5414, 0x541b, 0x541d, 0x5421, 0x5423, 0x4b3a, 0x5603, 0xae01, 0x40045431, 0x801c581f):\n        try: fcntl.ioctl(fd, r, bytes(256))\n        except (OSError, ValueError): pass\nreturn 1"),
        calls("fcntl on everything", "import fcntl\nfor fd in range(12):\n    for c in (5, 6, 8, 10, 1024, 1026, 1032, 1033, 1035, 1036, 1037):\n        for a in (0, 1, 9, HOST_PID):\n            try: fcntl.fcntl(fd, c, a)\n            except (OSError, ValueError): pass\nreturn 1"),
        _deeds("identity by name", "os", "os.setuid(0)", "os.setgid(0)", "os.setgroups([0])", "os.setresuid(0, 0, 0)", "os.setregid(0, 0)", "os.setreuid(65534, 0)"),
        _deeds("namespaces by name", "ctypes, os\nlibc = ctypes.CDLL(None)", *(f"libc.unshare({flag})" for flag in (0x10000000, 0x00020000, 0x02000000, 0x04000000, 0x20000000, 0x40000000, 0x08000000, 0x80)), "libc.mount(b'x', b'/tmp', b'tmpfs', 0, 0)", "libc.umount2(b'/', 2)", "libc.chroot(b'/tmp')"),
    ],
    words="wrong exception killed timeout not-plain-data",
    draw=_draw_numbers,
    draws=8,
)  # fmt: skip

FAMILIES: tuple[Family, ...] = (NETWORK, PROCESSES, KILLS, FILES, NUMBERED)
