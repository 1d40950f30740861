"""Evaluating the harmless part of Python in our own process: expressions over literals, pure builtins and call results.

An expression is turned into a tree of closures once; whatever lies outside the white list is refused, so that it runs
in the sandbox instead. Every step is paid from a budget, since both a testing and the values that a solution returned
are hostile. It is not an interpreter: no names but those given, no attributes, no statements.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

from evosyn.domains.python.budget import INT_BITS, WorkBudget, measure
from evosyn.domains.python.guarded import (
    BINARY,
    COMPARISONS,
    FUNCTIONS,
    TYPES,
    UNARY,
    check_keys,
    subscript,
)
from evosyn.jobs import ItemOutcome, Status
from evosyn.records import Json
from evosyn.sandbox.outcomes import LargeOutcome

DECODING = 20
"""Steps for each part of an answer that is decoded once more."""


class JudgedRun(NamedTuple):
    """What an expression is evaluated on: the outcomes of its calls, and what it may use."""

    outcomes: Sequence[ItemOutcome]
    budget: WorkBudget


Evaluate: TypeAlias = Callable[[JudgedRun], Json]
ResolveCall: TypeAlias = Callable[[ast.Call], Evaluate]
"""Turns a call of the entry point into something that looks its outcome up; raises NotLiftable."""


class NotLiftable(Exception):
    """The expression is outside the white list; the sandbox has to run it."""


class CallFailed(Exception):
    """A call that the expression needs gave no value."""

    def __init__(self, outcome: ItemOutcome) -> None:
        super().__init__(outcome.status)
        self.outcome = outcome


class Expression(NamedTuple):
    """A compiled expression; `constant` ones need no outcomes."""

    evaluate: Evaluate
    constant: bool


class Scope(NamedTuple):
    """What names mean: the names of the entry point, names that are not builtins here; and what constants may use."""

    entry_points: frozenset[str]
    shadowed: frozenset[str]
    budget: WorkBudget


def compile_expression(node: ast.expr, scope: Scope, resolve: ResolveCall) -> Expression:
    """
    Raises:
        NotLiftable: outside the white list.
        Exception: whatever a constant part raises by itself (ZeroDivisionError, TypeError, TooLarge, ...).
    """
    build = _BUILDERS.get(type(node))
    if build is None:
        raise NotLiftable(type(node).__name__)
    made = build(node, scope, resolve)
    if made.constant and not isinstance(node, ast.Constant):
        value = made.evaluate(JudgedRun((), scope.budget))
        if isinstance(node, ast.Call | ast.BinOp | ast.Subscript):  # the others are as large as their source
            scope.budget.keep(measure(value).parts)
        return Expression(lambda _: value, True)
    return made


def compile_later(node: ast.expr, scope: Scope, resolve: ResolveCall) -> Expression:
    """A part that Python may leave out: one that raises by itself is no reason yet to call the whole broken.

    Raises:
        NotLiftable: outside the white list, or it raises.
    """
    try:
        return compile_expression(node, scope, resolve)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise NotLiftable(f"{type(error).__name__} in a part") from error


def constant_value(node: ast.expr, scope: Scope) -> Json:
    """The value of an expression without calls of the entry point.

    Raises:
        NotLiftable, or what the expression itself raises.
    """
    try:
        return literal_value(node)
    except NotLiftable:
        return compile_expression(node, scope, _no_calls).evaluate(JudgedRun((), scope.budget))


def literal_value(node: ast.expr) -> Json:
    """The value of a literal, the commonest kind of expression, without the detour over closures.

    It is plain data, and no larger than its source.

    Raises:
        NotLiftable: not a literal, or one of a rarer kind.
    """
    kind = type(node)
    if kind is ast.Constant:
        return _literal(node)  # type: ignore[arg-type]
    if kind is ast.List:
        return [literal_value(item) for item in node.elts]  # type: ignore[attr-defined]
    if kind is ast.Tuple:
        return tuple([literal_value(item) for item in node.elts])  # type: ignore[attr-defined]
    if kind is ast.UnaryOp and type(node.op) is ast.USub and type(node.operand) is ast.Constant:  # type: ignore[attr-defined]
        number: Json = _literal(node.operand)  # type: ignore[attr-defined]
        if type(number) in (int, float):
            return -number
    raise NotLiftable(kind.__name__)


def _literal(node: ast.Constant) -> Json:
    value = node.value
    if value is Ellipsis or (type(value) is int and value.bit_length() > INT_BITS):
        raise NotLiftable("a constant")
    return value


def lookup(index: int) -> Evaluate:
    """The value of call `index`."""

    def evaluate(run: JudgedRun) -> Json:
        outcome = run.outcomes[index]
        again = isinstance(outcome, LargeOutcome) and outcome.is_put_away()
        if outcome.status is not Status.OK:
            raise CallFailed(outcome)
        if again:
            run.budget.step(DECODING * measure(outcome.value).parts)
        return outcome.value

    return evaluate


def _no_calls(_: ast.Call) -> Evaluate:
    raise NotLiftable("a call of the entry point")


def _constant(node: ast.Constant, _scope: Scope, _resolve: ResolveCall) -> Expression:
    value = _literal(node)
    return Expression(lambda _: value, True)


def _all(
    nodes: Sequence[ast.expr], scope: Scope, resolve: ResolveCall, surely: int | None = None
) -> tuple[list[Evaluate], bool]:
    """Some parts; all but the first `surely` of them may be left out by Python."""
    made = [
        (compile_expression if surely is None or place < surely else compile_later)(node, scope, resolve)
        for place, node in enumerate(nodes)
    ]
    return [one.evaluate for one in made], all(one.constant for one in made)


def _sequence(node: ast.List | ast.Tuple | ast.Set, scope: Scope, resolve: ResolveCall) -> Expression:
    items, constant = _all(node.elts, scope, resolve)
    if isinstance(node, ast.Set):
        return Expression(lambda run: _set([item(run) for item in items]), constant)
    kind = list if isinstance(node, ast.List) else tuple
    return Expression(lambda run: kind([item(run) for item in items]), constant)


def _set(items: list[Json]) -> set[Json]:
    check_keys(items, of_set=True)
    return set(items)


def _dict(node: ast.Dict, scope: Scope, resolve: ResolveCall) -> Expression:
    if any(key is None for key in node.keys):
        raise NotLiftable("**")
    keys, fixed = _all([key for key in node.keys if key is not None], scope, resolve)
    values, constant = _all(node.values, scope, resolve)

    def evaluate(run: JudgedRun) -> Json:
        pairs = [(key(run), value(run)) for key, value in zip(keys, values, strict=True)]
        check_keys([key for key, _ in pairs], of_set=False)
        return dict(pairs)

    return Expression(evaluate, fixed and constant)


def _compare(node: ast.Compare, scope: Scope, resolve: ResolveCall) -> Expression:
    parts, constant = _all([node.left, *node.comparators], scope, resolve, surely=2)
    tests = []
    for index, op in enumerate(node.ops):
        if isinstance(op, ast.Is | ast.IsNot):
            _singleton([node.left, *node.comparators][index : index + 2])
        tests.append(COMPARISONS[type(op)])

    def evaluate(run: JudgedRun) -> Json:
        left = parts[0](run)
        result: Json = True
        for test, part in zip(tests, parts[1:], strict=True):
            right = part(run)
            result = test(run.budget, left, right)
            if not result:
                return result
            left = right
        return result

    return Expression(evaluate, constant)


def _singleton(sides: Sequence[ast.expr]) -> None:
    """`is` means the same on copies of values only where one side is None, True or False."""
    if not any(
        isinstance(side, ast.Constant) and (side.value is None or side.value in (True, False)) for side in sides
    ):
        raise NotLiftable("is")


def _bool(node: ast.BoolOp, scope: Scope, resolve: ResolveCall) -> Expression:
    parts, constant = _all(node.values, scope, resolve, surely=1)
    stop = isinstance(node.op, ast.Or)

    def evaluate(run: JudgedRun) -> Json:
        value: Json = not stop
        for part in parts:
            value = part(run)
            if bool(value) is stop:
                break
        return value

    return Expression(evaluate, constant)


def _unary(node: ast.UnaryOp, scope: Scope, resolve: ResolveCall) -> Expression:
    operand = compile_expression(node.operand, scope, resolve)
    apply = UNARY[type(node.op)]
    return Expression(lambda run: apply(run.budget, operand.evaluate(run)), operand.constant)


def _binary(node: ast.BinOp, scope: Scope, resolve: ResolveCall) -> Expression:
    apply = BINARY.get(type(node.op))
    if apply is None:
        raise NotLiftable(type(node.op).__name__)
    left = compile_expression(node.left, scope, resolve)
    right = compile_expression(node.right, scope, resolve)
    if (
        isinstance(node.op, ast.Mod)
        and isinstance(node.left, ast.Constant)
        and isinstance(node.left.value, str | bytes)
    ):
        raise NotLiftable("formatting")
    return Expression(
        lambda run: apply(run.budget, left.evaluate(run), right.evaluate(run)), left.constant and right.constant
    )


def _conditional(node: ast.IfExp, scope: Scope, resolve: ResolveCall) -> Expression:
    (test, then, other), constant = _all([node.test, node.body, node.orelse], scope, resolve, surely=1)
    return Expression(lambda run: then(run) if test(run) else other(run), constant)


def _subscript(node: ast.Subscript, scope: Scope, resolve: ResolveCall) -> Expression:
    value = compile_expression(node.value, scope, resolve)
    index = compile_expression(node.slice, scope, resolve)
    return Expression(
        lambda run: subscript(run.budget, value.evaluate(run), index.evaluate(run)), value.constant and index.constant
    )


def _slice(node: ast.Slice, scope: Scope, resolve: ResolveCall) -> Expression:
    parts, constant = _all([part or ast.Constant(None) for part in (node.lower, node.upper, node.step)], scope, resolve)
    return Expression(lambda run: slice(*[part(run) for part in parts]), constant)


def _call(node: ast.Call, scope: Scope, resolve: ResolveCall) -> Expression:
    if not isinstance(node.func, ast.Name):
        raise NotLiftable("a call of something that is not a name")
    name = node.func.id
    if name in scope.entry_points:
        return Expression(resolve(node), False)
    if name in scope.shadowed:
        raise NotLiftable(name)
    if name == "isinstance":
        return _isinstance(node, scope, resolve)
    function = FUNCTIONS.get(name)
    if function is None or any(keyword.arg not in ("reverse", "ndigits", "default") for keyword in node.keywords):
        raise NotLiftable(name)
    arguments, fixed = _all(node.args, scope, resolve)
    named, constant = _all([keyword.value for keyword in node.keywords], scope, resolve)
    keys = [str(keyword.arg) for keyword in node.keywords]

    def evaluate(run: JudgedRun) -> Json:
        given = {key: value(run) for key, value in zip(keys, named, strict=True)}
        return function(run.budget, *[argument(run) for argument in arguments], **given)

    return Expression(evaluate, fixed and constant)


def _isinstance(node: ast.Call, scope: Scope, resolve: ResolveCall) -> Expression:
    if len(node.args) != 2 or node.keywords:
        raise NotLiftable("isinstance")
    wanted = node.args[1].elts if isinstance(node.args[1], ast.Tuple) else [node.args[1]]
    kinds = []
    for kind in wanted:
        if not isinstance(kind, ast.Name) or kind.id not in TYPES or kind.id in scope.shadowed:
            raise NotLiftable("isinstance")
        kinds.append(TYPES[kind.id])
    value = compile_expression(node.args[0], scope, resolve)
    types = tuple(kinds)
    return Expression(lambda run: isinstance(value.evaluate(run), types), value.constant)


_BUILDERS: dict[type[ast.expr], Callable[..., Expression]] = {
    ast.Constant: _constant,
    ast.List: _sequence,
    ast.Tuple: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Compare: _compare,
    ast.BoolOp: _bool,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.IfExp: _conditional,
    ast.Subscript: _subscript,
    ast.Slice: _slice,
    ast.Call: _call,
}
