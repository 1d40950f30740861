"""Digests of the source code of ours that decides verdicts, as it stands on the disk.

What was decided by other code is decided again: `crossexec.verdict_cache` (`crossexec.domain_sources` adds code from
outside), states of shell worlds, nodes of a cluster.
"""

from __future__ import annotations

import functools
import hashlib
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
    files = [file for top in tops for file in (top.rglob("*.py") if top.is_dir() else [top])]
    return digest_of_files(root, [file for file in files if file.suffix == ".py"])


def digest_of_files(root: Path, files: Iterable[Path]) -> str:
    named = sorted((file.relative_to(root).as_posix(), file) for file in files)
    digest = hashlib.sha256()
    for name, file in named:
        digest.update(f"{name}\n{hashlib.sha256(file.read_bytes()).hexdigest()}\n".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:32]
