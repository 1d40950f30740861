"""What a tool's text must be before anything of it runs: one function in a small language, SQL as literals.

The language is that of programs which may keep company (`sandbox.company`): no class, no frame, no name of Python's
own, attributes from a list. It is not the protection of the machine, which is the sandbox. docs/worlds.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import replace

from evosyn.parsing import TOO_DEEP, parsed
from evosyn.sandbox.company import PLAIN
from evosyn.worlds.tools.records import ToolSpec

QUERIES = ("one", "all", "run")
OFFERS = frozenset({*QUERIES, "new_id", "now"})
LANGUAGE = replace(
    PLAIN,
    modules={
        **PLAIN.modules,
        "re": frozenset(["fullmatch", "match", "search", "sub", "split", "findall"]),
        "json": frozenset({"dumps", "loads"}),
    },
    methods=PLAIN.methods | OFFERS | {"group", "groups"},
    free=True,
)
MAX_SOURCE = 20_000
"""Characters."""
_STARTS = re.compile(r"\s*(select|insert|update|delete|with)\b", re.I)


def fault(tool: ToolSpec) -> str:
    """Why a text is no tool, as `name: line N: detail`; "" where it is one. Arbitrary text never raises."""
    if len(tool.source) > MAX_SOURCE:
        return f"too-long: {len(tool.source)} characters; at most {MAX_SOURCE}"
    try:
        tree = parsed(tool.source)
        return next(_faults(tool, tree), "")
    except SyntaxError as error:
        return f"does-not-parse: line {error.lineno}: {error.msg}"
    except RecursionError:
        return f"does-not-parse: {TOO_DEEP}"
    except (ValueError, MemoryError) as error:
        return f"does-not-parse: {type(error).__name__}: {str(error)[:80]}"


def _faults(tool: ToolSpec, tree: ast.Module) -> Iterator[str]:
    functions = [one for one in tree.body if isinstance(one, ast.FunctionDef)]
    rest = [one for one in tree.body if not isinstance(one, ast.FunctionDef | ast.Import | ast.ImportFrom)]
    if rest or [one.name for one in functions] != [tool.name]:
        line = rest[0].lineno if rest else 1
        yield f"shape: line {line}: imports and one function, {tool.name}"
        return
    yield from _signature(tool, functions[0])
    for node in ast.walk(functions[0]):
        yield from _impure(node)
    known = LANGUAGE.builtins | set(tool.raises) | _bound(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id not in known:
            yield f"impure: line {node.lineno}: the name {node.id!r} is none of a tool's"
    if not LANGUAGE.admits(tree):
        yield f"impure: line {_line(tree)}: what stands here is not in the language of tools"


def _signature(tool: ToolSpec, function: ast.FunctionDef) -> Iterator[str]:
    given = function.args
    names = [one.arg for one in given.kwonlyargs]
    if [one.arg for one in given.args] != ["db"] or given.vararg or given.kwarg or given.posonlyargs:
        yield f"signature: line {function.lineno}: def {tool.name}(db, *, ...)"
    if names != [one.name for one in tool.parameters]:
        yield f"signature: line {function.lineno}: the parameters are {[one.name for one in tool.parameters]}"
    optional = [one is not None for one in given.kw_defaults]
    if optional != [not one.required for one in tool.parameters]:
        yield f"signature: line {function.lineno}: exactly what is not required has a default"
    if not all(one is None or isinstance(one, ast.Constant) for one in given.kw_defaults):
        yield f"signature: line {function.lineno}: defaults are constants"
    if function.decorator_list:
        yield f"signature: line {function.lineno}: no decorator"


def _impure(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Global | ast.Nonlocal | ast.Lambda | ast.ClassDef):
        yield f"impure: line {getattr(node, 'lineno', 0)}: no {type(node).__name__.lower()}"
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "db":
        yield from () if node.attr in OFFERS else (f"impure: line {node.lineno}: db has no {node.attr!r}",)
    if not (isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in QUERIES):
        return
    if not (isinstance(node.func.value, ast.Name) and node.func.value.id == "db"):
        return
    said = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else None
    if not isinstance(said, str):
        yield f"sql: line {node.lineno}: the first argument of db.{node.func.attr} is a literal text"
    elif not _STARTS.match(said) or ";" in said.rstrip("; \n"):
        yield f"sql: line {node.lineno}: one statement: SELECT, INSERT, UPDATE, DELETE or WITH"
    elif node.func.attr != "run" and not re.match(r"\s*(select|with)\b", said, re.I):
        yield f"sql: line {node.lineno}: db.{node.func.attr} reads; db.run writes"


def _bound(tree: ast.Module) -> set[str]:
    found = {one.arg for one in ast.walk(tree) if isinstance(one, ast.arg)}
    found |= {one.id for one in ast.walk(tree) if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load)}
    found |= {one.name for one in ast.walk(tree) if isinstance(one, ast.ExceptHandler) and one.name}
    found |= {one.asname or one.name for one in ast.walk(tree) if isinstance(one, ast.alias)}
    return found | {one.name for one in ast.walk(tree) if isinstance(one, ast.FunctionDef)}


def _line(tree: ast.Module) -> int:
    """The first statement without which the rest is in the language, else that of the function."""
    function = next(one for one in tree.body if isinstance(one, ast.FunctionDef))
    whole = function.body
    for at, statement in enumerate(whole):
        function.body = [*whole[:at], ast.Pass(lineno=statement.lineno), *whole[at + 1 :]]
        if LANGUAGE.admits(tree):
            return statement.lineno
    return function.lineno
