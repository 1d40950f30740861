"""What configurations are built from."""

from __future__ import annotations

from pydantic import BaseModel, BeforeValidator, ConfigDict

LISTED = BeforeValidator(lambda value: [part.strip() for part in value.split(",")] if isinstance(value, str) else value)
"""For a field of several values: as a text, they are separated by commas."""


class Section(BaseModel):
    """A part of a configuration: it does not change, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")
