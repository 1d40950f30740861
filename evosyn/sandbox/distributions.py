"""What an interpreter has installed under some names, told by its own metadata.

It needs the standard library alone: `python -I FILE NAME...`, with any interpreter, prints the same as JSON.
"""

from __future__ import annotations

import csv
import hashlib
import json
import re
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata
from pathlib import Path

_METADATA = (".dist-info", ".egg-info")
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")


@dataclass(frozen=True)
class Distribution:
    """An installed distribution.

    Attributes:
        digest: of its list of files, which holds a digest of each.
        requires: requirements without extras, as they are written.
        root: the folder that it is installed in; `places`: what belongs to it there.
        modules: what it is imported as.
        editable: its files are those that somebody works on.
    """

    name: str
    version: str
    digest: str
    requires: Sequence[str]
    root: str
    places: Sequence[str]
    modules: Sequence[str]
    editable: bool


def canonical(name: str) -> str:
    """A name as the packaging standards compare it (PEP 503)."""
    return re.sub(r"[-_.]+", "-", name).lower()


def is_name(text: str) -> bool:
    return _NAME.fullmatch(text) is not None


def find(names: Iterable[str]) -> dict[str, Distribution]:
    """The distributions of these names, and all that they may require, by canonical name."""
    found: dict[str, Distribution] = {}
    todo = list(names)
    while todo:
        key = canonical(todo.pop())
        if key not in found:
            try:
                found[key] = _described(metadata.distribution(key))
            except metadata.PackageNotFoundError:
                continue
            todo += [match.group() for text in found[key].requires if (match := _NAME.match(text))]
    return found


def _described(distribution: metadata.Distribution) -> Distribution:
    root, record = Path(str(distribution.locate_file(""))), distribution.read_text("RECORD")
    if record is None:
        files = _files_without_record(distribution, root)
        listed = "".join(f"{file}\0{hashlib.sha256((root / file).read_bytes()).hexdigest()}" for file in files)
    else:
        files, listed = [row[0] for row in csv.reader(record.splitlines()) if row], record
    places = [place for place in _places(files) if (root / place).exists()]
    editable = json.loads(distribution.read_text("direct_url.json") or "{}").get("dir_info", {}).get("editable", False)
    return Distribution(
        distribution.metadata["Name"],
        distribution.version,
        hashlib.sha256(listed.encode("utf-8", "surrogateescape")).hexdigest(),
        [text for text in distribution.requires or () if "extra" not in text.partition(";")[2]],
        str(root.resolve()),
        places,
        sorted({name for place in places if (name := _module(root, place))}),
        editable or (record is None and not root.name.endswith("-packages")),
    )


def _files_without_record(distribution: metadata.Distribution, root: Path) -> list[str]:
    """As Debian installs: below the modules that are named, or the one that is called as the distribution is."""
    named = distribution.read_text("top_level.txt") or canonical(distribution.metadata["Name"]).replace("-", "_")
    tops = named.split()
    found = [root / name for top in tops for name in (top, f"{top}.libs")]
    found += [path for top in tops for pattern in (f"{top}.py", f"{top}.*.so") for path in root.glob(pattern)]
    files = [file for path in found for file in ([path] if path.is_file() else path.rglob("*")) if file.is_file()]
    return sorted(str(file.relative_to(root)) for file in files if file.suffix != ".pyc")


def _places(files: Sequence[str]) -> list[str]:
    """What holds these files and nothing of another distribution: packages as a whole, the rest file by file."""
    packages = {file.rpartition("/")[0] for file in files if file.endswith("/__init__.py")}
    found = set()
    for file in files:
        parts = file.split("/")
        if parts[0] in ("", "..", "__pycache__") or parts[0].endswith((*_METADATA, ".pth")):
            continue
        above = ("/".join(parts[:depth]) for depth in range(1, len(parts)))
        found.add(next((folder for folder in above if folder in packages or folder.endswith(".libs")), file))
    return sorted(found)


def _module(root: Path, place: str) -> str:
    """What a place is imported as; "" for what is none or keeps itself private."""
    if not (place.endswith((".py", ".so")) or (root / place / "__init__.py").is_file()):
        return ""
    folder, _, name = place.rpartition("/")
    parts = [*filter(None, folder.split("/")), name.partition(".")[0]]
    return ".".join(parts) if all(part.isidentifier() and not part.startswith("_") for part in parts) else ""


if __name__ == "__main__":
    found = {name: asdict(one) for name, one in find(sys.argv[1:]).items()}
    json.dump({"abi": sysconfig.get_config_var("SOABI"), "found": found}, sys.stdout)
