"""Rewrites a program so that calls and rounds of loops count, and so that values cannot grow without bound.

Both limits are counted, not timed: what a variant does is then the same on any machine. `_tick_`, `_room_` and the
guarded operators are defined in `inside`.
"""

from __future__ import annotations

import ast
from typing import TypeVar

from evosyn.parsing import parsed

BlockT = TypeVar("BlockT", ast.FunctionDef, ast.For, ast.While)
ComprehensionT = TypeVar("ComprehensionT", ast.ListComp, ast.SetComp, ast.GeneratorExp, ast.DictComp)

_GROWING: dict[type[ast.operator], str] = {
    ast.Add: "_add_",
    ast.Mult: "_mult_",
    ast.Pow: "_pow_",
    ast.LShift: "_shift_",
}


def metered(source: str) -> str:
    """`source` with a tick at the start of each function body, loop body and round of a comprehension.

    Raises:
        SyntaxError: `source` is not Python.
    """
    tree = _Meters().visit(parsed(source))
    return ast.unparse(ast.fix_missing_locations(tree))


class _Meters(ast.NodeTransformer):
    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        guarded = _GROWING.get(type(node.op))
        return node if guarded is None else ast.Call(ast.Name(guarded, ast.Load()), [node.left, node.right], [])

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if type(node.op) in _GROWING and isinstance(node.target, ast.Name):
            held = ast.Name(node.target.id, ast.Load())
            node.value = ast.Call(ast.Name("_room_", ast.Load()), [held, node.value], [])
        return node

    def _block(self, node: BlockT) -> BlockT:
        self.generic_visit(node)
        node.body.insert(0, ast.Expr(_tick()))
        return node

    def _comprehension(self, node: ComprehensionT) -> ComprehensionT:
        self.generic_visit(node)
        node.generators[-1].ifs.insert(0, _tick())
        return node

    visit_FunctionDef = visit_For = visit_While = _block
    visit_ListComp = visit_SetComp = visit_GeneratorExp = visit_DictComp = _comprehension


def _tick() -> ast.expr:
    return ast.Call(ast.Name("_tick_", ast.Load()), [], [])
