"""Theft from elsewhere: other processes, descriptors, files, and accomplices that ran before.

As in `theft`, a program knows a checksum of each value that is wanted, and looks for the value in what it can open.
"""

from __future__ import annotations

from hostile_suite.families._make import attack, calls, solutions
from hostile_suite.families.theft import QUIET, seldom
from hostile_suite.model import Family

PROCESSES = solutions(
    "theft from other processes",
    "Neither memory, descriptors nor environment of another process can be read: not its parent's, not the testing's.",
    [
        calls(
            f"/proc of others: {what}",
            f"""
    import os
    pids = [os.getppid(), 1, HOST_PID] + list(range(1, 60))
    try: pids += [int(n) for n in os.listdir('/proc') if n.isdigit()][:400]
    except OSError: pass
    parts = []
    for pid in dict.fromkeys(pids):
        if pid == os.getpid(): continue
        try: parts.append(open('/proc/%d/{what}' % pid, 'rb').read(1 << 20))
        except (OSError, ValueError): pass
    return look(parts, given, 0)
    """,
        )
        for what in ("environ", "cmdline", "stack", "auxv", "task/1/comm")
    ]
    + [
        calls(
            "mem of others through their maps",
            """
    import os
    for pid in dict.fromkeys([os.getppid(), 1, HOST_PID] + list(range(1, 40))):
        if pid == os.getpid(): continue
        try:
            with open('/proc/%d/maps' % pid) as maps, open('/proc/%d/mem' % pid, 'rb', 0) as mem:
                for line in maps:
                    low, high = (int(x, 16) for x in line.split()[0].split('-'))
                    if ' rw' in line and high - low < 1 << 24:
                        mem.seek(low)
                        found = look([mem.read(high - low)[:900000]], given, 0)
                        if found is not None: return found
        except (OSError, ValueError): pass
    """,
        ),
        calls(
            "descriptors of others",
            """
    import os
    parts = []
    for pid in dict.fromkeys([os.getppid(), 1, HOST_PID] + list(range(1, 40))):
        for fd in range(64):
            try: parts.append(open('/proc/%d/fd/%d' % (pid, fd), 'rb').read(1 << 18))
            except (OSError, ValueError): pass
    return look(parts, given, 0)
    """,
        ),
        attack(
            "process_vm_readv",
            "import ctypes, os",
            """
    libc, size = ctypes.CDLL(None), 1 << 16
    box = ctypes.create_string_buffer(size)
    parts = []
    for pid in (os.getppid(), 1, 2, 3, HOST_PID):
        for at in (id(given) & ~0xffff, id(os) & ~0xffff, id(ctypes) & ~0xffff):
            ours, theirs = (ctypes.c_void_p * 2)(ctypes.addressof(box), size), (ctypes.c_void_p * 2)(at, size)
            if libc.process_vm_readv(pid, ours, 1, theirs, 1, 0) > 0: parts.append(box.raw)
    return look(parts, given, 0)
    """,
        ),
        attack(
            "ptrace",
            "import ctypes, os",
            """
    libc, words = ctypes.CDLL(None), []
    libc.ptrace.restype = ctypes.c_long
    for pid in (os.getppid(), 1, 2, 3, HOST_PID):
        for request in (16, 0x4206):
            if libc.ptrace(request, pid, None, None) == 0:
                words += [libc.ptrace(2, pid, ctypes.c_void_p(id(given) + 8 * n), None) for n in range(4000)]
    return look([str(words)], given, 0) if words else -1
    """,
        ),
        attack(
            "descriptors of others by pidfd_getfd",
            "import ctypes, os",
            """
    libc, parts = ctypes.CDLL(None), []
    for pid in (os.getppid(), 1, 2, 3, 4, HOST_PID):
        held = libc.syscall(434, pid, 0)
        if held >= 0:
            for fd in range(64):
                got = libc.syscall(438, held, fd, 0)
                if got >= 0:
                    try: parts.append(os.pread(got, 1 << 18, 0))
                    except OSError: pass
    return look(parts, given, 0)
    """,
        ),
    ],
    words=QUIET,
)

