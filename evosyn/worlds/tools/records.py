"""A tool world as data: tables with column policies, tools as programs, and the clock. Nothing is run here.

A state is the rows of all tables, `{table: [{column: value}, ...]}`, in the order of their keys; it is named by its
content. ScaleEnv (2602.06820), section 4.1.1; docs/worlds.md has the form and says what is ours.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping
from datetime import datetime
from functools import cached_property
from typing import Annotated, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from evosyn.records import Json, canonical_json, content_id
from evosyn.worlds.tools.loose_ends import LARGEST, loose_ends

Policy = Literal["exempt", "hard", "semantic", "clock"]
Rows: TypeAlias = Mapping[str, list[dict[str, Json]]]
"""A state."""
Word = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{0,40}$")]
Bound = Annotated[int, Field(ge=-LARGEST, le=LARGEST)]
LONG_TEXT = ("note", "notes", "comment", "description", "reason")
"""Names of columns whose text counts by its meaning."""


class _Part(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Column(_Part):
    """A column.

    Attributes:
        references: table whose key it holds.
        values: the texts or integers that it may hold.
        minimum, maximum: of a number, both included.
        draw: word list that drawn states take its texts from (`words.WORDS`).
        policy: how two states are compared in it; by default what `WorldTable.policy` says.
    """

    name: Word
    type: Literal["text", "integer", "number", "date", "timestamp"] = "text"
    nullable: bool = False
    unique: bool = False
    references: Word | None = None
    values: tuple[str | int, ...] = ()
    minimum: Bound | None = None
    maximum: Bound | None = None
    draw: Word | None = None
    policy: Policy | None = None


class WorldTable(_Part):
    """A table; its first column is the key, a text.

    Attributes:
        prefix: of the keys that the world makes, such as `M` of `M0001`.
        checks: conditions on a row: `["<=", "out", "copies"]`, a column, or a number.
        called: how people speak of a row, with its columns in braces; a column that is a key of another table stands
            for how that row is called.
        made: how they speak of one that was made a moment ago.
    """

    name: Word
    prefix: Annotated[str, Field(pattern=r"^[A-Z]{1,3}$")]
    columns: Annotated[tuple[Column, ...], Field(min_length=1)]
    checks: tuple[Json, ...] = ()
    called: str
    made: str = ""

    @property
    def key(self) -> str:
        return self.columns[0].name

    @property
    def references(self) -> list[str]:
        """The tables that it refers to."""
        return [one.references for one in self.columns if one.references]

    def policy(self, column: Column) -> Policy:
        """How two states are compared in a column: keys are exempt, what is written by the clock is, long texts count
        by their meaning, all else is hard (section 4.1.1)."""
        if column.policy is not None:
            return column.policy
        if column is self.columns[0]:
            return "exempt"
        if column.type == "timestamp":
            return "clock"
        return "semantic" if column.type == "text" and column.name in LONG_TEXT and not column.values else "hard"


class Parameter(_Part):
    """A parameter of a tool.

    Attributes:
        ref: table whose key it names.
        column: `table.column` that it is looked up in.
        minimum, maximum, values, draw: as those of a column; what is asked for is drawn from them.
    """

    name: Word
    type: Literal["string", "integer", "number", "boolean"] = "string"
    description: str
    required: bool = True
    ref: Word | None = None
    column: str | None = None
    values: tuple[str | int, ...] = ()
    minimum: Bound | None = None
    maximum: Bound | None = None
    draw: Word | None = None

    @property
    def shape(self) -> dict[str, Json]:
        """Its JSON schema."""
        bounds = {"minimum": self.minimum, "maximum": self.maximum, "enum": list(self.values) or None}
        found = {name: bound for name, bound in bounds.items() if bound is not None}
        return {"type": self.type, "description": self.description, **found}


class ToolSpec(_Part):
    """A tool.

    Attributes:
        raises: the refusals that it declares.
        request: how somebody asks for it, with its parameters in braces; empty for one that nobody asks for.
        source: the program: one function of this name (`gate`).
    """

    name: Word
    description: str
    parameters: tuple[Parameter, ...] = ()
    raises: tuple[Annotated[str, Field(pattern=r"^[A-Z][A-Za-z]{2,30}$")], ...] = ()
    request: str = ""
    source: str = ""

    @property
    def function(self) -> dict[str, Json]:
        """As endpoints with function calling take it."""
        shape = {
            "type": "object",
            "properties": {one.name: one.shape for one in self.parameters},
            "required": [one.name for one in self.parameters if one.required],
        }
        return {
            "type": "function",
            "function": {"name": self.name, "description": self.description, "parameters": shape},
        }

    def fitted(self, args: Mapping[str, Json]) -> dict[str, Json]:
        """The same arguments with 907 for 907.0 where an integer is asked for, as JSON Schema has it."""
        whole = {one.name for one in self.parameters if one.type == "integer"}
        return {k: int(v) if k in whole and isinstance(v, float) and v.is_integer() else v for k, v in args.items()}

    def misfit(self, args: Mapping[str, Json], *, linked: bool = False) -> str:
        """Why these arguments are none of it, or "".

        Args:
            linked: `{"from": [call, path]}` may stand for a value.
        """
        known = {one.name: one for one in self.parameters}
        if unknown := sorted(set(args) - set(known)):
            return f"unknown argument {unknown[0]!r}; {self.name} takes {', '.join(known) or 'none'}"
        for name, one in known.items():
            if name not in args:
                if one.required:
                    return f"argument {name!r} is missing"
                continue
            if linked and isinstance(args[name], dict) and set(args[name]) == {"from"}:
                continue
            if not isinstance(args[name], _TYPES[one.type]) or (isinstance(args[name], bool) and one.type != "boolean"):
                return f"argument {name!r} must be of type {one.type}"
        return ""


_TYPES: dict[str, tuple[type, ...]] = {
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}


class ToolWorld(_Part):
    """A world of tools over a database.

    Attributes:
        clock: when every episode begins; each call takes a minute.
        rules: what the agent is told of how things are done here.
    """

    v: Literal[1] = 1
    name: Word
    title: str
    clock: Annotated[str, Field(pattern=r"^(19|20|21)[0-9]{2}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}$")]
    rules: str = ""
    tables: Annotated[tuple[WorldTable, ...], Field(min_length=1, max_length=22)]
    tools: Annotated[tuple[ToolSpec, ...], Field(min_length=1, max_length=70)]

    def __hash__(self) -> int:
        return hash(self.id)

    @cached_property
    def id(self) -> str:
        return content_id("w_", self.model_dump(mode="json"))

    @cached_property
    def table(self) -> dict[str, WorldTable]:
        return {one.name: one for one in self.tables}

    @cached_property
    def tool(self) -> dict[str, ToolSpec]:
        return {one.name: one for one in self.tools}

    @cached_property
    def ordered(self) -> tuple[WorldTable, ...]:
        """The tables, those that others refer to first."""
        found: dict[str, WorldTable] = {}
        left = list(self.tables)
        while left:
            free = [one for one in left if all(ref in found or ref == one.name for ref in one.references)]
            found |= {one.name: one for one in free}
            left = [one for one in left if one.name not in found]
        return tuple(found.values())

    @field_validator("clock")
    @classmethod
    def _is_a_time(cls, given: str) -> str:
        datetime.fromisoformat(given)
        return given

    @model_validator(mode="after")
    def _holds_together(self) -> ToolWorld:
        wrong = next(loose_ends(self), "")
        if wrong:
            raise ValueError(wrong)
        return self


@functools.lru_cache(maxsize=512)
def world_from(text: str) -> ToolWorld:
    """The world of a payload, as canonical JSON.

    Raises:
        ValueError: it is none.
    """
    try:
        return ToolWorld.model_validate_json(text)
    except ValidationError as error:
        raise ValueError(f"is no tool world: {error.errors(include_url=False)[0]['msg']}") from error


def state_text(rows: Rows) -> str:
    """The canonical JSON of a state."""
    return canonical_json(rows)


def state_id(rows: Rows) -> str:
    """The name of a state."""
    return "st_" + hashlib.sha256(state_text(rows).encode("utf-8", "surrogatepass")).hexdigest()[:32]
