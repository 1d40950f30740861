"""Faults of tools, planted into right ones: thirteen classes of what authors of tools get wrong, as changes of a text.

`plantings` gives every place of a class in a tool; nothing is drawn and nothing runs. Whether a planted fault changes
what the tool does is not known here. The classes are ours (docs/worlds.md); a tool is known to be right beforehand.
"""

from __future__ import annotations

import ast
import copy
import re
from collections.abc import Callable, Iterator, Mapping

from evosyn.parsing import parsed
from evosyn.worlds.tools.gate import QUERIES
from evosyn.worlds.tools.records import ToolWorld

Change = Callable[[ast.FunctionDef, ToolWorld], Iterator[ast.AST]]
"""Gives changed copies of a function."""
_BOUNDS: Mapping[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
}  # fmt: skip
_SQL_BOUNDS = (("<>", "="), (">=", ">"), ("<=", "<"), (" > ", " >= "), (" < ", " <= "))
_GROWS = re.compile(r"\b(\w+) = \1 [+-]")
_LOOPS = "while True:\n    pass"


def plantings(world: ToolWorld, source: str) -> dict[str, tuple[str, ...]]:
    """Texts by class, each with one fault, in the order of their places; none where a class has no place.

    Args:
        world: of the tool; its tables.
        source: a right tool.
    """
    tree = parsed(source)
    function = next(one for one in tree.body if isinstance(one, ast.FunctionDef))
    plain = ast.unparse(function)
    found = {}
    for name, change in CLASSES.items():
        texts = [ast.unparse(ast.fix_missing_locations(one)) for one in change(copy.deepcopy(function), world)]
        found[name] = tuple(dict.fromkeys(f"{one}\n" for one in texts if one != plain))
    found["impure"] = tuple(f"{_with_line(plain, line)}\n" for line in _IMPURE)
    found["unparsable"] = tuple(f"{one}\n" for one in _cut(plain))
    return found


def silenced(source: str) -> str | None:
    """A tool without what it writes; None where it writes nothing, is no program, or cannot be written again."""
    try:
        tree = parsed(source)
        if not any(_is_query(node, ("run",)) for node in ast.walk(tree)):
            return None
        return ast.unparse(ast.fix_missing_locations(_Without(None).visit(tree))) + "\n"
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


# --------------------------------------------------------------------------------------------- places of a function


class _Without(ast.NodeTransformer):
    """Takes statements away that are a `db.run`: the one at a place, or all."""

    def __init__(self, place: int | None) -> None:
        self.place, self.seen = place, 0

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        if not _is_query(node.value, ("run",)):
            return node
        self.seen += 1
        return ast.Pass() if self.place is None or self.seen == self.place + 1 else node


def _is_query(node: ast.AST, names: tuple[str, ...] = QUERIES) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in names
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id == "db"
    )


def _at(function: ast.FunctionDef, wanted: Callable[[ast.AST], bool]) -> Iterator[tuple[ast.FunctionDef, ast.AST]]:
    """Copies of a function, each with one of the nodes that are wanted, to be changed in place."""
    for number in range(sum(map(wanted, ast.walk(function)))):
        copied = copy.deepcopy(function)
        yield copied, [node for node in ast.walk(copied) if wanted(node)][number]


def _sql(function: ast.FunctionDef) -> Iterator[tuple[ast.FunctionDef, ast.Constant]]:
    for copied, node in _at(function, _is_query):
        if isinstance(node, ast.Call) and isinstance(node.args[0], ast.Constant):
            yield copied, node.args[0]


def _statements(function: ast.FunctionDef) -> Iterator[tuple[ast.FunctionDef, list[ast.stmt], int]]:
    """Copies of a function, each with a place in a body."""
    places = [(number, at) for number, body in enumerate(_bodies(function)) for at in range(len(body))]
    for number, at in places:
        copied = copy.deepcopy(function)
        yield copied, _bodies(copied)[number], at


def _bodies(function: ast.FunctionDef) -> list[list[ast.stmt]]:
    found = []
    for node in ast.walk(function):
        for name in ("body", "orelse"):
            body = getattr(node, name, None)
            if isinstance(body, list) and body:
                found.append(body)
    return found


# ------------------------------------------------------------------------------------------------------ the classes


