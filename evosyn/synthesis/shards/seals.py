"""The seal of a finished shard: one file with all of it, its checksum, and what is counted of it.

The file is written under a name of its own first, then the seal, unless there is one: of two workers that finished the
same shard, one after the other was given up, the first decides. docs/scale.md.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from evosyn.codec import dump, load
from evosyn.errors import CorruptRun, FormatError, UsageError
from evosyn.jobs import Protection
from evosyn.records import Json, canonical_json
from evosyn.storage import Storage
from evosyn.synthesis.lacking import LackCount
from evosyn.synthesis.report import Figures
from evosyn.synthesis.shards.orders import Phase, ShardOrder, shard_name

JOURNAL, SKETCH, REJECTS = "journal.jsonl", "sketch.npz", "rejects.jsonl"
SEALED = "sealed"
REMADE = "Remove it, and the shard is made again"


@dataclass(frozen=True)
class Seal:
    """A shard that is finished.

    Attributes:
        run: id of the run; file, sha256: what holds the shard.
        worker, seconds: who made it, and how long that took.
        protection: of the sandbox; None where nothing was executed.
        rows: of each setting; None in the phase `problems`.
        traits, sizes: of its matrices (`Shifts.seen`).
        lacks: what the strategy reads and they do not hold.
    """

    run: str
    phase: Phase
    shard: int
    file: str
    sha256: str
    worker: str
    seconds: float
    figures: Figures
    protection: Protection | None = None
    rows: Mapping[str, int] = field(default_factory=dict)
    traits: Sequence[Sequence[float]] = ()
    sizes: Sequence[Sequence[int]] = ()
    lacks: LackCount = field(default_factory=LackCount)


def packed(members: Mapping[str, Path]) -> bytes:
    """The files as one, by names of their own; the same content gives the same bytes."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, path in members.items():
            archive.writestr(zipfile.ZipInfo(name), path.read_bytes(), zipfile.ZIP_DEFLATED)
    return buffer.getvalue()


def write_sealed(storage: Storage, order: ShardOrder, data: bytes) -> tuple[str, str]:
    """Write the file of a shard; its name and its checksum, for the seal."""
    name = f"{SEALED}/{order.name}-{order.epoch}.zip"
    storage.write(name, data)
    return name, hashlib.sha256(data).hexdigest()


def write_seal(storage: Storage, seal: Seal) -> bool:
    """Seal a shard unless it is; whether this seal holds."""
    return storage.create(seal_name(seal.phase, seal.shard), canonical_json(dump(seal)).encode())


def sealed_shards(storage: Storage, phase: Phase) -> set[int]:
    """The shards that have a seal; files of other names are passed over."""
    held = set(storage.names(SEALED))
    numbers = [int(found[1]) for name in held if (found := re.fullmatch(rf"{phase}-([0-9]+)\.json", name))]
    return {number for number in numbers if f"{shard_name(phase, number)}.json" in held}


def read_object(storage: Storage, name: str, remedy: str) -> dict[str, Json] | None:
    """A JSON object of the storage, or None where there is none.

    Args:
        remedy: what to do about a damaged one.

    Raises:
        CorruptRun: it is damaged; names it.
    """
    data = storage.read(name)
    if data is None:
        return None
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        what = "it is nested too deeply" if isinstance(error, RecursionError) else f"it is not JSON: {error}"
        raise CorruptRun(f"shards.store: {name}: is damaged, {what}. {remedy}") from error
    if not isinstance(value, dict):
        raise CorruptRun(f"shards.store: {name}: is damaged, it is no JSON object. {remedy}")
    return value


def read_seal(storage: Storage, phase: Phase, shard: int, run: str) -> Seal | None:
    """The seal of a shard, or None while it has none.

    Raises:
        CorruptRun: it is damaged, or that of another shard.
        UsageError: it is of another run.
    """
    name = seal_name(phase, shard)
    value = read_object(storage, name, REMADE)
    if value is None:
        return None
    try:
        seal = load(Seal, value)
    except (FormatError, RecursionError) as error:
        raise CorruptRun(f"shards.store: {name}: is no seal of a shard: {error}. {REMADE}") from error
    if seal.run != run:
        raise UsageError(f"shards.store: holds the shards of another run ({seal.run}); choose another place")
    if (seal.phase, seal.shard) != (phase, shard) or not seal.file.startswith(f"{SEALED}/{shard_name(phase, shard)}-"):
        told = f"is the seal of {shard_name(seal.phase, seal.shard)}, which {seal.file} holds"
        raise CorruptRun(f"shards.store: {name}: {told}. {REMADE}")
    return seal


def seals_of(storage: Storage, phase: Phase, shards: range, run: str) -> Iterator[Seal]:
    """The seals of these shards, one after the other.

    Raises:
        CorruptRun: one has none.
    """
    for shard in shards:
        seal = read_seal(storage, phase, shard, run)
        if seal is None:
            raise CorruptRun(f"{seal_name(phase, shard)}: is gone; the same command makes the shard again")
        yield seal


def open_sealed(storage: Storage, seal: Seal) -> zipfile.ZipFile:
    """What a seal stands for.

    Raises:
        CorruptRun: it is gone or damaged.
    """
    data = storage.read(seal.file)
    if data is None or hashlib.sha256(data).hexdigest() != seal.sha256:
        what = "is gone" if data is None else "is not what was sealed: its checksum differs"
        raise CorruptRun(
            f"{seal.file}: {what}; remove {seal_name(seal.phase, seal.shard)}, and the shard is made again"
        )
    return zipfile.ZipFile(io.BytesIO(data))


def seal_name(phase: Phase, shard: int) -> str:
    """Where the seal of a shard stands."""
    return f"{SEALED}/{shard_name(phase, shard)}.json"
