"""What the memory test sends as a program: it looks for tokens in everything that its process can reach, and reports.

Read as text, and sent behind `finding` and before a few lines for each mode (`modes`). It knows no token but its own,
only the marker that all of them begin with. Answers are numbers of tokens, never tokens.
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence
from typing import Any

from tests.memory.finding import OS, PLAIN, SYS, Finder, load, suppress

# Sent from here on.

BLOCK, PAGE = 1 << 15, 1 << 12
OVERLAP = 160
"""Bytes of a block that are searched again with the next."""
MOST_BYTES = 400 << 20
HOLE_PAGES = 64
WALKED, WALKED_BYTES = 3000, 16 << 20
PLACES = ("/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run", ".", "/home", "/root", "/etc", "/")


class Memory:
    """This process's memory, by address; what is not mapped is noticed without a crash."""

    def __init__(self) -> None:
        self.ctypes = load("ctypes")
        self.libc = self.ctypes.CDLL(None, use_errno=True)
        self.write = self.libc.write
        self.write.argtypes = (self.ctypes.c_int, self.ctypes.c_void_p, self.ctypes.c_size_t)
        self.write.restype = self.ctypes.c_ssize_t
        self.out, self.into = OS.pipe()
        fcntl = load("fcntl")
        for handle in (self.out, self.into):
            fcntl.fcntl(handle, fcntl.F_SETFL, fcntl.fcntl(handle, fcntl.F_GETFL) | OS.O_NONBLOCK)

    def read(self, address: int, size: int) -> bytes:
        """The bytes from there on: fewer where the mapping ends, none where there is none."""
        got = self.write(self.into, address, size)
        if got < 0 and self.ctypes.get_errno() == 11:  # the pipe is full of what failed copies left
            with suppress(BlockingIOError):
                while OS.read(self.out, BLOCK):
                    pass
            got = self.write(self.into, address, size)
        return OS.read(self.out, got) if got > 0 else b""

    def listed(self) -> list[tuple[int, int]]:
        """Mappings by the kernel's own list, none where it is hidden; files on the disk that nobody writes aside."""
        text = ""
        with suppress(OSError):
            text = read_file("/proc/self/maps", 1 << 22).decode()
        found = []
        for line in text.splitlines():
            span, rights, _, _, _, *name = line.split(None, 5)
            path = name[0] if name else ""
            library = path.startswith("/") and "w" not in rights and not path.startswith(("/memfd:", "/dev/shm"))
            if "r" in rights and not library and path not in ("[vvar]", "[vsyscall]"):
                low, _, high = span.partition("-")
                found.append((int(low, 16), int(high, 16)))
        return found

    def grown(self, seeds: Iterable[int]) -> list[tuple[int, int]]:
        """The same, found by trying: from each address up and down to where nothing is mapped, small holes aside."""
        known: set[int] = set()
        found = []
        for seed in seeds:
            pending = [seed >> 12]
            while pending and len(known) * PAGE < MOST_BYTES:
                page = pending.pop()
                if page in known or not self.read(page << 12, 1):
                    continue
                low, high = self.end(page, -1, known), self.end(page, 1, known)
                known.update(range(low, high + 1))
                found.append((low << 12, high + 1 << 12))
                for edge, way in ((low, -1), (high, 1)):
                    beyond = range(edge + way * 2, edge + way * HOLE_PAGES, way)
                    pending += [near for near in beyond if near > 0 and near not in known and self.read(near << 12, 1)][
                        :1
                    ]
        for low, high in self.libraries():
            found = [part for span in found for part in ((span[0], min(span[1], low)), (max(span[0], high), span[1]))]
            found = [(first, last) for first, last in found if first < last]
        return found

    def end(self, page: int, way: int, known: set[int]) -> int:
        while page + way not in known and self.read(page + way << 12, 1):
            page += way
        return page

    def libraries(self) -> list[tuple[int, int]]:
        """What the loader has mapped from files without the right to write."""
        ctypes, found = self.ctypes, []
        word, half = ctypes.c_uint64, ctypes.c_uint32
        names = ("offset", "place", "_", "held", "size", "align")

        class Segment(ctypes.Structure):  # type: ignore[name-defined,misc]
            _fields_ = (("kind", half), ("rights", half), *((name, word) for name in names))

        class Library(ctypes.Structure):  # type: ignore[name-defined,misc]
            _fields_ = (("base", word), ("name", word), ("first", ctypes.POINTER(Segment)), ("count", ctypes.c_uint16))

        def note(library: Any, _size: int, _data: Any) -> int:
            for part in library[0].first[: library[0].count]:
                if part.kind == 1 and not part.rights & 2:
                    low = library[0].base + part.place
                    found.append((low & -PAGE, low + part.size + PAGE - 1 & -PAGE))
            return 0

        kind = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Library), ctypes.c_size_t, ctypes.c_void_p)
        self.libc.dl_iterate_phdr(kind(note), None)
        return sorted(found)

    def scan(self, finder: Finder, ranges: Sequence[tuple[int, int]]) -> None:
        for low, high in ranges:
            tail = b""
            while low < high and finder.bytes < MOST_BYTES:
                block = self.read(low, min(BLOCK, high - low))
                if not block:
                    low, tail = low + PAGE, b""
                    continue
                low += len(block)
                if block.strip(b"\0"):
                    finder.search(tail + block)
                tail = block[-OVERLAP:]

    def seeds(self, objects: Iterable[int]) -> list[int]:
        """Addresses to begin at: of objects, the heap's end, the environment on the stack, a function of a library."""
        pointer = self.ctypes.c_void_p
        self.libc.sbrk.restype = pointer
        places = [self.libc.sbrk(0) or 0, pointer.in_dll(self.libc, "environ").value or 0]
        places += [place - 1 for place in places]
        places.append(self.ctypes.cast(self.write, pointer).value or 0)
        return [*places, *sorted(objects)]


