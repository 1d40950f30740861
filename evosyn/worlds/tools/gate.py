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
BINDS = (ast.Name, ast.Attribute, ast.Constant, ast.keyword)
"""What may hold a text like the name of the database without giving that name another meaning; names are looked at
apart."""
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
_UNSAID = re.compile(
    r"'[^']*(?:'|\Z)|\"[^\"]*(?:\"|\Z)|`[^`]*(?:`|\Z)|\[[^\]]*(?:\]|\Z)|--[^\n]*|/\*.*?(?:\*/|\Z)", re.S
)
_LETTER = r"[\w$\x80-\U0010ffff]"
"""Of a name in SQLite: more than Python takes for one."""
_SAYS = re.compile(rf"[()]|(?<!{_LETTER})(?:select|insert|update|delete|replace|values)(?!{_LETTER})", re.I)
_STARTS = re.compile(rf"\s*(select|insert|update|delete|with)(?!{_LETTER})", re.I)


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
    yield from _lent(tree, functions[0])
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


def _lent(tree: ast.Module, function: ast.FunctionDef) -> Iterator[str]:
    """Where the database, or one of its functions, is anything but what is called: a value that has another name, or is
    given away, could be called with any text."""
    called = {id(one.func): one for one in ast.walk(function) if isinstance(one, ast.Call)}
    held: set[int] = {id(one) for one in function.args.args}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "db":
            held.add(id(node.value))
            if node.attr not in OFFERS:
                yield f"impure: line {node.lineno}: db has no {node.attr!r}"
            elif id(node) not in called:
                yield f"impure: line {node.lineno}: db.{node.attr} is called and nothing else"
            elif node.attr in QUERIES:
                yield from _query(node.attr, called[id(node)])
        elif isinstance(node, ast.Attribute) and node.attr in OFFERS:
            yield f"impure: line {node.lineno}: only db has {node.attr!r}, and under no other name"
        elif isinstance(node, ast.Name) and node.id == "db" and id(node) not in held:
            yield f"impure: line {node.lineno}: db stands where one of its functions is called, and nowhere else"
        elif id(node) not in held and not isinstance(node, BINDS) and _binds(node, "db"):
            line = getattr(node, "lineno", function.lineno)
            yield f"impure: line {line}: db is the database, and nothing else has its name"


def _binds(node: ast.AST, name: str) -> bool:
    """Whether a node holds this identifier as what it binds: a parameter, import, capture, error or function."""
    values = [value for _, value in ast.iter_fields(node)]
    return name in values or any(isinstance(value, list) and name in value for value in values)


def _query(name: str, call: ast.Call) -> Iterator[str]:
    said = call.args[0].value if call.args and isinstance(call.args[0], ast.Constant) else None
    if not isinstance(said, str) or call.keywords:
        yield f"sql: line {call.lineno}: the first argument of db.{name} is a literal text, and none has a name"
    elif not _STARTS.match(said) or ";" in said.rstrip("; \n"):
        yield f"sql: line {call.lineno}: one statement: SELECT, INSERT, UPDATE, DELETE or WITH"
    elif name != "run" and _does(said) != "select":
        yield f"sql: line {call.lineno}: db.{name} reads; db.run writes"


def _does(sql: str) -> str:
    """The word that says what a statement does; what stands in quotes, comments and parentheses does not."""
    depth = 0
    for word in _SAYS.findall(_UNSAID.sub(" ", sql)):
        if depth == 0 and word not in "()":
            return str(word).lower()
        depth += {"(": 1, ")": -1}.get(word, 0)
    return ""


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
