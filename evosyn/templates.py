"""Prompts as files with named blanks: `{{name}}`, each of which must be filled, none of which may be unknown.

A prompt is package data of the package that uses it, so that a person can read and change it without reading code.
"""

from __future__ import annotations

import re
from functools import lru_cache
from importlib import resources

from evosyn.errors import UsageError

_BLANK = re.compile(r"\{\{(\w+)\}\}")


def render(package: str, name: str, **blanks: str) -> str:
    """The prompt `name` of `package` with its blanks filled.

    Args:
        package: dotted name of the package that holds the file.
        name: file name, such as `diff.md`.
        blanks: one text for each blank of the file; inserted as it is, never scanned again.

    Raises:
        UsageError: a blank without text, or a text without blank.
    """
    text = _load(package, name)
    wanted = set(_BLANK.findall(text))
    if wanted != set(blanks):
        missing, unknown = sorted(wanted - set(blanks)), sorted(set(blanks) - wanted)
        raise UsageError(f"prompt {package}/{name}: blanks without text {missing}, texts without blank {unknown}")
    return _BLANK.sub(lambda match: blanks[match.group(1)], text).strip() + "\n"


@lru_cache(maxsize=64)
def _load(package: str, name: str) -> str:
    return (resources.files(package) / name).read_text(encoding="utf-8")
