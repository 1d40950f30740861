"""What a program keeps of terms that were taken out of it, and does not need: names that nothing reads, docstrings.

The text is rewritten, never run; whoever asks sees that the program still ranks as before (`pruning`).
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence

from evosyn.parsing import parsed
from evosyn.strategies.genome import ENTRY_POINTS


def without_leftovers(program: str, whole: str) -> str:
    """The program without assignments, functions and imports that nothing reads, and without docstrings that were
    written of more than it is.

    Args:
        whole: what it was cut from; a function that is the same there keeps its docstring.
    """
    tree = parsed(program)
    _drop_docstrings(tree, {name: ast.unparse(one) for name, one in _functions(parsed(whole)).items()})
    before = ""
    while before != (text := ast.unparse(ast.fix_missing_locations(tree))):
        before = text
        _Unread(tree).visit(tree)
    return text + "\n"


def _functions(tree: ast.Module) -> dict[str, ast.FunctionDef]:
    return {node.name: node for node in tree.body if isinstance(node, ast.FunctionDef)}


def _drop_docstrings(tree: ast.Module, before: dict[str, str]) -> None:
    """Of the module, and of functions that are not as they were."""
    changed = [one for name, one in _functions(tree).items() if before.get(name) != ast.unparse(one)]
    scopes: list[ast.Module | ast.FunctionDef] = [tree, *changed]
    for node in scopes:
        if ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]


def _read(scope: ast.AST) -> set[str]:
    """Names that are read in a scope, or that belong to another one."""
    found: set[str] = set()
    for node in ast.walk(scope):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            found.update(node.names)
    return found


class _Unread(ast.NodeTransformer):
    """Takes out what binds names that nothing reads."""

    def __init__(self, tree: ast.Module) -> None:
        self._scopes = [_read(tree)]

    def visit(self, node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.ClassDef | ast.Lambda):
            return node
        if isinstance(node, ast.FunctionDef):
            if len(self._scopes) == 1 and node.name not in {*self._scopes[0], *ENTRY_POINTS}:
                return None
            self._scopes.append(_read(node))
            self.generic_visit(node)
            self._scopes.pop()
        elif isinstance(node, ast.Import | ast.ImportFrom):
            kept = [one for one in node.names if (one.asname or one.name).partition(".")[0] in {*self._scopes[-1], "*"}]
            node = copy.copy(node)
            node.names = kept
            return node if kept else None
        elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            return None if self._unread(targets) else node
        else:
            self.generic_visit(node)
        return self._filled(node)

    def _unread(self, targets: Sequence[ast.expr]) -> bool:
        names: list[ast.expr] = []
        for one in targets:
            names += one.elts if isinstance(one, ast.Tuple | ast.List) else [one]
        return all(isinstance(one, ast.Name) and one.id not in self._scopes[-1] for one in names)

    def _filled(self, node: ast.AST) -> ast.AST | None:
        """A statement that holds others, which are some still; a branch or loop of which nothing is left goes."""
        body = getattr(node, "body", None)
        if not isinstance(body, list) or isinstance(node, ast.Module):
            return node
        rest = [one for one in body if not isinstance(one, ast.Pass)]
        if not rest and isinstance(node, ast.If | ast.For) and not node.orelse:
            return None
        node.body = rest or [ast.Pass()]  # type: ignore[attr-defined]
        return node
