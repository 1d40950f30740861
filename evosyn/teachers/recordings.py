"""Recordings of replies: what a model answered to a run, as one file of JSON lines that replays without it.

The first line is the head, every other one a reply with its address: purpose, content id of the problem, sample. So a
recording is found by the request itself, or by its address where prompts were reworded since. It holds no prompt, no
endpoint and no key of a user.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeAlias

import evosyn
from evosyn.chat import SAMPLE_STRIDE
from evosyn.codec import dump, load
from evosyn.errors import FormatError, InputError, UsageError
from evosyn.jsonlines import read_lines, write_lines
from evosyn.records import Json
from evosyn.teachers.cache import Asked, Kept

BUILTIN = "builtin:"
ENDING = ".jsonl.gz"
_ROOT = Path(evosyn.__file__).parent
_FOLDER = _ROOT / "builtin" / "replies"
Address: TypeAlias = tuple[str, str, int]


@dataclass(frozen=True)
class Head:
    """
    Attributes:
        recording: version of the format.
        model: `provider/model`, as it was asked.
        recorded: the day, UTC.
        evosyn: the version that asked.
        prompts: digest of the prompts that evosyn had.
        sampling: parameters by purpose.
        licence: of the weights.
        weights: what the server held, which `model` may not say.
    """

    recording: int
    model: str
    recorded: str
    evosyn: str
    prompts: str
    sampling: Mapping[str, Json]
    licence: str = ""
    weights: str = ""

    @property
    def told(self) -> str:
        """What a replay says first: real, of which model, of which day."""
        earlier = "" if self.prompts == prompts_digest() else ", with earlier prompts"
        return f"REAL, replayed: {self.weights or self.model}, recorded {self.recorded}{earlier}"


class Recording:
    """A recording in memory.

    Args:
        path: a file, or `builtin:NAME`.

    Raises:
        UsageError: there is none of that name.
        InputError: it is damaged, or something else.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = file_of(str(path))
        lines = read_lines(self.path)
        first = next(lines)
        hint = "A recording is made by `evosyn export replies RUN --out FILE`"
        try:
            self.head = load(Head, first.value)
            if self.head.recording != 1:
                raise FormatError("recording", "is of a later version; 1 is known", self.head.recording)
        except FormatError as error:
            rule = f"is no recording of replies: {error.reason}"
            raise InputError(self.path, rule, line=1, field=error.field or None, hint=hint) from error
        self._by_key: dict[str, Kept] = {}
        self._by_address: dict[Address, Kept] = {}
        for line in lines:
            try:
                one = load(Kept, line.value)
            except FormatError as error:
                raise InputError(self.path, error.reason, line=line.number, field=error.field, hint=hint) from error
            self._by_key[one.reply.id] = one
            self._by_address.setdefault(one.asked.address, one)

    def find(self, key: str, asked: Asked) -> Kept | None:
        """The reply to this request, or to the one of its purpose, problem and sample."""
        return self._by_key.get(key) or self._by_address.get(asked.address)

    def lacks(self, asked: Asked) -> str:
        """What there is instead of a request that was not recorded."""
        ofs = {one.asked.problem for one in self._by_key.values() if one.asked.purpose == asked.purpose}
        if not ofs:
            return f"no request of purpose {asked.purpose!r} was recorded"
        if asked.problem not in ofs:
            return f"this problem is none of the {len(ofs)} recorded for {asked.purpose!r}"
        samples = {
            sample % SAMPLE_STRIDE
            for purpose, problem, sample in self._by_address
            if (purpose, problem) == asked.address[:2]
        }
        return f"{len(samples)} samples were recorded of it, and this is sample {asked.sample}"

    def is_further_attempt(self, asked: Asked) -> bool:
        """Whether it asks once more for a slot whose first attempt was recorded."""
        first = (*asked.address[:2], asked.sample % SAMPLE_STRIDE)
        return asked.sample >= SAMPLE_STRIDE and first in self._by_address


def write_recording(path: Path, kept: Iterable[Kept], licence: str, weights: str) -> Head:
    """Write the replies of one model.

    Raises:
        UsageError: there are none, or of several models.
    """
    rows = sorted(kept, key=lambda one: (one.asked.address, one.reply.id))
    models = sorted({one.reply.model for one in rows})
    if len(models) != 1:
        raise UsageError(
            f"replies of {', '.join(models) or 'no model'} are there; name one with --model"
            if rows
            else "holds no replies"
        )
    sampling = {one.asked.purpose: dict(one.asked.params) for one in reversed(rows)}
    today = datetime.now(UTC).date().isoformat()
    head = Head(1, models[0], today, evosyn.__version__, prompts_digest(), sampling, licence, weights)
    write_lines(path, [dump(head), *map(dump, rows)])
    return head


def prompts_digest() -> str:
    """Of all texts that evosyn makes prompts of."""
    digest = hashlib.sha256()
    for path in sorted(_ROOT.glob("**/prompts/*.md")):
        digest.update(f"{path.relative_to(_ROOT).as_posix()}\0".encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def file_of(name: str) -> Path:
    """
    Raises:
        UsageError: there is no bundled recording of that name.
    """
    if not name.startswith(BUILTIN):
        return Path(name)
    path = _FOLDER / (name.removeprefix(BUILTIN) + ENDING)
    if not path.is_file():
        known = ", ".join(BUILTIN + one.name.removesuffix(ENDING) for one in sorted(_FOLDER.glob("*" + ENDING)))
        raise UsageError(f"replay {name}: there is no such recording; bundled: {known or 'none'}")
    return path
