"""The one error tree of evosyn, and the exit code that each branch ends a command with.

A bad candidate, solution, testing or reply is *data*: it is recorded with its reason and never raised. An exception
means that a person has to act (their input, their budget) or that a machine is broken. DESIGN.md section 6.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

EXIT_DONE = 0
EXIT_FAILED = 1
EXIT_USAGE = 2
EXIT_BUDGET = 3
EXIT_UNAVAILABLE = 4
EXIT_CORRUPT = 5
EXIT_INTERRUPTED = 130
EXIT_PIPE = 141


class EvosynError(Exception):
    """Base of every error that evosyn raises on purpose; `exit_code` is what the command line ends with."""

    exit_code: int = EXIT_FAILED


class CheckFailed(EvosynError):
    """The work finished, but what was asked of it does not hold (a gate, a check)."""


class UsageError(EvosynError):
    """A parameter, a config value or an input file is wrong; nothing has been spent yet."""

    exit_code = EXIT_USAGE


class OtherSettings(UsageError):
    """What decides the course of a run is another than when it began.

    Attributes:
        keys: dotted, of the settings that the message names.
    """

    def __init__(self, message: str, keys: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.keys = keys


class InputError(UsageError):
    """A line of an input file breaks its contract: names file, line, field, value and what to do."""

    def __init__(
        self,
        path: str | Path,
        reason: str,
        *,
        line: int | None = None,
        field: str | None = None,
        value: object = None,
        hint: str = "",
    ) -> None:
        where = f"{path}:{line}" if line is not None else str(path)
        if field is not None:
            where += f": field {field!r}"
        shown = "" if value is None else f" (got {_shorten(repr(value))})"
        super().__init__(f"{where}: {reason}{shown}" + (f". {hint}" if hint else ""))
        self.path, self.line, self.field = str(path), line, field


class FormatError(ValueError):
    """A value breaks the format: the field, the rule, the value and what to do. Readers of files add file and line.

    Attributes:
        rest: what else is wrong with the same value.
    """

    def __init__(self, field: str, reason: str, value: object = None, *, hint: str = "") -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field, self.reason, self.value = field, reason, value
        self.hint = hint[:1].upper() + hint[1:]
        self.rest: tuple[FormatError, ...] = ()

    @staticmethod
    def of_all(errors: Iterable[FormatError]) -> FormatError | None:
        """The first of several, which holds the others; None where there is none."""
        found = [one for error in errors for one in error.every()]
        if not found:
            return None
        found[0].rest = tuple(found[1:])
        return found[0]

    def every(self) -> tuple[FormatError, ...]:
        return (self, *self.rest)

    def inside(self, field: str) -> FormatError:
        """The same of a value that stands in this field."""
        place = f"{field}.{self.field}" if self.field else field
        found = FormatError(place, self.reason, self.value, hint=self.hint)
        found.rest = tuple(one.inside(field) for one in self.rest)
        return found

    def at(self, path: str | Path, line: int | None) -> InputError:
        """The same of a line of a file."""
        return InputError(path, self.reason, line=line, field=self.field, value=self.value, hint=self.hint)


def nearest(name: str, known: Iterable[str], otherwise: str | None = None) -> str:
    """What to say of a name that is unknown: which known ones are like it; where none is, `otherwise`, or all."""
    names = list(known)
    if near := alike(name, names):
        return f"did you mean {' or '.join(map(repr, near))}?"
    return f"known: {', '.join(names) or 'none'}" if otherwise is None else otherwise


def alike(name: str, known: Iterable[str]) -> list[str]:
    """The two at most of the known ones that are most like it."""
    import difflib

    return difflib.get_close_matches(name, list(known), n=2)


def told_type(value: object) -> str:
    """The type of a value of JSON or YAML, as messages call it."""
    return "null" if value is None else type(value).__name__


class StateTooLarge(EvosynError):
    """What an actor left of a place is more than is kept of one: data of an episode, not a broken machine."""


class BudgetSpent(EvosynError):
    """A hard limit in money, tokens, calls, evaluations or time was reached; the run is saved and resumable."""

    exit_code = EXIT_BUDGET


class UnavailableError(EvosynError):
    """Something outside evosyn does not answer; the run is saved and resumable."""

    exit_code = EXIT_UNAVAILABLE


class SandboxUnavailable(UnavailableError):
    """No sandbox of the asked protection works on this machine, or it broke beyond repair."""


class TeacherUnavailable(UnavailableError):
    """The model endpoint refuses (authentication, no such model) or has been dead for too long."""


class MissingExtra(UnavailableError):
    """An optional dependency is not installed; the message names the extra that brings it."""

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        super().__init__(f"{purpose} needs the package {package!r}: pip install 'evosyn[{extra}]'")


class CorruptRun(EvosynError):
    """A run directory contradicts itself and cannot be continued safely."""

    exit_code = EXIT_CORRUPT


class RunLocked(UsageError):
    """Another process writes to this run directory."""


def _shorten(text: str) -> str:
    return text if len(text) <= 120 else text[:117] + "..."


PUT_BACK = "Put back a copy of it, or start again with another --out"
"""What to do about a damaged file of a run."""


def is_held(path: Path) -> bool:
    """Whether a run has this file.

    Raises:
        CorruptRun: its name is that of a directory, a pipe or a device, which nobody should wait for.
    """
    if path.exists() and not path.is_file():
        raise CorruptRun(f"{path}: is damaged, it is no file. {PUT_BACK}")
    return path.is_file()


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Has an error of writing to an open file name it: the system names files only where it opens them."""
    try:
        yield
    except OSError as error:
        error.filename = error.filename or str(path)
        raise
