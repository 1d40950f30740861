"""The terms of a strategy program, each left out in turn: what an ablation of a winner is made of.

A program of the genetic grammar is cut as a tree: an argument takes the place of its operation. Of any other program a
term is one side of an arithmetic operation, one branch of `np.where`, or one statement that changes a value in place.
It rewrites text and runs nothing.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from dataclasses import dataclass

from evosyn.parsing import parsed
from evosyn.strategies.grammar.source import read, write
from evosyn.strategies.grammar.terms import without_terms

MOST = 40
"""Variants of one program; those of the shortest terms are left out beyond that."""


@dataclass(frozen=True)
class Variant:
    """A program without one of its terms.

    Attributes:
        removed: source of the term, with the operator that bound it.
        where: the line that the term stands in, or which scores it belongs to.
        text: the program without it.
    """

    removed: str
    where: str
    text: str


def variants(program: str) -> list[Variant]:
    """The program without each of its terms, the longest terms first; nothing for a text that does not parse, or that
    cannot be written again."""
    genetic = read(program)
    if genetic is not None:
        cut = [
            Variant(f"{one.removed}, only {one.left}", one.tree, write(one.program)) for one in without_terms(genetic)
        ]
        return sorted(cut, key=lambda variant: -len(variant.removed))[:MOST]
    try:
        tree = parsed(program)
        original = ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    found: dict[str, Variant] = {}
    lines: dict[str, int] = {}
    for number, node in enumerate(ast.walk(tree)):
        for removed, replacement in _without(node):
            text = _replaced(tree, number, replacement)
            if text not in (original, *found):
                lines[text] = getattr(node, "lineno", 0)
                found[text] = Variant(removed, f"line {lines[text]}", text)
    return sorted(found.values(), key=lambda variant: (-len(variant.removed), lines[variant.text]))[:MOST]


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
