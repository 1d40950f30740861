"""What a guarded view shows of the time before anybody worked: all that programs of the image read unasked.

A check names files, and sees them as a solution left them. What its programs read without being told (themselves, their
libraries, what their links lead to, settings under fixed names) is none of the solution's: it comes from before, or is
not there. /usr but for /usr/local is the system's own (Filesystem Hierarchy Standard 3.0); what its links lead to
outside is found once for an image (`images.consulted`). docs/os-shell.md.
"""

from __future__ import annotations

import errno
import fnmatch
import os
import stat
from collections.abc import Collection, Sequence
from typing import NamedTuple

from evosyn.worlds.shell._inside import archive, kernel

TOP_LINKS = ("bin", "sbin", "lib", "lib64")
LOCAL = "usr/local"
OUTSIDE = ("etc", "opt", "var", "srv")
"""Where links of the system may lead, so that what lies there is guarded too."""
NAMES = (
    "usr/bin", "usr/sbin", "usr/lib", "usr/lib32", "usr/lib64", "usr/libexec", "usr/share",
    "etc/ld.so.preload", "etc/ld.so.cache", "etc/ld.so.conf", "etc/ld.so.conf.d", "etc/alternatives",
    "etc/nsswitch.conf", "etc/gitconfig", "etc/magic", "etc/magic.mime", "etc/perl", "etc/terminfo",
    "usr/local/share/perl", "usr/local/lib/site_perl", "usr/local/lib/*/perl",
    "usr/local/lib/python3*/*-packages/sitecustomize*", "usr/local/lib/python3*/*-packages/usercustomize*",
    "usr/local/lib/python3*/*-packages/*.pth",
    "root/.magic", "root/.magic.mgc", "root/.jq", "root/.sqliterc",
)  # fmt: skip
"""What programs look for under names of their own, whether the image has it or not."""
PYTHON = """
import os, sys
words = iter(sys.orig_argv[1:] if sys.flags.safe_path else ())
for word in words:
    if word in ("-W", "-X"):
        next(words, None)
    elif not word.startswith("-"):
        sys.path.append(os.path.dirname(os.path.realpath(word)))
        break
    elif word == "-" or (not word.startswith("--") and word.rstrip()[-1:] in "cm"):
        break
"""
"""What Python reads at its start in a guarded view: the modules beside a script come after those of the system, and
those of the working folder not at all (`PYTHONSAFEPATH`)."""
PYTHON_HOME = "/dev/python"
MAX_LINKS, MAX_PARTS, MAX_PATH = 40, 100, 4096
"""On the way of one path; what has more leads nowhere."""
_GONE = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EINVAL)
"""What is said of a name that is not there, or is no link or folder."""


class ResolvedPath(NamedTuple):
    """The links on the way of a path, in order, and its end; None where it has none, or where it comes to what each
    process has of its own (`/proc/self`)."""

    links: list[str]
    end: str | None


def resolve(root: str, path: str, start: str = "") -> ResolvedPath:
    """Where a path below a root leads, looked up name by name and never out of it. Names have no slash before them.
    A relative path counts from `start`, a folder reached by no link."""
    links, at = list[str](), "" if path.startswith("/") else start
    for _ in range(MAX_PARTS):
        part, _, path = path.partition("/")
        if part == "..":
            at = at.rpartition("/")[0]
        if part not in ("", ".", ".."):
            here = f"{at}/{part}".lstrip("/")
            if at == "proc" and (part.isdigit() or part in ("self", "thread-self")):
                break
            target = _link_at(f"{root}/{here}")
            at = here if target is None else "" if target.startswith("/") else at
            links += [here] if target is not None else []
            path = path if target is None else f"{target}/{path}"
        if not path:
            return ResolvedPath(links, at)
        if len(links) > MAX_LINKS or len(path) > MAX_PATH:
            break
    return ResolvedPath(links, None)


def _require_end(root: str, path: str) -> str:
    """Raises `OSError` where it is not known where the path leads, so that nothing there could be guarded."""
    end = resolve(root, path).end
    if end is None:
        raise OSError(errno.ELOOP, f"/{path} leads to what is each process's own, or to no end")
    return end


def _link_at(path: str) -> str | None:
    try:
        return os.readlink(path)
    except OSError as error:
        if error.errno not in _GONE:
            raise
        return None


