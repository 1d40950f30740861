"""A testing as people read it: input -> output, one check a line, with what became of each check.

The text of a testing is the TESTING object of the pool format; what has no checks of its own (a program) is left as it
is. DESIGN.md section 4.
"""

from __future__ import annotations

import json
from dataclasses import dataclass

from evosyn.records import Json, PassMatrix

MOST = 60
"""Checks of one testing in an answer."""


@dataclass(frozen=True)
class CheckShown:
    """One check.

    Attributes:
        asked: the input, or the assertion.
        expected: the output; None for an assertion.
        best, worst: letters of the best and the worst solution; None where single checks were not recorded.
    """

    asked: str
    expected: str | None
    best: str | None = None
    worst: str | None = None


def checks_of(text: str | None) -> tuple[CheckShown, ...]:
    """The checks that stand in a testing's text; none where it holds a program, or is of another form."""
    try:
        testing = json.loads(text or "")
    except ValueError:
        return ()
    found = testing.get("cases") or testing.get("asserts") if isinstance(testing, dict) else None
    return tuple(map(_check, found[:MOST])) if isinstance(found, list) else ()


def checks_judged(matrix: PassMatrix, n: int, best: int, worst: int) -> tuple[CheckShown, ...]:
    """The checks of a testing with the verdicts of two solutions."""
    checks = checks_of(matrix.testing_texts[n] if matrix.testing_texts else None)
    letters = None if matrix.cases_NMC is None else matrix.cases_NMC[n]
    if letters is None or letters.shape[1] < len(checks):
        return checks
    return tuple(
        CheckShown(one.asked, one.expected, str(letters[best, at]), str(letters[worst, at]))
        for at, one in enumerate(checks)
    )


def program_of(text: str | None) -> str | None:
    """The code of a testing that is a program, or that constructs its cases; None for one that lists its checks."""
    if not text or checks_of(text):
        return None
    try:
        testing = json.loads(text)
    except ValueError:
        return text
    if not isinstance(testing, dict):
        return text
    found = next((testing[key] for key in ("code", "program", "cases", "asserts") if testing.get(key)), testing)
    if isinstance(found, dict):
        found = found.get("python", found)
    return found if isinstance(found, str) else json.dumps(found, indent=2, ensure_ascii=False)


def _check(value: Json) -> CheckShown:
    if isinstance(value, dict) and "input" in value:
        given = value["input"]
        arguments = ", ".join(_read(one, bare=False) for one in given) if isinstance(given, list) else given
        return CheckShown(_read(arguments), _read(value.get("output"), bare=isinstance(given, str)))
    return CheckShown(_read(value), None)


def _read(value: Json, *, bare: bool = True) -> str:
    """A value as people write it: `bare` texts without quotes, code for what is constructed by code."""
    if isinstance(value, str) and bare:
        return value
    if isinstance(value, dict) and set(value) == {"python"}:
        return str(value["python"])
    return json.dumps(value, ensure_ascii=False)
