"""What a problem of the Python domains has beside its statement: the function, and how its program begins."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field, field_validator

from evosyn.records import Problem


class FunctionPayload(BaseModel):
    """Of a `python-function` problem.

    Attributes:
        entry_point: the function that solutions define, as `name` or `Class.method`.
        starter_code: the start of the program, with the signature; its imports and helpers may be used by testings.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    entry_point: str = Field(description="the function that solutions define")
    starter_code: str | None = None

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
    """

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)

    starter_code: str | None = None


def entry_point(problem: Problem) -> str:
    """The function under test; empty where the problem names none."""
    return str(problem.payload.get("entry_point") or "")


def starter_code(problem: Problem) -> str:
    """The start of the program; empty where there is none."""
    return str(problem.payload.get("starter_code") or "")
