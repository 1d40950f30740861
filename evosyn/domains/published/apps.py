"""APPS and its kin (TACO, CodeContests in this form): rows with `input_output`, JSON of inputs, outputs and fn_name.

Without fn_name a problem reads standard input; with it inputs are lists of arguments. Outputs of such problems stand
in a list of one each where all of them do, which is how these sets wrap them. Hendrycks 2021 (APPS), Li 2023 (TACO).
"""

from __future__ import annotations

from collections.abc import Mapping

from evosyn.domains.published._rows import (
    NotUsable,
    decoded,
    first_that_defines,
    line_of,
    method_of,
    of_contest,
    text_of,
    whole_starter,
)
from evosyn.records import Json

NAMES = ("problem_id", "id", "task_id")
KEPT = ("difficulty", "url", "name", "time_limit", "memory_limit")


def convert(row: Mapping[str, Json], compare: str = "contest") -> dict[str, Json]:
    """A line of a pool; programs have what LiveCodeBench's grader runs before them, as graders of this form do.

    Raises:
        NotUsable: with the reason.
    """
    return of_contest(_line(row), compare)


def _line(row: Mapping[str, Json]) -> dict[str, Json]:
    tests = decoded(row.get("input_output"), "input_output")
    if not isinstance(tests, dict):
        raise NotUsable("no-tests: input_output is empty")
    inputs, outputs, function = tests.get("inputs"), tests.get("outputs"), tests.get("fn_name")
    if not isinstance(inputs, list) or not isinstance(outputs, list) or not inputs or len(inputs) != len(outputs):
        raise NotUsable("no-tests: inputs and outputs must be lists of one length, not empty")
    name = next((str(row[key]) for key in NAMES if row.get(key) not in (None, "")), "")
    statement = text_of(row, "question", "problem", "description")
    meta = {key: row[key] for key in KEPT if isinstance(row.get(key), str | int | float) and row[key] != ""}
    meta["date"] = row.get("date") if isinstance(row.get("date"), str) else None
    programs = decoded(row.get("solutions"), "solutions") or []
    programs = [one for one in programs if isinstance(one, str)] if isinstance(programs, list) else []
    if not function:
        cases = [
            {"input": _stream(given), "output": _stream(wanted)} for given, wanted in zip(inputs, outputs, strict=True)
        ]
        reference = first_that_defines(programs, "")
        testing = {"kind": "stdin", "cases": cases}
        return line_of(name, "python-stdin", statement, testing, reference_solution=reference, meta=meta)
    starter = str(row.get("starter_code") or "")
    entry = method_of(starter, str(function), programs)
    if not all(isinstance(given, list) for given in inputs):
        raise NotUsable("bad-tests: each of the inputs must be a list of arguments")
    if all(isinstance(wanted, list) and len(wanted) == 1 for wanted in outputs):
        outputs = [wanted[0] for wanted in outputs]
    cases = [{"input": given, "output": wanted} for given, wanted in zip(inputs, outputs, strict=True)]
    return line_of(
        name,
        "python-function",
        statement,
        {"kind": "cases", "cases": cases},
        entry_point=entry,
        starter_code=whole_starter(starter, entry),
        reference_solution=first_that_defines(programs, entry),
        meta=meta,
    )


def _stream(value: Json) -> str:
    """What is read or printed: a text, or its lines."""
    if isinstance(value, list):
        return "\n".join(str(one) for one in value)
    if not isinstance(value, str):
        raise NotUsable("bad-tests: inputs and outputs of a program must be texts, or lists of lines")
    return value
