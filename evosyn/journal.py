"""The append-only journal that is the truth of a run: state = replay(journal). One dialect for every kind of run.

`Journal` is the file: JSON objects, one a line, each with a checksum. A torn last line (power cut, kill -9) is dropped;
a damaged line before it means that the directory is corrupt. `Events` is the dialect: every line is an object
`{"event": NAME, ...fields}`, the fields those of a record (`evosyn.codec`); the first one, `begin`, says what kind of
run it is and all that decides its course. What the events mean is told by who folds them. DESIGN.md section 4.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Generic, TypeVar

from evosyn.codec import dump, load
from evosyn.errors import CorruptRun, FormatError, OtherSettings, UsageError, is_held, naming
from evosyn.records import Json, json_bytes

E = TypeVar("E")
BEGIN = "begin"
VERSION = 2
"""Of the dialect."""
OTHER = (
    "It was edited, or another version of evosyn wrote it: start again with another --out, or go on with that version"
)

INPUTS = "inputs"
"""The key of a header that holds a digest of what a run works on."""
OTHER_INPUTS = "the problems, or their parts, are other ones"


class Journal:
    """An append-only file of JSON events, one a line, each with a checksum.

    Opening for writing cuts a torn last line off. `append` returns after the bytes are with the kernel; `sync` (or
    `append(..., sync=True)`) after they are on the disk, which is what a paid reply deserves.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file: IO[bytes] | None = None

    def events(self) -> Iterator[Json]:
        """Every whole event in order.

        Raises:
            CorruptRun: a line that is not the last one is damaged.
        """
        yield from (event for event, _ in self._read())

    def positions(self) -> Iterator[tuple[int, Json]]:
        """Every whole event with the byte where its line starts, for reading single events again with `at`."""
        start = 0
        for event, end in self._read():
            yield start, event
            start = end

    def at(self, position: int) -> Json:
        """The event whose line starts at `position`."""
        with self.path.open("rb") as file:
            file.seek(position)
            return json.loads(file.readline()[9:-1])

    def place(self, position: int) -> str:
        """How messages name the line that starts at `position`."""
        with self.path.open("rb") as file:
            return f"{self.path}:{file.read(position).count(10) + 1}"

    def append(self, event: Json, *, sync: bool = False) -> int:
        """Add one event (JSON).

        Returns:
            The byte where its line starts.

        Raises:
            OSError: the disk is full or gone; what stood before is untouched.
        """
        body = json_bytes(event)
        file = self._writer()
        position = file.tell()
        with naming(self.path):
            file.write(b"%08x %s\n" % (zlib.crc32(body), body))
            file.flush()
        if sync:
            self.sync()
        return position

    def sync(self) -> None:
        if self._file is not None:
            with naming(self.path):
                self._file.flush()
                os.fsync(self._file.fileno())

    def close(self) -> None:
        if self._file is not None:
            with naming(self.path):  # what a full disk did not take is tried once more
                file, self._file = self._file, None
                file.close()

    def _writer(self) -> IO[bytes]:
        if self._file is None:
            end = 0
            for _, after in self._read():
                end = after
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._file = self.path.open("ab")
            self._file.truncate(end)
            self._file.seek(end)
        return self._file

    def _read(self) -> Iterator[tuple[Json, int]]:
        if not is_held(self.path):
            return
        size, end = self.path.stat().st_size, 0
        with self.path.open("rb") as file:
            for number, line in enumerate(file, 1):
                start, end = end, end + len(line)
                event = _event(line)
                if event is not _NONE:
                    yield event, end
                elif end == size or not line.endswith(b"\n"):  # torn, or being written
                    return
                else:
                    raise CorruptRun(
                        f"{self.path}:{number}: damaged event at byte {start}; the lines before it are whole. "
                        "Copy them to a new directory, or start again with another --out"
                    )


_NONE = object()


def _event(line: bytes) -> Json:
    """The event of a whole line, or `_NONE`."""
    body = line[9:-1]
    if not line.endswith(b"\n") or line[:8] != b"%08x" % zlib.crc32(body):
        return _NONE
    try:
        return json.loads(body)
    except (ValueError, RecursionError):  # written by somebody else
        return _NONE