def read_file(path: str, most: int) -> bytes:
    handle = OS.open(path, OS.O_RDONLY | OS.O_NONBLOCK)
    try:
        data = b""
        while len(data) < most and (part := OS.read(handle, min(most - len(data), 1 << 20))):
            data += part
        return data
    finally:
        OS.close(handle)


def every_object() -> tuple[set[int], list[Any]]:
    """All that the collector knows and all that those refer to: the addresses of the objects, and those with data."""
    gc = load("gc")
    gc.unfreeze()
    seen: set[int] = set()
    leaves: list[Any] = []
    stack: list[Any] = [gc.get_objects(), list(SYS.modules.values()), list(SYS._current_frames().values())]
    seen |= {id(seen), id(stack), id(leaves)}
    while stack:
        some = stack[-2000:]
        del stack[-2000:]
        for found in gc.get_referents(*some):
            if id(found) not in seen:
                seen.add(id(found))
                kind = type(found)
                if kind.__name__ in PLAIN:
                    leaves.append(found)
                if kind is not str and kind is not bytes and kind is not int:
                    stack.append(found)
                if kind.__name__ == "code":  # the collector does not look into it
                    stack.append(found.co_consts)
    return seen, leaves


def every_frame(finder: Finder) -> None:
    """Variables of all frames of all threads and of tracebacks, and what they hold, some levels deep."""
    gc = load("gc")
    frames = [*SYS._current_frames().values(), SYS._getframe()]
    for error in (SYS.exc_info()[1], getattr(SYS, "last_value", None)):
        trace = getattr(error, "__traceback__", None)
        while trace is not None:
            frames.append(trace.tb_frame)
            trace = trace.tb_next
    level: list[Any] = []
    for frame in frames:
        while frame is not None:
            level += [dict(frame.f_locals), frame.f_globals, frame.f_builtins]
            frame = frame.f_back
    seen: set[int] = set()
    for _ in range(5):
        below = gc.get_referents(*level)
        level = []
        for found in below:
            if id(found) not in seen and type(found) is not type(SYS):
                seen.add(id(found))
                finder.look(found)
                level.append(found)


