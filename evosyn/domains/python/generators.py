"""Generators of testings: code that makes long inputs, expected outputs or whole lists of cases, run in the sandbox.

`{"python": source}` holds an expression, a function body with `return`, or (for a whole list of cases) code that
defines `build_cases()`. The modules of `MODULES` are imported and `random` is seeded, so that a generator gives every
solution the same input. Each testing has a process of its own, which no solution shares. Du 2025, appendix A.1.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from evosyn.domains.python.budget import KEYS
from evosyn.domains.python.context import Broken, parse, source_of
from evosyn.domains.python.expressions import NotLiftable
from evosyn.domains.python.guarded import check_keys
from evosyn.domains.python.lifting import is_plain
from evosyn.domains.python.shapes import checked, is_encodable, is_generator
from evosyn.errors import FormatError
from evosyn.jobs import Call, CallsJob, CellResult, ItemOutcome, Job, Limits, Status
from evosyn.records import Json, Testing, Verdict

MODULES = ("collections", "itertools", "json", "math", "random", "string")
OUTPUT_KB, ALL_OUTPUT_KB, LEAST_OUTPUT_KB = 8 * 1024, 64 * 1024, 64
"""Size that the value of one generator may have, unless the limits allow more; of all of a testing, which share it;
what each of them may have however many they are."""
PARTS = 8_000_000
"""Of one value, see `budget.Measure`."""

Path = tuple[str | int, ...]
"""Where in a testing's body a generator stands."""


