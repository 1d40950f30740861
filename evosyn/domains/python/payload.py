"""What a problem of the Python domains has beside its statement: the function, and how its program begins."""

from __future__ import annotations

from keyword import iskeyword
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from evosyn.parsing import parsed
from evosyn.records import Problem
from evosyn.sandbox.distributions import is_name


def _are_names(value: list[str] | None) -> list[str] | None:
    if value is not None and (wrong := next((name for name in value if not is_name(name)), None)) is not None:
        raise ValueError(f"{wrong!r} is no name of a distribution; write it as pip does, such as numpy")
    return value


Packages: TypeAlias = Annotated[list[str] | None, AfterValidator(_are_names)]

LIVECODEBENCH = "builtin:livecodebench"
_IMPORTED = (
    "string re datetime collections heapq bisect copy math random statistics itertools functools operator io sys json"
)
_LINES = [f"from {name} import *\n" for name in [*_IMPORTED.split(), "builtins", "typing"]]
_LINES += [f"import {name}\n" for name in _IMPORTED.split()]
PRELUDES = {LIVECODEBENCH: "".join([*_LINES, "sys.setrecursionlimit(50000)\n"])}
"""By name. LiveCodeBench's own grader runs this before every program (Jain 2024, `testing_util.import_string`)."""


def _check_prelude(value: str) -> str:
    if value.startswith("builtin:") and value not in PRELUDES:
        raise ValueError(f"must be the source of a program, or one of {', '.join(PRELUDES)}")
    try:
        parsed(PRELUDES.get(value, value))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise ValueError(f"must be the source of a program: {error}") from error
    return value


Prelude: TypeAlias = Annotated[str, AfterValidator(_check_prelude)]


class FunctionPayload(BaseModel):
    """Of a `python-function` problem.

    Attributes:
        entry_point: the function that solutions define, as `name` or `Class.method`.
        starter_code: the start of the program, with the signature; its imports and helpers may be used by solutions and
            by testings.
        prelude: what runs before every solution: a source, or the name of one (`builtin:livecodebench`).
        packages: distributions that its programs and testings import beside the standard library.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    entry_point: str = Field(description="the function that solutions define")
    starter_code: str | None = None
    packages: Packages = None
    prelude: Prelude | None = None

    @field_validator("entry_point")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        parts = value.split(".", 1)
        if not all(part.isidentifier() and not iskeyword(part) and part[:2] != "__" for part in parts):
            raise ValueError("must be the name of a function, or Class.method, and none of Python's own (`__name__`)")
        return value


class ProgramPayload(BaseModel):
    """Of a `python-stdin` problem.

    Attributes:
        starter_code: the start of the program; its imports and helpers may be used by solutions.
        prelude: as of a function.
        packages: distributions that its programs import beside the standard library.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    starter_code: str | None = None
    packages: Packages = None
    prelude: Prelude | None = None


def entry_point(problem: Problem) -> str:
    """The function under test; empty where the problem names none."""
    return str(problem.payload.get("entry_point") or "")


def starter_code(problem: Problem) -> str:
    """The start of the program; empty where there is none."""
    return str(problem.payload.get("starter_code") or "")


def prelude(problem: Problem) -> str:
    """What runs before every solution; empty where there is nothing."""
    said = str(problem.payload.get("prelude") or "")
    return PRELUDES.get(said, said)


def completions(starter: str) -> tuple[str, ...]:
    """The starter code, and where its last line ends in a colon, the same with a body for that line."""
    lines = starter.rstrip().splitlines()
    if not lines or not lines[-1].endswith(":"):
        return (starter, f"{starter}\n    pass\n")
    indent = len(lines[-1]) - len(lines[-1].lstrip()) + 4
    return ("\n".join([*lines, " " * indent + "pass\n"]),)
