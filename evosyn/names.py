"""Names in a piece of Python: what it binds, what it reads and binds nowhere. Trees only: nothing is executed."""

from __future__ import annotations

import ast
import builtins

_ONLY_INTERACTIVE = frozenset({"copyright", "credits", "exit", "help", "license", "quit", "_"})
BUILTINS = (frozenset(dir(builtins)) | {"__name__"}) - _ONLY_INTERACTIVE
_DEFINES = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom


def bound_names(node: ast.AST) -> set[str]:
    """What a statement binds."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).split(".")[0] for alias in node.names}
    inner = [part for part in ast.walk(node) if isinstance(part, _DEFINES) and part is not node]
    stored = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)}
    return stored.union(*map(bound_names, inner))


def free_names(node: ast.AST) -> set[str]:
    """Names that are read but bound nowhere inside; bindings count wherever they stand, so this errs to too few."""
    read: set[str] = set()
    bound: set[str] = set()
    for part in ast.walk(node):
        if isinstance(part, ast.Name):
            (read if isinstance(part.ctx, ast.Load) else bound).add(part.id)
        elif isinstance(part, ast.arg):
            bound.add(part.arg)
        elif isinstance(part, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and part.name:
            bound.add(part.name)
        elif isinstance(part, ast.MatchMapping) and part.rest:
            bound.add(part.rest)
        elif isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Import | ast.ImportFrom):
            bound |= bound_names(part)
    return read - bound
