"""The TESTING object of the pool format: a kind and a body. What kinds there are, and their shapes, is the domains'.

DESIGN.md section 4.
"""

from __future__ import annotations

from typing import Annotated, TypeAlias

from evosyn.codec import Through
from evosyn.errors import FormatError, told_type
from evosyn.records import Json, Testing, outside_json


def testing_from_json(value: Json) -> Testing:
    """A TESTING object; whether its body is one of its kind only a domain knows (`ports.Domain.check_shape`).

    Raises:
        FormatError: naming the field inside the object.
    """
    if not isinstance(value, dict):
        raise FormatError("", f"must be an object with a 'kind', not {told_type(value)}", value)
    kind = value.get("kind")
    if not isinstance(kind, str):
        raise FormatError("kind", "must be the name of a kind of testing", kind)
    body = {key: item for key, item in value.items() if key != "kind"}
    try:
        outside_json(body)
    except (ValueError, TypeError) as error:
        raise FormatError("", f"is not JSON: {error}") from error
    return Testing(kind, body)


StoredTesting: TypeAlias = Annotated[Testing, Through(testing_from_json, Testing.to_json)]
"""A testing in a record, as its TESTING object: without its provenance."""
