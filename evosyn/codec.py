"""Records to JSON and back, by their annotations: one codec for frozen dataclasses.

A field that holds its default is left out, so that lines stay short; a key that is no field is refused. What has a form
of its own on disk (arrays, matrices, testings) says so with `Through`. Pydantic does the work; adapters are built when
they are first asked for, since importing it takes longer than most commands. DESIGN.md section 4.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from typing import TYPE_CHECKING, Any, NewType, TypeVar

from evosyn.errors import FormatError, nearest, told_type

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import CoreSchema, ErrorDetails

    from evosyn.records import Json

T = TypeVar("T")

UNKNOWN = "unexpected_keyword_argument"
WORDS = {
    "string": "a text",
    "float": "a number",
    "int": "a whole number",
    "bool": "true or false",
    "tuple": "a list",
    "list": "a list",
    "dict": "an object",
    "mapping": "an object",
    "dataclass": "an object",
}
"""What this project calls what pydantic asks for."""


@dataclass(frozen=True)
class Through:
    """In `Annotated[T, Through(read, write)]`: how a value that is no record stands in JSON.

    Attributes:
        read: the value of its JSON; raises ValueError (best: FormatError) where it is none.
        write: the JSON of the value.
    """

    read: Callable[[Json], Any]
    write: Callable[[Any], Json]

    def __get_pydantic_core_schema__(self, source: object, handler: object) -> CoreSchema:
        from pydantic_core import core_schema

        written = core_schema.plain_serializer_function_ser_schema(self.write)
        return core_schema.no_info_plain_validator_function(self.read, serialization=written)


def dump(record: object, *, defaults: bool = False) -> dict[str, Json]:
    """The JSON object of a record; `load` reads it back.

    Args:
        defaults: also write the fields that hold their default, for readers that are not ours.

    Raises:
        ValueError: a field holds what its annotation does not allow.
    """
    from pydantic_core import PydanticSerializationError

    adapter = _adapter(type(record))
    try:
        found: dict[str, Json] = adapter.dump_python(
            record, mode="json", exclude_defaults=not defaults, warnings="error"
        )
    except PydanticSerializationError as error:
        if isinstance(error.__cause__, BaseException) and not isinstance(error.__cause__, Exception):
            raise error.__cause__ from None  # an interrupt, taken for a fault of the value
        raise
    return found


def load(kind: type[T], value: Json) -> T:
    """The record that `dump` wrote, its fields checked.

    Raises:
        FormatError: naming the field, the rule and the value; all that are wrong.
    """
    from pydantic_core import ValidationError

    try:
        found: T = _adapter(kind).validate_python(value)
    except ValidationError as error:
        # A mistyped name makes two errors: the unknown field tells more than the missing one.
        wrong = sorted(error.errors(include_url=False), key=lambda one: one["type"] != UNKNOWN)
        raise FormatError.of_all(_told(kind, one) for one in wrong) or error from error
    return found


def _build(kind: Any) -> TypeAdapter[Any]:
    from pydantic import TypeAdapter

    # Settings cannot be given for a class of ours, but for a new name of it, and hold for all records inside. NaN is
    # left as it is, so that the text of a line, which allows none, is never a null that nobody wrote.
    named = NewType("named", kind)  # type: ignore[valid-newtype]
    return TypeAdapter(named, config={"extra": "forbid", "ser_json_inf_nan": "constants"})


_adapter: Callable[[Any], TypeAdapter[Any]] = cache(_build)


def _told(kind: type, found: ErrorDetails) -> FormatError:
    place = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in found["loc"]).lstrip(".")
    inner = found.get("ctx", {}).get("error")
    if isinstance(inner, FormatError):
        return inner.inside(place) if place else inner
    if found["type"] == "missing":
        return FormatError(place, "is missing")
    if found["type"] == UNKNOWN:
        return FormatError(place, "is not a field of it", hint=_near(kind, place))
    asked = WORDS.get(found["type"].partition("_")[0])
    reason = found["msg"].replace("Input should", "must") if asked is None else f"must be {asked}"
    return FormatError(place, f"{reason}, not {told_type(found['input'])}", found["input"])


def _near(kind: type, name: str) -> str:
    known = [field.name for field in fields(kind)] if is_dataclass(kind) and "." not in name else []
    return nearest(name, known) if known else ""
