"""What every reading has in common: a kind, a path, and questions with the parts of their names.

A reading holds no open file and can be asked from several threads; what it has made of a file is made again when the
file has changed, so that a running directory can be looked at for as long as it runs.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, TypeVar

from evosyn.configs.saving import read_config
from evosyn.errors import CorruptRun, UsageError, is_held
from evosyn.reading.conclusions import Conclusion
from evosyn.records import Json, PassMatrix
from evosyn.rundir import REPORT, RunDir
from evosyn.strategies import load_strategy, strategy_name

T = TypeVar("T")


@dataclass(frozen=True)
class Listed(Generic[T]):
    """A list that can be long.

    Attributes:
        columns: the fields whose words a reader may look for.
    """

    rows: tuple[T, ...]
    columns: tuple[str, ...]


def reply_file(run: Path) -> Path:
    """Where a run keeps replies: a file that it shares with others, or its own.

    Raises:
        CorruptRun: its configuration is damaged.
    """
    value: Json = read_config(run)
    for name in ("workbench", "teacher", "replies"):
        value = value.get(name) if isinstance(value, dict) else None
    return Path(value) if value else run / "replies.sqlite"


class Reading(ABC):
    """One directory.

    Attributes:
        kind: of the directory, as `evosyn inspect` says it.
        asks: the questions that it answers, each a method of that name, with what must be given.
        made_by: the command that writes such a directory.
    """

    made_by: ClassVar[str]
    asks: ClassVar[Mapping[str, tuple[str, ...]]] = {"overview": ()}

    def __init__(self, path: Path, kind: str) -> None:
        self.path, self.kind, self.dir = path, kind, RunDir(path)

    def answer(self, question: str, *given: str) -> object:
        """The answer to one of `asks`.

        Raises:
            UsageError: no such question, or nothing here of the name that was given.
            CorruptRun: a file lacks what every directory of this kind has.
        """
        if len(given) != len(self.asks.get(question, ())) or question not in self.asks:
            known = ", ".join("/".join((name, *parts)) for name, parts in self.asks.items())
            asked = "/".join((question, *given))
            raise UsageError(f"{asked!r}: no such question of a directory of {self.made_by}; one of {known}")
        with self.sound():
            found: object = getattr(self, question)(*given)
        return found

    def sound(self) -> AbstractContextManager[None]:
        """
        Raises:
            CorruptRun: in place of what a file of another form leads to.
        """
        return sound(self.path, f"every directory of {self.made_by}")

    @abstractmethod
    def overview(self) -> object:
        """What the directory holds as a whole."""

    def pass_matrix(self, name: str) -> PassMatrix:
        """The matrix of a problem as a record, to be ranked.

        Raises:
            UsageError: this kind of directory holds none, or none of that name.
        """
        raise UsageError(f"{self.path}: is a directory of {self.made_by} and holds no matrix (asked for {name!r})")

    def program(self, name: str) -> tuple[str, str]:
        """Name and text of a strategy: a known one, or a file.

        Raises:
            UsageError: there is none of that name.
        """
        return strategy_name(name), load_strategy(name)

    def highlights(self, most: int) -> Iterator[str]:  # noqa: ARG002
        """The questions that a reader will want answered, lists first, then at most so many about single things."""
        yield "overview"

    @property
    def report(self) -> dict[str, Json] | None:
        """report.json, or None while the run is not finished."""
        found: dict[str, Json] | None = self.dir.read_json(REPORT) if is_held(self.dir.file(REPORT)) else None
        return found


class WaitingReading(Reading):
    """A directory in which no run has begun."""

    made_by = "no command yet"

    def overview(self) -> Waiting:
        """That there is nothing to see yet."""
        return Waiting(self.kind, str(self.path), Conclusion("open", "Nothing is here yet; a run is waited for."))


@dataclass(frozen=True)
class Waiting:
    """What a directory without a run answers."""

    kind: str
    path: str
    conclusion: Conclusion
    finished: bool = False
    simulated: bool = False


@contextmanager
def sound(path: Path, like: str) -> Iterator[None]:
    """
    Args:
        path: what is read.
        like: what it should be like, in words.

    Raises:
        CorruptRun: in place of what another form of it leads to.
    """
    try:
        yield
    except (LookupError, TypeError, AttributeError, ValueError, RecursionError, FileNotFoundError) as error:
        detail = f"{type(error).__name__}: {error}".partition("\n")[0]
        what = f"it lacks {error}" if isinstance(error, KeyError) else f"its values have another form ({detail:.120})"
        told = f"is not like {like}, {what}; it is damaged, or another version of evosyn wrote it"
        raise CorruptRun(f"{path}: {told}. Put back a copy, or read it with that version") from error


class Fresh(Generic[T]):
    """A value made from a file, made again when the file has changed; safe for several threads.

    What the file cannot be read as is told with its name (`sound`).
    """

    def __init__(self, file: Path, make: Callable[[], T]) -> None:
        self._file, self._make, self._lock = file, make, threading.Lock()
        self._held: tuple[object, T] | None = None

    def get(self) -> T:
        with self._lock:
            stamp = self._stamp()
            if self._held is None or self._held[0] != stamp:
                with sound(self._file, "those that evosyn writes"):
                    self._held = (stamp, self._make())
            return self._held[1]

    def _stamp(self) -> object:
        try:
            status = self._file.stat()
        except (FileNotFoundError, NotADirectoryError):
            return None
        return status.st_size, status.st_mtime_ns
