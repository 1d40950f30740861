"""A folder as a tar and a digest, and back: by handles of folders, so that no name and no depth leads elsewhere.

What overlay file systems write for "removed" (a character device 0:0) and "hides what is below" (`user.overlay.opaque`)
is kept as it is: no name has a second meaning. POSIX pax; overlayfs documentation, "whiteouts and opaque directories".
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import stat
import tarfile
from collections.abc import Callable, Iterator, Sequence
from typing import IO

OPAQUE = "user.overlay.opaque"
MOST_BYTES = 512 << 20
"""Of all files by their sizes, holes too, and of what has to be written about each, its whole path above all."""
ENTRY_BYTES = 2048
"""Of what is written about a file beside its path."""
FAR = 2.0**40
"""Seconds from the epoch beyond which no file system keeps a time."""
_KEY = "EVOSYN.opaque"
_MADE = "EVOSYN.made"
FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


Span = tuple[float, float]
"""Seconds of the epoch, first and last."""


class LayerTooLarge(Exception):
    """The files of a folder are more than a layer may hold."""


def pack(folder: str, out: IO[bytes] | None, made: Span, below: Sequence[Span] = ()) -> str:
    """The digest of everything in a folder; written to `out` as a tar where there is one.

    Args:
        made: when what lies in the folder was worked on; kept in the tar.
        below: the same of the layers below it, whose files keep their times when they are moved. A file's time
            counts where it lies in none of these spans: then somebody gave it.

    Raises:
        LayerTooLarge: more than `MOST_BYTES` are to be written.
    """
    digest = hashlib.sha256(b"2")  # of what counts: see `states.RULES`
    left = MOST_BYTES
    with tarfile.open(fileobj=out or open(os.devnull, "wb"), mode="w|", format=tarfile.PAX_FORMAT) as tar:
        head = tarfile.TarInfo(".")
        head.type, head.pax_headers = tarfile.DIRTYPE, {_MADE: f"{made[0]} {made[1]}"}
        tar.addfile(head)
        top = os.open(folder, FOLDER)
        for parent, name, path, seen in walk(top, ""):
            if stat.S_ISSOCK(seen.st_mode):
                continue
            entry, content = _entry(parent, name, path, seen), None
            left -= entry.size + ENTRY_BYTES + 2 * len(os.fsencode(path)) + 2 * len(os.fsencode(entry.linkname))
            if left < 0 and out is not None:
                raise LayerTooLarge(f"more than {MOST_BYTES >> 20} MB of files and their names")
            if entry.isreg():
                content = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
            line = _line(entry, content, [made, *below])
            digest.update(line)
            if out is not None:
                with os.fdopen(content, "rb") if content is not None else open(os.devnull, "rb") as source:
                    source.seek(0)
                    tar.addfile(entry, source if content is not None else None)
            elif content is not None:
                os.close(content)
    return digest.hexdigest()


def walk(folder: int, path: str) -> Iterator[tuple[int, str, str, os.stat_result]]:
    """Everything below an open folder, in the order of names as bytes: parent's handle, name, path, status."""
    stack = [(folder, path, iter(_names(folder)))]
    while stack:
        handle, where, names = stack[-1]
        name = next(names, None)
        if name is None:
            os.close(handle)
            stack.pop()
            continue
        seen = os.stat(name, dir_fd=handle, follow_symlinks=False)
        yield handle, name, f"{where}{name}", seen
        if stat.S_ISDIR(seen.st_mode):
            inner = os.open(name, FOLDER, dir_fd=handle)
            stack.append((inner, f"{where}{name}/", iter(_names(inner))))


def _names(handle: int) -> list[str]:
    return sorted(os.listdir(handle), key=os.fsencode)