def every_descriptor(finder: Finder, control: bytes) -> None:
    """What is behind every open descriptor: by itself, by a duplicate and opened again; pipes too."""
    out, into = OS.pipe()
    OS.write(into, control)
    for handle in range(1024):
        with suppress(OSError):
            finder.search(content(handle))
        with suppress(OSError):
            finder.search(content_once(OS.dup(handle)))
        with suppress(OSError):
            finder.search(content_once(OS.open(f"/proc/self/fd/{handle}", OS.O_RDONLY | OS.O_NONBLOCK)))
    OS.close(out)
    OS.close(into)


def content_once(handle: int) -> bytes:
    try:
        return content(handle)
    finally:
        OS.close(handle)


def content(handle: int) -> bytes:
    """A whole file, or what waits in a pipe or socket; nothing of a device."""
    kind, data = OS.fstat(handle).st_mode & 0o170000, b""
    if kind == 0o100000:
        while part := OS.pread(handle, 1 << 20, len(data)):
            data += part
    elif kind in (0o010000, 0o140000):
        select = load("select")
        poller = select.poll()
        poller.register(handle, select.POLLIN)
        while any(event & select.POLLIN for _, event in poller.poll(0)) and (part := OS.read(handle, 1 << 16)):
            data += part
    return data


def every_variable(finder: Finder, memory: Memory, control: str) -> None:
    """Environment and arguments: Python's, the C library's and the kernel's."""
    OS.environ["CONTROL"] = control
    for text in (repr(OS.environ), repr(SYS.argv), repr(SYS.orig_argv)):
        finder.search(text.encode())
    ctypes = memory.ctypes
    pointers, at = ctypes.POINTER(ctypes.c_char_p).in_dll(memory.libc, "environ"), 0
    while pointers and pointers[at] is not None:
        finder.search(pointers[at])
        at += 1
    for name in ("environ", "cmdline", "comm"):
        with suppress(OSError):
            finder.search(read_file(f"/proc/self/{name}", 1 << 20))


def every_file(finder: Finder) -> bool:
    """What of the file system can be read, the places first where things are left behind; whether any could be."""
    pending = collections.deque(PLACES)
    walked = left = 0
    while pending and walked < WALKED and left < WALKED_BYTES:
        entries = []
        with suppress(OSError):
            entries = list(OS.scandir(pending.popleft()))
        for entry in entries:
            walked += 1
            with suppress(OSError):
                if entry.is_dir(follow_symlinks=False) and entry.path not in ("/proc", "/sys"):
                    pending.append(entry.path)
                elif entry.is_file(follow_symlinks=False) and entry.stat().st_size < 1 << 20:
                    data = read_file(entry.path, 1 << 20)
                    finder.search(data)
                    left += len(data)
    seen = b""
    with suppress(OSError):
        seen = read_file(OS.__file__, 1 << 20)
    return seen != b""


def every_process(finder: Finder, memory: Memory, ranges: Sequence[tuple[int, int]]) -> None:
    """The memory, environment and descriptors of other processes, by every way that there is."""
    pids = {OS.getppid(), *range(1, 300)}
    with suppress(OSError):
        pids |= {int(name) for name in OS.listdir("/proc") if name.isdigit()}
    for pid in sorted(pids - {OS.getpid(), 0}):
        for name in ("environ", "cmdline", "maps"):
            with suppress(OSError):
                finder.search(read_file(f"/proc/{pid}/{name}", 1 << 22))
        with suppress(OSError):
            for handle in OS.listdir(f"/proc/{pid}/fd"):
                with suppress(OSError):
                    finder.search(read_file(f"/proc/{pid}/fd/{handle}", 1 << 22))
        with suppress(OSError):
            peek_at_file(finder, OS.open(f"/proc/{pid}/mem", OS.O_RDONLY), ranges)
        peek_by_call(finder, memory, pid, ranges)
        pidfd = memory.libc.syscall(434, pid, 0)
        for number in range(64) if pidfd >= 0 else ():
            with suppress(OSError):
                finder.search(content_once(memory.libc.syscall(438, pidfd, number, 0)))


