"""How the testings of a function problem become sandbox jobs and verdicts: the table of calls, and code for the rest.

All testings of one problem are prepared once: every distinct call over all of them stands in one CallsJob, every
distinct check is a look-up in its outcomes, and what cannot be lifted stands in one ChecksJob. Judging a row touches no
syntax tree. DESIGN.md section 5, "Sandbox".
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.jobs import Call, CallsJob, CellResult, Check, ChecksJob, ItemOutcome, Job, Limits, Status
from evosyn.records import Json, Problem, Solution, Testing, Verdict
from evosyn.synthesis.domains._compare import same_value
from evosyn.synthesis.domains._expressions import NotLiftable
from evosyn.synthesis.domains._lifting import (
    STATUS_VERDICTS,
    Broken,
    Context,
    Lifted,
    call_key,
    context_of,
    lift_assert,
    lift_program,
)

LOADS = Check("pass")
"""Passes for every solution that loads: what a testing without any call still asks of it."""
PASS, FAIL, OK = Verdict.PASS, Verdict.FAIL, Status.OK  # looking a member up costs more than judging a case


@dataclass(frozen=True)
class TableCheck:
    """One distinct check over the outcomes of its calls.

    Attributes:
        calls: positions in the table.
        judge: the verdict, given the outcomes of the whole table.
    """

    calls: tuple[int, ...]
    judge: Callable[[Sequence[ItemOutcome]], Verdict]


class Case(NamedTuple):
    """One case: check number `check` of the table, or item number `item` of the coded checks, or (both -1) broken."""

    check: int = -1
    item: int = -1


@dataclass(frozen=True)
class Cell:
    """How one testing is read off.

    Attributes:
        cases: in the order of the testing.
        places: of the cases' verdicts, among those of all checks, all coded items and one BROKEN.
        calls, items: the table's calls and the coded items that it depends on.
        broken: why the testing cannot pass, or "".
        loads: the coded item that says whether the solution loads, for a testing that never calls it; else -1.
    """

    cases: tuple[Case, ...]
    calls: tuple[int, ...] = ()
    items: tuple[int, ...] = ()
    broken: str = ""
    loads: int = -1
    places: tuple[int, ...] = ()


class Table:
    """Collects distinct calls, checks on them, and coded checks, while testings are prepared."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.checks: list[TableCheck] = []
        self.coded: dict[Check, int] = {}
        self._call_at: dict[str, int] = {}
        self._check_at: dict[tuple[object, ...], int] = {}

    def call(self, call: Call) -> int:
        key = call_key(call)
        if key not in self._call_at:
            self._call_at[key] = len(self.calls)
            self.calls.append(call)
        return self._call_at[key]

    def value(self, call: Call, expected: Json, tolerance: float | None) -> int:
        """The check that a call gives an expected value, by the rules of `_compare`."""
        index = self.call(call)
        key = ("value", index, repr(expected), tolerance)

        def judge(outcomes: Sequence[ItemOutcome]) -> Verdict:
            outcome = outcomes[index]
            if outcome.status is not OK:
                return STATUS_VERDICTS[outcome.status]
            return PASS if same_value(expected, outcome.value, tolerance) else FAIL

        return self._check(key, TableCheck((index,), judge))

    def lifted(self, lifted: Lifted) -> int:
        indices = tuple(self.call(call) for call in lifted.calls)
        if lifted.expected is None:
            decide = lifted.judge
            check = TableCheck(indices, lambda outcomes: decide([outcomes[index] for index in indices]))
            return self._check(("test", len(self.checks)), check)
        (index,), (expected,) = indices, lifted.expected

        def judge(outcomes: Sequence[ItemOutcome]) -> Verdict:
            outcome = outcomes[index]
            if outcome.status is OK:
                try:
                    return PASS if outcome.value == expected else FAIL
                except RecursionError:
                    return FAIL
            return STATUS_VERDICTS[outcome.status]

        return self._check(("equal", indices, repr(expected)), TableCheck(indices, judge))

    def code(self, check: Check) -> int:
        return self.coded.setdefault(check, len(self.coded))

    def _check(self, key: tuple[object, ...], check: TableCheck) -> int:
        if key not in self._check_at:
            self._check_at[key] = len(self.checks)
            self.checks.append(check)
        return self._check_at[key]


@dataclass(frozen=True)
class Prepared:
    """The testings of one problem, ready for any number of solutions.

    Attributes:
        calls: the distinct calls of all testings.
        checks: the distinct checks on them.
        coded: the distinct checks that run as code in the sandbox.
        cells: one per testing.
    """

    entry_point: str
    calls: tuple[Call, ...]
    checks: tuple[TableCheck, ...]
    coded: tuple[Check, ...]
    cells: tuple[Cell, ...]

    def jobs(self, solution: Solution, limits: Limits) -> tuple[Job, ...]:
        """The table, then the coded checks, each only where there are some."""
        table = (CallsJob(solution.source, self.entry_point, self.calls, limits),) if self.calls else ()
        coded = (ChecksJob(solution.source, self.entry_point, self.coded, limits),) if self.coded else ()
        return (*table, *coded)

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:
        """One result per testing, given one outcomes tuple per job of `jobs`."""
        table = outcomes[0] if self.calls else ()
        items = outcomes[-1] if self.coded else ()
        verdicts = [check.judge(table) for check in self.checks]
        verdicts += [coded_verdict(item) for item in items]
        verdicts.append(Verdict.BROKEN)
        return tuple([_read_off(cell, table, items, verdicts) for cell in self.cells])