def _entry(parent: int, name: str, path: str, seen: os.stat_result) -> tarfile.TarInfo:
    entry = tarfile.TarInfo(path)
    entry.mode, entry.uid, entry.gid = stat.S_IMODE(seen.st_mode), seen.st_uid, seen.st_gid
    entry.mtime = min(max(seen.st_mtime_ns // 1000 / 1e6, -FAR), FAR)
    if stat.S_ISDIR(seen.st_mode):
        entry.type = tarfile.DIRTYPE
        inner = os.open(name, FOLDER, dir_fd=parent)
        if OPAQUE in os.listxattr(inner):
            entry.pax_headers = {_KEY: "y"}
        os.close(inner)
    elif stat.S_ISLNK(seen.st_mode):
        entry.type, entry.linkname = tarfile.SYMTYPE, os.readlink(name, dir_fd=parent)
    elif stat.S_ISFIFO(seen.st_mode):
        entry.type = tarfile.FIFOTYPE
    elif stat.S_ISCHR(seen.st_mode):
        entry.type = tarfile.CHRTYPE
    else:
        entry.size = seen.st_size
    return entry


def _line(entry: tarfile.TarInfo, content: int | None, made: Sequence[Span]) -> bytes:
    """What counts of one entry."""
    passing = entry.isdir() or entry.ischr() or any(first <= entry.mtime <= last for first, last in made)
    given = None if passing else entry.mtime
    fields = (entry.name, entry.type, entry.mode, entry.uid, entry.gid, entry.size, entry.linkname, given)
    text = repr((*fields, entry.pax_headers.get(_KEY))).encode("utf-8", "surrogateescape")
    if content is not None:
        summed = hashlib.sha256()
        while part := os.read(content, 1 << 20):
            summed.update(part)
        text += summed.digest()
    return text + b"\n"


def unpack(source: IO[bytes], folder: str, *, whole: bool = False) -> Span | None:
    """Write the files of a tar into an empty folder; when they were worked on, where the tar says it.

    Args:
        whole: it is an image from elsewhere: devices are left out, and links to other entries are followed.
    """
    made: Span | None = None
    handles: list[tuple[str, int]] = [("", os.open(folder, FOLDER))]
    with tarfile.open(fileobj=source, mode="r|*") as tar:
        for entry in tar:
            parts = [part for part in entry.name.split("/") if part not in ("", ".")]
            if not parts and (said := entry.pax_headers.get(_MADE)) and not whole:
                first, last = map(float, said.split())
                made = (first, last)
            if ".." in parts or not parts:
                continue
            parent = open_parent(handles, parts[:-1], missing=whole)
            if entry.islnk() and whole:
                _link(handles[0][1], entry.linkname, parent, parts[-1])
            elif not (whole and entry.isdev() and not entry.isfifo()):
                _write(tar, entry, parent, parts[-1])
    for _, handle in handles:
        os.close(handle)
    return made


def open_parent(handles: list[tuple[str, int]], names: list[str], *, missing: bool) -> int:
    """The handle of a folder below the first one; what is open on the way there stays so for the next entry."""
    depth = 0
    while depth < len(names) and depth + 1 < len(handles) and handles[depth + 1][0] == names[depth]:
        depth += 1
    while len(handles) > depth + 1:
        os.close(handles.pop()[1])
    for name in names[depth:]:
        above = handles[-1][1]
        if missing:
            with contextlib.suppress(FileExistsError):
                os.mkdir(name, 0o755, dir_fd=above)
        handles.append((name, os.open(name, FOLDER, dir_fd=above)))
    return handles[-1][1]


def _link(top: int, target: str, parent: int, name: str) -> None:
    """A second name of a file that was written before."""
    parts = [part for part in target.split("/") if part not in ("", ".", "..")]
    opened: list[tuple[str, int]] = [("", os.dup(top))]
    where = open_parent(opened, parts[:-1], missing=False)
    try:
        os.link(parts[-1], name, src_dir_fd=where, dst_dir_fd=parent, follow_symlinks=False)
    finally:
        for _, handle in opened:
            os.close(handle)


def _write(tar: tarfile.TarFile, entry: tarfile.TarInfo, parent: int, name: str) -> None:
    make = _MAKERS.get(entry.type)
    if entry.isreg():
        handle = os.open(
            name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=parent
        )
        source = tar.extractfile(entry)
        with os.fdopen(handle, "wb") as out:
            while source is not None and (part := source.read(1 << 20)):
                out.write(part)
    elif make is None:
        return
    else:
        make(entry, parent, name)
    try:
        os.chown(name, entry.uid, entry.gid, dir_fd=parent, follow_symlinks=False)
    except OSError:  # a single user has no others to give files to
        if os.getuid() == 0 and _has_range():
            raise
    if not entry.issym() and not entry.ischr():
        os.chmod(name, entry.mode, dir_fd=parent)
    if entry.pax_headers.get(_KEY):
        inner = os.open(name, FOLDER, dir_fd=parent)
        os.setxattr(inner, OPAQUE, b"y")
        os.close(inner)
    if not entry.isdir():
        os.utime(name, (entry.mtime, entry.mtime), dir_fd=parent, follow_symlinks=False)


def _has_range() -> bool:
    with open("/proc/self/uid_map") as lines:
        return any(int(line.split()[2]) > 1 for line in lines)


def _make_folder(_entry: tarfile.TarInfo, parent: int, name: str) -> None:
    with contextlib.suppress(FileExistsError):
        os.mkdir(name, 0o700, dir_fd=parent)


_MAKERS: dict[bytes, Callable[[tarfile.TarInfo, int, str], None]] = {
    tarfile.DIRTYPE: _make_folder,
    tarfile.SYMTYPE: lambda entry, parent, name: os.symlink(entry.linkname, name, dir_fd=parent),
    tarfile.FIFOTYPE: lambda _entry, parent, name: os.mkfifo(name, 0o600, dir_fd=parent),
    tarfile.CHRTYPE: lambda _entry, parent, name: os.mknod(name, stat.S_IFCHR, os.makedev(0, 0), dir_fd=parent),
}


def statuses(folder: str) -> Iterator[os.stat_result]:
    """Of everything below a folder."""
    return (seen for _, _, _, seen in walk(os.open(folder, FOLDER), ""))


def remove(path: str) -> None:
    """Take away a file, or a folder however deep."""
    if os.path.isdir(path) and not os.path.islink(path):
        shutil.rmtree(path)
    else:
        os.unlink(path)