def peek_at_file(finder: Finder, handle: int, ranges: Sequence[tuple[int, int]]) -> None:
    for low, high in ranges:  # processes of one ancestor have the same places
        for place in range(low, high, BLOCK):
            with suppress(OSError, OverflowError):
                finder.search(OS.pread(handle, BLOCK + OVERLAP, place))
    OS.close(handle)


def peek_by_call(finder: Finder, memory: Memory, pid: int, ranges: Sequence[tuple[int, int]]) -> None:
    ctypes = memory.ctypes

    class Span(ctypes.Structure):  # type: ignore[name-defined,misc]
        _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))

    buffer = ctypes.create_string_buffer(BLOCK)
    for low, high in ranges:
        for place in range(low, high, BLOCK):
            here, there = Span(ctypes.addressof(buffer), BLOCK), Span(place, min(BLOCK, high - place))
            got = memory.libc.process_vm_readv(pid, ctypes.byref(here), 1, ctypes.byref(there), 1, 0)
            if got < 0 and ctypes.get_errno() in (1, 3, 38):  # not permitted, no such process, no such call
                return
            finder.search(buffer.raw[: max(got, 0)])


def lose(halves: Sequence[str]) -> None:
    """Make texts with a token, and free them."""
    texts = ["".join(halves) + "." * (200 + 7 * number) for number in range(64)]
    del texts


def scan(marker: str, own: Sequence[int], control: str, lost: Sequence[str], channels: str, most: int) -> str:
    """Look everywhere.

    Args:
        marker: what tokens begin with.
        own: numbers of the tokens that this program may know.
        control: a token of its own, to be put into the environment and into a pipe.
        lost: halves of its token that is only to be found in freed memory.
        channels: ways of looking: `m`emory, `g`arbage collector, `f`rames, `d`escriptors, `e`nvironment, files in
            `v`iew, `o`ther processes.
        most: characters of the report.

    Returns:
        `M1;`, for each channel a bit for each own token that it found; how many others there are; of which kinds;
        some of them with a checksum and the channels that found them; megabytes of memory read, whether a file could
        be; `END`.
    """
    finder, memory = Finder(marker), Memory()
    lose(lost)
    finder.channel = "m"  # first, before any other way has made copies
    objects, leaves = every_object()
    ranges = memory.listed() or memory.grown(memory.seeds(objects))
    memory.scan(finder, ranges)
    read = finder.bytes
    finder.channel = "f"
    every_frame(finder)
    finder.channel = "g"
    for leaf in leaves:
        finder.look(leaf)
    seen_file = False
    for finder.channel in channels:
        if finder.channel == "d":
            every_descriptor(finder, control.encode())
        elif finder.channel == "e":
            every_variable(finder, memory, control)
        elif finder.channel == "v":
            seen_file = every_file(finder)
        elif finder.channel == "o":
            every_process(finder, memory, ranges)
    return report(finder, own, channels, most, f"{read >> 20},{seen_file:d}")


def report(finder: Finder, own: Sequence[int], channels: str, most: int, figures: str) -> str:
    found, masks = finder.found, []
    for channel in channels:
        bits = [1 << bit for bit, number in enumerate(own) if channel in found.get(number, ())]
        masks.append(f"{channel}{sum(bits):x}")
    others = [(number, check) for number in set(found) - set(own) for check in finder.checks[number]]
    others.sort(key=lambda one: (one[0] & 0xFFFF) * 40503 & 0xFFFF)
    kinds = collections.Counter([number >> 16 for number, _ in others])
    counts = [f"{kind:x}:{count}" for kind, count in sorted(kinds.items())]
    head = ";".join(["M1", ",".join(masks), str(len(others)), ",".join(counts)])
    left = most - len(head) - len(figures) - 6
    shown = []
    for number, check in others:
        text = f"{number:05x}{check:04x}{''.join(sorted(found[number]))}"
        left -= len(text) + 1
        if left < 0:
            break
        shown.append(text)
    return ";".join([head, ",".join(shown), figures, "END"])
