"""The TESTING object of the pool format: its kinds, its shape, its errors. Whether it fits a problem is the domain's.

A case's input or output may be a generator, `{"python": source}`; so may the whole list of cases. DESIGN.md section 4.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evosyn.records import Json, Provenance, Testing, canonical_json

UNKNOWN_PROVENANCE = Provenance()


class FormatError(ValueError):
    """A value breaks the format: the field, the rule, the value and what to do. Readers of files add file and line."""

    def __init__(self, field: str, reason: str, value: object = None, *, hint: str = "") -> None:
        super().__init__(f"{field}: {reason}" if field else reason)
        self.field, self.reason, self.value, self.hint = field, reason, value, hint


def testing_from_json(value: Json, provenance: Provenance = UNKNOWN_PROVENANCE) -> Testing:
    """A TESTING object, validated.

    Raises:
        FormatError: naming the field inside the object.
    """
    if not isinstance(value, dict):
        raise FormatError("", f"must be an object with a 'kind', not {type(value).__name__}", value)
    kind = value.get("kind")
    if not isinstance(kind, str) or kind not in _CHECKS:
        raise FormatError("kind", "unknown kind of testing", kind, hint=f"One of {', '.join(_CHECKS)}")
    body = {key: item for key, item in value.items() if key != "kind"}
    try:
        canonical_json(body)
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError("", f"is not JSON: {error}") from error
    _CHECKS[kind](body)
    return Testing(kind, body, provenance)


def is_generator(value: Json) -> bool:
    """Whether a case's input, output, or list of cases is code that makes it: `{"python": source}`."""
    return isinstance(value, dict) and value.keys() == {"python"} and isinstance(value["python"], str)


def _check_cases(body: Mapping[str, Json]) -> None:
    _known(body, ("cases", "tolerance"))
    _tolerance("tolerance", body.get("tolerance"))
    for index, case in _case_list(body):
        where = f"cases[{index}]"
        _case(where, case)
        given = case["input"]
        if not isinstance(given, list | dict):
            hint = "Write the arguments as a list ([[1, 2], 3] calls f([1, 2], 3)) or as an object of keyword arguments"
            raise FormatError(f"{where}.input", f"must be a list or an object, not {_name(given)}", given, hint=hint)


def _check_stdin(body: Mapping[str, Json]) -> None:
    _known(body, ("cases", "tolerance"))
    _tolerance("tolerance", body.get("tolerance"))
    for index, case in _case_list(body):
        where = f"cases[{index}]"
        _case(where, case)
        for key in ("input", "output"):
            if not isinstance(case[key], str) and not is_generator(case[key]):
                raise FormatError(f"{where}.{key}", f"must be a text, not {_name(case[key])}", case[key])


def _check_asserts(body: Mapping[str, Json]) -> None:
    _known(body, ("asserts",))
    for index, text in enumerate(_filled_list(body, "asserts")):
        if not isinstance(text, str) or not text.strip():
            hint = 'Each is one statement such as "assert f(1) == 2"'
            raise FormatError(f"asserts[{index}]", "must be a text", text, hint=hint)


def _check_program(body: Mapping[str, Json]) -> None:
    _known(body, ("code",))
    _source("code", body.get("code"), "It must define check(candidate)")


def _check_script(body: Mapping[str, Json]) -> None:
    if not body:
        raise FormatError("", "a script testing needs fields beside its kind")


_CHECKS: dict[str, Callable[[Mapping[str, Json]], None]] = {
    "cases": _check_cases,
    "stdin": _check_stdin,
    "asserts": _check_asserts,
    "program": _check_program,
    "script": _check_script,
}


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
