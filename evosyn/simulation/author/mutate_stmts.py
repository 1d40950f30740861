"""Mutation operators on statements: dropped guards, early returns, wrong loops, wrong indentation.

Each operator maps a block and a position in it to the blocks that may stand in its place; it never changes its
arguments. Expressions are in `mutate_exprs`, choosing and applying in `mutate`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable

from evosyn.simulation.author.mutate_exprs import changed

Block = list[ast.stmt]
StmtOperator = Callable[[Block, int], list[Block]]


def _replaced(block: Block, at: int, new: Block, width: int = 1) -> Block:
    return [*block[:at], *new, *block[at + width :]] or [ast.Pass()]


def _exits(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return | ast.Continue | ast.Break | ast.Raise)


def _dropped_statement(block: Block, at: int) -> list[Block]:
    node = block[at]
    if isinstance(node, ast.AugAssign | ast.Expr | ast.Break | ast.Continue) and not _is_docstring(node):
        return [_replaced(block, at, [])]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return [_replaced(block, at, [])]
    return []


def _dropped_guard(block: Block, at: int) -> list[Block]:
    node = block[at]
    if isinstance(node, ast.If) and not node.orelse and (_exits(node.body) or len(block) > 1):
        return [_replaced(block, at, [])]
    return []


def _dropped_else(block: Block, at: int) -> list[Block]:
    node = block[at]
    if not isinstance(node, ast.If) or not node.orelse:
        return []
    return [_replaced(block, at, [changed(node, orelse=[])]), _replaced(block, at, list(node.orelse))]


def _unconditional(block: Block, at: int) -> list[Block]:
    node = block[at]
    if isinstance(node, ast.If) and not _exits(node.body):
        return [_replaced(block, at, list(node.body))]
    return []


def _negated_condition(block: Block, at: int) -> list[Block]:
    node = block[at]
    if not isinstance(node, ast.If):
        return []
    test = node.test.operand if isinstance(node.test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), node.test)
    return [_replaced(block, at, [changed(node, test=test)])]


def _elif_to_if(block: Block, at: int) -> list[Block]:
    node = block[at]
    if isinstance(node, ast.If) and len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        return [_replaced(block, at, [changed(node, orelse=[]), node.orelse[0]])]
    return []


def _while_to_if(block: Block, at: int) -> list[Block]:
    node = block[at]
    if not isinstance(node, ast.While) or any(isinstance(part, ast.Break | ast.Continue) for part in ast.walk(node)):
        return []
    return [_replaced(block, at, [ast.If(node.test, node.body, [])])]


def _wrong_jump(block: Block, at: int) -> list[Block]:
    node = block[at]
    if isinstance(node, ast.Break):
        return [_replaced(block, at, [ast.Continue()])]
    if isinstance(node, ast.Continue):
        return [_replaced(block, at, [ast.Break()])]
    return []


def _early_return(block: Block, at: int) -> list[Block]:
    """The return that follows a loop moves into it: only the first round counts."""
    node = block[at]
    if not isinstance(node, ast.For | ast.While) or at + 1 >= len(block) or not isinstance(block[at + 1], ast.Return):
        return []
    return [_replaced(block, at, [changed(node, body=[*node.body, block[at + 1]])])]


def _dedented(block: Block, at: int) -> list[Block]:
    """The last statement of a loop moves behind it."""
    node = block[at]
    if not isinstance(node, ast.For | ast.While) or len(node.body) < 2:
        return []
    last = node.body[-1]
    if any(isinstance(part, ast.Break | ast.Continue) for part in ast.walk(last)):
        return []
    return [_replaced(block, at, [changed(node, body=node.body[:-1]), last])]


def _indented(block: Block, at: int) -> list[Block]:
    """The statement that follows a loop moves into it."""
    node = block[at]
    if not isinstance(node, ast.For | ast.While) or at + 1 >= len(block):
        return []
    follower = block[at + 1]
    if not isinstance(follower, ast.Assign | ast.AugAssign | ast.Expr | ast.If):
        return []
    return [_replaced(block, at, [changed(node, body=[*node.body, follower])], width=2)]


def _update(block: Block, at: int) -> list[Block]:
    node = block[at]
    if not isinstance(node, ast.AugAssign):
        return []
    other = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}.get(type(node.op))
    target = node.target
    found: list[Block] = [_replaced(block, at, [changed(node, op=other())])] if other else []
    if isinstance(target, ast.Name):
        found.append(_replaced(block, at, [ast.Assign([ast.Name(target.id, ast.Store())], node.value, lineno=0)]))
    return found


def _swapped_statements(block: Block, at: int) -> list[Block]:
    if at + 1 >= len(block):
        return []
    first, second = block[at], block[at + 1]
    movable = (ast.Assign, ast.AugAssign, ast.Expr)
    if isinstance(first, movable) and isinstance(second, movable) and not _is_docstring(first):
        return [_replaced(block, at, [second, first], width=2)]
    if isinstance(first, ast.If) and isinstance(second, ast.AugAssign | ast.Expr | ast.If):
        return [_replaced(block, at, [second, first], width=2)]
    return []


def _wrong_initial(block: Block, at: int) -> list[Block]:
    node = block[at]
    if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
        return []
    value = node.value
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return [_replaced(block, at, [changed(node, value=ast.Constant(0 if value.value else 1))])]
    if isinstance(value, ast.Subscript):
        return [_replaced(block, at, [changed(node, value=ast.Constant(0))])]
    return []


def _wrong_return(block: Block, at: int) -> list[Block]:
    node = block[at]
    if not isinstance(node, ast.Return) or not isinstance(node.value, ast.Constant):
        return []
    value = node.value.value
    if isinstance(value, bool):
        return [_replaced(block, at, [changed(node, value=ast.Constant(not value))])]
    if value is None or isinstance(value, str) or value == -1 or value == 1:
        return [_replaced(block, at, [changed(node, value=ast.Constant(0 if value != "" else None))])]
    return [_replaced(block, at, [changed(node, value=ast.Constant(-1))])]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


STMT_OPERATORS: dict[str, StmtOperator] = {
    "dropped-statement": _dropped_statement,
    "dropped-guard": _dropped_guard,
    "dropped-else": _dropped_else,
    "unconditional": _unconditional,
    "negated-condition": _negated_condition,
    "elif-to-if": _elif_to_if,
    "while-to-if": _while_to_if,
    "wrong-jump": _wrong_jump,
    "early-return": _early_return,
    "dedented": _dedented,
    "indented": _indented,
    "wrong-update": _update,
    "swapped-statements": _swapped_statements,
    "wrong-initial": _wrong_initial,
    "wrong-return": _wrong_return,
}
