"""Plain values: comparing outputs, damaging an output, varying an input. No execution, no I/O."""

from __future__ import annotations

import json
import math
import random

from evosyn.records import Json


def same(first: Json, second: Json) -> bool:
    """Whether two outputs count as equal: lists and tuples alike, floats nearly, texts up to blanks at line ends."""
    if isinstance(first, str) and isinstance(second, str):
        return first == second or _trimmed(first) == _trimmed(second)
    if isinstance(first, float) or isinstance(second, float):
        if not isinstance(first, int | float) or not isinstance(second, int | float):
            return False
        return first == second or math.isclose(first, second, rel_tol=1e-6, abs_tol=1e-9)
    if isinstance(first, list | tuple) and isinstance(second, list | tuple):
        return len(first) == len(second) and all(map(same, first, second))
    if isinstance(first, dict) and isinstance(second, dict):
        return first.keys() == second.keys() and all(same(first[key], second[key]) for key in first)
    return type(first) is type(second) and bool(first == second)


def _trimmed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().split("\n")]


def is_json(value: Json) -> bool:
    """Whether JSON can hold this value unchanged, tuples counting as lists."""
    if isinstance(value, float):
        return math.isfinite(value)
    if value is None or isinstance(value, bool | int | str):
        return True
    if isinstance(value, list | tuple):
        return all(map(is_json, value))
    if isinstance(value, dict):
        return all(isinstance(key, str) and is_json(item) for key, item in value.items())
    return False


def listed(value: Json) -> Json:
    """The value with tuples as lists, as it would come back from JSON; anything else stays as it is."""
    if isinstance(value, list | tuple):
        return [listed(item) for item in value]
    if isinstance(value, dict):
        return {key: listed(item) for key, item in value.items()}
    return value


def size_of(value: Json) -> int:
    """Characters of the value as a Python literal."""
    return len(repr(value))


def damaged(value: Json, rng: random.Random) -> Json:
    """Another value of the same type, as a careless author would write it; never `same` as the old one."""
    for _ in range(8):
        new = _damaged_once(value, rng)
        if not same(new, value):
            return new
    return [value] if isinstance(value, list) else "0" if value != "0" else "1"


def _damaged_once(value: Json, rng: random.Random) -> Json:
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + rng.choice((1, -1, 1, -1, 2, -2, 10, -value or 3))
    if isinstance(value, float):
        return value + rng.choice((1.0, -1.0, 0.5, value or 2.0))
    if isinstance(value, str):
        return _damaged_text(value, rng)
    if isinstance(value, list | tuple):
        return _damaged_list(list(value), rng)
    if isinstance(value, dict):
        if not value:
            return {"0": 0}
        key = rng.choice(sorted(value, key=repr))
        rest = {other: item for other, item in value.items() if other != key}
        return rest if rng.random() < 0.4 else {**value, key: damaged(value[key], rng)}
    return 0


def _damaged_text(text: str, rng: random.Random) -> str:
    lines = text.rstrip("\n").split("\n")
    if len(lines) > 1:
        at = rng.randrange(len(lines))
        fresh = _damaged_text(lines[at], rng)
        return "\n".join([*lines[:at], *([fresh] if rng.random() < 0.7 else []), *lines[at + 1 :]]) + "\n"
    word = lines[0]
    tail = text[len(word) :]
    if word.lstrip("-").isdecimal():
        return str(_damaged_once(int(word), rng)) + tail
    parts = word.split(" ")
    numbers = [at for at, part in enumerate(parts) if part.lstrip("-").isdecimal()]
    if numbers:
        at = rng.choice(numbers)
        parts[at] = str(_damaged_once(int(parts[at]), rng))
        return " ".join(parts) + tail
    if word.upper() in {"YES", "NO", "TRUE", "FALSE"}:
        other = {"YES": "NO", "NO": "YES", "TRUE": "FALSE", "FALSE": "TRUE"}[word.upper()]
        return (other if word.isupper() else other.lower() if word.islower() else other.capitalize()) + tail
    if not word:
        return "a" + tail
    at = rng.randrange(len(word))
    return (
        rng.choice((word[:at] + word[at + 1 :], word[:at] + word[at] + word[at:], word.swapcase(), word[::-1])) + tail
    )


