"""What a guarded view shows of the time before anybody worked: all that programs of the image read unasked.

A check names files, and sees them as a solution left them. What its programs read without being told (themselves, their
libraries, what their links lead to, settings under fixed names) is none of the solution's: it comes from before, or is
not there. /usr but for /usr/local is the system's own (Filesystem Hierarchy Standard 3.0); what its links lead to
outside is found once for an image (`images.consulted`). docs/os-shell.md.
"""

from __future__ import annotations

import fnmatch
import os
import stat
from collections.abc import Iterator, Sequence

from evosyn.worlds.shell._inside import kernel

TOP_LINKS = ("bin", "sbin", "lib", "lib64")
LOCAL = "usr/local"
NAMES = (
    "etc/ld.so.preload", "etc/ld.so.cache", "etc/ld.so.conf", "etc/ld.so.conf.d", "etc/alternatives",
    "etc/nsswitch.conf", "etc/gitconfig", "etc/magic", "etc/magic.mime", "etc/perl", "etc/terminfo",
    "usr/local/share/perl", "usr/local/lib/site_perl", "usr/local/lib/*/perl",
    "usr/local/lib/python3*/*-packages/sitecustomize*", "usr/local/lib/python3*/*-packages/usercustomize*",
    "usr/local/lib/python3*/*-packages/*.pth",
    "root/.magic", "root/.magic.mgc", "root/.jq", "root/.sqliterc",
)  # fmt: skip
"""Settings that programs look for under names of their own, whether the image has them or not."""
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


class Before:
    """The state before anybody worked, at a folder.

    Args:
        consulted: names of the image that its own programs are led to, beside `NAMES`.
        usr: the whole of /usr is laid over the room by others.
    """

    def __init__(self, folder: str, consulted: Sequence[str], *, usr: bool) -> None:
        self._folder, self._consulted, self._usr = folder, consulted, usr

    def trees(self) -> dict[str, int]:
        """Mounts of guarded folders, attached nowhere."""
        names = [name for name in TOP_LINKS if self._is_folder(name)]
        if not self._usr and self._is_folder("usr"):
            within = [f"usr/{name}" for name in os.listdir(f"{self._folder}/usr")]
            names += [name for name in within if name != LOCAL and self._is_folder(name)]
        names += [name for name in self._named() if self._is_folder(name)]
        return {name: kernel.tree_of(f"{self._folder}/{name}") for name in names}

    def _named(self) -> list[str]:
        """What is guarded by its name, outside of what lies over it anyhow."""
        named = [found for name in (*NAMES, *self._consulted) for found in _matching(self._folder, name)]
        return [name for name in named if not (self._usr and name.startswith("usr/"))]

    def _is_folder(self, name: str) -> bool:
        path = f"{self._folder}/{name}"
        return os.path.isdir(path) and not os.path.islink(path)

    def restore(self) -> None:
        """Links and files as they were, in the layer that is thrown away; we are root of the room."""
        for name in ("usr", "etc"):
            folder(f"/{name}")
        links = [f"usr/{name}" for name in os.listdir(f"{self._folder}/usr")] if self._is_folder("usr") else []
        for name in (*TOP_LINKS, *links):
            if os.path.islink(f"{self._folder}/{name}"):
                self._as_before(name)
        new = {found for name in (*NAMES, *self._consulted) for found in _matching("", name)}
        for name in sorted({*self._named(), *new}):
            if not self._is_folder(name) and not (self._usr and name.startswith("usr/")):
                self._as_before(name)

    def _as_before(self, name: str) -> None:
        """One file or link; or nothing, where there was none."""
        path, was = f"/{name}", f"{self._folder}/{name}"
        if os.path.islink(was):
            target = os.readlink(was)
            if not os.path.islink(path) or os.readlink(path) != target:
                folder(os.path.dirname(path))
                clear(path)
                os.symlink(target, path)
        elif (content := _content(was)) is None:
            clear(path)
        elif _content(path) != content:
            folder(os.path.dirname(path))
            clear(path)
            with open(path, "wb") as file:
                file.write(content)
            os.chmod(path, stat.S_IMODE(os.lstat(was).st_mode))


def _matching(top: str, pattern: str) -> Iterator[str]:
    """The names below a folder that a pattern means, by folders that are no links; one without a star means itself."""
    if "*" in pattern:
        yield from _below(top, "", pattern.split("/"))
    else:
        yield pattern


def _below(top: str, done: str, parts: Sequence[str]) -> Iterator[str]:
    here, first = f"{top}/{done}", parts[0]
    if os.path.islink(here.rstrip("/")) or not os.path.isdir(here):
        return
    for name in fnmatch.filter(os.listdir(here), first) if "*" in first else [first]:
        if len(parts) > 1:
            yield from _below(top, f"{done}{name}/", parts[1:])
        elif os.path.lexists(f"{here}{name}"):
            yield f"{done}{name}"


def _content(path: str) -> bytes | None:
    """Of a plain file."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        return None
    with os.fdopen(handle, "rb") as file:
        return file.read()


def clear(path: str) -> None:
    """Take something away, whatever it is; only the layer of the room sees it."""
    if os.path.isdir(path) and not os.path.islink(path):
        _remove_folder(path)
    elif os.path.lexists(path):
        os.unlink(path)


def _remove_folder(path: str) -> None:
    for where, folders, files in os.walk(path, topdown=False):
        for name in files:
            os.unlink(os.path.join(where, name))
        for name in folders:
            inner = os.path.join(where, name)
            (os.unlink if os.path.islink(inner) else os.rmdir)(inner)
    os.rmdir(path)


def folder(path: str) -> None:
    """Have a folder there that is no link to elsewhere."""
    parts = path.strip("/").split("/")
    for count in range(1, len(parts) + 1):
        here = "/" + "/".join(parts[:count])
        if os.path.islink(here) or not os.path.isdir(here):
            clear(here)
            os.mkdir(here, 0o755)


def lay_python() -> None:
    """Where Python finds `PYTHON`, in a folder that goes with the room."""
    os.mkdir(PYTHON_HOME, 0o755)
    with open(f"{PYTHON_HOME}/sitecustomize.py", "w") as file:
        file.write(PYTHON)
