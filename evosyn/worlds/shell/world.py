"""A shell world as data: an image, what is done to it first, and where its actor begins."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from typing import Literal, get_args

from evosyn.errors import UsageError
from evosyn.jobs import ScriptLanguage, ShellScript

Need = Literal["uids", "processes"]


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
        for name, value, known in (("image", world.image, None), ("cwd", world.cwd, None)):
            if not isinstance(value, str) or not value or "\0" in value:
                raise UsageError(f"a shell world: {name}={value!r}: must be a text{known or ''}")
        if unknown := set(world.needs) - set(get_args(Need)):
            raise UsageError(f"a shell world: needs {sorted(unknown)}: known are {', '.join(get_args(Need))}")
        return world


def _script(given: object, field: str) -> ShellScript:
    if not isinstance(given, dict) or not isinstance(given.get("code"), str):
        raise UsageError(f"a shell world: {field}: a script is {{'language': 'bash' | 'python', 'code': TEXT}}")
    language = given.get("language", "bash")
    if language not in get_args(ScriptLanguage) or set(given) - {"language", "code"}:
        raise UsageError(f"a shell world: {field}: {given!r}: language is bash or python, and there is nothing else")
    return ShellScript(given["code"], language)
