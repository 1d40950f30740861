"""What configurations are built from."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, TypeAlias

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, model_validator
from pydantic_core import PydanticCustomError

from evosyn.addresses import holds_secret
from evosyn.configs.loading import SECRET
from evosyn.lengths import AUTO, check_lengths
from evosyn.records import Json

LISTED = BeforeValidator(lambda value: [part.strip() for part in value.split(",")] if isinstance(value, str) else value)
"""For a field of several values: as a text, they are separated by commas."""


def _one_or_several(value: Json) -> Json:
    return value[0] if isinstance(value, list | tuple) and len(value) == 1 else value


Sources: TypeAlias = Annotated[str | tuple[str, ...], BeforeValidator(_one_or_several)]
"""A source of data or several; one stands by itself."""


def listed(value: Sources) -> tuple[str, ...]:
    """The sources, however many."""
    return ((value,) if value else ()) if isinstance(value, str) else value


SAMPLED: Mapping[str, Json] = {"temperature": 1.0, "max_tokens": AUTO}


def _sampled(given: Json) -> Json:
    return {**SAMPLED, **given} if isinstance(given, Mapping) else given


Parameters: TypeAlias = Annotated[dict[str, Json], AfterValidator(check_lengths)]
"""Sampling parameters."""
Sampling: TypeAlias = Annotated[Parameters, BeforeValidator(_sampled)]
"""Those of one kind of call, given over `SAMPLED`; one that is null is not sent."""


class Section(BaseModel):
    """A part of a configuration: it does not change, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PluginSection(BaseModel):
    """A section whose further keys are the options of the plug-in that it names, which says which it knows."""

    model_config = ConfigDict(frozen=True, extra="allow")

    @property
    def options(self) -> dict[str, Json]:
        return dict(self.model_extra or {})

    @model_validator(mode="before")
    @classmethod
    def _given(cls, given: Json) -> Json:
        """What is null is not given."""
        if not isinstance(given, dict):
            return given
        if held := [key for key, value in given.items() if holds_secret(key, value)]:
            rule = f"{held[0]} holds a secret, which would be written into config.yaml; name it with api_key_env"
            raise PydanticCustomError(SECRET, rule)
        return {key: value for key, value in given.items() if value is not None}
