"""Lifting asserts out of Python: `assert f(1, [2]) == 3` becomes the call f(1, [2]) and a look-up of its value.

What can be lifted needs no trust in the solution: expected values stay here. The rest is told apart: `NotLiftable` runs
as code in the sandbox, `Broken` cannot run at all (does not parse, names that nothing defines). Nothing is executed
here except the white list of `_expressions`. DESIGN.md section 5, "Sandbox".
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.jobs import Call, ItemOutcome, Status
from evosyn.parsing import parsed
from evosyn.records import Json, Problem, Verdict
from evosyn.synthesis.domains._expressions import (
    CallFailed,
    Evaluate,
    NotLiftable,
    Scope,
    compile_expression,
    constant_value,
    literal_value,
    lookup,
)
from evosyn.synthesis.domains._guarded import TooLarge, size_of

MAX_SOURCE = 200_000
"""Characters of testing code that we parse ourselves."""

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_BUILTINS = frozenset(dir(builtins)) | {"__name__"}
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


class Broken(Exception):
    """The testing itself cannot run; the message says why."""


@dataclass(frozen=True)
class Lifted:
    """An assert as data: its calls, and how their outcomes decide it.

    Attributes:
        calls: distinct calls of the entry point, in the order of appearance.
        expected: for the commonest form, `f(...) == value`, a one-element tuple with the value; then `test` is unused.
        test: what is asserted, over outcomes in the order of `calls`.
    """

    calls: tuple[Call, ...]
    expected: tuple[Json] | None
    test: Evaluate

    def judge(self, outcomes: Sequence[ItemOutcome]) -> Verdict:
        """The verdict, given one outcome per call."""
        try:
            return Verdict.PASS if self.test(outcomes) else Verdict.FAIL
        except CallFailed as failed:
            return STATUS_VERDICTS[failed.outcome.status]
        except (ArithmeticError, AttributeError, LookupError, MemoryError, RecursionError, TypeError, ValueError):
            return Verdict.FAIL  # the value does not fit what is asserted of it


@dataclass(frozen=True)
class Context:
    """What testing code of one problem may refer to.

    Attributes:
        entry_point: the function under test.
        preamble: imports and helpers of the starter code, without the entry point; run before testing code.
        names: what the preamble defines.
    """

    entry_point: str
    preamble: str
    names: frozenset[str]

    def scope(self, *aliases: str) -> Scope:
        return Scope(frozenset({self.entry_point, *aliases}), {}, self.names)


def context_of(problem: Problem) -> Context:
    """The context that the starter code of a problem gives; empty where that does not parse."""
    entry_point = problem.entry_point or ""
    tree = _parse_starter(problem.starter_code or "")
    kept: list[ast.stmt] = [
        node for node in tree.body if isinstance(node, _KEPT) and getattr(node, "name", None) != entry_point
    ]
    names = frozenset(name for node in kept for name in _bound_names(node))
    try:
        preamble = ast.unparse(ast.Module(kept, [])) if kept else ""
    except RecursionError:
        return Context(entry_point, "", frozenset())
    return Context(entry_point, preamble, names)


def lift_assert(text: str, context: Context) -> Lifted:
    """One assert of a testing.

    Raises:
        NotLiftable: it has to run as code.
        Broken: it cannot run.
    """
    module = parse(text)
    try:
        if len(module.body) != 1 or not isinstance(module.body[0], ast.Assert):
            raise NotLiftable("not a single assert")
        return lift_test(module.body[0].test, context.scope())
    except NotLiftable:
        undefined = _undefined(module, context)
        if undefined:
            raise Broken(f"undefined name {undefined[0]!r}") from None
        raise


def lift_program(code: str, context: Context) -> list[Lifted]:
    """A program testing whose `check` holds nothing but asserts.

    Raises:
        NotLiftable: it has to run as code.
        Broken: it does not parse, or defines no `check`.
    """
    tree = parse(code)
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "check"]
    if not functions:
        if any("check" in _bound_names(node) for node in tree.body):
            raise NotLiftable("check is not a plain function")
        raise Broken("does not define check(candidate)")
    check = functions[-1]
    others = [node for node in tree.body if node is not check]
    parameters = check.args
    plain = not (parameters.posonlyargs or parameters.kwonlyargs or parameters.vararg or parameters.kwarg)
    if not plain or len(parameters.args) != 1 or check.decorator_list or not all(map(_idle, others)):
        raise NotLiftable("check needs more than its candidate")
    scope = context.scope(parameters.args[0].arg)
    outside = frozenset(name for node in others for name in _bound_names(node))
    scope = scope._replace(shadowed=scope.shadowed | outside)
    lifted = []
    for node in check.body:
        if isinstance(node, ast.Assert):
            lifted.append(lift_test(node.test, scope))
        elif not _idle(node) or isinstance(node, ast.Assign):
            raise NotLiftable(type(node).__name__)
    return lifted


def lift_test(test: ast.expr, scope: Scope) -> Lifted:
    """What one assert asserts.

    Raises:
        NotLiftable: it has to run as code.
        Broken: a part without any call of the entry point raises by itself.
    """
    calls: list[Call] = []
    known: dict[str, int] = {}

    def resolve(node: ast.Call) -> Evaluate:
        call = _call(node, scope)
        index = known.setdefault(call_key(call), len(calls))
        if index == len(calls):
            calls.append(call)
        return lookup(index)

    try:
        equality = _equality(test, scope)
        if equality is not None:
            node, expected = equality
            found = resolve(node)
            return Lifted(tuple(calls), (expected,), lambda outcomes: found(outcomes) == expected)
        made = compile_expression(test, scope, resolve)
    except (TooLarge, RecursionError, MemoryError) as error:
        raise NotLiftable(str(error)) from error
    except (ArithmeticError, LookupError, TypeError, ValueError, AttributeError) as error:
        raise Broken(f"raises {type(error).__name__} by itself: {error}") from error
    return Lifted(tuple(calls), None, made.evaluate)


def call_key(call: Call) -> str:
    """Equal for calls that are the same by exact types."""
    return call.python if call.python is not None else f"({call.args!r}, {dict(call.kwargs)!r})"


def parse(source: str) -> ast.Module:
    """
    Raises:
        NotLiftable: too large or too deep for our process.
        Broken: not Python.
    """
    if len(source) > MAX_SOURCE:
        raise NotLiftable("too long")
    try:
        return parsed(source)
    except SyntaxError as error:
        raise Broken(f"does not parse: {error.msg} (line {error.lineno})") from error
    except ValueError as error:
        raise Broken(f"does not parse: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise NotLiftable("nested too deeply") from error


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
        if not is_plain(args) or (kwargs and not is_plain(kwargs)):
            raise NotLiftable("arguments that are not plain data")
    except (NotLiftable, TooLarge):
        return _computed_call(node, scope)
    return Call(tuple(args), kwargs)


def _computed_call(node: ast.Call, scope: Scope) -> Call:
    """Arguments that only the sandbox may compute: nothing but builtins may occur in them."""
    if node.keywords:
        raise NotLiftable("computed keyword arguments")
    arguments = ast.List(node.args, ast.Load())
    free = _free_names(arguments)
    if free & (scope.entry_points | scope.shadowed) or not free <= _BUILTINS:
        raise NotLiftable("computed arguments")
    return Call(python=ast.unparse(arguments))


def is_plain(value: Json) -> bool:
    """Whether `value` is plain data by exact type, and small enough to be sent."""
    return _plain(value) and size_of(value) <= 8_000_000


def _plain(value: Json) -> bool:
    kind = type(value)
    if kind in _PLAIN:
        return True
    if kind in (list, tuple, set, frozenset):
        return all(map(_plain, value))
    return kind is dict and all(map(_plain, value)) and all(map(_plain, value.values()))


_KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def _parse_starter(code: str) -> ast.Module:
    for text in (code, code.rstrip() + "\n    pass\n"):
        try:
            return parse(text)
        except (Broken, NotLiftable):
            continue
    return ast.Module([], [])


def _idle(node: ast.stmt) -> bool:
    """A statement that asserts can do without: its effect is a name that they do not use."""
    if isinstance(node, ast.Expr):
        return isinstance(node.value, ast.Constant)
    if isinstance(node, ast.Assign):
        return not any(isinstance(part, ast.Call | ast.Attribute) for part in ast.walk(node))
    return isinstance(node, ast.Import | ast.ImportFrom | ast.Pass)


def _bound_names(node: ast.AST) -> set[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    return {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}


def _free_names(node: ast.AST) -> set[str]:
    """Names that are read but bound nowhere inside; bindings count wherever they stand, so this errs to too few."""
    read: set[str] = set()
    bound: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            (read if isinstance(part.ctx, ast.Load) else bound).add(part.id)
        elif isinstance(part, ast.arg):
            bound.add(part.arg)
        elif isinstance(part, ast.ExceptHandler) and part.name:
            bound.add(part.name)
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            bound |= _bound_names(part)
    return read - bound


def _undefined(module: ast.Module, context: Context) -> list[str]:
    if any(isinstance(part, ast.ImportFrom) and part.names[0].name == "*" for part in ast.walk(module)):
        return []
    return sorted(_free_names(module) - context.names - _BUILTINS - {context.entry_point})
