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


def changed(node: NodeT, **fields: Any) -> NodeT:
    """A shallow copy of `node` with other fields; the original stays as it is."""
    twin = copy.copy(node)
    for name, value in fields.items():
        setattr(twin, name, value)
    return twin


def _compare(kind: str) -> ExprOperator:
    table = _COMPARE[kind]

    def operator(node: ast.expr) -> list[ast.expr]:
        if not isinstance(node, ast.Compare):
            return []
        return [
            changed(node, ops=[*node.ops[:at], other(), *node.ops[at + 1 :]])
            for at, op in enumerate(node.ops)
            for other in table.get(type(op), [])
        ]

    return operator


def _arithmetic(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.BinOp):
        return []
    if isinstance(node.op, ast.Add) and any(
        isinstance(side, ast.Constant) and isinstance(side.value, str) for side in (node.left, node.right)
    ):
        return []
    return [changed(node, op=other()) for other in _ARITHMETIC.get(type(node.op), [])]


def _swapped_operands(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Sub | ast.FloorDiv | ast.Mod | ast.Div | ast.Pow):
        return [changed(node, left=node.right, right=node.left)]
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        return [changed(node, left=node.right, right=node.left)]
    return []


def _dropped_operand(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.BinOp):
        return [node.left, node.right]
    return []


def _constant(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Constant) or isinstance(node.value, bool):
        return []
    value = node.value
    if isinstance(value, int):
        near = [value + 1, value - 1] if value else [1]
        return [ast.Constant(other) for other in near if other >= 0 or value == 0]
    if isinstance(value, float) and value == value and abs(value) < 1e300:
        return [ast.Constant(value * 2), ast.Constant(0.0)] if value else [ast.Constant(1.0)]
    return []


