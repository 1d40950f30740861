"""Where a matrix comes from, among several pools, and whose view it is: what decides which problems are one task.

It is never taken from what a user may write of a problem (`meta`).
"""

from __future__ import annotations

from typing import Any, NamedTuple

from evosyn.errors import FormatError

KEPT = ("pool", "task")


class Origin(NamedTuple):
    """Empty where there is nothing to say.

    Attributes:
        pool: its name in a search over several.
        task: what the problem is called in every pool that has it.
        view: from which side it is shown where it is not shown as it was recorded (`evosyn.evaluators.views`).
        original: the problem that this is a view of.
    """

    pool: str = ""
    task: str = ""
    view: str = ""
    original: str = ""

    def to_json(self) -> dict[str, str]:
        """What a file keeps: views are made where they are needed."""
        return {name: text for name in KEPT if (text := getattr(self, name))}


NOWHERE = Origin()


def origin_from_json(value: Any) -> Origin:
    """
    Raises:
        FormatError: it is none.
    """
    if not isinstance(value, dict) or not set(KEPT).issuperset(value) or not all(map(_is_text, value.values())):
        raise FormatError("origin", f"must be an object of texts: {', '.join(KEPT)}", value)
    return Origin(**value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and bool(value)