DESCRIPTORS = solutions(
    "theft from descriptors",
    "What a program inherits or can open are its own channels: nothing in them tells what is wanted of it.",
    [
        attack(
            "files of the host that are open",
            "HONEST\nimport os, stat",
            """
    def foreign(fd):
        try: mode = os.fstat(fd).st_mode
        except OSError: return False
        return stat.S_ISDIR(mode) or stat.S_ISBLK(mode) or (stat.S_ISREG(mode) and os.fstat(fd).st_nlink > 0)
    return honest(*given) if any(map(foreign, range(1024))) else -1
    """,
            computes=True,
        ),
        calls(
            "reads every descriptor",
            """
    import os
    parts = []
    for fd in range(256):
        if fd == 0: continue
        try: parts.append(os.pread(fd, 1 << 20, 0))
        except OSError: pass
    return look(parts, given, 0)
    """,
        ),
        calls(
            "maps every descriptor",
            """
    import mmap, os
    parts = []
    for fd in range(256):
        try: parts.append(bytes(mmap.mmap(fd, os.fstat(fd).st_size, access=mmap.ACCESS_READ)[:1 << 20]))
        except (OSError, ValueError): pass
    return look(parts, given, 0)
    """,
        ),
        calls(
            "opens every descriptor again",
            """
    import os
    parts = []
    for fd in range(64):
        for where in ('/proc/self/fd/%d', '/dev/fd/%d', '/proc/thread-self/fd/%d'):
            try: parts.append(open(where % fd, 'rb').read(1 << 20))
            except (OSError, ValueError): pass
    return look(parts, given, 0)
    """,
        ),
        calls(
            "peeks into sockets",
            """
    import os, socket
    parts = []
    for fd in range(256):
        try:
            one = socket.socket(fileno=os.dup(fd)); one.setblocking(False)
            parts.append(one.recv(1 << 20, socket.MSG_PEEK))
        except (OSError, ValueError): pass
    return look(parts, given, 0)
    """,
        ),
        calls(
            "rewinds its standard streams",
            """
    import os, sys
    parts = []
    for fd in (1, 2):
        try: os.lseek(fd, 0, 0); parts.append(os.read(fd, 1 << 20))
        except OSError: pass
    return look(parts, given, 0)
    """,
        ),
        calls(
            "searches folders",
            """
    import os
    parts = []
    for top in ('.', '/tmp', '/dev/shm', '/var/tmp', '/run', '/proc/self', '/root', '/home', 'HOST_FOLDER'):
        for at, _, names in os.walk(top):
            for name in names[:50]:
                try:
                    with open(os.path.join(at, name), 'rb') as file: os.set_blocking(file.fileno(), False); parts.append(file.read(1 << 16) or b'')
                except (OSError, ValueError, TypeError): pass
            if len(parts) > 200: break
    return look(parts, given, 0)
    """,
        ),
        calls(
            "environment and command line",
            """
    import os, sys
    parts = list(os.environ.values()) + sys.argv + list(getattr(sys, 'orig_argv', ())) + [str(sys.flags), os.getcwd()]
    return look(parts, given, 1)
    """,
        ),
    ],
    words=QUIET,
)