def _wrong_column(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:
    for copied, sql in _sql(function):
        text = str(sql.value)
        for table in world.tables:
            if not re.search(rf"\b{table.name}\b", text):
                continue
            columns = [one.name for one in table.columns]
            for place in re.finditer(rf"\b({'|'.join(columns)})\b(?! *[({{])", text):
                if re.search(r"\b(from|into|update|join)\s+$", text[: place.start()], re.I):
                    continue  # a table
                for other in columns:
                    sql.value = f"{text[: place.start()]}{other}{text[place.end() :]}"
                    yield copied
        sql.value = text


def _no_existence_check(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:  # noqa: ARG001
    for copied, body, at in _statements(function):
        one = body[at]
        if not (isinstance(one, ast.If) and isinstance(one.body[0], ast.Raise) and not one.orelse):
            continue
        if any(isinstance(node, ast.Constant) and node.value is None for node in ast.walk(one.test)):
            body[at] = ast.Pass()
            yield copied


def _wrong_comparison(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:  # noqa: ARG001
    for copied, node in _at(function, lambda node: isinstance(node, ast.Compare) and type(node.ops[0]) in _BOUNDS):
        if isinstance(node, ast.Compare):
            node.ops[0] = _BOUNDS[type(node.ops[0])]()
            yield copied
    for copied, sql in _sql(function):
        text = str(sql.value)
        for right, wrong in _SQL_BOUNDS:
            for place in re.finditer(re.escape(right), text):
                sql.value = f"{text[: place.start()]}{wrong}{text[place.end() :]}"
                yield copied
        sql.value = text


def _second_table(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:  # noqa: ARG001
    count = sum(isinstance(node, ast.Expr) and _is_query(node.value, ("run",)) for node in ast.walk(function))
    for place in range(1, count):
        yield _Without(place).visit(copy.deepcopy(function))


def _no_op_write(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:  # noqa: ARG001
    yield _Without(None).visit(copy.deepcopy(function))


def _wrong_exception(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:  # noqa: ARG001
    def raised(node: ast.AST) -> bool:
        return isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call) and isinstance(node.exc.func, ast.Name)

    names = sorted({node.exc.func.id for node in ast.walk(function) if raised(node)})  # type: ignore[attr-defined]
    for copied, node in _at(function, raised):
        name = node.exc.func  # type: ignore[attr-defined]
        own = name.id
        for other in [*names, "ValueError"]:
            if other != own:
                name.id = other
                yield copied


def _sql_error(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:
    known = {table.name for table in world.tables} | {one.name for table in world.tables for one in table.columns}
    for copied, sql in _sql(function):
        text = str(sql.value)
        for place in re.finditer(r"\b[a-z_]+\b", text):
            if place[0] in known:
                sql.value = f"{text[: place.end()]}s{text[place.end() :]}"
                yield copied
        sql.value = text


def _wrong_shape(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:  # noqa: ARG001
    def returned(node: ast.AST) -> bool:
        return isinstance(node, ast.Return) and node.value is not None

    for copied, node in _at(function, returned):
        if not isinstance(node, ast.Return) or node.value is None:
            continue
        value = node.value
        for other in (ast.List([value], ast.Load()), ast.Dict([ast.Constant("result")], [value])):
            node.value = other
            yield copied
        if isinstance(value, ast.Dict):
            for at in range(len(value.keys)):
                node.value = ast.Dict(
                    value.keys[:at] + value.keys[at + 1 :], value.values[:at] + value.values[at + 1 :]
                )
                yield copied


def _swapped_arguments(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:  # noqa: ARG001
    for copied, node in _at(function, lambda node: _is_query(node) and len(getattr(node, "args", ())) > 2):
        if isinstance(node, ast.Call):
            given = list(node.args)
            for at in range(1, len(given) - 1):
                node.args = [*given[:at], given[at + 1], given[at], *given[at + 2 :]]
                yield copied


def _double_write(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:
    for copied, body, at in _statements(function):
        one = body[at]
        if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Call) and _is_query(one.value, ("run",))):
            continue
        text = one.value.args[0].value if isinstance(one.value.args[0], ast.Constant) else ""
        again = copy.deepcopy(one)
        made = re.match(r"\s*INSERT INTO (\w+) VALUES", str(text))
        if made and made[1] in world.table and isinstance(again.value, ast.Call):
            again.value.args[1] = ast.parse(f"db.new_id({made[1]!r})", mode="eval").body
        elif not _GROWS.search(str(text)):
            continue  # done twice it leaves what it leaves once
        body.insert(at + 1, again)
        yield copied


def _hang(function: ast.FunctionDef, world: ToolWorld) -> Iterator[ast.AST]:  # noqa: ARG001
    for at in range(len(function.body)):
        copied = copy.deepcopy(function)
        copied.body[at:at] = ast.parse(_LOOPS).body
        yield copied


CLASSES: Mapping[str, Change] = {
    "wrong-column": _wrong_column,
    "no-existence-check": _no_existence_check,
    "wrong-comparison": _wrong_comparison,
    "second-table": _second_table,
    "no-op-write": _no_op_write,
    "wrong-exception": _wrong_exception,
    "sql-error": _sql_error,
    "wrong-shape": _wrong_shape,
    "swapped-arguments": _swapped_arguments,
    "double-write": _double_write,
    "hang": _hang,
}
FAULTS = (*CLASSES, "impure", "unparsable")
"""The names of all classes."""
_IMPURE = (
    "import os",
    "import sqlite3",
    "open('/tmp/log', 'a')",
    "db._base = None",
    "eval('1')",
    "seen = globals()",
    "write = lambda text: db.run(text)",
    "db.run('DROP TABLE log')",
    "db.run(f'DELETE FROM log WHERE id = {1}')",
)


def _with_line(text: str, line: str) -> str:
    head, _, rest = text.partition("\n")
    return f"{head}\n    {line}\n{rest}"


def _cut(text: str) -> Iterator[str]:
    for share in (3, 4, 5, 6, 7):
        yield text[: len(text) * share // 8].rstrip() + " ("
