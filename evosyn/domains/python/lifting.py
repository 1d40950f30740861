"""Lifting asserts out of Python: `assert f(1, [2]) == 3` becomes the call f(1, [2]) and a look-up of its value.

What can be lifted needs no trust in the solution: expected values stay here. The rest is told apart: `NotLiftable` runs
as code in the sandbox, `Broken` cannot run at all (does not parse, names that nothing defines). Nothing is executed
here except the white list of `expressions`. DESIGN.md section 5, "Sandbox".
"""

from __future__ import annotations

import ast
import hashlib
import marshal
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.domains.python.budget import STEPS, TooLarge, WorkBudget, is_wide, measure
from evosyn.domains.python.context import Broken, Context, names_in, parse, source_of
from evosyn.domains.python.equality import safely_equal
from evosyn.domains.python.expressions import (
    CallFailed,
    Evaluate,
    JudgedRun,
    NotLiftable,
    Scope,
    compile_expression,
    constant_value,
    literal_value,
    lookup,
)
from evosyn.jobs import Call, ItemOutcome, Status
from evosyn.names import BUILTINS, free_names
from evosyn.records import Json, Verdict
from evosyn.sandbox._inside.kinds import IterationFailed
from evosyn.sandbox._inside.trees import holds_twice

ARGUMENT_PARTS = 100_000
"""Of the arguments of one call; larger ones are made in the sandbox."""
_KEY_BYTES = 64

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
STATUS_VERDICTS = {
    Status.OK: Verdict.PASS,
    Status.EXCEPTION: Verdict.ERROR,
    Status.TIMEOUT: Verdict.TIMEOUT,
    Status.KILLED: Verdict.KILLED,
    Status.LOAD_ERROR: Verdict.ERROR,
    Status.NO_ENTRY: Verdict.ERROR,
    Status.OUTPUT_LIMIT: Verdict.KILLED,
    Status.NOT_PLAIN: Verdict.FAIL,
    Status.TESTING_BROKEN: Verdict.BROKEN,
    Status.NOT_RUN: Verdict.NOT_RUN,
    Status.INFRASTRUCTURE: Verdict.UNKNOWN,
}
PASS, FAIL, OK = Verdict.PASS, Verdict.FAIL, Status.OK  # looking a member up costs more than judging a case


@dataclass(frozen=True)
class Lifted:
    """An assert as data: its calls, and how their outcomes decide it.

    Attributes:
        calls: of the entry point, in the order of appearance, no two alike.
        expected: for the commonest form, `f(...) == value`, a one-element tuple with the value; then `test` is unused.
        test: what is asserted, over outcomes in the order of `calls`.
    """

    calls: tuple[Call, ...]
    expected: tuple[Json] | None
    test: Evaluate

    def judge(self, outcomes: Sequence[ItemOutcome], steps: int = STEPS) -> Verdict:
        """The verdict, given one outcome per call.

        Args:
            steps: what it may take.

        Raises:
            Exception: a value does not fit what is asserted of it.
        """
        try:
            return PASS if self.test(JudgedRun(outcomes, WorkBudget(steps))) else FAIL
        except CallFailed as failed:
            return STATUS_VERDICTS[failed.outcome.status]
        except IterationFailed:
            return Verdict.ERROR


def is_equal(expected: Json) -> Evaluate:
    """The test that the first call's value equals this one, in time bounded by the size of the expected value."""
    found, wide = lookup(0), is_wide(expected)
    return lambda run: safely_equal(found(run), expected) if wide else found(run) == expected


def lift_assert(text: str, context: Context, budget: WorkBudget | None = None) -> Lifted:
    """One assert of a testing.

    Args:
        budget: what all asserts of the testing may use.

    Raises:
        NotLiftable: it has to run as code.
        Broken: it cannot run.
    """
    module = parse(text)
    try:
        if len(module.body) != 1 or not isinstance(module.body[0], ast.Assert):
            raise NotLiftable("not a single assert")
        scope = Scope(frozenset({context.function}), context.names, budget or WorkBudget())
        return lift_test(module.body[0].test, scope)
    except NotLiftable:
        _check_runs(module, context)
        raise


def lift_program(code: str, context: Context) -> list[Lifted]:
    """A program testing whose `check` holds nothing but asserts.

    Raises:
        NotLiftable: it has to run as code.
        Broken: it does not parse, defines no `check`, or reads a name that nothing defines.
    """
    tree = parse(code)
    try:
        return _lift_check(tree, context)
    except NotLiftable:
        _check_runs(tree, context)
        raise