def _read_off(
    cell: Cell, table: Sequence[ItemOutcome], items: Sequence[ItemOutcome], verdicts: Sequence[Verdict]
) -> CellResult:
    cases = tuple([verdicts[place] for place in cell.places])
    seconds = sum([table[index].seconds for index in cell.calls])
    if cell.items:
        seconds += sum([items[index].seconds for index in cell.items])
    if cell.broken:
        return CellResult(Verdict.BROKEN, cases, seconds, cell.broken)
    if cell.loads >= 0:
        loads = coded_verdict(items[cell.loads])
        if loads is not PASS:
            return CellResult(loads, (loads,) * len(cases), seconds, items[cell.loads].detail)
    verdict = verdict_of(cases)
    if verdict is PASS or verdict is FAIL:
        return CellResult(verdict, cases, seconds)
    failed = [*(table[index] for index in cell.calls), *(items[index] for index in cell.items)]
    detail = next((outcome.detail for outcome in failed if outcome.status is not OK), "")
    return CellResult(verdict, cases, seconds, detail)


def verdict_of(cases: Sequence[Verdict]) -> Verdict:
    """PASS if every case passes; else the first case that surely does not; else NOT_RUN or UNKNOWN."""
    undecided = PASS
    for case in cases:
        if case is PASS:
            continue
        if case is not Verdict.NOT_RUN and case is not Verdict.UNKNOWN:
            return case
        if undecided is not Verdict.UNKNOWN:
            undecided = case
    return undecided


def coded_verdict(outcome: ItemOutcome) -> Verdict:
    """An exception of the program is an ERROR; a failed assertion, or a value that does not fit it, a wrong value."""
    if outcome.status is Status.EXCEPTION and not outcome.detail.startswith("program raised"):
        return FAIL
    return STATUS_VERDICTS[outcome.status]


def prepare(problem: Problem, testings: Sequence[Testing]) -> Prepared:
    """All testings of one problem, for any number of solutions; a testing of another domain's kind is broken."""
    context, table = context_of(problem), Table()
    found = [_PREPARERS.get(testing.kind, _prepare_misfit)(testing, context, table) for testing in testings]
    cells = tuple([_placed(cell, len(table.checks), len(table.coded)) for cell in found])
    return Prepared(context.entry_point, tuple(table.calls), tuple(table.checks), tuple(table.coded), cells)


def _placed(cell: Cell, checks: int, coded: int) -> Cell:
    places = [
        case.check if case.check >= 0 else checks + case.item if case.item >= 0 else checks + coded
        for case in cell.cases
    ]
    return replace(cell, places=tuple(places))


def _prepare_cases(testing: Testing, _context: Context, table: Table) -> Cell:
    cases = []
    for case in testing.body["cases"]:
        given = case["input"]
        call = Call(kwargs=given) if isinstance(given, dict) else Call(tuple(given))
        tolerance = case.get("tolerance", testing.body.get("tolerance"))
        cases.append(Case(table.value(call, case["output"], tolerance)))
    return _cell(cases, table)


def _prepare_asserts(testing: Testing, context: Context, table: Table) -> Cell:
    cases: list[Case] = []
    broken = ""
    for text in testing.body["asserts"]:
        try:
            cases.append(Case(table.lifted(lift_assert(text, context))))
        except NotLiftable:
            check = Check(f"{context.preamble}\n{text}" if context.preamble else text)
            cases.append(Case(item=table.code(check)))
        except Broken as error:
            cases.append(Case())
            broken = broken or f"{error}: {text[:80]}"
    return _cell(cases, table, broken)


def _prepare_program(testing: Testing, context: Context, table: Table) -> Cell:
    code = testing.body["code"]
    try:
        cases = [Case(table.lifted(lifted)) for lifted in lift_program(code, context)]
    except NotLiftable:
        text = f"{context.preamble}\n{code}" if context.preamble else code
        return _cell([Case(item=table.code(Check(text, f"check({context.entry_point})")))], table)
    except Broken as error:
        return _cell([Case()], table, str(error))
    return _cell(cases, table)


def _prepare_misfit(testing: Testing, _context: Context, table: Table) -> Cell:
    return _cell([], table, f"testings of the kind {testing.kind!r} do not fit function problems")


_PREPARERS = {"cases": _prepare_cases, "asserts": _prepare_asserts, "program": _prepare_program}
KINDS = tuple(_PREPARERS)


def _cell(cases: Sequence[Case], table: Table, broken: str = "") -> Cell:
    calls = {index: None for case in cases if case.check >= 0 for index in table.checks[case.check].calls}
    items = {case.item: None for case in cases if case.item >= 0}
    loads = -1 if calls or items or broken else table.code(LOADS)
    return Cell(tuple(cases), tuple(calls), tuple(items), broken, loads)
