"""A shell world as data: an image, what is done to it first, and where its actor begins. Nothing is opened here.

The digest of an image is told apart here too, since it decides verdicts: docs/os-shell.md.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, get_args

from evosyn.errors import UsageError
from evosyn.jobs import ScriptLanguage, ShellScript
from evosyn.records import Json

Need = Literal["uids", "processes"]
HOST = "host"
"""The image that needs no building: the machine's own programs."""


def image_cache() -> Path:
    """Where images lie: `$XDG_CACHE_HOME/evosyn/os`."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "evosyn" / "os"


def image_digest(name: str) -> str:
    """What tells one content of an image from another; empty where there is no such image here."""
    if name == HOST:
        return host_digest()
    try:
        return str(json.loads((image_cache() / name / "image.json").read_text(encoding="utf-8"))["digest"])
    except (OSError, ValueError, KeyError):
        return ""


@functools.cache
def host_digest() -> str:
    """Of the machine's own programs and libraries, by their sizes and times."""
    digest = hashlib.sha256(b"1")
    for top in ("/usr/bin", "/usr/sbin", "/usr/lib"):
        for entry in sorted(os.scandir(top), key=lambda entry: entry.name):
            seen = entry.stat(follow_symlinks=False)
            digest.update(repr((top, entry.name, seen.st_size, seen.st_mtime_ns)).encode("utf-8", "surrogateescape"))
    return digest.hexdigest()[:16]


@dataclass(frozen=True)
class ShellWorld:
    """One place to begin in.

    Attributes:
        image: name of an image (`images`): `host`, or one that was built.
        init: scripts that make the first state, run once, one after the other.
        start: what runs in the actor's own shell before it, such as processes that it is to find.
        needs: what not every machine can give: `uids`: users of its own; `processes`: what `start` has begun.
        cwd: folder that scripts and the actor begin in.
    """

    image: str = "host"
    init: tuple[ShellScript, ...] = ()
    start: ShellScript | None = None
    needs: tuple[Need, ...] = ()
    cwd: str = "/root"

    @property
    def text(self) -> str:
        """Canonical JSON: equal for equal worlds."""
        return json.dumps(asdict(self), sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    @staticmethod
    def read(text: str) -> ShellWorld:
        """A world from its JSON.

        Raises:
            UsageError: a field is missing, unknown or wrong; names it.
        """
        try:
            given = json.loads(text)
            scripts = [_script(one, "init") for one in given.pop("init", [])]
            start = given.pop("start", None)
            world = ShellWorld(init=tuple(scripts), start=_script(start, "start") if start else None,
                               needs=tuple(given.pop("needs", ())), **given)  # fmt: skip
        except (ValueError, TypeError, AttributeError) as error:
            raise UsageError(f"a shell world: {error}") from error
        for name, value in (("image", world.image), ("cwd", world.cwd)):
            if not isinstance(value, str) or not value or "\0" in value or ("/" in value) == (name == "image"):
                raise UsageError(
                    f"a shell world: {name}={value!r}: must be {'a name' if name == 'image' else 'a path'}"
                )
        if unknown := set(world.needs) - set(get_args(Need)):
            raise UsageError(f"a shell world: needs {sorted(unknown)}: known are {', '.join(get_args(Need))}")
        return world


def world_in(payload: Mapping[str, Json]) -> ShellWorld:
    """The world that the payload of a problem names.

    Raises:
        UsageError: it names none, or not a shell world.
    """
    return ShellWorld.read(json.dumps(payload.get("world")))


def _script(given: object, field: str) -> ShellScript:
    if not isinstance(given, dict) or not isinstance(given.get("code"), str):
        raise UsageError(f"a shell world: {field}: a script is {{'language': 'bash' | 'python', 'code': TEXT}}")
    language = given.get("language", "bash")
    if language not in get_args(ScriptLanguage) or set(given) - {"language", "code"}:
        raise UsageError(f"a shell world: {field}: {given!r}: language is bash or python, and there is nothing else")
    return ShellScript(given["code"], language)
