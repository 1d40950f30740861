"""How the testings of a function problem become sandbox jobs and verdicts: the table of calls, and code for the rest.

All testings of one problem are prepared once: every distinct call over all of them stands in one CallsJob, every
distinct check is a look-up in its outcomes, and what cannot be lifted stands in one ChecksJob. Judging a row touches no
syntax tree. DESIGN.md section 5, "Sandbox".
"""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from evosyn.domains.python.budget import STEPS, WorkBudget, is_wide
from evosyn.domains.python.compare import PAIRS, same_value
from evosyn.domains.python.context import Broken, Context, context_of
from evosyn.domains.python.equality import safely_equal
from evosyn.domains.python.expressions import NotLiftable
from evosyn.domains.python.lifting import (
    FAIL,
    OK,
    PASS,
    STATUS_VERDICTS,
    Lifted,
    call_key,
    lift_assert,
    lift_program,
    short,
)
from evosyn.domains.python.preparing import decided
from evosyn.domains.python.program import Program
from evosyn.domains.python.value_digests import digest_of
from evosyn.jobs import Call, CallsJob, CellResult, Check, ChecksJob, ItemOutcome, Job, Limits, Status
from evosyn.parsing import BOM
from evosyn.records import Json, Problem, Testing, Verdict
from evosyn.sandbox._inside.wire import NotPlain, encode

LOADS = Check("pass")
"""Passes for every solution that loads: what a testing without any call still asks of it."""
FEWEST_STEPS, FEWEST_PAIRS = 100_000, 500
"""What a check may take at least, however many its testing has."""


@dataclass(frozen=True)
class TableCheck:
    """One distinct check over the outcomes of its calls.

    Attributes:
        calls: positions in the table.
        judge: the verdict, given the outcomes of the whole table.
    """

    calls: tuple[int, ...]
    judge: Callable[[Sequence[ItemOutcome]], Verdict]


class CasePlace(NamedTuple):
    """One case: check number `check` of the table, or item number `item` of the coded checks, or (both -1) broken."""

    check: int = -1
    item: int = -1


@dataclass(frozen=True)
class PlacedTesting:
    """How one testing is read off.

    Attributes:
        cases: in the order of the testing.
        places: of the cases' verdicts, among those of all checks, all coded items and one BROKEN.
        singles: for each case the one call that it makes; -1 where it makes another number, or runs as code.
        calls, items: the table's calls and the coded items that it depends on.
        broken: why the testing cannot pass, or "".
        loads: the coded item that says whether the solution loads, for a testing that never calls it; else -1.
    """

    cases: tuple[CasePlace, ...]
    calls: tuple[int, ...] = ()
    items: tuple[int, ...] = ()
    broken: str = ""
    loads: int = -1
    places: tuple[int, ...] = ()
    singles: tuple[int, ...] = ()


