"""LiveCodeBench code generation (`code_generation`, `code_generation_lite`): test*.jsonl or parquet.

A row has its public tests as JSON and its private ones as JSON or as base64 of zlib of a pickled text that is JSON.
Pickles run code when they are loaded, so none is: its instructions are read, and one that does anything but hold a
text is refused. LeetCode problems call a method of `class Solution`; Jain 2024 (LiveCodeBench).
"""

from __future__ import annotations

import base64
import binascii
import json
import pickletools
import zlib
from collections.abc import Mapping

from evosyn.domains.published._rows import NotUsable, decoded, line_of, method_of, of_contest, text_of, whole_starter
from evosyn.records import Json

LARGEST = 2**30
"""Bytes that private tests may unpack to."""
TEXTS = frozenset({"SHORT_BINUNICODE", "BINUNICODE", "BINUNICODE8", "UNICODE"})
AROUND = frozenset({"PROTO", "FRAME", "MEMOIZE", "PUT", "BINPUT", "LONG_BINPUT", "STOP"})
KEPT = ("platform", "contest_id", "difficulty")


def convert(row: Mapping[str, Json], compare: str = "contest") -> dict[str, Json]:
    """A line of a pool; programs have what its own grader runs before them.

    Raises:
        NotUsable: with the reason.
    """
    date = str(row.get("contest_date") or "") or None
    try:
        return of_contest(_line(row, date), compare)
    except NotUsable as error:
        raise NotUsable(str(error), date) from error


def _line(row: Mapping[str, Json], date: str | None) -> dict[str, Json]:
    tests = [
        *_tests(decoded(row.get("public_test_cases"), "public_test_cases")),
        *_tests(_private(row.get("private_test_cases"))),
    ]
    if not tests:
        raise NotUsable("no-tests: neither public nor private ones")
    kinds = {str(test.get("testtype")) for test in tests}
    meta = {key: row[key] for key in KEPT if row.get(key)}
    meta = {"title": row.get("question_title"), "date": date and date[:10], **meta}
    name, statement = str(row.get("question_id") or ""), text_of(row, "question_content")
    if kinds == {"stdin"}:
        cases = [{"input": test["input"], "output": test["output"]} for test in tests]
        return line_of(name, "python-stdin", statement, {"kind": "stdin", "cases": cases}, meta=meta)
    if kinds != {"functional"}:
        raise NotUsable(f"mixed-tests: of the kinds {', '.join(sorted(kinds))}")
    more = decoded(row.get("metadata"), "metadata") or {}
    function = more.get("func_name") if isinstance(more, dict) else None
    if not isinstance(function, str):
        raise NotUsable("no-function: metadata does not name func_name")
    starter = text_of(row, "starter_code")
    entry = method_of(starter, function)
    whole = whole_starter(starter, entry)
    if whole is None:
        raise NotUsable(f"bad-starter-code: it does not define {function}")
    cases = [{"input": _arguments(test["input"]), "output": _value(test["output"])} for test in tests]
    testing = {"kind": "cases", "cases": cases}
    return line_of(name, "python-function", statement, testing, entry_point=entry, starter_code=whole, meta=meta)


def _tests(value: Json) -> list[dict[str, Json]]:
    if value is None:
        return []
    good = isinstance(value, list) and all(
        isinstance(one, dict) and isinstance(one.get("input"), str) and isinstance(one.get("output"), str)
        for one in value
    )
    if not good:
        raise NotUsable("bad-tests: they must be a list of objects with input and output")
    return list(value)


def _private(value: Json) -> Json:
    if not isinstance(value, str) or not value.strip() or value.lstrip()[:1] in "[{":
        return decoded(value, "private_test_cases")
    try:
        unpacking = zlib.decompressobj()
        raw = unpacking.decompress(base64.b64decode(value, validate=True), LARGEST)
    except (binascii.Error, ValueError, zlib.error) as error:
        raise NotUsable(f"bad-private-tests: neither JSON nor base64 of zlib: {error}") from error
    if unpacking.unconsumed_tail or not unpacking.eof:
        raise NotUsable(f"bad-private-tests: cut off, or more than {LARGEST} bytes")
    return decoded(pickled_text(raw), "private_test_cases")


def pickled_text(raw: bytes) -> str:
    """The one text that a pickle holds, read without unpickling it.

    Raises:
        NotUsable: it is no pickle, or holds or does anything else.
    """
    texts: list[str] = []
    try:
        for code, argument, _ in pickletools.genops(raw):
            if code.name in TEXTS:
                texts.append(str(argument))
            elif code.name not in AROUND:
                raise NotUsable(f"unsafe-pickle: private tests hold the instruction {code.name}, not a text alone")
    except (ValueError, IndexError, UnicodeDecodeError) as error:
        raise NotUsable(f"bad-private-tests: no pickle: {error}") from error
    if len(texts) != 1:
        raise NotUsable(f"bad-private-tests: the pickle holds {len(texts)} texts")
    return texts[0]


def _arguments(text: str) -> list[Json]:
    """One JSON value a line, one line an argument."""
    return [_value(line) for line in text.split("\n") if line.strip()]


def _value(text: str) -> Json:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise NotUsable(f"bad-tests: a value is not JSON: {error}") from error
