"""The first process of a room: lays out its view, gives up what it can do, then runs commands and reports facts.

Everything of the room is below it and ends with it. A command of its own process (`run`: initial scripts, testings), or
a line for the one shell of an episode (`act`, see `shell`).
"""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import signal
import socket
import time
from collections.abc import Mapping, Sequence
from typing import Any

from evosyn.sandbox._inside.seccomp import Filter
from evosyn.worlds.shell._inside import archive, guard, kernel
from evosyn.worlds.shell._inside.output import Output
from evosyn.worlds.shell._inside.shell import Shell

FILE_BYTES = 64 << 20
LOOK_S = 0.1
"""How often to look how much processor time was used, once a command could be over its limit."""
_TICK = os.sysconf("SC_CLK_TCK")


class FirstProcess:
    """What the first process of a room does."""

    def __init__(self, link: socket.socket, config: Mapping[str, Any]) -> None:
        self._link = link
        self._config = config
        self._shell: Shell | None = None
        self._environment: dict[str, str] = {}

    def live(self, lower: Sequence[str], request: Mapping[str, Any]) -> None:
        """Make the room and answer commands; returns never."""
        try:
            self._begin(lower, request)
            while True:
                data, handles, _, _ = socket.recv_fds(self._link, 1 << 17, 1)
                if not data:
                    os._exit(0)
                with os.fdopen(handles[0], "rb") as file:
                    text = file.read()
                self._answer(json.loads(data), text)
        finally:  # whatever it was, the keeper begins anew
            os._exit(1)

    def _begin(self, lower: Sequence[str], request: Mapping[str, Any]) -> None:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # which no process of the room can send to its first one
        kernel.dumpable(True)  # else our own files of /proc are not ours
        try:
            self._make(lower, request)
        except OSError as error:
            with contextlib.suppress(OSError):
                self._reply({"short" if error.errno in kernel.SHORT else "error": str(error)})
            os._exit(1)
        self._reply({"ready": True})

    def _reply(self, reply: Mapping[str, Any], output: bytes = b"") -> None:
        self._link.send(json.dumps(reply).encode() + b"\n" + output)

    # ------------------------------------------------------------------------------------------------- the view
    def _make(self, lower: Sequence[str], request: Mapping[str, Any]) -> None:
        self._environment = dict(request["environment"])
        own_net = kernel.NEWNET if request["net"] else 0
        kernel.unshare(kernel.NEWNS | kernel.NEWIPC | kernel.NEWUTS | own_net)
        if own_net:
            kernel.loopback_up()
        socket.sethostname("room")
        trees = {f"dev/{name}": kernel.tree_of(f"/dev/{name}") for name in os.listdir("/dev")}
        if self._config["usr"]:
            trees["usr"] = kernel.tree_of("/usr")
        before = guard.Before("/before", self._config["consulted"], trees) if request["guarded"] else None
        solution_layers = [] if request["net"] else request["layers"][request["first"] :]
        layers = [os.open(f"/store/layers/{name}", archive.FOLDER) for name in solution_layers]
        options = f"lowerdir={':'.join(lower)},upperdir=/room/upper,workdir=/room/work,userxattr"
        kernel.mount("room", "/room/root", "overlay", 0, options)
        kernel.change_root("/room/root")
        if before:
            before.restore()
        for name in ("proc", "dev"):
            guard.folder(f"/{name}")
        kernel.mount("proc", "/proc", "proc", kernel.NOSUID | kernel.NODEV | kernel.NOEXEC)
        _devices()
        if before:
            guard.lay_python()
        for target, tree in trees.items():
            guard.lay(tree, f"/{target}")
        for layer in layers:
            guard.cut_links(layer, before.links if before else ())
        kernel.mount("/proc/sys", "/proc/sys", None, kernel.BIND)
        kernel.mount("none", "/proc/sys", None, kernel.REMOUNT | kernel.BIND | kernel.RDONLY | 14)
        kernel.leave_old_root()
        self._confine()

    def _confine(self) -> None:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
        resource.setrlimit(resource.RLIMIT_FSIZE, (FILE_BYTES, FILE_BYTES))
        if self._config["memory_mb"]:
            most = self._config["memory_mb"] << 21
            resource.setrlimit(resource.RLIMIT_AS, (most, most))
        if not Filter(self._config["filter"].encode("latin-1")).install():
            raise OSError("the filter of system calls was refused")
        kernel.keep_capabilities()
        kernel.dumpable(False)
        signal.signal(signal.SIGXFSZ, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)
        os.umask(0o022)

    # ------------------------------------------------------------------------------------------------- commands
    def _answer(self, request: Mapping[str, Any], text: bytes) -> None:
        if request["how"] == "run":
            script, *arguments = text.split(b"\0")
            argv = [script if word == "" else os.fsencode(word) for word in request["argv"]]
            reply, output = self._run([*argv, *arguments], request)
        else:
            reply, output = self._act(text, request)
        self._reply(reply, output)

    def _act(self, text: bytes, request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        if self._shell is None:
            self._shell = Shell(self._environment, request["cwd"])
        try:
            self._shell.ready(request["output"])
        except OSError as error:
            if error.errno not in kernel.SHORT:
                raise
            return {"short": str(error)}, b""
        return self._shell.act(text, request["wall_s"], request["output"])

    def _run(self, argv: list[bytes], request: Mapping[str, Any]) -> tuple[dict[str, Any], bytes]:
        """One command in a process of its own: exit status or signal, the seconds it took, its two outputs; `short`
        where there is too little to start it, `refused` where it is none."""
        with contextlib.suppress(OSError):
            os.chdir(request["cwd"])
        outputs = list[Output]()
        began = time.monotonic()
        try:
            outputs += [Output(request["output"]), Output(request["output"])]
            pid = spawn(argv, self._environment, [output.write_end for output in outputs])
        except (OSError, ValueError) as error:
            short = isinstance(error, OSError) and error.errno in kernel.SHORT
            return {"short" if short else "refused": str(error)}, b""
        finally:
            for output in outputs:
                output.close_writing()
        status = _until(pid, outputs, request["cpu_s"], request["wall_s"])
        seconds = time.monotonic() - began
        if status is None or not request["stays"]:
            kill_all()
        reply = {
            "exit": os.waitstatus_to_exitcode(status) if status is not None else None,
            "seconds": seconds,
            "sizes": [len(output.data) for output in outputs],
            "truncated": any(output.lost for output in outputs),
        }
        return reply, b"".join(bytes(output.data) for output in outputs)


def spawn(argv: Sequence[bytes], environment: Mapping[str, str], outputs: Sequence[int]) -> int:
    """Start a program in a session of its own, without input."""
    actions: list[tuple[Any, ...]] = [(os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0)]
    actions += [(os.POSIX_SPAWN_DUP2, handle, number) for number, handle in zip((1, 2), outputs, strict=True)]
    return os.posix_spawnp(argv[0], list(argv), dict(environment), file_actions=actions, setsid=True)


def _until(pid: int, outputs: Sequence[Output], cpu_s: float, wall_s: float) -> int | None:
    """Read until a process has ended: its status, None where it was over its limits."""
    began = time.monotonic()
    polled = select.poll()
    handle = os.pidfd_open(pid)
    polled.register(handle, select.POLLIN)
    for output in outputs:
        polled.register(output.read_end, select.POLLIN)
    by_handle = {output.read_end: output for output in outputs}
    try:
        while True:
            passed = time.monotonic() - began
            if passed > wall_s or (passed > cpu_s and processor_s() > cpu_s):
                return None
            events = polled.poll(1000 * (cpu_s - passed if passed < cpu_s else LOOK_S) + 1)
            for number, _ in events:
                if number in by_handle and not by_handle[number].read():
                    polled.unregister(number)
            if (status := reap(pid)) is not None:
                for output in outputs:
                    output.read_rest()
                return status
    finally:
        os.close(handle)


def reap(pid: int) -> int | None:
    """Bury whatever has ended; the status of this one, if it has."""
    found = None
    with contextlib.suppress(ChildProcessError):
        while True:
            ended, status = os.waitpid(-1, os.WNOHANG)
            if ended == 0:
                break
            if ended == pid:
                found = status
    return found


def processor_s() -> float:
    """Processor time of all processes here, and of those that have ended."""
    total = 0
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat", "rb") as file:
                words = file.read().rpartition(b")")[2].split()
                total += sum(map(int, words[11:13] if name != "1" else words[13:15]))
    return total / _TICK


def kill_all() -> None:
    """End everything but ourselves."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    with contextlib.suppress(ChildProcessError):
        while True:
            os.waitpid(-1, 0)


def _devices() -> None:
    kernel.mount("dev", "/dev", "tmpfs", kernel.NOSUID, "size=64k,nr_inodes=64,mode=755")
    for name, target in (("fd", "fd"), ("stdin", "fd/0"), ("stdout", "fd/1"), ("stderr", "fd/2")):
        os.symlink(f"/proc/self/{target}", f"/dev/{name}")
    for name in ("shm", "pts"):
        os.mkdir(f"/dev/{name}", 0o755)
    kernel.mount("shm", "/dev/shm", "tmpfs", kernel.NOSUID | kernel.NODEV, "size=16m,nr_inodes=1000,mode=1777")
    kernel.mount("pts", "/dev/pts", "devpts", kernel.NOSUID | kernel.NOEXEC, "newinstance,ptmxmode=0666,mode=620")
    os.symlink("pts/ptmx", "/dev/ptmx")
