"""Programs outside the grammar without one of their terms: text that is rewritten, never run.

A term is one side of an arithmetic operation, one branch of `np.where`, or one statement that changes a value in place.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from typing import NamedTuple

from evosyn.parsing import parsed


class Cut(NamedTuple):
    """A program without a term: its source with the operator that bound it, its line, and the text that is left."""

    removed: str
    line: int
    text: str


def cuts(program: str) -> Iterator[Cut]:
    """The program without each of its terms, in the order of its tree, no two alike and none like it.

    Nothing for a text that does not parse, or that cannot be written again.
    """
    try:
        tree = parsed(program)
        seen = {ast.unparse(tree)}
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for number, node in enumerate(ast.walk(tree)):
        for removed, replacement in _without(node):
            text = _replaced(tree, number, replacement)
            if text not in seen:
                seen.add(text)
                yield Cut(removed, getattr(node, "lineno", 0), text)


def _without(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What can be left out of a node, and what then stands in its place."""
    if isinstance(node, ast.BinOp):
        sign = SIGNS.get(type(node.op), "?")
        yield f"{sign} {_shown(node.right)}", node.left
        if not isinstance(node.op, ast.Div | ast.Pow | ast.Mod | ast.FloorDiv):
            yield f"{_shown(node.left)} {sign}", _negated(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "where":
        if len(node.args) == 3:
            condition = ast.unparse(node.args[0])
            yield f"where {condition}: {ast.unparse(node.args[1])}", node.args[2]
            yield f"where not {condition}: {ast.unparse(node.args[2])}", node.args[1]
    elif isinstance(node, ast.AugAssign):
        yield ast.unparse(node), ast.Pass()


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.BinOp) else text


def _negated(node: ast.BinOp) -> ast.expr:
    return ast.UnaryOp(ast.USub(), node.right) if isinstance(node.op, ast.Sub) else node.right


def _replaced(tree: ast.Module, number: int, replacement: ast.AST) -> str:
    """The program in which the node of that number (in `ast.walk` order) gives way to `replacement`."""
    tree = copy.deepcopy(tree)
    target = next(node for place, node in enumerate(ast.walk(tree)) if place == number)

    class Swap(ast.NodeTransformer):
        def visit(self, node: ast.AST) -> ast.AST:
            return copy.deepcopy(replacement) if node is target else self.generic_visit(node)

    swapped: ast.AST = Swap().visit(tree)
    return ast.unparse(ast.fix_missing_locations(swapped))


SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.Mod: "%",
    ast.FloorDiv: "//",
    ast.MatMult: "@",
}
