"""A case as a matrix: one problem, honest and hostile solutions and testings, and what each cell may come to.

Honest rows stand before, between and behind the hostile ones, so that whatever an attack does to its neighbours shows
as a changed verdict. Everything is drawn from the case's seed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import cast

from evosyn.records import Json, Problem, Testing
from hostile_suite import fitting, tasks
from hostile_suite.fitting import Fill
from hostile_suite.model import FAULTS, FRESH, OWN_CLAIM, STDIO, TABLE, WARM, Attack, Case, Role
from hostile_suite.tasks import Task

RIGHT, WRONG = frozenset({"pass"}), frozenset({"wrong"})


@dataclass(frozen=True)
class Row:
    """A solution.

    Attributes:
        honest: the words that it must come to in every honest testing; None for a hostile one.
    """

    source: str
    honest: frozenset[str] | None


@dataclass(frozen=True)
class Column:
    """A testing.

    Attributes:
        claims: None for an honest testing; else the words that any solution may come to in it.
        asked: it asks for something that honest solutions do not give.
    """

    mode: str
    testing: Testing
    claims: frozenset[str] | None = None
    asked: bool = False


@dataclass(frozen=True)
class Scene:
    """One case on the stage."""

    case: Case
    problem: Problem
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]

    def allowed(self, row: Row, column: Column) -> frozenset[str]:
        """The words that a cell may come to."""
        if column.claims is not None:
            return column.claims
        if row.honest is None:
            return self.case.words(column.mode)
        return OWN_CLAIM if column.asked else row.honest


def function_scenes(case: Case, fill: Fill) -> list[Scene]:
    """The case against a function: as a table of calls and as code, each by itself, so that in both its neighbours are
    jobs of the same kind. Testings that are hostile themselves stand beside testings of both kinds."""
    stage = _FUNCTION_STAGES.get(case.family.role)
    scene = stage(case, fill) if stage is not None else None
    if scene is None:
        return []
    if case.family.role in (Role.TESTING, Role.GENERATOR, Role.STARTER):
        return [scene]
    table = tuple(column for column in scene.columns if column.mode == TABLE)
    code = tuple(column for column in scene.columns if column.mode != TABLE)
    return [replace(scene, columns=columns) for columns in (table, code) if columns]


def stdin_scenes(case: Case, fill: Fill) -> list[Scene]:
    """The case as a program that reads standard input; none where it has no such form."""
    if case.family.role not in (Role.SOLUTION, Role.HONEST) or not case.fits(STDIO):
        return []
    task = _task(case, "stdin")
    pads = _pads(case, "stdin pads")
    hostile = Row(fitting.stdin_program(case.attack, task, fill), _honest_words(case, STDIO))
    around = [Row(task.honest_stdin(style, pads[style]), RIGHT) for style in range(3)]
    wrong = Row(task.wrong_stdin(), WRONG)
    rows = (around[0], hostile, around[1], wrong, *_again(case, hostile), around[2])
    columns = tuple(Column(mode, testing) for mode, testing in tasks.stdin_testings(task))
    return [Scene(case, tasks.stdin_problem(task, case.name), _distinct(rows), columns)]


def _solution(case: Case, fill: Fill) -> Scene:
    stream = case.random("function")
    task = _task(case, "function task")
    columns = [Column(mode, one) for mode, one in tasks.testings_by_mode(task, stream) if case.fits(mode)]
    columns += [Column(TABLE, _asserting(text, task), asked=True) for text in case.attack.asked]
    rows = _rows(case, task, fitting.program(case.attack, task, fill), fill)
    return Scene(case, tasks.function_problem(task, case.name), rows, tuple(columns))


def _rows(case: Case, task: Task, source: str, fill: Fill) -> tuple[Row, ...]:
    """Honest, hostile, honest, wrong, hostile, honest; where there is an accomplice, it comes first."""
    pads = _pads(case, "pads")
    honest = [Row(task.honest(style=style, pad=pads[style]), RIGHT) for style in range(3)]
    hostile = Row(source, _honest_words(case, TABLE))
    before = fitting.accomplice(case.attack, task, fill)
    first = [] if before is None else [Row(before, FAULTS | RIGHT)]
    rows = (*first, honest[0], hostile, honest[1], Row(task.wrong(), WRONG), *_again(case, hostile), honest[2])
    return _distinct(rows)


def _again(case: Case, row: Row) -> list[Row]:
    """The hostile text once more, as another program; not where it takes long."""
    if case.family.slow or case.attack.whole is not None:
        return []
    return [Row(f"{row.source}\nagain = 1\n", row.honest)]


def _testing(case: Case, fill: Fill) -> Scene:
    """A hostile testing between honest ones, against right and wrong solutions."""
    stream = case.random("testing")
    task = tasks.draw_task(stream, case.attack.kinds)
    honest = [Column(mode, one) for mode, one in tasks.testings_by_mode(task, stream)]
    mode = case.attack.modes[0] if case.attack.modes else FRESH
    hostile = Column(mode, hostile_testing(case.attack, task, fill), case.words(mode))
    columns = (*honest[:3], hostile, *honest[3:])
    return Scene(case, tasks.function_problem(task, case.name), _honest_rows(case, task), columns)


def hostile_testing(attack: Attack, task: Task, fill: Fill) -> Testing:
    """The testing that an attack describes by its `body`, or by its `act` as an assert."""
    if attack.body is None:
        return Testing("asserts", {"asserts": [fill(fitting.blanks(attack.act, task))]})
    body = dict(cast("Mapping[str, Json]", _filled(attack.body, task, fill)))
    return Testing(str(body.pop("kind")), body)


def _filled(value: Json, task: Task, fill: Fill, depth: int = 6) -> Json:
    """Blanks in the texts of a testing's body; `INPUT` and `OUTPUT` are those of a right case."""
    if isinstance(value, str):
        if value == "INPUT":
            return [task.inputs[0]]
        return task.outputs[0] if value == "OUTPUT" else fill(fitting.blanks(value, task))
    if isinstance(value, list) and depth:
        return [_filled(one, task, fill, depth - 1) for one in value]
    if isinstance(value, Mapping) and depth:
        return {_filled(key, task, fill): _filled(one, task, fill, depth - 1) for key, one in value.items()}
    return value


