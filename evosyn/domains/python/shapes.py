"""The shapes of the testings of Python programs: cases, texts in and out, asserts, programs.

A case's input or output may be a generator, `{"python": source}`; so may the whole list of cases. Whether a
testing fits its problem is not said here. DESIGN.md section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evosyn.errors import FormatError
from evosyn.records import Json, Testing
from evosyn.testings import testing_from_json


def is_generator(value: Json) -> bool:
    """Whether a case's input, output, or list of cases is code that makes it: `{"python": source}`."""
    return isinstance(value, dict) and value.keys() == {"python"} and isinstance(value["python"], str)


def is_encodable(value: Json) -> bool:
    """Whether it is a text that standard input and output can carry; single bytes may stand as Python's escapes."""
    if not isinstance(value, str):
        return False
    try:
        value.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def check_cases(body: Mapping[str, Json]) -> None:
    """Arguments and the values that they give, in plain data."""
    _known(body, ("cases", "tolerance"))
    _tolerance("tolerance", body.get("tolerance"))
    for index, case in _case_list(body):
        where = f"cases[{index}]"
        _case(where, case)
        given = case["input"]
        if not isinstance(given, list | dict):
            hint = "Write the arguments as a list ([[1, 2], 3] calls f([1, 2], 3)) or as an object of keyword arguments"
            raise FormatError(f"{where}.input", f"must be a list or an object, not {_name(given)}", given, hint=hint)


def check_stdin(body: Mapping[str, Json]) -> None:
    """Texts for standard input, and what must be printed."""
    _known(body, ("cases", "tolerance", "compare"))
    _tolerance("tolerance", body.get("tolerance"))
    if body.get("compare") not in (None, "livecodebench"):
        raise FormatError("compare", "must be 'livecodebench', or be left out", body["compare"])
    for index, case in _case_list(body):
        where = f"cases[{index}]"
        _case(where, case)
        if body.get("compare") is not None and (body.get("tolerance"), case.get("tolerance")) != (None, None):
            raise FormatError("compare", "is exact, so that no tolerance can be given beside it", body["compare"])
        for key in ("input", "output"):
            if not isinstance(case[key], str) and not is_generator(case[key]):
                raise FormatError(f"{where}.{key}", f"must be a text, not {_name(case[key])}", case[key])
            if isinstance(case[key], str) and not is_encodable(case[key]):
                raise FormatError(f"{where}.{key}", "cannot be encoded: it holds half a surrogate pair", case[key])


def check_asserts(body: Mapping[str, Json]) -> None:
    """Statements that call the function."""
    _known(body, ("asserts",))
    for index, text in enumerate(_filled_list(body, "asserts")):
        if not isinstance(text, str) or not text.strip():
            hint = 'Each is one statement such as "assert f(1) == 2"'
            raise FormatError(f"asserts[{index}]", "must be a text", text, hint=hint)


def check_program(body: Mapping[str, Json]) -> None:
    """Source that defines `check(candidate)`."""
    _known(body, ("code",))
    _source("code", body.get("code"), "It must define check(candidate)")


SHAPES: dict[str, Callable[[Mapping[str, Json]], None]] = {
    "cases": check_cases,
    "stdin": check_stdin,
    "asserts": check_asserts,
    "program": check_program,
}


def checked(value: Json) -> Testing:
    """A testing of one of these kinds.

    Raises:
        FormatError: naming the field.
    """
    testing = testing_from_json(value)
    SHAPES[testing.kind](testing.body)
    return testing


def _case_list(body: Mapping[str, Json]) -> list[tuple[int, dict[str, Json]]]:
    if is_generator(body.get("cases")):
        _source("cases.python", body["cases"]["python"], "It must define build_cases()")
        return []
    return list(enumerate(_filled_list(body, "cases")))


def _case(where: str, case: Json) -> None:
    if not isinstance(case, dict):
        raise FormatError(where, f"must be an object with input and output, not {_name(case)}", case)
    for key in ("input", "output"):
        if key not in case:
            raise FormatError(f"{where}.{key}", "is missing")
    for key in case:
        if key not in ("input", "output", "tolerance"):
            raise FormatError(f"{where}.{key}", "is not a field of a case", hint="Fields: input, output, tolerance")
    _tolerance(f"{where}.tolerance", case.get("tolerance"))


def _filled_list(body: Mapping[str, Json], key: str) -> list[Json]:
    found = body.get(key)
    if not isinstance(found, list):
        raise FormatError(key, "is missing" if found is None else f"must be a list, not {_name(found)}", found)
    if not found:
        raise FormatError(key, "must not be empty: a testing without a check accepts everything")
    return found


def _tolerance(field: str, value: Json) -> None:
    if value is None:
        return
    good = isinstance(value, int | float) and not isinstance(value, bool)
    if not good or not 0 <= value < 1e300:
        raise FormatError(field, "must be a number, 0 or more", value)


def _source(field: str, value: Json, hint: str) -> None:
    if not isinstance(value, str) or not value.strip():
        raise FormatError(field, "must be Python source", value, hint=hint)


def _known(body: Mapping[str, Json], known: tuple[str, ...]) -> None:
    for key in body:
        if key not in known:
            raise FormatError(key, "is not a field of this kind of testing", hint=f"Fields: {', '.join(known)}")


def _name(value: Json) -> str:
    return type(value).__name__