def _text(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        return []
    value = node.value
    others = {" ": [""], "": [" "], "\n": [" "], ",": [", "]}.get(value, [])
    if value.isalpha() and len(value) > 1:
        others = [value.lower() if value != value.lower() else value.capitalize()]
    elif len(value) > 6:
        others = [value[:-1]]
    return [ast.Constant(other) for other in others]


def _flag(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Constant) and isinstance(node.value, bool):
        return [ast.Constant(not node.value)]
    return []


def _and_or(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.BoolOp):
        return []
    return [changed(node, op=ast.Or() if isinstance(node.op, ast.And) else ast.And())]


def _dropped_condition(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.BoolOp):
        return []
    lists = [[*node.values[:at], *node.values[at + 1 :]] for at in range(len(node.values))]
    return [values[0] if len(values) == 1 else changed(node, values=values) for values in lists]


def _unary(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return [node.operand]
    return []


def _index(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Subscript) or isinstance(node.slice, ast.Slice | ast.Tuple):
        return []
    at = node.slice
    if isinstance(at, ast.Constant) and isinstance(at.value, int):
        others = [ast.Constant(at.value + 1)] + ([_minus_one()] if at.value == 0 else [ast.Constant(at.value - 1)])
        return [changed(node, slice=other) for other in others]
    if isinstance(at, ast.UnaryOp) and isinstance(at.op, ast.USub):
        return [changed(node, slice=ast.Constant(0))]
    if isinstance(at, ast.Name) and isinstance(node.ctx, ast.Load):
        return [changed(node, slice=ast.BinOp(at, ast.Sub(), ast.Constant(1)))]
    return []


def _slice(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Subscript) or not isinstance(node.slice, ast.Slice):
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


def _range(node: ast.expr) -> list[ast.expr]:
    if not _is_call(node, "range") or not isinstance(node, ast.Call) or not node.args or len(node.args) > 2:
        return []
    *before, stop = node.args
    less = ast.BinOp(stop, ast.Sub(), ast.Constant(1))
    more = ast.BinOp(stop, ast.Add(), ast.Constant(1))
    found: list[ast.expr] = [changed(node, args=[*before, less]), changed(node, args=[*before, more])]
    if not before:
        found.append(changed(node, args=[ast.Constant(1), stop]))
    return found


def _other_function(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Call):
        return []
    if isinstance(node.func, ast.Name):
        return [changed(node, func=ast.Name(name, ast.Load())) for name in _FUNCTIONS.get(node.func.id, [])]
    if isinstance(node.func, ast.Attribute):
        function = node.func
        return [changed(node, func=changed(function, attr=name)) for name in _METHODS.get(function.attr, [])]
    return []


def _dropped_call(node: ast.expr) -> list[ast.expr]:
    if isinstance(node, ast.Call) and len(node.args) >= 1:
        if isinstance(node.func, ast.Name) and node.func.id in _DROPPABLE:
            return (
                [ast.Call(ast.Name("list", ast.Load()), node.args[:1], [])]
                if node.func.id == "sorted"
                else node.args[:1]
            )
        return []
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and not node.keywords:
        return [node.func.value] if node.func.attr in {"strip", "lower", "upper", "copy", "rstrip"} else []
    return []


def _sort_direction(node: ast.expr) -> list[ast.expr]:
    if not (_is_call(node, "sorted") or _is_method(node, "sort")) or not isinstance(node, ast.Call):
        return []
    others = [word for word in node.keywords if word.arg != "reverse"]
    if len(others) != len(node.keywords):
        return [changed(node, keywords=others)]
    return [changed(node, keywords=[*others, ast.keyword("reverse", ast.Constant(True))])]


def _dropped_key(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Call) or not any(word.arg == "key" for word in node.keywords):
        return []
    return [changed(node, keywords=[word for word in node.keywords if word.arg != "key"])]


def _tie_break(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Lambda) or not isinstance(node.body, ast.Tuple) or len(node.body.elts) < 2:
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


def _swapped_arguments(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Call) or len(node.args) < 2 or any(isinstance(arg, ast.Starred) for arg in node.args):
        return []
    if isinstance(node.func, ast.Name) and node.func.id in {"min", "max", "print", "gcd", "isinstance"}:
        return []
    first, second, *rest = node.args
    return [changed(node, args=[second, first, *rest])]


def _wrong_default(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.Call) or len(node.args) != 2 or not _is_method(node, "get"):
        return []
    value = node.args[1]
    other = 1 if isinstance(value, ast.Constant) and value.value == 0 else 0
    return [changed(node, args=[node.args[0], ast.Constant(other)])]


def _wrong_branch(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.IfExp):
        return []
    return [changed(node, body=node.orelse, orelse=node.body), node.body, node.orelse]


def _dropped_filter(node: ast.expr) -> list[ast.expr]:
    if not isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
        return []
    return [
        changed(node, generators=[*node.generators[:at], changed(part, ifs=[]), *node.generators[at + 1 :]])
        for at, part in enumerate(node.generators)
        if part.ifs
    ]


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


def _minus_one() -> ast.expr:
    return ast.UnaryOp(ast.USub(), ast.Constant(1))


EXPR_OPERATORS: dict[str, ExprOperator] = {
    **{kind: _compare(kind) for kind in _COMPARE},
    "arithmetic": _arithmetic,
    "swapped-operands": _swapped_operands,
    "dropped-operand": _dropped_operand,
    "off-by-one": _constant,
    "text": _text,
    "flag": _flag,
    "and-or": _and_or,
    "dropped-condition": _dropped_condition,
    "dropped-sign": _unary,
    "wrong-index": _index,
    "wrong-slice": _slice,
    "wrong-range": _range,
    "other-function": _other_function,
    "dropped-call": _dropped_call,
    "sort-direction": _sort_direction,
    "dropped-key": _dropped_key,
    "tie-break": _tie_break,
    "swapped-arguments": _swapped_arguments,
    "wrong-default": _wrong_default,
    "wrong-branch": _wrong_branch,
    "dropped-filter": _dropped_filter,
    "initial-value": _initial_value,
}
