"""Mutation operators on statements: dropped guards, early returns, wrong loops, wrong indentation.

Each operator maps a statement, its block and its position there to the blocks that may stand in that block's place; it
never changes its arguments. Expressions are in `mutate_exprs`, choosing and applying in `mutate`.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import TypeVar

from simulation.author.mutate_exprs import changed

Block = list[ast.stmt]
StmtOperator = Callable[[Block, int], list[Block]]
StmtT = TypeVar("StmtT", bound=ast.stmt)

STMT_OPERATORS: dict[str, StmtOperator] = {}
"""By name, in the order in which they stand here, which draws depend on."""


def _operator(name: str, kind: type[StmtT]) -> Callable[[Callable[[StmtT, Block, int], list[Block]]], None]:
    """Enters a function of one kind of statement as an operator; other statements have no change of that name."""

    def enter(changes: Callable[[StmtT, Block, int], list[Block]]) -> None:
        def operator(block: Block, at: int) -> list[Block]:
            node = block[at]
            return changes(node, block, at) if isinstance(node, kind) else []

        STMT_OPERATORS[name] = operator

    return enter


def _replaced(block: Block, at: int, new: Block, width: int = 1) -> Block:
    return [*block[:at], *new, *block[at + width :]] or [ast.Pass()]


def _exits(block: Block) -> bool:
    return bool(block) and isinstance(block[-1], ast.Return | ast.Continue | ast.Break | ast.Raise)


@_operator("dropped-statement", ast.stmt)
def _dropped_statement(node: ast.stmt, block: Block, at: int) -> list[Block]:
    if isinstance(node, ast.AugAssign | ast.Expr | ast.Break | ast.Continue) and not _is_docstring(node):
        return [_replaced(block, at, [])]
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Subscript):
        return [_replaced(block, at, [])]
    return []


@_operator("dropped-guard", ast.If)
def _dropped_guard(node: ast.If, block: Block, at: int) -> list[Block]:
    if not node.orelse and (_exits(node.body) or len(block) > 1):
        return [_replaced(block, at, [])]
    return []


@_operator("dropped-else", ast.If)
def _dropped_else(node: ast.If, block: Block, at: int) -> list[Block]:
    if not node.orelse:
        return []
    return [_replaced(block, at, [changed(node, orelse=[])]), _replaced(block, at, list(node.orelse))]


@_operator("unconditional", ast.If)
def _unconditional(node: ast.If, block: Block, at: int) -> list[Block]:
    return [] if _exits(node.body) else [_replaced(block, at, list(node.body))]


@_operator("negated-condition", ast.If)
def _negated_condition(node: ast.If, block: Block, at: int) -> list[Block]:
    test = node.test.operand if isinstance(node.test, ast.UnaryOp) else ast.UnaryOp(ast.Not(), node.test)
    return [_replaced(block, at, [changed(node, test=test)])]


@_operator("elif-to-if", ast.If)
def _elif_to_if(node: ast.If, block: Block, at: int) -> list[Block]:
    if len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If):
        return [_replaced(block, at, [changed(node, orelse=[]), node.orelse[0]])]
    return []


@_operator("while-to-if", ast.While)
def _while_to_if(node: ast.While, block: Block, at: int) -> list[Block]:
    if any(isinstance(part, ast.Break | ast.Continue) for part in ast.walk(node)):
        return []
    return [_replaced(block, at, [ast.If(node.test, node.body, [])])]


@_operator("wrong-jump", ast.stmt)
def _wrong_jump(node: ast.stmt, block: Block, at: int) -> list[Block]:
    if isinstance(node, ast.Break):
        return [_replaced(block, at, [ast.Continue()])]
    if isinstance(node, ast.Continue):
        return [_replaced(block, at, [ast.Break()])]
    return []


@_operator("early-return", ast.stmt)
def _early_return(node: ast.stmt, block: Block, at: int) -> list[Block]:
    """The return that follows a loop moves into it: only the first round counts."""
    if not isinstance(node, ast.For | ast.While) or at + 1 >= len(block) or not isinstance(block[at + 1], ast.Return):
        return []
    return [_replaced(block, at, [changed(node, body=[*node.body, block[at + 1]])])]


@_operator("dedented", ast.stmt)
def _dedented(node: ast.stmt, block: Block, at: int) -> list[Block]:
    """The last statement of a loop moves behind it."""
    if not isinstance(node, ast.For | ast.While) or len(node.body) < 2:
        return []
    last = node.body[-1]
    if any(isinstance(part, ast.Break | ast.Continue) for part in ast.walk(last)):
        return []
    return [_replaced(block, at, [changed(node, body=node.body[:-1]), last])]


@_operator("indented", ast.stmt)
def _indented(node: ast.stmt, block: Block, at: int) -> list[Block]:
    """The statement that follows a loop moves into it."""
    if not isinstance(node, ast.For | ast.While) or at + 1 >= len(block):
        return []
    follower = block[at + 1]
    if not isinstance(follower, ast.Assign | ast.AugAssign | ast.Expr | ast.If):
        return []
    return [_replaced(block, at, [changed(node, body=[*node.body, follower])], width=2)]


@_operator("wrong-update", ast.AugAssign)
def _update(node: ast.AugAssign, block: Block, at: int) -> list[Block]:
    other = {ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add}.get(type(node.op))
    target = node.target
    found: list[Block] = [_replaced(block, at, [changed(node, op=other())])] if other else []
    if isinstance(target, ast.Name):
        found.append(_replaced(block, at, [ast.Assign([ast.Name(target.id, ast.Store())], node.value, lineno=0)]))
    return found


@_operator("swapped-statements", ast.stmt)
def _swapped_statements(first: ast.stmt, block: Block, at: int) -> list[Block]:
    if at + 1 >= len(block):
        return []
    second = block[at + 1]
    movable = (ast.Assign, ast.AugAssign, ast.Expr)
    if isinstance(first, movable) and isinstance(second, movable) and not _is_docstring(first):
        return [_replaced(block, at, [second, first], width=2)]
    if isinstance(first, ast.If) and isinstance(second, ast.AugAssign | ast.Expr | ast.If):
        return [_replaced(block, at, [second, first], width=2)]
    return []


@_operator("wrong-initial", ast.Assign)
def _wrong_initial(node: ast.Assign, block: Block, at: int) -> list[Block]:
    if not isinstance(node.targets[0], ast.Name):
        return []
    value = node.value
    if isinstance(value, ast.Constant) and type(value.value) is int:
        return [_replaced(block, at, [changed(node, value=ast.Constant(0 if value.value else 1))])]
    if isinstance(value, ast.Subscript):
        return [_replaced(block, at, [changed(node, value=ast.Constant(0))])]
    return []


@_operator("wrong-return", ast.Return)
def _wrong_return(node: ast.Return, block: Block, at: int) -> list[Block]:
    if not isinstance(node.value, ast.Constant):
        return []
    value = node.value.value
    if isinstance(value, bool):
        return [_replaced(block, at, [changed(node, value=ast.Constant(not value))])]
    if value is None or isinstance(value, str) or value == -1 or value == 1:
        return [_replaced(block, at, [changed(node, value=ast.Constant(0 if value != "" else None))])]
    return [_replaced(block, at, [changed(node, value=ast.Constant(-1))])]


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
