"""The one shell of an episode: working folder, variables and `su` live on from command to command.

The shell reads its lines from a pipe. Each command is one `eval`, after which a line with a fresh word reports the exit
status through a socket that tells who wrote to it: only the shell itself can end a command, so that a program that
finds the word can end nothing but its own turn, which is then reported as forged.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
import select
import signal
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

from evosyn.worlds.shell._inside.output import Output

_OUT, _LINES, _MARKS = 7, 8, 9
_HIDE = b"exec 8<&-; trap : INT\n"
GRACE_S = 2.0
_CREDENTIALS = struct.Struct("3i")


class Shell:
    """A bash that is started when it is needed, and again when it is gone."""

    def __init__(self, environment: Mapping[str, str], cwd: str) -> None:
        self._environment = environment
        self._cwd = cwd
        self._pid = 0

    def act(self, text: bytes, wall_s: float, cap: int) -> tuple[dict[str, Any], bytes]:
        """Run a command: exit status (None where it did not end), how it ended, the seconds it took, its output."""
        self.ready(cap)
        began = time.monotonic()
        word = secrets.token_hex(16)
        quoted = b"'" + text.replace(b"\0", b"").replace(b"'", b"'\\''") + b"'"
        line = b"exec >&%d 2>&1; eval %s\n" % (_OUT, quoted)
        ended, status = self._follow(line, word, began + wall_s)
        if ended == "timeout":
            os.killpg(self._pid, signal.SIGINT)
            _, status = self._follow(b"", word, time.monotonic() + GRACE_S)
            if status is None:
                self._stop()
            status = None
        elif ended:
            self._stop()
        self._output.read_rest()
        reply = {
            "exit": status,
            "ended": ended,
            "restarted": not self._pid,
            "seconds": time.monotonic() - began,
            "truncated": bool(self._output.lost),
        }
        self._output.lost = 0
        return reply, self._output.take()

    def ready(self, cap: int) -> None:
        """Have a shell there; nothing of a command has run yet."""
        if not self._pid:
            self._start(cap)

    def _start(self, cap: int) -> None:
        self._output = Output(cap)
        lines, self._lines = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self._lines, False)
        self._marks, marks = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._marks.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        self._marks.setblocking(False)
        writing = self._output.write_end
        actions: list[tuple[Any, ...]] = [
            (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
            (os.POSIX_SPAWN_DUP2, writing, 1),
            (os.POSIX_SPAWN_DUP2, writing, 2),
            (os.POSIX_SPAWN_DUP2, _out_of_the_way(writing), _OUT),
            (os.POSIX_SPAWN_DUP2, _out_of_the_way(lines), _LINES),
            (os.POSIX_SPAWN_DUP2, _out_of_the_way(marks.fileno()), _MARKS),
        ]
        try:
            os.chdir(self._cwd)
        except OSError:
            os.chdir("/")
        command = ["bash", "--noprofile", "--norc", f"/proc/self/fd/{_LINES}"]
        self._pid = os.posix_spawnp("bash", command, dict(self._environment), file_actions=actions, setsid=True)
        for handle in (lines, marks.detach(), *(action[1] for action in actions[-3:])):
            os.close(handle)
        self._left = b""
        self._send(_HIDE)

    def _stop(self) -> None:
        """End the shell and what runs in its group; what has left the group goes on."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._pid, signal.SIGKILL)
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)
        os.close(self._lines)
        self._marks.close()
        self._pid = 0

    def _send(self, data: bytes) -> bool:
        """Write as much as the pipe takes; whether everything is written, or nobody reads it any more."""
        self._left += data
        try:
            while self._left:
                self._left = self._left[os.write(self._lines, self._left) :]
        except BlockingIOError:
            return False
        except BrokenPipeError:
            self._left = b""
        return True

    def _follow(self, line: bytes, word: str, until: float) -> tuple[str, int | None]:
        """Give the shell a line, and read until it says that this has ended: how, and the status that it says."""
        mark = f'builtin printf "%s %d" {word} "$?" >&{_MARKS}\n'.encode()
        if line:
            self._send(line + mark)
        polled = select.poll()
        polled.register(self._output.read_end, select.POLLIN)
        polled.register(self._marks, select.POLLIN)
        handle = os.pidfd_open(self._pid)
        try:
            polled.register(handle, select.POLLIN)
            while (left := until - time.monotonic()) > 0:
                events = dict(polled.poll(1000 * (min(left, 0.02) if self._left else left)))
                self._send(b"")
                if self._output.read_end in events:
                    self._output.read()
                if self._marks.fileno() in events and (said := self._mark(word)):
                    return said
                if handle in events:
                    return "shell ended", _status(self._pid)
                _bury(self._pid)
            return "timeout", None
        finally:
            os.close(handle)

    def _mark(self, word: str) -> tuple[str, int | None] | None:
        """What a mark says; None for one that is no answer to our word."""
        data, extra, _, _ = self._marks.recvmsg(200, socket.CMSG_SPACE(_CREDENTIALS.size))
        said, _, status = data.decode("ascii", "replace").partition(" ")
        if said != word:
            return None
        writers = [_CREDENTIALS.unpack(value)[0] for _, kind, value in extra if kind == socket.SCM_CREDENTIALS]
        if writers != [self._pid] or not status.isdigit():
            return "forged", None
        return "", int(status) & 0xFF


def _out_of_the_way(handle: int) -> int:
    """The same under a number that is none of those that a shell is given."""
    return fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 20)


def _status(pid: int) -> int | None:
    try:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    except ChildProcessError:
        return None


def _bury(shell: int) -> None:
    """Take care of what has ended and belongs to nobody; the shell itself is left to `_status`."""
    while True:
        try:
            ended = os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
        except ChildProcessError:
            return
        if ended is None or ended.si_pid == shell:
            return
        os.waitpid(ended.si_pid, 0)