class Table:
    """Collects distinct calls, checks on them, and coded checks, while testings are prepared."""

    def __init__(self) -> None:
        self.calls: list[Call] = []
        self.checks: list[TableCheck] = []
        self.coded: dict[Check, int] = {}
        self._call_at: dict[bytes, int] = {}
        self._check_at: dict[tuple[object, ...], int] = {}

    def call(self, call: Call) -> int:
        key = call_key(call)
        if key not in self._call_at:
            self._call_at[key] = len(self.calls)
            self.calls.append(call)
        return self._call_at[key]

    def value(self, call: Call, expected: Json, tolerance: float | None, pairs: int) -> int:
        """The check that a call gives an expected value, by the rules of `compare`."""
        index = self.call(call)
        wide = is_wide(expected)

        def judge(outcomes: Sequence[ItemOutcome]) -> Verdict:
            outcome = outcomes[index]
            if outcome.status is not OK:
                return STATUS_VERDICTS[outcome.status]
            return PASS if same_value(expected, outcome.value, tolerance, wide=wide, pairs=pairs) else FAIL

        return self._check(("value", index, _key(expected), tolerance, pairs), TableCheck((index,), judge))

    def lifted(self, lifted: Lifted, steps: int) -> int:
        indices = tuple(self.call(call) for call in lifted.calls)
        if lifted.expected is None:
            decide = lifted.judge
            check = TableCheck(indices, lambda outcomes: decide([outcomes[index] for index in indices], steps))
            return self._check(("test", len(self.checks)), check)
        (index,), (expected,) = indices, lifted.expected
        same = safely_equal if is_wide(expected) else operator.eq

        def judge(outcomes: Sequence[ItemOutcome]) -> Verdict:
            outcome = outcomes[index]
            if outcome.status is OK:
                return PASS if same(outcome.value, expected) else FAIL
            return STATUS_VERDICTS[outcome.status]

        return self._check(("equal", indices, _key(expected)), TableCheck(indices, judge))

    def code(self, check: Check) -> int:
        return self.coded.setdefault(check, len(self.coded))

    def size(self) -> tuple[int, int, int]:
        return len(self.calls), len(self.checks), len(self.coded)

    def shrink(self, size: tuple[int, int, int]) -> None:
        """Forget what came after it had this size."""
        calls, checks, coded = size
        del self.calls[calls:], self.checks[checks:]
        for known, count in ((self._call_at, calls), (self._check_at, checks), (self.coded, coded)):
            while len(known) > count:
                known.popitem()

    def _check(self, key: tuple[object, ...], check: TableCheck) -> int:
        if key not in self._check_at:
            self._check_at[key] = len(self.checks)
            self.checks.append(check)
        return self._check_at[key]


def _key(value: Json) -> bytes | int:
    """Equal for values that are the same by exact types; a number of its own for one that cannot be encoded."""
    try:
        return short(encode(value))
    except NotPlain:
        return id(value)


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
    cells: tuple[PlacedTesting, ...]

    @functools.cached_property
    def order(self) -> Sequence[int]:
        """Of the checks: those on one call follow each other, so that its answer is decoded once."""
        return sorted(range(len(self.checks)), key=lambda at: self.checks[at].calls)

    def jobs(self, program: Program, limits: Limits) -> tuple[Job, ...]:
        """The table, then the coded checks, each only where there are some."""
        text, before = program
        table = (CallsJob(text, self.entry_point, self.calls, limits, before),) if self.calls else ()
        coded = (ChecksJob(text, self.entry_point, self.coded, limits, before),) if self.coded else ()
        return (*table, *coded)

    def judge(self, outcomes: Sequence[tuple[ItemOutcome, ...]]) -> tuple[CellResult, ...]:
        """One result per testing, given one outcomes tuple per job of `jobs`."""
        table = outcomes[0] if self.calls else ()
        items = outcomes[-1] if self.coded else ()
        verdicts = [Verdict.BROKEN] * len(self.checks)
        for at in self.order:
            verdicts[at] = decided(self.checks[at].judge, table)
        verdicts += [coded_verdict(item) for item in items]
        verdicts.append(Verdict.BROKEN)
        digests = [*map(digest_of, table), 0]
        return tuple([_read_off(cell, table, items, verdicts, digests) for cell in self.cells])