def _damaged_list(items: list[Json], rng: random.Random) -> list[Json]:
    if not items:
        return [0]
    at = rng.randrange(len(items))
    choice = rng.random()
    if choice < 0.3:
        return items[:at] + items[at + 1 :]
    if choice < 0.45:
        return items[::-1]
    if choice < 0.55:
        return [*items, items[at]]
    return [*items[:at], damaged(items[at], rng), *items[at + 1 :]]


def varied(value: Json, rng: random.Random) -> Json:
    """An input near this one, of the same shape: numbers moved, items dropped, doubled or reordered."""
    if isinstance(value, bool):
        return rng.random() < 0.5
    if isinstance(value, int):
        return value + rng.choice((0, 1, -1, 2, 5, value)) if value >= 0 else value + rng.choice((0, 1, -1, -value))
    if isinstance(value, float):
        return value + rng.choice((0.0, 1.0, -0.5, value))
    if isinstance(value, str):
        return _varied_text(value, rng)
    if isinstance(value, list | tuple):
        items = [varied(item, rng) if rng.random() < 0.4 else item for item in value]
        return _reshaped(items, rng)
    if isinstance(value, dict):
        return {key: varied(item, rng) if rng.random() < 0.4 else item for key, item in value.items()}
    return value


def varied_arguments(value: Json, rng: random.Random) -> Json:
    """As `varied`, but a list of arguments keeps its length and a text for standard input keeps its lines."""
    if isinstance(value, list | tuple):
        return [varied(item, rng) if rng.random() < 0.7 else item for item in value]
    if isinstance(value, dict):
        return {key: varied(item, rng) if rng.random() < 0.7 else item for key, item in value.items()}
    if isinstance(value, str):
        words = [_varied_word(word, rng) if rng.random() < 0.3 else word for word in value.split(" ")]
        return " ".join(words)
    return value


def extreme(value: Json, rng: random.Random) -> Json:
    """An input that the statement may not allow: empty, zero, negative, of another letter case, oddly laid out."""
    if isinstance(value, list) and value:
        at = rng.randrange(len(value))
        return [*value[:at], _extreme_item(value[at], rng), *value[at + 1 :]]
    if isinstance(value, str) and value:
        return _extreme_text(value, rng)
    return value


def _extreme_text(text: str, rng: random.Random) -> str:
    """A text for standard input with blanks or lines too many, without its last line end, or with a minus sign."""
    words = text.split(" ")
    at = rng.randrange(len(words))
    signed = [*words[:at], "-" + words[at], *words[at + 1 :]]
    return rng.choice((text + "\n", "\n" + text, text.replace(" ", "  ", 1), text.rstrip("\n"), " ".join(signed)))


def _extreme_item(value: Json, rng: random.Random) -> Json:
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        return rng.choice((0, -value, -1, value * 1000))
    if isinstance(value, float):
        return rng.choice((0.0, -value))
    if isinstance(value, str):
        return rng.choice(("", " " + value, value.swapcase(), value + "é"))
    if isinstance(value, list):
        return rng.choice(
            ([], value[:1], value[::-1], [*value, *value[-1:]], [_extreme_item(part, rng) for part in value])
        )
    return value


def _varied_text(text: str, rng: random.Random) -> str:
    if not text:
        return text
    at = rng.randrange(len(text))
    return rng.choice((text, text[:at], text[at:], text + text[at:], text[::-1], text[:at] + text[at] + text[at:]))


def _varied_word(word: str, rng: random.Random) -> str:
    return str(max(0, int(word) + rng.choice((0, 1, -1, 2)))) if word.isdecimal() else word


def _reshaped(items: list[Json], rng: random.Random) -> list[Json]:
    choice = rng.random()
    if not items or choice < 0.5:
        return items
    at = rng.randrange(len(items))
    if choice < 0.65:
        return items[:at] + items[at + 1 :]
    if choice < 0.8:
        return [*items, items[at]]
    return rng.sample(items, len(items))


def as_json(value: Json) -> str:
    """The value as one line of JSON."""
    return json.dumps(value, ensure_ascii=False)
