"""YAML files of several documents, an object each: problems as a person writes them, with comments and blocks of text.

What JSON has is read, by the core schema of YAML 1.2, and nothing besides: `yes`, `12:30` and `2024-01-01` are texts.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from evosyn.errors import InputError, told_type
from evosyn.jsonlines import Line, opened_for_reading
from evosyn.records import Json

SUFFIXES = (".yaml", ".yml")
WORDS = {"": None, "~": None, "null": None, "true": True, "false": False}
WHOLE = re.compile(r"[-+]?[0-9]+")
NUMBER = re.compile(r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?")
ENDLESS = re.compile(r"[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)")
TAGS = {"null", "bool", "int", "float", "str", "seq", "map", "timestamp", "merge", "value", "yaml"}
"""What the reader of YAML 1.1 guesses; a tag that is written out is none of them."""
DEEPEST = 100
ALIAS = "an alias (*name) is not read; write it out"
LOADER: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)


def scan_documents(path: Path) -> Iterator[Line | InputError]:
    """Every document with the line that it begins in; one that is no object of JSON is given as its error.

    Raises:
        InputError: no such file, a directory, not readable.
    """
    with opened_for_reading(path) as file:
        text = file.read()
    try:
        _see_depth(text)
        for node in yaml.compose_all(text, Loader=LOADER):
            try:
                value = _value(node, set())
            except yaml.MarkedYAMLError as error:
                yield _error(path, error)
                continue
            line = node.start_mark.line + 1
            if isinstance(value, dict):
                yield Line(line, value)
            elif value is not None:  # what lies between two `---`, or is all comments, is nothing
                hint = "Write `key: value` lines, and `---` between two problems"
                yield InputError(path, f"must be an object, not {told_type(value)}", line=line, hint=hint)
    except yaml.MarkedYAMLError as error:
        yield _error(path, error)
    except yaml.reader.ReaderError as error:
        yield InputError(path, f"is not YAML: {error.reason}", hint="Save the file as UTF-8")


def read_settings(path: Path) -> dict[str, Json]:
    """The keys of a configuration that evosyn wrote, which is plain YAML of version 1.1.

    Raises:
        InputError: it is something else, or not readable.
    """
    with opened_for_reading(path) as file:
        text = file.read()
    try:
        _see_depth(text, aliases=False)
        found = yaml.load(text, LOADER)
    except yaml.MarkedYAMLError as error:
        raise _error(path, error) from error
    except (yaml.YAMLError, ValueError) as error:  # ValueError: a day that there is not
        raise InputError(path, f"is not YAML: {getattr(error, 'reason', error)}") from error
    if not isinstance(found, dict):
        raise InputError(path, "must hold keys with values", value=found)
    return found


def _see_depth(text: bytes, *, aliases: bool = True) -> None:
    """
    Raises:
        yaml.YAMLError: it is no YAML, or nested so deeply that the C library would break down reading it as a tree; or
            has an alias where none may be.
    """
    depth = 0
    for event in yaml.parse(text, Loader=LOADER):
        if isinstance(event, yaml.AliasEvent) and not aliases:
            raise _wrong(event, ALIAS)
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _wrong(event, "nested too deeply")


def _error(path: Path, error: yaml.MarkedYAMLError) -> InputError:
    mark = error.problem_mark
    where = f" (column {mark.column + 1})" if mark else ""
    return InputError(path, f"is not YAML: {error.problem}{where}", line=mark.line + 1 if mark else None)


def _value(node: yaml.Node, above: set[int]) -> Json:
    """What a node says.

    Args:
        above: nodes of this document that were read: a second time it is an alias, and a few of these make a small
            file endless.

    Raises:
        yaml.MarkedYAMLError: a key twice or no text, an alias, a tag of its own, a number that JSON has not.
    """
    if id(node) in above:
        raise _wrong(node, ALIAS)
    above.add(id(node))
    if node.tag.rpartition(":")[2] not in TAGS:
        raise _wrong(node, f"a tag ({node.tag}) is not read")
    if isinstance(node, yaml.SequenceNode):
        return [_value(one, above) for one in node.value]
    if isinstance(node, yaml.MappingNode):
        return _object(node, above)
    return _scalar(node, str(node.value))


def _object(node: yaml.MappingNode, above: set[int]) -> dict[str, Json]:
    found: dict[str, Json] = {}
    for key, one in node.value:
        name = _value(key, above)
        if not isinstance(name, str):
            raise _wrong(key, f"the key {name!r} must be a text; write it in quotes")
        if name in found:
            raise _wrong(key, f"the key {name!r} stands twice in an object")
        found[name] = _value(one, above)
    return found


def _scalar(node: yaml.Node, text: str) -> Json:
    if getattr(node, "style", None):  # quoted, or a block
        return text
    if text.lower() in WORDS and text in (text.lower(), text.upper(), text.title()):
        return WORDS[text.lower()]
    try:
        if WHOLE.fullmatch(text):
            return int(text)
        found = float(text) if NUMBER.fullmatch(text) else text
    except ValueError as error:
        raise _wrong(node, "a number of so many digits is not read; give it as code, {python: ...}") from error
    if ENDLESS.fullmatch(text) or found in (math.inf, -math.inf):
        raise _wrong(node, f"{text} is no number of JSON; give it as code, {{python: ...}}, or in quotes as a text")
    return found


def _wrong(where: Any, why: str) -> yaml.MarkedYAMLError:
    """The error of a node or an event."""
    return yaml.MarkedYAMLError(problem=why, problem_mark=where.start_mark)
