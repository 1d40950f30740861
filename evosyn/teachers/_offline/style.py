"""Writes the same program in other words: other local names, spellings, comments. Never changes what it does.

Ten authors who have the same idea rarely send the same text; a share of the drawn solutions is left plain, so that
duplicates occur as they do in real pools.
"""

from __future__ import annotations

import ast
import random
from typing import NamedTuple

_NAMES = {
    "result": ("res", "ans", "output", "answer"),
    "total": ("acc", "running_total", "s", "sum_so_far"),
    "count": ("cnt", "counter", "how_many"),
    "best": ("best_so_far", "top", "optimum"),
    "i": ("idx", "pos", "index"),
    "j": ("other", "jdx", "second"),
    "n": ("length", "size", "num"),
    "x": ("value", "item", "elem"),
    "seen": ("visited", "known", "already"),
    "out": ("result", "res", "collected"),
    "line": ("row", "text_line"),
    "lines": ("rows", "all_lines"),
}
_GENERIC = ("temp", "data", "current", "val", "cur", "aux", "part", "state", "entry", "held")
_COMMENTS = (
    "# handle each element in turn",
    "# edge cases first",
    "# keep track of the state",
    "# check the condition",
    "# update the result",
    "# walk over the input",
    "# straightforward implementation",
)
_DOCSTRINGS = (
    "Return the answer described in the task.",
    "Compute the result as specified.",
    "Solve the problem.",
    "Straightforward solution in one pass.",
)


def restyled(source: str, rng: random.Random, freedom: float) -> str:
    """The program in other words.

    Args:
        source: a program that parses.
        freedom: chance of each kind of rewriting, in [0, 1]; 0 gives the plain form of the program.
    """
    tree = ast.parse(source)
    if rng.random() < freedom:
        _rename(tree, rng, share=freedom)
    if freedom > 0:
        _Rewriter(rng, freedom).visit(tree)
    text = ast.unparse(tree)
    return _commented(text, rng) if rng.random() < freedom * 0.7 else text


def _rename(tree: ast.Module, rng: random.Random, share: float) -> None:
    """Rename local variables, one new name for the whole program, none that is used for anything else."""
    found = _names(tree)
    taken = found.fixed | {node.id for node in found.nodes}
    stored = {node.id for node in found.nodes if isinstance(node.ctx, ast.Store)}
    table: dict[str, str] = {}
    for old in sorted(stored - found.fixed):
        if old.startswith("_") or rng.random() > share:
            continue
        free = [new for new in (*_NAMES.get(old, ()), *_GENERIC, f"{old}_value", f"my_{old}") if new not in taken]
        new = rng.choice(free[:4])
        taken.add(new)
        table[old] = new
    for node in found.nodes:
        node.id = table.get(node.id, node.id)


class _Names(NamedTuple):
    """The name nodes of a program, and the names that must stay: parameters, imports, functions, keywords."""

    nodes: list[ast.Name]
    fixed: set[str]


def _names(tree: ast.Module) -> _Names:
    nodes: list[ast.Name] = []
    fixed: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            nodes.append(node)
        elif isinstance(node, ast.arg):
            fixed.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            fixed.add(node.name)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            fixed.update(node.names)
        elif isinstance(node, ast.alias):
            fixed.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.keyword) and node.arg:
            fixed.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            fixed.add(node.name)
    return _Names(nodes, fixed)


class _Rewriter(ast.NodeTransformer):
    def __init__(self, rng: random.Random, freedom: float) -> None:
        self._rng, self._chance = rng, freedom * 0.5

    def _now(self) -> bool:
        return self._rng.random() < self._chance

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        mirror = {ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.Eq}
        other = mirror.get(type(node.ops[0])) if len(node.ops) == 1 else None
        simple = (ast.Name, ast.Constant, ast.Subscript, ast.Attribute)
        if other is None or not isinstance(node.left, simple) or not isinstance(node.comparators[0], simple):
            return node
        return ast.Compare(node.comparators[0], [other()], [node.left]) if self._now() else node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        self.generic_visit(node)
        if not isinstance(node.target, ast.Name) or not isinstance(node.value, ast.Constant) or not self._now():
            return node
        if not isinstance(node.value.value, int):
            return node
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([ast.Name(node.target.id, ast.Store())], value, lineno=0)

    def visit_If(self, node: ast.If) -> ast.AST:
        self.generic_visit(node)
        plain_else = node.orelse and not isinstance(node.orelse[0], ast.If)
        if plain_else and self._now():
            test = _negated(node.test)
            return ast.If(test, node.orelse, node.body)
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.IfExp) and self._now():
            return ast.If(node.value.test, [ast.Return(node.value.body)], [ast.Return(node.value.orelse)])
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self.generic_visit(node)
        first = node.body[0]
        documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
        if documented and len(node.body) > 1 and self._now():
            node.body = node.body[1:]
        elif not documented and self._now():
            node.body = [ast.Expr(ast.Constant(self._rng.choice(_DOCSTRINGS))), *node.body]
        if self._now():
            node.returns = None
            for arg in node.args.args:
                arg.annotation = None
        return node


def _negated(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(ast.Not(), node)


def _commented(text: str, rng: random.Random) -> str:
    """One comment line before a line of code that starts a statement."""
    lines = text.split("\n")
    inside = _string_lines(text) if '"""' in text else set()
    places = [at for at, line in enumerate(lines) if line.startswith("    ") and line.strip() and at not in inside]
    places = [at for at in places if not _continues(lines[at])]
    if not places:
        return text
    at = rng.choice(places)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "\n".join([*lines[:at], indent + rng.choice(_COMMENTS), *lines[at:]])


def _continues(line: str) -> bool:
    """Whether the line belongs to an `if` chain or handler above it, so that no comment goes before it."""
    return line.lstrip().startswith(("else", "elif", "except", "finally"))


def _string_lines(text: str) -> set[int]:
    """Lines inside texts that run over several lines (0-based, without the first of each)."""
    found: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.end_lineno is not None:
            found.update(range(node.lineno, node.end_lineno))
    return found
