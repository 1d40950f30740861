"""A run directory: its paths, atomic writes, one writer at a time, and the journal in it. DESIGN.md section 4."""

from __future__ import annotations

import errno
import fcntl
import hashlib
import json
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import IO

from evosyn.errors import PUT_BACK, CorruptRun, OtherSettings, RunLocked, UsageError, is_held, naming
from evosyn.journal import Journal
from evosyn.records import Json

SCHEMA = 1
REPORT, ESTIMATE = "report.json", "estimate.json"
_DATABASE = ("", "-wal", "-shm", "-journal")
"""How the names of the files end that SQLite makes of one."""
KEPT_BEFORE = {"turns.jsonl", "states", "evaluations", ESTIMATE}.union(
    *({f"{name}.sqlite{end}" for end in _DATABASE} for name in ("replies", "verdicts"))
)
"""What may stand in a directory before its run begins: paid replies of a `--dry-run`, for instance. Whole names, for
`states.csv` is a user's; names that begin with a point may stand there too."""
LOCK = ".lock"
"""Holds the number of the process that writes, as decimal digits alone."""
PID_DIGITS = 20
WRITTEN_AGAIN = "Remove it and repeat the command, which writes it again"


def see_unchanged(out: Path, before: Mapping[str, Json], now: Mapping[str, Json]) -> None:
    """
    Raises:
        OtherSettings: a value that decides the course of the run in `out` was another one; names those that were.
    """
    changed = [key for key in before if before[key] != now.get(key)]
    if changed:
        shown = "; ".join(f"{key}: {before[key]!r} before, {now.get(key)!r} now" for key in changed[:4])
        told = f"--out {out}: was started with other settings ({shown}); repeat them, or choose another --out"
        raise OtherSettings(told, tuple(changed[:4]))


def require_file(path: Path) -> None:
    """See that a file can be written here: a device, a pipe or a directory is never replaced by one.

    Raises:
        UsageError: something else is there, or in place of a directory above.
    """
    if path.exists() and not path.is_file():
        what = "directory" if path.is_dir() else "device, pipe or socket"
        raise UsageError(f"{path}: is a {what}, in whose place no file is written; name another")
    above = next((one for one in path.parents if one.exists()), path.parent)
    if above.exists() and not above.is_dir():
        raise UsageError(f"{path}: {above} is no directory; name a file in one")


@contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write in place of `path`: a reader, or a crash, sees the old content or the whole new one.

    Raises:
        UsageError: what stands there is no file.
    """
    require_file(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with naming(path), os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).chmod(0o644)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def write_atomic(path: Path, data: str | bytes) -> None:
    """Write a whole file through `replacing`; what is no text in UTF-8 is escaped."""
    raw = data.encode("utf-8", "backslashreplace") if isinstance(data, str) else data
    with replacing(path) as file:
        file.write(raw)


def require_free(path: Path) -> None:
    """See that no process writes to this run directory, if it is there: before anything is paid for it.

    Raises:
        RunLocked: one does.
        UsageError: what is called like the lock is no file.
    """
    try:
        _require_lock(path)
        with (path / LOCK).open(errors="replace") as lock:
            _take(lock, path)
    except (FileNotFoundError, NotADirectoryError):
        return


def _require_lock(path: Path) -> None:
    """See that nothing but a file is called like the lock: opening a pipe may wait for ever."""
    if (path / LOCK).exists() and not (path / LOCK).is_file():
        raise holding_others(path, [LOCK])


def _locked(path: Path) -> tuple[IO[str], bool]:
    """The lock of a directory, taken, and whether its file was made for that.

    Raises:
        RunLocked: another process has it.
        UsageError: the file is of something else.
    """
    while True:
        _require_lock(path)
        made = not (path / LOCK).exists()
        lock = (path / LOCK).open("a+", encoding="utf-8", errors="replace")
        try:
            _take(lock, path)
            lock.seek(0)
            if lock.read(PID_DIGITS).strip("0123456789"):
                raise holding_others(path, [LOCK])
        except UsageError:
            lock.close()
            raise
        if os.fstat(lock.fileno()).st_nlink:
            return lock, made
        lock.close()  # whoever made it was refused the directory and took it away


def _take(lock: IO[str], path: Path) -> None:
    """Lock the file for as long as it is open."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        lock.seek(0)
        owner = lock.read(PID_DIGITS).strip() or "unknown"
        raise RunLocked(
            f"{path}: another process (pid {owner}) writes to this run directory; wait for it, or choose another --out"
        ) from error