def _read_off(
    cell: PlacedTesting,
    table: Sequence[ItemOutcome],
    items: Sequence[ItemOutcome],
    verdicts: Sequence[Verdict],
    digests: Sequence[int],
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
    verdict, values = verdict_of(cases), tuple([digests[index] for index in cell.singles])
    if verdict is PASS or verdict is FAIL:
        return CellResult(verdict, cases, seconds, "", values)
    failed = [*(table[index] for index in cell.calls), *(items[index] for index in cell.items)]
    detail = next((outcome.detail for outcome in failed if outcome.status is not OK), "")
    return CellResult(verdict, cases, seconds, detail, values)


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
    found = [_prepared(testing, context, table) for testing in testings]
    cells = tuple([_placed(cell, table) for cell in found])
    return Prepared(context.entry_point, tuple(table.calls), tuple(table.checks), tuple(table.coded), cells)


def _prepared(testing: Testing, context: Context, table: Table) -> PlacedTesting:
    """How one testing is read off; one that cannot even be prepared is broken."""
    size = table.size()
    try:
        return _PREPARERS.get(testing.kind, _prepare_misfit)(testing, context, table)
    except Exception as error:  # noqa: BLE001 - the boundary to untrusted testings
        table.shrink(size)
        reason = str(error) if isinstance(error, Broken) else f"cannot be prepared: {type(error).__name__}: {error}"
        return _cell([CasePlace()], table, reason[:400])


def _placed(cell: PlacedTesting, table: Table) -> PlacedTesting:
    checks, coded = len(table.checks), len(table.coded)
    places = [
        case.check if case.check >= 0 else checks + case.item if case.item >= 0 else checks + coded
        for case in cell.cases
    ]
    calls = [table.checks[case.check].calls if case.check >= 0 else () for case in cell.cases]
    singles = tuple([indices[0] if len(indices) == 1 else -1 for indices in calls])
    return replace(cell, places=tuple(places), singles=singles if max(singles, default=-1) >= 0 else ())


def _prepare_cases(testing: Testing, _context: Context, table: Table) -> PlacedTesting:
    cases = []
    pairs = max(PAIRS // len(testing.body["cases"]), FEWEST_PAIRS)
    for case in testing.body["cases"]:
        given = case["input"]
        if isinstance(given, dict) and any(type(name) is not str for name in given):
            raise Broken("names of keyword arguments must be texts")
        call = Call(kwargs=given) if isinstance(given, dict) else Call(tuple(given))
        tolerance = case.get("tolerance", testing.body.get("tolerance"))
        cases.append(CasePlace(table.value(call, case["output"], tolerance, pairs)))
    return _cell(cases, table)


def _prepare_asserts(testing: Testing, context: Context, table: Table) -> PlacedTesting:
    cases: list[CasePlace] = []
    broken, budget, texts = "", WorkBudget(), testing.body["asserts"]
    for text in texts:
        try:
            cases.append(CasePlace(table.lifted(lift_assert(text, context, budget), _steps(len(texts)))))
        except NotLiftable:
            cases.append(CasePlace(item=table.code(Check(context.before(text) + text.removeprefix(BOM)))))
        except Broken as error:
            cases.append(CasePlace())
            broken = broken or f"{error}: {text[:80]}"
    return _cell(cases, table, broken)


def _prepare_program(testing: Testing, context: Context, table: Table) -> PlacedTesting:
    code = testing.body["code"]
    try:
        found = lift_program(code, context)
        cases = [CasePlace(table.lifted(lifted, _steps(len(found)))) for lifted in found]
    except NotLiftable:
        text = context.before(code) + code.removeprefix(BOM)
        return _cell([CasePlace(item=table.code(Check(text, f"check({context.function})")))], table)
    except Broken as error:
        return _cell([CasePlace()], table, str(error))
    return _cell(cases, table)


def _steps(checks: int) -> int:
    """What each of so many checks of a testing may take."""
    return max(STEPS // max(checks, 1), FEWEST_STEPS)


def _prepare_misfit(testing: Testing, _context: Context, table: Table) -> PlacedTesting:
    return _cell([], table, f"testings of the kind {testing.kind!r} do not fit function problems")


_PREPARERS = {"cases": _prepare_cases, "asserts": _prepare_asserts, "program": _prepare_program}


def _cell(cases: Sequence[CasePlace], table: Table, broken: str = "") -> PlacedTesting:
    calls = {index: None for case in cases if case.check >= 0 for index in table.checks[case.check].calls}
    items = {case.item: None for case in cases if case.item >= 0}
    loads = -1 if calls or items or broken else table.code(LOADS)
    return PlacedTesting(tuple(cases), tuple(calls), tuple(items), broken, loads)