class Events(Generic[E]):
    """The events of one kind of run, as records, over its journal.

    Args:
        kinds: the record class of each name.
    """

    def __init__(self, journal: Journal, kinds: Mapping[str, type[E]]) -> None:
        self.journal, self._kinds = journal, kinds
        self._names = {kind: name for name, kind in kinds.items()}

    def begin(self, header: Mapping[str, Json]) -> None:
        """Write the first event, or see that the journal began with the same one.

        Args:
            header: `kind`, the name of the kind of run, and all that decides its course; JSON.

        Raises:
            UsageError: it began with another one; names what differs.
        """
        held = self.header()
        if held is None:
            self.journal.append({**header, "event": BEGIN, "v": VERSION}, sync=True)
        elif held != header:
            raise _difference(held, header)

    def header(self) -> dict[str, Json] | None:
        """What the journal began with, or None while it is empty."""
        first = next(self._values(), None)
        return None if first is None else {key: value for key, value in first[1].items() if key not in ("event", "v")}

    def __iter__(self) -> Iterator[E]:
        """Every event after the first, in order.

        Raises:
            CorruptRun: a line is damaged, or no event of this kind of run.
            UsageError: another version of evosyn wrote it.
        """
        return (event for _, event in self.positions())

    def positions(self) -> Iterator[tuple[int, E]]:
        """The same, each with the byte where its line starts, for reading single events again with `at`."""
        for position, value in self._values():
            if value.get("event") != BEGIN:
                yield position, self._record(position, value)

    def at(self, position: int) -> E:
        """The event whose line starts at `position`."""
        return self._record(position, _object(self.journal, self.journal.at(position)))

    def append(self, event: E, *, sync: bool = False) -> int:
        """Add one event; as `Journal.append`."""
        return self.journal.append({"event": self._names[type(event)], **dump(event)}, sync=sync)

    def _values(self) -> Iterator[tuple[int, dict[str, Json]]]:
        for position, value in self.journal.positions():
            event = _object(self.journal, value)
            if position == 0 and (event.get("event"), event.get("v")) != (BEGIN, VERSION):
                raise UsageError(
                    f"{self.journal.path}: is no journal of version {VERSION}; use the evosyn that wrote it, or "
                    "choose another --out"
                )
            yield position, event

    def _record(self, position: int, value: Mapping[str, Json]) -> E:
        fields = dict(value)
        name = fields.pop("event", None)
        if name not in self._kinds:
            known = ", ".join((BEGIN, *self._kinds))
            raise CorruptRun(f"{self.journal.place(position)}: the event is {name!r}, none of {known}. {OTHER}")
        try:
            return load(self._kinds[name], fields)
        except FormatError as error:
            raise CorruptRun(
                f"{self.journal.place(position)}: the event {name!r} cannot be read: {error} "
                f"(got {error.value!r:.120}). {OTHER}"
            ) from error


def _object(journal: Journal, value: Json) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise CorruptRun(f"{journal.path}: holds {value!r:.60}, which is no event; start again with another --out")
    return value


def _difference(held: Mapping[str, Json], given: Mapping[str, Json]) -> UsageError:
    """Names the first settings that differ between a journal and the command."""
    if held.get("kind") != given.get("kind"):
        return UsageError(f"the run directory holds a run of another kind ({held.get('kind')}); choose another --out")
    flat_held, flat_given = _flat(held), _flat(given)
    changed = [key for key in sorted({*flat_held, *flat_given}) if flat_held.get(key) != flat_given.get(key)]
    shown = "; ".join(
        OTHER_INPUTS if key == INPUTS else f"{key}: {flat_held.get(key)!r} there, {flat_given.get(key)!r} asked for"
        for key in changed[:4]
    )
    told = f"the run directory holds a run with other settings ({shown}). Repeat its command, or choose another --out"
    return OtherSettings(told, tuple(changed[:4]))


def _flat(value: Mapping[str, Json], prefix: str = "") -> dict[str, Json]:
    out: dict[str, Json] = {}
    for key, item in value.items():
        if isinstance(item, Mapping):
            out.update(_flat(item, f"{prefix}{key}."))
        else:
            out[prefix + key] = item
    return out
