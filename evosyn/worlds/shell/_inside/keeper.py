"""A keeper: holds unpacked layers, makes one room at a time over them, hands requests on to it, and freezes it.

It is root of its user namespace and never runs a byte of anybody: what it reads of a room are its files, by handle
(`archive`), and the frames of the room's first process, which are bounded. What ends a room from inside ends the
command alone: its files stay, and a new first process begins over them. Requests are packets: a line of JSON, maybe
with an open file; replies a line of JSON and the bytes of outputs.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import select
import signal
import socket
import tarfile
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping
from typing import Any

from evosyn.worlds.shell._inside import archive, kernel
from evosyn.worlds.shell._inside.room import FirstProcess

PACKET = 200_000
GRACE_S = 15.0
"""What a room may take longer than it was told before it is given up."""
LOOK_S = 0.05
TRIES = 10
"""How often a room begins anew where there is too little for a command: what has ended is not always gone at once."""
_SPARE = "/store/spare"


class RoomEnded(Exception):
    """Nothing runs in a room any more, or it does not answer: the doing of what ran there, since we are here.

    Attributes:
        late: it did not answer in time.
    """

    def __init__(self, why: str, *, late: bool = False) -> None:
        super().__init__(why)
        self.late = late


class Shortage(Exception):
    """The machine has too little for a room. What runs in one may have used it up; where nothing does, it is ours."""


class Keeper:
    """What the keeper's process does."""

    def __init__(self, link: socket.socket, config: Mapping[str, Any]) -> None:
        self._link = link
        self._config = config
        self._numbers = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
        self._layers: OrderedDict[str, int] = OrderedDict()  # name -> bytes, longest unused first
        self._made: dict[str, archive.Span] = {}  # of layers: when they were worked on
        self._below: list[archive.Span] = []
        self._before: tuple[str, ...] | None = None
        self._view: tuple[list[str], dict[str, Any]] | None = None  # of the open room
        self._pid = 0
        self._room: socket.socket | None = None

    def serve(self) -> None:
        """Answer until there is nobody to answer to."""
        for name in ("/store/layers", _SPARE):
            os.mkdir(name, 0o755)
        self._reply({"ready": True})
        while True:
            data, handles, _, _ = socket.recv_fds(self._link, PACKET, 1)
            if not data:
                os._exit(0)
            request = json.loads(data)
            try:
                reply, output = getattr(self, f"do_{request.pop('do')}")(request, *handles)
            except (OSError, ValueError, ArithmeticError, archive.LayerTooLarge, tarfile.TarError) as error:
                short = isinstance(error, OSError) and error.errno in kernel.SHORT
                reply, output = {"lost" if short else "error": str(error)}, b""
            except Shortage as error:
                reply, output = {"lost": str(error)}, b""
            finally:
                for handle in handles:
                    os.close(handle)
            self._reply(reply, output)

    def _reply(self, reply: Mapping[str, Any], output: bytes = b"") -> None:
        self._link.send(json.dumps(reply).encode() + b"\n" + output)

    # ------------------------------------------------------------------------------------------------- layers
    def do_layers(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Which of these have to be sent."""
        return {"missing": [name for name in request["names"] if name not in self._layers]}, b""

    def do_layer(self, request: dict[str, Any], handle: int) -> tuple[dict[str, Any], bytes]:
        """Unpack one, at the cost of those that nobody used for longest."""
        name = request["name"]
        while self._layers and sum(self._layers.values()) > self._config["store_mb"] << 19:
            self._forget(next(iter(self._layers)))
        folder = f"/store/layers/{name}"
        with _files_decide():
            try:
                made = self._unpack(handle, folder)
            except OSError:
                while self._layers:  # there was no room for it: try it alone
                    self._forget(next(iter(self._layers)))
                self._remove(folder)
                made = self._unpack(handle, folder)
            if made is not None:
                self._made[name] = made
            self._layers[name] = _size(folder)
        return {}, b""

    def _unpack(self, handle: int, folder: str) -> archive.Span | None:
        os.mkdir(folder, 0o755)
        os.lseek(handle, 0, os.SEEK_SET)
        with os.fdopen(os.dup(handle), "rb") as source:
            return archive.unpack(source, folder)

    def _forget(self, name: str) -> None:
        if self._before is not None and name in self._before:
            kernel.unmount("/before")
            self._before = None
        del self._layers[name]
        self._made.pop(name, None)
        self._remove(f"/store/layers/{name}")

    def _remove(self, folder: str) -> None:
        archive.remove(folder)

    def do_image(self, _request: dict[str, Any], handle: int) -> tuple[dict[str, Any], bytes]:
        """Unpack an image into its folder, and say what it is."""
        with os.fdopen(os.dup(handle), "rb") as source:
            archive.unpack(source, "/image", whole=True)
        return {"digest": archive.pack("/image", None, (0.0, 1e12))}, b""

    def do_empty(self, _request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Take an image away again."""
        for name in os.listdir("/image"):
            archive.remove(f"/image/{name}")
        return {}, b""

    # ------------------------------------------------------------------------------------------------- rooms
    def do_open(self, request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        """Make a room over layers.

        Args:
            request: `layers`: names, lowest first; `first`: how many of them are from before anybody worked; `guarded`:
                what programs read unasked is from there; `disk_mb`, `inodes`; `net`: an own network, for who works.
        """
        self._close()
        lower = [f"/store/layers/{name}" for name in reversed(request["layers"])] + ["/image"]
        for name in request["layers"]:
            self._layers.move_to_end(name)
        if request["guarded"]:
            self._show_before(tuple(request["layers"][: request["first"]]))
        options = f"size={request['disk_mb']}m,nr_inodes={request['inodes']},mode=755"
        kernel.mount("room", "/room", "tmpfs", kernel.NODEV, options)
        for name in ("upper", "work", "root"):
            os.mkdir(f"/room/{name}", 0o755)
        self._since = time.time() - 1
        self._below = [self._made[name] for name in request["layers"] if name in self._made]
        self._view = lower, request
        try:
            return self._begin()
        except RoomEnded as error:  # of its own accord only where the files that it begins with make it
            return {"lost" if error.late else "error": str(error)}, b""

    def _begin(self) -> tuple[dict[str, Any], bytes]:
        """A first process for the room that is laid out, with nothing beside it.

        Raises:
            RoomEnded: it did not come to say that it is ready.
            Shortage: there is too little for it.
        """
        assert self._view is not None
        try:
            ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            kernel.unshare(kernel.NEWPID)
            try:
                self._pid = os.fork()
            except OSError:
                kernel.enter_namespace(self._numbers, kernel.NEWPID)
                raise
        except OSError as error:
            raise Shortage(str(error)) from error
        if self._pid == 0:
            ours.close()
            self._link.close()
            FirstProcess(theirs, self._config).live(*self._view)
        kernel.enter_namespace(self._numbers, kernel.NEWPID)
        theirs.close()
        self._room = ours
        return self._hear(GRACE_S * 3)

    def _show_before(self, layers: tuple[str, ...]) -> None:
        """What there was before somebody worked in a room, read-only at /before."""
        if self._before == layers:
            return
        if self._before is not None:
            kernel.unmount("/before")
        lower = ":".join([*(f"/store/layers/{name}" for name in reversed(layers)), "/image", _SPARE])
        kernel.mount("before", "/before", "overlay", kernel.RDONLY, f"lowerdir={lower},userxattr")
        self._before = layers

    def do_command(self, request: dict[str, Any], handle: int) -> tuple[dict[str, Any], bytes]:
        """Hand a command on to the room: see `room.FirstProcess`.

        Raises:
            Shortage: there is too little for it, also where nothing else runs in the room.
        """
        if self._view is None:
            return {"lost": "no room is open"}, b""
        left = TRIES
        while True:
            try:
                if self._room is None:  # what runs in a room may end all of it: its files stay, and it begins anew
                    self._begin()
                assert self._room is not None
                os.lseek(handle, 0, os.SEEK_SET)
                socket.send_fds(self._room, [json.dumps(request).encode()], [handle])
                return self._hear(request["wall_s"] + GRACE_S)
            except Shortage:  # nothing of the command has run yet
                self._end_room()
                left -= 1
                if not left:
                    raise
                time.sleep(LOOK_S)
            except (RoomEnded, OSError) as error:
                self._end_room()
                return _cut_short(request, late=isinstance(error, RoomEnded) and error.late), b""

    def _hear(self, longest_s: float) -> tuple[dict[str, Any], bytes]:
        """The room's answer.

        Raises:
            RoomEnded: it gives none.
            Shortage: it has too little to begin with what it was told.
        """
        assert self._room is not None
        until = time.monotonic() + longest_s
        polled = select.poll()
        polled.register(self._room, select.POLLIN)
        polled.register(self._link, 0)  # tells when our starter is gone
        while (left := until - time.monotonic()) > 0:
            watched = self._config["memory_mb"]
            events = polled.poll(1000 * (min(left, LOOK_S) if watched else left))
            if any(number == self._link.fileno() for number, _ in events):
                os._exit(0)
            if events:
                data = self._room.recv(PACKET)
                line, _, output = data.partition(b"\n")
                if not line:
                    raise RoomEnded("its first process has ended")
                reply = json.loads(line)
                if "short" in reply:
                    raise Shortage(reply["short"])
                return reply, output
            if watched:
                self._watch(watched << 20)
        raise RoomEnded("it did not answer in time", late=True)

    def _watch(self, most: int) -> None:
        """End the biggest process of a room that uses more than this, where no control group does it."""
        sizes = {}
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) not in (os.getpid(), self._pid):
                try:
                    with open(f"/proc/{name}/statm") as file:
                        sizes[int(name)] = int(file.read().split()[1]) * 4096
                except (OSError, IndexError):
                    continue
        if sum(sizes.values()) > most:
            with contextlib.suppress(ProcessLookupError):
                os.kill(max(sizes, key=lambda pid: sizes[pid]), signal.SIGKILL)

    def do_freeze(self, _request: dict[str, Any], handle: int) -> tuple[dict[str, Any], bytes]:
        """End every process of the room; what it has changed goes into a file as a layer."""
        if self._view is None:
            return {"lost": "no room is open"}, b""
        self._end_room()
        with _files_decide(), os.fdopen(os.dup(handle), "wb") as out:
            digest = archive.pack("/room/upper", out, (self._since, time.time() + 1), self._below)
        return {"digest": digest}, b""

    def do_close(self, _request: dict[str, Any]) -> tuple[dict[str, Any], bytes]:
        self._close()
        return {}, b""

    def _end_room(self) -> None:
        if self._room is not None:
            self._room.close()
            self._room = None
        if self._pid:
            os.kill(self._pid, signal.SIGKILL)  # the kernel ends all others of its numbers before this is over
            os.waitpid(self._pid, 0)
            self._pid = 0

    def _close(self) -> None:
        self._end_room()
        self._view = None
        if os.path.ismount("/room"):
            kernel.unmount("/room")


@contextlib.contextmanager
def _files_decide() -> Iterator[None]:
    """As many files are open at once as folders lie in one another: too many are the doing of who made them."""
    try:
        yield
    except OSError as error:
        if error.errno != errno.EMFILE:
            raise
        raise archive.LayerTooLarge(f"folders in folders, more than files may be open: {error}") from error


def _cut_short(request: Mapping[str, Any], *, late: bool) -> dict[str, Any]:
    """What a command came to that ended the room in which it ran."""
    seconds = float(request["wall_s"]) if late else 0.0
    if request["how"] == "run":
        return {"exit": None if late else -signal.SIGKILL, "seconds": seconds, "sizes": [0, 0], "truncated": False}
    ended = "timeout" if late else "shell ended"
    return {"exit": None, "ended": ended, "restarted": True, "seconds": seconds, "truncated": False}


def _size(folder: str) -> int:
    """Of what lies below a folder, roughly."""
    return sum(seen.st_blocks * 512 + 1024 for seen in archive.statuses(folder))
