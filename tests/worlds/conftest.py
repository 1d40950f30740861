"""Shell worlds opened once, over the machine's own programs and over a small image whose programs can be replaced."""

from __future__ import annotations

import io
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.worlds.shell import ShellWorlds, open_shells

PROGRAMS = [
    "bash",
    "sh",
    "ls",
    "cat",
    "rm",
    "mv",
    "cp",
    "mkdir",
    "rmdir",
    "ln",
    "chmod",
    "chown",
    "id",
    "find",
    "grep",
    "sed",
    "sort",
    "head",
    "tail",
    "wc",
    "touch",
    "dd",
    "mkfifo",
    "mknod",
    "stat",
    "env",
    "test",
    "true",
    "false",
    "sleep",
    "seq",
    "tr",
    "cut",
    "date",
    "truncate",
    "mount",
    "umount",
    "unshare",
    "chroot",
    "setsid",
    "nohup",
    "readlink",
    "timeout",
    "df",
    "yes",
    "cksum",
    "diff",
    "cmp",
]


@pytest.fixture(scope="session")
def cache() -> Iterator[Path]:
    """Images of this run alone."""
    before = os.environ.get("XDG_CACHE_HOME")
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        os.environ["XDG_CACHE_HOME"] = folder
        yield Path(folder)
        if before is None:
            del os.environ["XDG_CACHE_HOME"]
        else:
            os.environ["XDG_CACHE_HOME"] = before


@pytest.fixture(scope="session")
def shells(cache: Path) -> Iterator[ShellWorlds]:
    assert cache.is_dir()
    try:
        opened = open_shells(workers=2)
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with opened:
        yield opened


@pytest.fixture(scope="session")
def mini(shells: ShellWorlds) -> str:
    """Name of an image with a shell and some forty programs, all of them for the actor to replace."""
    return small_image(shells, "mini")


def small_image(shells: ShellWorlds, name: str, more: Sequence[tarfile.TarInfo] = ()) -> str:
    """An image with a shell and some forty programs. Files of `more` hold their own names."""
    with tempfile.TemporaryFile() as file:
        with tarfile.open(fileobj=file, mode="w") as tar:
            for folder in (
                "usr",
                "usr/bin",
                "usr/lib",
                "usr/lib64",
                "usr/local",
                "usr/local/bin",
                "etc",
                "root",
                "tmp",
            ):
                entry = tarfile.TarInfo(folder)
                entry.type, entry.mode = tarfile.DIRTYPE, 0o755
                tar.addfile(entry)
            for top in ("bin", "lib", "lib64"):
                entry = tarfile.TarInfo(top)
                entry.type, entry.linkname = tarfile.SYMTYPE, f"usr/{top}"
                tar.addfile(entry)
            for path in sorted(_files()):
                seen = path.resolve()
                entry = tar.gettarinfo(str(seen), str(path).lstrip("/"))
                entry.uid = entry.gid = 0
                entry.name = entry.name if entry.name.startswith("usr/") else f"usr/{entry.name}"
                entry.type, entry.linkname, entry.size = tarfile.REGTYPE, "", seen.stat().st_size
                with seen.open("rb") as source:
                    tar.addfile(entry, source)
            for entry in more:
                content = entry.name.encode() if entry.isreg() else b""
                entry.size = len(content)
                tar.addfile(entry, io.BytesIO(content))
        file.seek(0)
        shells.build_image(file, name)
    return name


def _files() -> set[Path]:
    """Programs under /usr/bin, and the libraries that they load under the names that they ask for."""
    found = set()
    for name in PROGRAMS:
        program = shutil.which(name, path="/usr/bin:/bin:/usr/sbin")
        if program is None:
            continue
        found.add(Path("/usr/bin", name) if Path("/usr/bin", name).exists() else Path(program))
        listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=False).stdout
        found |= {Path(word) for word in listed.split() if word.startswith("/") and Path(word).exists()}
    return found