@dataclass(frozen=True)
class GeneratorExpansion:
    """Implements `ports.Expansion`."""

    originals: tuple[Testing, ...]
    places: tuple[tuple[Path, ...], ...]
    broken: Mapping[int, str]
    jobs: tuple[Job, ...]

    def testings(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[Testing | CellResult, ...]:
        remaining = iter(outcomes)
        made: list[Testing | CellResult] = []
        for index, (testing, places) in enumerate(zip(self.originals, self.places, strict=True)):
            if index in self.broken:
                made.append(CellResult(Verdict.BROKEN, detail=self.broken[index]))
            elif places:
                made.append(_expanded(testing, places, next(remaining)))
            else:
                made.append(testing)
        return tuple(made)


def expand(testings: Sequence[Testing], limits: Limits) -> GeneratorExpansion:
    """How testings with generators become plain ones."""
    places = tuple(_places(testing) for testing in testings)
    jobs: list[Job] = []
    broken: dict[int, str] = {}
    for index, (testing, found) in enumerate(zip(testings, places, strict=True)):
        if not found:
            continue
        try:
            program = _program([_at(testing.body, place)["python"] for place in found])
        except Broken as error:
            broken[index] = str(error)
        else:
            calls = tuple(Call((number,)) for number in range(len(found)))
            share_kb = max(ALL_OUTPUT_KB // len(found), LEAST_OUTPUT_KB)
            roomy = replace(limits, output_kb=min(max(limits.output_kb, OUTPUT_KB), share_kb))
            jobs.append(CallsJob(program, "generate", calls, roomy))
    return GeneratorExpansion(tuple(testings), places, broken, tuple(jobs))


def has_generators(testing: Testing) -> bool:
    return bool(_places(testing))


def _places(testing: Testing) -> tuple[Path, ...]:
    if testing.kind not in ("cases", "stdin"):
        return ()
    cases = testing.body.get("cases")
    if is_generator(cases):
        return (("cases",),)
    found: list[Path] = []
    for index, case in enumerate(cases or ()):
        for key in ("input", "output"):
            value = case[key]
            if is_generator(value):
                found.append(("cases", index, key))
            elif key == "input" and isinstance(value, list):
                found += [("cases", index, key, place) for place, item in enumerate(value) if is_generator(item)]
    return tuple(found)


def _at(body: Mapping[str, Json], place: Path) -> Json:
    value: Json = body
    for step in place:
        value = value[step]
    return value


def _program(sources: Sequence[str]) -> str:
    """A module whose `generate(index)` gives the value of generator `index`."""
    functions = [_function(f"_make_{index}", source) for index, source in enumerate(sources)]
    names = ", ".join(f"_make_{index}" for index in range(len(sources)))
    tail = f"def generate(index):\n    random.seed(0)\n    return ({names},)[index]()\n"
    return "\n".join([*(f"import {name}" for name in MODULES), *functions, tail])


def _function(name: str, source: str) -> str:
    """The generator as a function without arguments; made on the syntax tree, so that no text is re-indented.

    Raises:
        Broken: not Python, or too large.
    """
    try:
        body = parse(source.strip()).body
    except NotLiftable as error:
        raise Broken(f"generator: {error}") from error
    if len(body) == 1 and isinstance(body[0], ast.Expr):
        body = [ast.Return(body[0].value)]
    elif any(isinstance(node, ast.FunctionDef) and node.name == "build_cases" for node in body):
        call = ast.Call(ast.Name("build_cases", ast.Load()), [], [])
        body = [*body, ast.Return(call)]
    elif not any(isinstance(node, ast.Return) for part in body for node in ast.walk(part)):
        raise Broken("generator: neither an expression nor a function body with `return`")
    function = ast.FunctionDef(name, ast.arguments([], [], None, [], [], None, []), body, [], None, None)
    try:
        return source_of(ast.fix_missing_locations(function))
    except (RecursionError, ValueError) as error:
        raise Broken(f"generator: {type(error).__name__}") from error


def _expanded(testing: Testing, places: Sequence[Path], outcomes: Sequence[ItemOutcome]) -> Testing | CellResult:
    """The testing with its values; what one of them does to the reading of it makes it broken, and nothing else."""
    try:
        return _filled(testing, places, outcomes)
    except Exception as error:  # noqa: BLE001 - the sandbox boundary
        return CellResult(Verdict.BROKEN, detail=f"generator: cannot be read: {type(error).__name__}")


def _filled(testing: Testing, places: Sequence[Path], outcomes: Sequence[ItemOutcome]) -> Testing | CellResult:
    failed = next((outcome for outcome in outcomes if outcome.status is not Status.OK), None)
    if failed is not None:
        unknown = failed.status is Status.INFRASTRUCTURE
        verdict = Verdict.UNKNOWN if unknown else Verdict.BROKEN
        return CellResult(verdict, detail=f"generator: {failed.status}: {failed.detail}")
    if places[0] == ("cases",):
        return _built(testing, _as_data(outcomes[0].value))
    cases = [{**case, "input": _copied(case["input"])} for case in testing.body["cases"]]
    for place, outcome in zip(places, outcomes, strict=True):
        value = _as_data(outcome.value)
        if testing.kind == "cases" and not is_plain(value, PARTS):
            return CellResult(
                Verdict.BROKEN, detail=f"generator: gives a {type(value).__name__}, which is not plain data"
            )
        _, index, key, *inside = place
        if inside:
            cases[int(index)]["input"][inside[0]] = value
            continue
        if testing.kind == "stdin" and not is_encodable(value):
            return CellResult(Verdict.BROKEN, detail=f"generator: gives {_said(value)}, not a text that can be encoded")
        if testing.kind == "cases" and key == "input" and not isinstance(value, list | tuple | dict):
            value = [value]
        cases[int(index)][key] = value
    return replace(testing, body={**testing.body, "cases": cases})


def _said(value: Json) -> str:
    return "half a surrogate pair" if isinstance(value, str) else type(value).__name__


def _as_data(value: Json) -> Json:
    """What a case may hold in place of the types that are nearly plain data."""
    if isinstance(value, dict):
        return {key: _as_data(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)([_as_data(item) for item in value])
    if isinstance(value, bytearray):
        return bytes(value)
    if isinstance(value, KEYS):
        check_keys(list(value), of_set=True)
        return set(value)
    return value


def _copied(value: Json) -> Json:
    return list(value) if isinstance(value, list) else value


def _built(testing: Testing, cases: Json) -> Testing | CellResult:
    """A testing whose whole list of cases was built; checked as strictly as one read from a file."""
    try:
        built = checked({"kind": testing.kind, **testing.body, "cases": _shown(cases)})
    except FormatError as error:
        return CellResult(Verdict.BROKEN, detail=f"build_cases: {error}")
    made = replace(built, body={**built.body, "cases": list(cases)})
    if has_generators(made) or not is_plain(cases, PARTS):
        return CellResult(Verdict.BROKEN, detail="build_cases: must return a list of cases with plain values")
    return made


def _shown(cases: Json) -> Json:
    """The cases with stand-ins where exact values need not be JSON: tuples as inputs, any output of a function."""
    if not isinstance(cases, list | tuple):
        return cases
    shown = []
    for case in cases:
        if isinstance(case, dict) and {"input", "output"} <= case.keys():
            given = case["input"]
            given = [] if isinstance(given, list | tuple) else {} if isinstance(given, dict) else given
            shown.append({**case, "input": given, "output": case["output"] if isinstance(case["output"], str) else 0})
        else:
            shown.append(case)
    return shown