def holding_others(out: Path, names: Sequence[str]) -> UsageError:
    """Why no run begins in a directory: what it holds, whoever wrote that."""
    shown = ", ".join(names[:3]) + (f" and {len(names) - 3} more" if len(names) > 3 else "")
    return UsageError(f"--out {out}: holds files of something else ({shown}); choose another directory")


def require_new(out: Path, writes: Iterable[str]) -> None:
    """See that a directory where a run begins holds nothing of what it writes; other files, such as logs, may be there.

    Args:
        writes: names, or patterns of names.

    Raises:
        UsageError: it does; nothing was touched.
    """
    others = sorted({one.name for pattern in writes for one in out.glob(pattern)})
    if others:
        raise holding_others(out, others)


class RunDir:
    """One run directory: its paths, its lock and its journal.

    Attributes:
        path: the directory.
        journal: `journal.jsonl`.
        written: names of the files that were written since it was opened, or this was cleared.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.journal = Journal(self.path / "journal.jsonl")
        self.written: set[str] = set()
        self._lock: IO[str] | None = None
        self._lock_made = self._signed = False

    def open_for_writing(self) -> RunDir:
        """Make the directory and take its lock, which ends with the process. No file that is there is changed.

        Raises:
            RunLocked: another process writes to it.
            UsageError: the path is a file, or cannot be made; its `.lock` is a file of something else.
        """
        try:
            self.path.mkdir(parents=True, exist_ok=True)
            self._lock, self._lock_made = _locked(self.path)
        except OSError as error:
            raise UsageError(f"--out {self.path}: cannot be used as a run directory: {error.strerror}") from error
        return self

    def close(self) -> None:
        """End the lock; one that was made for a directory which was then refused goes."""
        self.journal.close()
        if self._lock is not None:
            if self._lock_made and not self._signed:
                self.file(LOCK).unlink(missing_ok=True)
            self._lock.close()
            self._lock, self._signed = None, False

    def _sign(self) -> None:
        """Say in the lock which process has it, once the directory is ours."""
        if self._lock is not None and not self._signed:
            self._lock.truncate(0)
            self._lock.write(str(os.getpid()))
            self._lock.flush()
            self._signed = True

    def __enter__(self) -> RunDir:
        return self.open_for_writing()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def file(self, *parts: str) -> Path:
        return self.path.joinpath(*parts)

    def claim(self, kind: str) -> None:
        """See that the directory is of this kind of run, or has no manifest yet; the lock then names this process.

        Raises:
            UsageError: it holds something else.
        """
        self.check_kind(kind)
        self._sign()

    def check_kind(self, kind: str) -> None:
        """The same, before it is sure that the directory is taken: the lock stays as it is."""
        held = self.read_json("manifest.json").get("kind") if is_held(self.file("manifest.json")) else kind
        if held != kind:
            raise UsageError(f"--out {self.path}: holds a run of another kind ({held}); choose another directory")

    def claim_new(self, kind: str) -> None:
        """The same, for a command whose first files are manifest or journal: where neither is there, nothing may be
        but what a command keeps before.

        Raises:
            UsageError: it holds something else, such as files of the user.
        """
        self.check_kind(kind)
        if not (self.file("manifest.json").exists() or self.journal.path.exists()):
            names = sorted(one.name for one in self.path.iterdir())
            others = [one for one in names if not one.startswith(".") and one not in KEPT_BEFORE]
            if others:
                raise holding_others(self.path, others)
        self._sign()

    def begin(self, kind: str, **decided: Json) -> None:
        """Claim the directory for a run of which these values decide what comes out, and hold it to them.

        Raises:
            UsageError: it holds something else, or was begun with other values; names them.
        """
        self.claim_new(kind)
        if is_held(self.file("manifest.json")):
            held = self.read_json("manifest.json")
            see_unchanged(self.path, {key: held.get(key) for key in decided}, decided)
        self.write_json("manifest.json", {"kind": kind, **decided})

    def write(self, name: str, data: str | bytes) -> Path:
        """Write one file of the run atomically and return its path."""
        path = self.made(name)
        write_atomic(path, data)
        return path

    def made(self, name: str) -> Path:
        """The path of a file that is now written in another way than by `write`."""
        self._sign()
        self.written.add(name)
        return self.file(name)

    def write_json(self, name: str, value: Json) -> Path:
        """The same, as indented JSON with a schema version."""
        stamped = {"v": SCHEMA, **value} if isinstance(value, dict) else value
        return self.write(name, json.dumps(stamped, indent=2, ensure_ascii=False, allow_nan=False) + "\n")

    def digest(self, name: str) -> str:
        """Of a file as it is."""
        with self.file(name).open("rb") as opened:
            return hashlib.file_digest(opened, "sha256").hexdigest()[:16]

    def altered(self, report: Mapping[str, Json], *names: str) -> list[str]:
        """Files that a report is of (`digests`), or some of them, that are not as they were written: they read
        otherwise, cannot be read, or are links that lead out of the run.

        Raises:
            CorruptRun: the report does not say how they were.
        """
        known = report.get("digests")
        if not isinstance(known, dict):
            raise CorruptRun(f"{self.file(REPORT)}: is damaged, its digests are {known!r:.60}. {WRITTEN_AGAIN}")
        return [name for name in names or known if name in known and self._altered(name, known[name])]

    def _altered(self, name: str, digest: Json) -> bool:
        path, own = self.file(name), self.path.resolve()
        try:
            there = path.is_symlink() or path.is_file()
            if not there or not path.parent.resolve().is_relative_to(own):
                return False  # what lies elsewhere is not the run's, whatever a report says
        except OSError as error:
            return error.errno != errno.ENAMETOOLONG  # no name that a file can have
        try:
            held = path.is_file() and path.resolve().is_relative_to(own)
            return not held or bool(self.digest(name) != digest)
        except OSError:
            return True

    def read_json(self, name: str) -> Json:
        """
        Raises:
            UsageError: there is no such file: this is not the kind of directory that was asked for; or one of another
                version.
            CorruptRun: it is no file, not JSON, or not an object.
        """
        path = self.file(name)
        remedy = WRITTEN_AGAIN if name == REPORT else PUT_BACK
        if not is_held(path):
            raise UsageError(f"{self.path}: has no {name}; is it the directory that an evosyn command wrote?")
        try:
            value = json.loads(path.read_text(encoding="utf-8"))
        except UnicodeError as error:
            raise CorruptRun(f"{path}: is damaged, it holds what is no text in UTF-8. {remedy}") from error
        except ValueError as error:
            raise CorruptRun(f"{path}: is damaged, it is not JSON: {error}. {remedy}") from error
        except RecursionError as error:
            raise CorruptRun(f"{path}: is damaged, it is nested too deeply. {remedy}") from error
        if not isinstance(value, dict):
            raise CorruptRun(f"{path}: is damaged, it is no JSON object. {remedy}")
        if (version := value.get("v", SCHEMA)) != SCHEMA:
            told = f"{path}: v is {version!r:.60}, this evosyn reads version {SCHEMA}"
            raise UsageError(f"{told}; use the evosyn that wrote it, or choose another directory")
        return value
