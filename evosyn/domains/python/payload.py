"""What a problem of the Python domains has beside its statement: the function, and how its program begins."""

from __future__ import annotations

from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, field_validator

from evosyn.records import Problem
from evosyn.sandbox.distributions import is_name


def _are_names(value: list[str] | None) -> list[str] | None:
    if value is not None and (wrong := next((name for name in value if not is_name(name)), None)) is not None:
        raise ValueError(f"{wrong!r} is no name of a distribution; write it as pip does, such as numpy")
    return value


Packages: TypeAlias = Annotated[list[str] | None, AfterValidator(_are_names)]


class FunctionPayload(BaseModel):
    """Of a `python-function` problem.

    Attributes:
        entry_point: the function that solutions define, as `name` or `Class.method`.
        starter_code: the start of the program, with the signature; its imports and helpers may be used by testings.
        packages: distributions that its programs and testings import beside the standard library.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    entry_point: str = Field(description="the function that solutions define")
    starter_code: str | None = None
    packages: Packages = None

    @field_validator("entry_point")
    @classmethod
    def _is_a_name(cls, value: str) -> str:
        if not all(part.isidentifier() for part in value.split(".", 1)):
            raise ValueError("must be the name of a function, or Class.method")
        return value


class ProgramPayload(BaseModel):
    """Of a `python-stdin` problem.

    Attributes:
        starter_code: the start of the program, for the reader.
        packages: distributions that its programs import beside the standard library.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    starter_code: str | None = None
    packages: Packages = None


def entry_point(problem: Problem) -> str:
    """The function under test; empty where the problem names none."""
    return str(problem.payload.get("entry_point") or "")


def starter_code(problem: Problem) -> str:
    """The start of the program; empty where there is none."""
    return str(problem.payload.get("starter_code") or "")
