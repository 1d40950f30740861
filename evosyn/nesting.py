"""How deeply values from outside may be nested: what models, files and programs give is walked and kept by many parts.

Not for syntax trees, which `evosyn.parsing` counts. The codec of records (pydantic) writes 254 levels, Python's JSON
some 900; a value that came in must leave room for what it stands in when it goes out.
"""

from __future__ import annotations

from typing import Any

DEEPEST, DEEPEST_LINE = 150, 200
"""Lists and objects inside each other: of a value from outside, and of a line of a file that holds such values."""


def is_deep(value: Any, most: int = DEEPEST) -> bool:
    """Whether more than `most` lists and objects of a JSON value stand inside each other."""
    level = [value]
    for _ in range(most):
        held = [one for one in level if isinstance(one, dict | list | tuple)]
        inner = [one.values() if isinstance(one, dict) else one for one in held]
        level = [one for items in inner for one in items if isinstance(one, dict | list | tuple)]
        if not level:
            return False
    return True
