"""The part of a program that one of its functions needs; a text that is read, never run.

What stays behind must do nothing when it is loaded, so that the part does what the whole does, wherever names are only
reached by writing them. Whether a program is of that kind is not seen here (`evosyn.sandbox.company` sees it).
"""

from __future__ import annotations

import ast
from collections import defaultdict

from evosyn.parsing import parsed


def part_for(program: str, function: str) -> str | None:
    """The statements at the top that the function needs, and those that do something; None where it does not parse."""
    try:
        body = parsed(program).body
        binding: defaultdict[str, list[ast.stmt]] = defaultdict(list)
        for statement in body:
            for name in _binds(statement):
                binding[name].append(statement)
        waiting = [function, *(name for one in body if not _is_inert(one) for name in _names(one))]
        needed: set[str] = set()
        while waiting:
            name = waiting.pop()
            if name not in needed:
                needed.add(name)
                waiting += [other for statement in binding[name] for other in _names(statement)]
        kept = [one for one in body if not _is_inert(one) or not needed.isdisjoint(_binds(one))]
        return ast.unparse(ast.Module(kept, []))
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        return None


def _names(statement: ast.stmt) -> set[str]:
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name)}


def _binds(statement: ast.stmt) -> set[str]:
    """Names that it gives a value to, at least."""
    if isinstance(statement, ast.FunctionDef):
        return {statement.name}
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return {alias.asname or alias.name.partition(".")[0] for alias in statement.names}
    return {node.id for node in ast.walk(statement) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def _is_inert(statement: ast.stmt) -> bool:
    """Whether loading it does nothing but to bind its names: a docstring, a literal, a plain import or function."""
    if isinstance(statement, ast.FunctionDef):
        given = statement.args
        notes = [one.annotation for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
        notes += [one.annotation for one in (given.vararg, given.kwarg) if one is not None]
        return not any((statement.decorator_list, given.defaults, given.kw_defaults, statement.returns, *notes))
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return all(alias.name != "*" for alias in statement.names)
    if isinstance(statement, ast.Assign):
        return all(isinstance(target, ast.Name) for target in statement.targets) and _is_literal(statement.value)
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_literal(value: ast.expr) -> bool:
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return False
    return True