def _starter(case: Case, fill: Fill) -> Scene:
    """Hostile starter code: it may spoil what runs with it, which is not the table."""
    stream = case.random("starter")
    task = tasks.draw_task(stream, case.attack.kinds)
    starter = fill(fitting.blanks(case.attack.setup, task))
    columns = tuple(
        Column(mode, testing, None if mode == TABLE else case.words(mode))
        for mode, testing in tasks.testings_by_mode(task, stream)
    )
    return Scene(case, tasks.function_problem(task, case.name, starter), _honest_rows(case, task), columns)


def _honest(case: Case, fill: Fill) -> Scene:
    """An honest program in an unusual style, or an honest testing in an unusual style with its solution."""
    return _solution(case, fill) if case.attack.body is None else _honest_testing(case, fill)


def _honest_testing(case: Case, fill: Fill) -> Scene:
    """A given solution and a testing that Python itself would pass."""
    stream = case.random("honest testing")
    task = tasks.draw_task(stream, case.attack.kinds)
    source = fill(fitting.blanks(case.attack.setup, task))
    testing = hostile_testing(case.attack, task, fill)
    mode = case.attack.modes[0] if case.attack.modes else WARM
    problem = tasks.function_problem(task, case.name)
    return Scene(case, problem, (Row(source, case.words(mode)),), (Column(mode, testing),))


def _honest_rows(case: Case, task: Task) -> tuple[Row, ...]:
    pads = _pads(case, "pads")
    rows = [Row(task.honest(style=style, pad=pads[style]), RIGHT) for style in range(3)]
    few = (rows[0], Row(task.wrong(), WRONG), rows[1])
    return few if case.family.slow else (*few, Row(task.wrong(1), WRONG), rows[2])


def _asserting(text: str, task: Task) -> Testing:
    calls = {f"CALL{n}": f"{task.entry}({x})" for n, x in enumerate(task.inputs)}
    for name, call in calls.items():
        text = text.replace(name, call)
    return Testing("asserts", {"asserts": [text.replace("CALL", f"{task.entry}({task.inputs[0]})")]})


def _task(case: Case, purpose: str) -> Task:
    """A drawn task; of a single call where each may take as long as it is let."""
    inputs = 1 if case.family.slow else tasks.INPUTS
    return tasks.draw_task(case.random(purpose), case.attack.kinds, inputs)


def _honest_words(case: Case, mode: str) -> frozenset[str] | None:
    return case.words(mode) if case.family.role is Role.HONEST else None


def _pads(case: Case, purpose: str) -> list[str]:
    stream = case.random(purpose)
    return [f"{place}:{stream.random()} {tasks.draw_pad(stream)}" for place in range(3)]


def _distinct(rows: tuple[Row, ...]) -> tuple[Row, ...]:
    """Each text once: equal programs are one row to cross-execution."""
    return tuple({row.source: row for row in reversed(rows)}.values())[::-1]


_FUNCTION_STAGES = {
    Role.SOLUTION: _solution,
    Role.VALUE: _solution,
    Role.TESTING: _testing,
    Role.GENERATOR: _testing,
    Role.STARTER: _starter,
    Role.HONEST: _honest,
    Role.COMPANY: _solution,
}
