"""Answers as JSON."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from evosyn.records import Json


def plain(answer: object) -> Json:
    """An answer as JSON: dataclasses as objects, tuples as lists, numbers that are not finite as null."""
    if is_dataclass(answer) and not isinstance(answer, type):
        return {field.name: plain(getattr(answer, field.name)) for field in fields(answer)}
    if isinstance(answer, Mapping):
        return {str(key): plain(value) for key, value in answer.items()}
    if isinstance(answer, list | tuple):
        return [plain(value) for value in answer]
    if isinstance(answer, float) and not math.isfinite(answer):
        return None
    return answer