class Before:
    """What is guarded, taken from the state before anybody worked. The room has no other view of that state.

    Args:
        folder: holds that state.
        consulted: names of the image that its own programs are led to, beside `NAMES`.
        trees: mounts, by the names over which they will be laid; those of guarded folders and files are added.
    """

    def __init__(self, folder: str, consulted: Sequence[str], trees: dict[str, int]) -> None:
        self._patterns = (*TOP_LINKS, *NAMES, *consulted)
        self.links = dict[str, tuple[str, os.stat_result]]()
        self._absent, there = set[str](), set[str]()
        within = [f"usr/{name}" for name in _entries(folder, "usr")]
        for name in {*within, *_matching(folder, self._patterns)} - {LOCAL}:
            links, end = resolve(folder, name)
            self.links |= {link: (os.readlink(f"{folder}/{link}"), os.lstat(f"{folder}/{link}")) for link in links}
            if end == name or (end and end != LOCAL and end.startswith(tuple(f"{top}/" for top in ("usr", *OUTSIDE)))):
                (there if os.path.lexists(f"{folder}/{end}") else self._absent).add(end)
        self._laid = {*trees, *there}
        alone = [name for name in there if not self._is_laid(os.path.dirname(name))]
        trees |= {name: kernel.tree_of(f"{folder}/{name}") for name in alone}

    def _is_laid(self, name: str) -> bool:
        """Whether a name is, or lies below, what is laid over the room."""
        while name and name not in self._laid:
            name = os.path.dirname(name)
        return bool(name)

    def restore(self) -> None:
        """Links as they were, and nothing where nothing was, in the layer that is thrown away; we are root there."""
        for name, (target, seen) in self.links.items():
            if not self._is_laid(name):
                _lay_link(f"/{name}", target, seen)
        for name in {*self._absent, *_matching("", self._patterns)}:
            place = f"{_require_end('', os.path.dirname(name))}/{os.path.basename(name)}".lstrip("/")
            if place not in self.links and not self._is_laid(place):
                clear(f"/{place}")


def _lay_link(path: str, target: str, seen: os.stat_result) -> None:
    folder(os.path.dirname(path))
    now = os.lstat(path) if os.path.islink(path) else None
    if now is None or os.readlink(path) != target or (now.st_uid, now.st_gid) != (seen.st_uid, seen.st_gid):
        clear(path)
        os.symlink(target, path)
        os.chown(path, seen.st_uid, seen.st_gid, follow_symlinks=False)
        os.utime(path, ns=(seen.st_atime_ns, seen.st_mtime_ns), follow_symlinks=False)


def _matching(root: str, patterns: Sequence[str]) -> set[str]:
    """The names below a root that patterns mean; one without a star means itself."""
    found = set[str]()
    for pattern in patterns:
        names = [""]
        for part in pattern.split("/"):
            if "*" in part:
                names = [f"{name}/{one}" for name in names for one in fnmatch.filter(_entries(root, name), part)]
            else:
                names = [f"{name}/{part}" for name in names]
        found |= {name.lstrip("/") for name in names}
    return found


def _entries(root: str, name: str) -> list[str]:
    """Of a folder, also by links; of anything else none."""
    end = _require_end(root, name)
    try:
        return os.listdir(f"{root}/{end}")
    except OSError as error:
        if error.errno not in _GONE:
            raise
        return []


def cut_links(layer: int, kept: Collection[str]) -> None:
    """Links of an open layer that lead to what each process has of its own are links still, and nobody follows them.

    A check that compares what it has made with a file (`diff <(...) FILE`) would compare it with itself.

    Args:
        kept: names that are not the layer's any more.
    """
    top = os.open("/", archive.FOLDER)
    handles, room = [("", top)], os.fstat(top).st_dev
    for _, name, path, seen in archive.walk(layer, ""):
        if not stat.S_ISLNK(seen.st_mode) or path in kept:
            continue
        folders = path.split("/")[:-1]
        try:
            parent = archive.open_parent(handles, folders, missing=False)
            target = os.readlink(name, dir_fd=parent)
            end = resolve("", target, "/".join(folders)).end
        except OSError as error:
            if error.errno in _GONE:  # something else lies there now
                continue
            if error.errno != errno.ENAMETOOLONG:
                raise
            end = None
        if end in (None, "", "proc", "dev") and os.fstat(parent).st_dev == room:
            kernel.attach(kernel.tree_of(name, parent, followed=False), name, parent)
    for _, handle in handles:
        os.close(handle)


def clear(path: str) -> None:
    """Take something away, whatever it is; only the layer of the room sees it."""
    if os.path.lexists(path):
        archive.remove(path)


def folder(path: str) -> None:
    """Have a folder there that is no link to elsewhere."""
    parts = path.strip("/").split("/")
    for count in range(1, len(parts) + 1):
        here = "/" + "/".join(parts[:count])
        if os.path.islink(here) or not os.path.isdir(here):
            clear(here)
            os.mkdir(here, 0o755)


def lay(tree: int, path: str) -> None:
    """Attach a mount at a path, whatever lies there."""
    if stat.S_ISDIR(os.fstat(tree).st_mode):
        folder(path)
    else:
        folder(os.path.dirname(path))
        if os.path.islink(path) or not os.path.isfile(path):
            clear(path)
            os.close(os.open(path, os.O_CREAT | os.O_EXCL))
    kernel.attach(tree, path)


def lay_python() -> None:
    """Where Python finds `PYTHON`, in a folder that goes with the room."""
    os.mkdir(PYTHON_HOME, 0o755)
    with open(f"{PYTHON_HOME}/sitecustomize.py", "w") as file:
        file.write(PYTHON)
