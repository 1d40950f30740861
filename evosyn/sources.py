"""Digests of the source code that decides verdicts, ours and of plug-ins, as it stands on the disk.

What was decided by other code is decided again: `crossexec.verdict_cache`, states of shell worlds, nodes of a cluster.
"""

from __future__ import annotations

import functools
import hashlib
import secrets
import sys
from collections.abc import Collection, Iterable
from pathlib import Path

from evosyn import __version__

ASKING = frozenset(
    ("agents", "cli", "contracts", "evaluators", "evolve", "reading", "strategies",
     "synthesis", "teachers", "train", "view")
)  # fmt: skip
"""Packages that ask for verdicts, or need none. All else of ours decides: what is new, until it is named here."""


@functools.cache
def deciding_sources() -> str:
    """Of all that decides among our own modules, read once in a process."""
    return digest_below(Path(__file__).parent, ASKING)


def code_version() -> str:
    """Which evosyn this is: its number, and its code that decides."""
    return f"{__version__} ({deciding_sources()[:8]})"


def digest_below(root: Path, without: Collection[str] = ()) -> str:
    """Of the Python files of a folder, by their paths in it, but for some folders right below it."""
    tops = [top for top in root.iterdir() if top.name not in without]
    return _digest(root, (file for top in tops for file in (top.rglob("*.py") if top.is_dir() else [top])))


@functools.cache
def sources_of(kind: type) -> str:
    """Of the files of every package, or module by itself, that a class and its bases are from, when it is first asked
    for; "" where all are ours or Python's. Code that stands in no file is known to this process alone."""
    roots = {one.__module__.partition(".")[0] for one in kind.__mro__} - {"evosyn", "builtins"}
    return "".join(_sources_below(root) for root in sorted(roots - sys.stdlib_module_names))


def _sources_below(root: str) -> str:
    module = sys.modules.get(root)
    if folders := [folder for folder in map(Path, getattr(module, "__path__", ())) if folder.is_dir()]:
        return "".join(map(digest_below, folders))
    file = Path(getattr(module, "__file__", None) or "")
    return _digest(file.parent, [file]) if file.is_file() else secrets.token_hex(16)


def _digest(root: Path, files: Iterable[Path]) -> str:
    named = sorted((file.relative_to(root).as_posix(), file) for file in files if file.suffix == ".py")
    digest = hashlib.sha256()
    for name, file in named:
        digest.update(f"{name}\n{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]
