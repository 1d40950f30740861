"""The mutable objects of a call: numbered alike on both sides, so that what a program changes in place comes back.

Arguments cross by value. Both sides number the lists, dicts, sets, ... in them in the order in which they stand, an
object that stands in several places once; after the call the program's side names those whose contents changed.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Sequence
from typing import Any, TypeAlias

from evosyn.sandbox._inside import kinds
from evosyn.sandbox._inside.trees import SCALARS

Content: TypeAlias = tuple[Any, ...] | bytes


def collect(value: Any, objects: list[Any]) -> None:
    """Add the mutable objects of plain data in which none stands twice, in the order in which `wire` meets them."""
    kind = type(value)
    if kind in SCALARS or kind is frozenset:
        return
    if kind is not tuple:
        objects.append(value)
    if kind is list and SCALARS.issuperset(map(type, value)):
        return
    if kind is dict:
        for item in value.values():
            if type(item) not in SCALARS:
                collect(item, objects)
    elif kind is not set and not SCALARS.issuperset(map(type, value)):
        for item in value:
            collect(item, objects)


def content_of(value: Any) -> Content:
    """What the object holds now."""
    if type(value) is bytearray:
        return bytes(value)
    return (*value.keys(), *value.values()) if isinstance(value, dict) else tuple(value)


def changed(value: Any, before: Content) -> bool:
    """Whether it holds other objects than it did, or in another order."""
    now = content_of(value)
    if type(now) is bytes:
        return now != before
    return len(now) != len(before) or not all(map(operator.is_, now, before))


def new_content(value: Any) -> Content:
    """What `fill` takes."""
    return tuple(value.items()) if isinstance(value, dict) else content_of(value)


def fits(target: Any, content: Any) -> bool:
    """Whether an object of this type can hold such contents."""
    if type(target) is bytearray:
        return type(content) is bytes
    if type(content) is not tuple:
        return False
    keys: Sequence[Any] = ()
    if isinstance(target, dict):
        if any(type(pair) is not tuple or len(pair) != 2 for pair in content):
            return False
        keys = [key for key, _ in content]
    elif type(target) is set:
        keys = content
    try:
        return all(hash(key) is not None for key in keys)
    except TypeError:
        return False


def fill(target: Any, content: Any) -> None:
    """Give an object these contents in place of its own."""
    if type(target) is list or type(target) is bytearray:
        target[:] = content
    elif type(target) is deque:
        target.clear()
        target.extend(content)
    elif type(target) is set:
        kinds.fill_set(target, content)
    else:
        target.clear()
        for key, item in content:
            target[key] = item