def _check_runs(tree: ast.Module, context: Context) -> None:
    """Raises Broken where it cannot run as code either, whatever a program answers; found here, since later an answer
    may have chosen the way there."""
    undefined = context.undefined(tree)
    if undefined:
        raise Broken(f"undefined name {undefined[0]!r}")
    nodes = list(ast.walk(tree))
    functions = {node.name: node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)}
    bound = [node.id for node in nodes if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    own = functions.keys() - {*bound, *(node.arg for node in nodes if isinstance(node, ast.arg))}
    check = functions.get("check")
    entry_points = {context.function, *(argument.arg for argument in (check.args.args[:1] if check else ()))}
    for node in nodes:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in entry_points:
            for given in [*node.args, *(keyword.value for keyword in node.keywords)]:
                if isinstance(given, ast.Lambda) or (isinstance(given, ast.Name) and given.id in own):
                    raise Broken(f"line {given.lineno}: a function as an argument cannot be handed to another process")


def _lift_check(tree: ast.Module, context: Context) -> list[Lifted]:
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    if not functions:
        if "check" in names_in(ast.walk(tree)):
            raise NotLiftable("check is not a plain function")
        raise Broken("does not define check(candidate)")
    check = functions[-1]
    others = [node for node in tree.body if node is not check]
    given = check.args
    plain = not (given.posonlyargs or given.kwonlyargs or given.vararg or given.kwarg or given.defaults)
    if not plain or len(given.args) != 1 or check.decorator_list or not all(map(_is_idle, others)):
        raise NotLiftable("check needs more than its candidate")
    outside = names_in(others)
    if outside & {context.function, "check"}:
        raise NotLiftable("the candidate is something else")
    entry_points = frozenset({context.function, given.args[0].arg})
    scope = Scope(entry_points, context.names | outside, WorkBudget())
    lifted = []
    for node in check.body:
        if isinstance(node, ast.Assert):
            lifted.append(lift_test(node.test, scope))
        elif not _is_idle(node) or isinstance(node, ast.Assign | ast.Import | ast.ImportFrom):
            raise NotLiftable(type(node).__name__)
    return lifted


def lift_test(test: ast.expr, scope: Scope) -> Lifted:
    """What one assert asserts.

    Raises:
        NotLiftable: it has to run as code.
        Broken: a part without any call of the entry point raises by itself.
    """
    calls: list[Call] = []
    known: set[bytes] = set()

    def resolve(node: ast.Call) -> Evaluate:
        call = _call(node, scope)
        key = call_key(call)
        if key in known:
            raise NotLiftable("it makes one call twice, and the answers may differ")
        known.add(key)
        calls.append(call)
        return lookup(len(calls) - 1)

    try:
        equality = _equality(test, scope)
        if equality is not None:
            node, expected = equality
            resolve(node)
            return Lifted(tuple(calls), (expected,), is_equal(expected))
        made = compile_expression(test, scope, resolve)
    except (TooLarge, RecursionError, MemoryError) as error:
        raise NotLiftable(str(error)) from error
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Broken(f"raises {type(error).__name__} by itself: {error}") from error
    return Lifted(tuple(calls), None, made.evaluate)


def call_key(call: Call) -> bytes:
    """Equal for calls that are the same by exact types.

    Raises:
        Broken: an argument is nested too deeply to be sent.
    """
    try:
        return short(marshal.dumps((call.python, call.args, dict(call.kwargs)), 2))
    except ValueError as error:
        raise Broken(f"an argument cannot be sent to the sandbox: {error}") from error


def short(data: bytes) -> bytes:
    """Long bytes by their digest."""
    return data if len(data) <= _KEY_BYTES else hashlib.sha256(data).digest() + len(data).to_bytes(8, "little")


class Equality(NamedTuple):
    """`f(...) == value`, either way round."""

    call: ast.Call
    value: Json


def _equality(test: ast.expr, scope: Scope) -> Equality | None:
    if not isinstance(test, ast.Compare) or len(test.ops) != 1 or not isinstance(test.ops[0], ast.Eq):
        return None
    left, right = test.left, test.comparators[0]
    for call, other in ((left, right), (right, left)):
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in scope.entry_points:
            try:
                return Equality(call, constant_value(other, scope))
            except NotLiftable:  # a call on the other side too: the general way decides
                return None
    return None


def _call(node: ast.Call, scope: Scope) -> Call:
    if not node.keywords:
        try:
            return Call(tuple([literal_value(argument) for argument in node.args]))
        except NotLiftable:
            pass
    try:
        args: list[Json] = []
        for argument in node.args:
            if isinstance(argument, ast.Starred):
                args.extend(constant_value(argument.value, scope))
            else:
                args.append(constant_value(argument, scope))
        if any(keyword.arg is None for keyword in node.keywords):
            raise NotLiftable("**")
        kwargs = {str(keyword.arg): constant_value(keyword.value, scope) for keyword in node.keywords}
        if not is_plain(args, ARGUMENT_PARTS) or (kwargs and not is_plain(kwargs, ARGUMENT_PARTS)):
            raise NotLiftable("arguments that are not plain data")
        if holds_twice((args, kwargs)):
            raise NotLiftable("one object in two places, which would be sent as two")
    except (NotLiftable, TooLarge):
        return _computed_call(node, scope)
    return Call(tuple(args), kwargs)


def _computed_call(node: ast.Call, scope: Scope) -> Call:
    """Arguments that only the sandbox may compute: nothing but builtins may occur in them."""
    if node.keywords:
        raise NotLiftable("computed keyword arguments")
    arguments = ast.List(node.args, ast.Load())
    free = free_names(arguments)
    if free & (scope.entry_points | scope.shadowed) or not free <= BUILTINS:
        raise NotLiftable("computed arguments")
    return Call(python=source_of(arguments))


def is_plain(value: Json, parts: int) -> bool:
    """Whether `value` is plain data by exact type, and of no more parts (see `budget.Measure`)."""
    return measure(value, limit=parts).parts <= parts and _plain(value)


def _plain(value: Json) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind in (list, tuple, set, frozenset):
        return all(map(_plain, value))
    return kind is dict and all(map(_plain, value)) and all(map(_plain, value.values()))


def _is_idle(node: ast.stmt) -> bool:
    """A statement that asserts can do without: its effect is a name that they do not use."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return all(isinstance(target, ast.Name) for target in node.targets) and _is_literal(node.value)
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Pass)


def _is_literal(node: ast.expr) -> bool:
    kinds = (ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Load)
    return all(isinstance(part, kinds) for part in ast.walk(node)) and not _hashes_a_list(node)


def _hashes_a_list(node: ast.expr) -> bool:
    """Whether a dict has a key that may be unhashable, or unpacks another one."""
    return any(
        not isinstance(key, ast.Constant) for part in ast.walk(node) if isinstance(part, ast.Dict) for key in part.keys
    )
