"""Mutation operators on expressions: what a careless author writes instead of what was meant.

Each operator maps one expression to the expressions that may stand in its place; it never changes its argument. The
operators are those of mutation testing (DeMillo, Lipton and Sayward 1978; mutmut, cosmic-ray) plus slips that language
models are known for. Statements are in `mutate_stmts`, choosing and applying in `mutate`.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable
from typing import Any, TypeVar

NodeT = TypeVar("NodeT", bound=ast.AST)
ExprT = TypeVar("ExprT", bound=ast.expr)
ExprOperator = Callable[[ast.expr], list[ast.expr]]

_COMPARE: dict[str, dict[type[ast.cmpop], list[type[ast.cmpop]]]] = {
    "boundary": {ast.Lt: [ast.LtE], ast.LtE: [ast.Lt], ast.Gt: [ast.GtE], ast.GtE: [ast.Gt]},
    "reversed-comparison": {ast.Lt: [ast.Gt], ast.Gt: [ast.Lt], ast.LtE: [ast.GtE], ast.GtE: [ast.LtE]},
    "negated-comparison": {ast.Eq: [ast.NotEq], ast.NotEq: [ast.Eq], ast.In: [ast.NotIn], ast.NotIn: [ast.In]},
    "loosened-equality": {ast.Eq: [ast.GtE, ast.LtE]},
}
_ARITHMETIC: dict[type[ast.operator], list[type[ast.operator]]] = {
    ast.Add: [ast.Sub],
    ast.Sub: [ast.Add],
    ast.Mult: [ast.Add],
    ast.FloorDiv: [ast.Mod],
    ast.Mod: [ast.FloorDiv],
    ast.Div: [ast.FloorDiv],
    ast.Pow: [ast.Mult],
    ast.BitAnd: [ast.BitOr],
    ast.BitOr: [ast.BitAnd],
    ast.BitXor: [ast.BitOr],
}
_FUNCTIONS = {
    "min": ["max"],
    "max": ["min"],
    "any": ["all"],
    "all": ["any"],
    "sum": ["len", "max"],
    "len": ["sum"],
    "ceil": ["floor"],
    "floor": ["ceil"],
    "bisect_left": ["bisect_right"],
    "bisect_right": ["bisect_left"],
    "permutations": ["combinations"],
    "combinations": ["permutations", "combinations_with_replacement"],
    "set": ["list"],
    "round": ["int"],
}
_METHODS = {
    "upper": ["lower"],
    "lower": ["upper"],
    "isalpha": ["isalnum"],
    "isalnum": ["isalpha"],
    "isdigit": ["isalnum"],
    "strip": ["lstrip", "rstrip"],
    "find": ["rfind"],
    "rfind": ["find"],
    "index": ["count"],
    "popleft": ["pop"],
    "appendleft": ["append"],
    "append": ["appendleft"],
    "startswith": ["endswith"],
    "endswith": ["startswith"],
    "keys": ["values"],
    "union": ["intersection"],
    "intersection": ["union"],
    "bisect_left": ["bisect_right"],
    "bisect_right": ["bisect_left"],
    "ceil": ["floor"],
    "floor": ["ceil"],
}
_DROPPABLE = {"sorted", "reversed", "abs", "set", "int"}
_DROPPABLE_METHODS = {"strip", "lower", "upper", "copy", "rstrip"}


def changed(node: NodeT, **fields: Any) -> NodeT:
    """A shallow copy of `node` with other fields; the original stays as it is."""
    twin = copy.copy(node)
    for name, value in fields.items():
        setattr(twin, name, value)
    return twin


EXPR_OPERATORS: dict[str, ExprOperator] = {}
"""By name, in the order in which they stand here, which draws depend on."""


def _operator(name: str, kind: type[ExprT]) -> Callable[[Callable[[ExprT], list[ast.expr]]], None]:
    """Enters a function of one kind of expression as an operator; other expressions have no change of that name."""

    def enter(changes: Callable[[ExprT], list[ast.expr]]) -> None:
        EXPR_OPERATORS[name] = lambda node: changes(node) if isinstance(node, kind) else []

    return enter


def _compare(name: str, table: dict[type[ast.cmpop], list[type[ast.cmpop]]]) -> None:
    @_operator(name, ast.Compare)
    def _(node: ast.Compare) -> list[ast.expr]:
        return [
            changed(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])
            for at, op in enumerate(node.ops)
            for other in table.get(type(op), [])
        ]


for _name, _table in _COMPARE.items():
    _compare(_name, _table)


@_operator("arithmetic", ast.BinOp)
def _arithmetic(node: ast.BinOp) -> list[ast.expr]:
    if isinstance(node.op, ast.Add) and any(
        isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)
    ):
        return []
    return [changed(node, op=other()) for other in _ARITHMETIC.get(type(node.op), [])]


@_operator("swapped-operands", ast.BinOp)
def _swapped_operands(node: ast.BinOp) -> list[ast.expr]:
    if isinstance(node.op, ast.Add | ast.Sub | ast.FloorDiv | ast.Mod | ast.Div | ast.Pow):
        return [changed(node, left=node.right, right=node.left)]
    return []


@_operator("dropped-operand", ast.BinOp)
def _dropped_operand(node: ast.BinOp) -> list[ast.expr]:
    return [node.left, node.right]


@_operator("off-by-one", ast.Constant)
def _constant(node: ast.Constant) -> list[ast.expr]:
    value = node.value
    if isinstance(value, int) and not isinstance(value, bool):
        near = [value + 1, value - 1] if value else [1]
        return [ast.Constant(other) for other in near if other >= 0 or value == 0]
    if isinstance(value, float) and value == value and abs(value) < 1e300:
        return [ast.Constant(value * 2), ast.Constant(0.0)] if value else [ast.Constant(1.0)]
    return []


@_operator("text", ast.Constant)
def _text(node: ast.Constant) -> list[ast.expr]:
    if not isinstance(node.value, str):
        return []
    value = node.value
    others = {" ": [""], "": [" "], "\n": [" "], ",": [", "]}.get(value, [])
    if value.isalpha() and len(value) > 1:
        others = [value.lower() if value != value.lower() else value.capitalize()]
    elif len(value) > 6:
        others = [value[:-1]]
    return [ast.Constant(other) for other in others]


@_operator("flag", ast.Constant)
def _flag(node: ast.Constant) -> list[ast.expr]:
    return [ast.Constant(not node.value)] if isinstance(node.value, bool) else []


@_operator("and-or", ast.BoolOp)
def _and_or(node: ast.BoolOp) -> list[ast.expr]:
    return [changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]


@_operator("dropped-condition", ast.BoolOp)
def _dropped_condition(node: ast.BoolOp) -> list[ast.expr]:
    lists = [[*node.values[:at], *node.values[at + 1 :]] for at in range(len(node.values))]
    return [values[0] if len(values) == 1 else changed(node, values=values) for values in lists]


@_operator("dropped-sign", ast.UnaryOp)
def _unary(node: ast.UnaryOp) -> list[ast.expr]:
    return [node.operand] if isinstance(node.op, ast.Not | ast.USub) else []


@_operator("wrong-index", ast.Subscript)
def _index(node: ast.Subscript) -> list[ast.expr]:
    if isinstance(node.slice, ast.Slice | ast.Tuple):
        return []
    at = node.slice
    if isinstance(at, ast.Constant) and isinstance(at.value, int):
        others = [ast.Constant(at.value + 1)] + (
            [ast.UnaryOp(ast.USub(), ast.Constant(1))] if at.value == 0 else [ast.Constant(at.value - 1)]
        )
        return [changed(node, slice=other) for other in others]
    if isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub):
        return [changed(node, slice=ast.Constant(0))]
    if isinstance(at, ast.Name) and isinstance(node.ctx, ast.Load):
        return [changed(node, slice=ast.BinOp(at, ast.Sub(), ast.Constant(1)))]
    return []


@_operator("wrong-slice", ast.Subscript)
def _slice(node: ast.Subscript) -> list[ast.expr]:
    if not isinstance(node.slice, ast.Slice):
        return []
    part = node.slice
    others: list[ast.Slice] = []
    if part.lower is not None:
        others.append(changed(part, lower=None))
        others.append(changed(part, lower=ast.BinOp(part.lower, ast.Add(), ast.Constant(1))))
    if part.upper is not None:
        others.append(changed(part, upper=None))
        others.append(changed(part, upper=ast.BinOp(part.upper, ast.Sub(), ast.Constant(1))))
    if part.step is not None:
        others.append(changed(part, step=None))
    return [changed(node, slice=other) for other in others]


@_operator("wrong-range", ast.Call)
def _range(node: ast.Call) -> list[ast.expr]:
    if not _is_call(node, "range") or not 1 <= len(node.args) <= 2:
        return []
    *before, stop = node.args
    less = ast.BinOp(stop, ast.Sub(), ast.Constant(1))
    more = ast.BinOp(stop, ast.Add(), ast.Constant(1))
    found: list[ast.expr] = [changed(node, args=[*before, less]), changed(node, args=[*before, more])]
    if not before:
        found.append(changed(node, args=[ast.Constant(1), stop]))
    return found


@_operator("other-function", ast.Call)
def _other_function(node: ast.Call) -> list[ast.expr]:
    if isinstance(node.func, ast.Name):
        return [changed(node, func=ast.Name(name, ast.Load())) for name in _FUNCTIONS.get(node.func.id, [])]
    if isinstance(node.func, ast.Attribute):
        function = node.func
        return [changed(node, func=changed(function, attr=name)) for name in _METHODS.get(function.attr, [])]
    return []


@_operator("dropped-call", ast.Call)
def _dropped_call(node: ast.Call) -> list[ast.expr]:
    first, function = node.args[:1], node.func
    if first and isinstance(function, ast.Name) and function.id in _DROPPABLE:
        return [ast.Call(ast.Name("list", ast.Load()), first, [])] if function.id == "sorted" else first
    if not first and isinstance(function, ast.Attribute) and not node.keywords and function.attr in _DROPPABLE_METHODS:
        return [function.value]
    return []


@_operator("sort-direction", ast.Call)
def _sort_direction(node: ast.Call) -> list[ast.expr]:
    if not (_is_call(node, "sorted") or _is_method(node, "sort")):
        return []
    others = [word for word in node.keywords if word.arg != "reverse"]
    if len(others) != len(node.keywords):
        return [changed(node, keywords=others)]
    return [changed(node, keywords=[*others, ast.keyword("reverse", ast.Constant(True))])]


@_operator("dropped-key", ast.Call)
def _dropped_key(node: ast.Call) -> list[ast.expr]:
    if not any(word.arg == "key" for word in node.keywords):
        return []
    return [changed(node, keywords=[word for word in node.keywords if word.arg != "key"])]


@_operator("tie-break", ast.Lambda)
def _tie_break(node: ast.Lambda) -> list[ast.expr]:
    if not isinstance(node.body, ast.Tuple) or len(node.body.elts) < 2:
        return []
    parts = node.body.elts
    flipped = [
        part.operand if isinstance(part, ast.UnaryOp) else ast.UnaryOp(ast.USub(), part)
        for part in parts
        if not isinstance(part, ast.Constant)
    ]
    return [
        changed(node, body=parts[0]),
        changed(node, body=changed(node.body, elts=[*parts[1:], parts[0]])),
        changed(node, body=changed(node.body, elts=[*flipped[:1], *parts[1:]])),
    ]


@_operator("swapped-arguments", ast.Call)
def _swapped_arguments(node: ast.Call) -> list[ast.expr]:
    if len(node.args) < 2 or any(isinstance(arg, ast.Starred) for arg in node.args):
        return []
    if isinstance(node.func, ast.Name) and node.func.id in {"min", "max", "print", "gcd", "isinstance"}:
        return []
    first, second, *rest = node.args
    return [changed(node, args=[second, first, *rest])]


@_operator("wrong-default", ast.Call)
def _wrong_default(node: ast.Call) -> list[ast.expr]:
    if len(node.args) != 2 or not _is_method(node, "get"):
        return []
    value = node.args[1]
    other = 1 if isinstance(value, ast.Constant) and value.value == 0 else 0
    return [changed(node, args=[node.args[0], ast.Constant(other)])]


@_operator("wrong-branch", ast.IfExp)
def _wrong_branch(node: ast.IfExp) -> list[ast.expr]:
    return [changed(node, body=node.orelse, orelse=node.body), node.body, node.orelse]


@_operator("dropped-filter", ast.expr)
def _dropped_filter(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        return []
    return [
        changed(node, generators=[*node.generators[:at], changed(part, ifs=[]), *node.generators[at + 1 :]])
        for at, part in enumerate(node.generators)
        if part.ifs
    ]


@_operator("initial-value", ast.expr)
def _initial_value(node: ast.expr) -> list[ast.expr]:
    """`float("inf")` and `float("-inf")` become 0: the usual wrong start of a minimum or a maximum."""
    value = node.operand if isinstance(node, ast.UnaryOp) else node
    if _is_call(value, "float") and isinstance(value, ast.Call) and isinstance(value.args[0], ast.Constant):
        return [ast.Constant(0)]
    return []


def _is_call(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name


def _is_method(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == name