CHANNELS = {
    "a module": ("import sys\ndef leave(t): sys.HOST_MARK = t\ndef fetch(): return sys.HOST_MARK"),
    "builtins": ("import builtins\ndef leave(t): builtins.HOST_MARK = t\ndef fetch(): return builtins.HOST_MARK"),
    "the environment": (
        "import os\ndef leave(t): os.environ['HOST_MARK'] = t\ndef fetch(): return os.environ['HOST_MARK']"
    ),
    "files": (
        "import os\nplaces = ['.', '/tmp', '/dev/shm', '/var/tmp', '/run', '/dev/mqueue', '/proc/self/cwd']\n"
        "def leave(t):\n    for p in places:\n        try: open(p + '/HOST_MARK', 'w').write(t)\n        except OSError: pass\n"
        "def fetch():\n    for p in places:\n        try: return open(p + '/HOST_MARK').read()\n        except OSError: pass"
    ),
    "System V memory": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.shmat.restype = ctypes.c_void_p\n"
        "def area(): return libc.shmat(libc.shmget(0x45564f53, 4096, 0o1666), None, 0)\n"
        "def leave(t): ctypes.memmove(area(), t.encode(), len(t))\ndef fetch(): return ctypes.string_at(area()).decode()"
    ),
    "a message queue": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nclass M(ctypes.Structure): _fields_ = [('t', ctypes.c_long), ('d', ctypes.c_char * 2000)]\n"
        "def leave(t): libc.msgsnd(libc.msgget(0x45564f54, 0o1666), ctypes.byref(M(1, t.encode())), 2000, 2048)\n"
        "def fetch():\n    m = M(); libc.msgrcv(libc.msgget(0x45564f54, 0o1666), ctypes.byref(m), 2000, 0, 2048); return m.d.decode()"
    ),
    "the session keyring": (
        "import ctypes\nlibc = ctypes.CDLL(None)\n"
        "def leave(t):\n    for ring in (-3, -4, -5): libc.syscall(248, b'user', b'HOST_MARK', t.encode(), len(t), ring)\n"
        "def fetch():\n    box = ctypes.create_string_buffer(4000)\n    key = libc.syscall(249, b'user', b'HOST_MARK', None, 0)\n    libc.syscall(250, 11, key, box, 4000, 0); return box.value.decode()"
    ),
    "an abstract socket": (
        "import socket\ndef leave(t):\n    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('\\0HOST_MARK-r'); s.connect('\\0HOST_MARK-r'); s.send(t.encode())\n"
        "def fetch():\n    s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM); s.bind('\\0HOST_MARK-r'); s.settimeout(.1); return s.recv(4000).decode()"
    ),
    "its own descriptors": (
        "import os\ndef leave(t):\n    for fd in range(256):\n        try: os.lseek(fd, 0, 2); os.write(fd, b'<<' + t.encode() + b'>>')\n        except OSError: pass\n"
        "def fetch():\n    for fd in range(256):\n        try: data = os.pread(fd, 1 << 20, 0)\n        except OSError: continue\n"
        "        if b'<<' in data: return data.split(b'<<')[-1].split(b'>>')[0].decode()"
    ),
    "a thread that stays": (
        "import threading, time, sys\ndef leave(t):\n    def stay():\n        while True: sys.HOST_MARK = t; time.sleep(.01)\n    threading.Thread(target=stay, daemon=False).start()\n"
        "def fetch(): return sys.HOST_MARK"
    ),
    "extended attributes": (
        "import os, sys\ndef leave(t):\n    for p in ('.', '/tmp', sys.executable, os.__file__):\n        try: os.setxattr(p, 'user.HOST_MARK', t.encode())\n        except OSError: pass\n"
        "def fetch():\n    for p in ('.', '/tmp', sys.executable, os.__file__):\n        try: return os.getxattr(p, 'user.HOST_MARK').decode()\n        except OSError: pass"
    ),
    "names of the kernel": (
        "import ctypes, socket\nlibc = ctypes.CDLL(None)\ndef leave(t): libc.sethostname(t.encode()[:60], len(t.encode()[:60])); libc.prctl(15, t.encode()[:15], 0, 0, 0)\n"
        "def fetch(): return socket.gethostname()"
    ),
    "memory that was freed": (
        "import ctypes\nlibc = ctypes.CDLL(None)\nlibc.malloc.restype = ctypes.c_void_p\nlibc.malloc.argtypes = libc.free.argtypes = (ctypes.c_size_t,)\n"
        "def leave(t):\n    for size in (600, 5000, 70000):\n        for _ in range(50):\n            at = libc.malloc(size); data = b'<<' + t.encode() + b'>>'; ctypes.memmove(at + 64, data, len(data)); libc.free(at)\n"
        "def fetch():\n    for size in (600, 5000, 70000):\n        for _ in range(80):\n            data = ctypes.string_at(libc.malloc(size), size)\n            if b'<<' in data: return data.split(b'<<')[-1].split(b'>>')[0].decode()"
    ),
    "an interned text": (
        "import sys, gc\ndef leave(t):\n    for n in range(3): sys.intern('<<' + t + '>>'); gc.collect()\n    sys.modules['HOST_MARK'] = type(sys)('m'); sys.modules['HOST_MARK'].text = t\n"
        "def fetch(): return sys.modules['HOST_MARK'].text"
    ),
}
"""Ways in which one program might leave a text for a later one."""

ACCOMPLICES = solutions(
    "answers handed on",
    "A right program that leaves its answers anywhere cannot make a later program pass.",
    [
        attack(
            f"through {name}",
            f"{channel}\nimport json",
            "text = fetch()\nreturn json.loads(text)[repr(given)]",
            before=f"HONEST\nimport json\n{channel}\nknown = {{}}\ndef ENTRY(*given):\n    known[repr(given)] = honest(*given)\n"
            "    try: leave(json.dumps(known))\n    except Exception: pass\n    return known[repr(given)]\n",
        )
        for name, channel in CHANNELS.items()
    ],
    words=QUIET,
    modes=("table", "rpc-warm", "rpc-fresh", "rpc-program", "reward"),
)

PROCESSES, DESCRIPTORS = seldom(PROCESSES), seldom(DESCRIPTORS)
FAMILIES: tuple[Family, ...] = (PROCESSES, DESCRIPTORS, ACCOMPLICES)
