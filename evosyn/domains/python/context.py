"""What testing code of a problem may refer to: the entry point, and what its starter code declares.

Imports and helpers of the starter code run in the testing's own process (what of them runs for a solution, `program`
says). What the starter code only declares (a function without a body, the class of the entry point) is the program's: a
call of it goes there. No other name of a program exists for a testing, so that no program can define what it is
compared with.
"""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.domains.python.expressions import NotLiftable
from evosyn.domains.python.payload import completions, entry_point, starter_code
from evosyn.names import BUILTINS, bound_names, free_names
from evosyn.parsing import TOO_DEEP, parsed, tree_or_none
from evosyn.records import Problem

MAX_SOURCE = 200_000
"""Characters of testing code that we parse ourselves."""
NAMES_ANYTHING = re.compile(
    r"\b(?:eval|exec|f_globals|get_type_hints|getmodule|globals|import_module|locals|modules|vars|__builtins__|"
    r"__globals__|__import__|import\s+__main__)\b"
)
"""Text of a program that may read names which do not stand in it."""


class Broken(Exception):
    """The testing itself cannot run; the message says why."""


class Statement(NamedTuple):
    """One statement of the starter code, as testing code needs it; it is left out where nothing that it binds is read.

    Attributes:
        always: it binds names that we do not know.
        declares: it is what solutions are to define.
    """

    text: str
    binds: frozenset[str]
    reads: frozenset[str] = frozenset()
    always: bool = False
    declares: bool = False


@dataclass(frozen=True)
class Context:
    """What testing code of one problem may refer to.

    Attributes:
        entry_point: the function under test, as `Class.method` where it is one.
        statements: of the starter code.
        names: what they bind.
    """

    entry_point: str
    statements: tuple[Statement, ...] = ()
    names: frozenset[str] = frozenset()

    @property
    def function(self) -> str:
        """What testing code calls the entry point."""
        return self.entry_point.rpartition(".")[2]

    def before(self, code: str) -> str:
        """The statements that testing code needs, as source to run before it; all where nobody can tell."""
        try:
            wanted = None if NAMES_ANYTHING.search(code) else names_of(parse(code))
        except (Broken, NotLiftable):
            wanted = None
        return needed(self.statements, wanted)

    def undefined(self, tree: ast.AST) -> list[str]:
        """Names that testing code reads and nothing defines."""
        if any(isinstance(part, ast.ImportFrom) and part.names[0].name == "*" for part in ast.walk(tree)):
            return []
        if any(one.always and "*" in one.text for one in self.statements):
            return []
        return sorted(free_names(tree) - self.names - BUILTINS - {self.function})


def context_of(problem: Problem) -> Context:
    """The context that the starter code of a problem gives; empty where that does not parse."""
    under_test = entry_point(problem)
    owner = under_test.rpartition(".")[0]
    found = statements_of(starter_code(problem), under_test)
    if owner:
        found = (*found, _of_programs(owner))
    return Context(under_test, found, frozenset().union(*[one.binds for one in found]))


@functools.lru_cache(maxsize=64)
def statements_of(starter: str, under_test: str) -> tuple[Statement, ...]:
    """The imports, constants, what changes them, helpers and declarations of starter code, without what binds the entry
    point."""
    found, body = list[Statement](), _parse_starter(starter)
    modules = names_in(node for node in body if isinstance(node, ast.Import | ast.ImportFrom))
    for node in body:
        if isinstance(node, ast.Expr) and _changed(node) <= modules:
            continue  # it says something, or may
        if isinstance(node, _KEPT) and under_test.partition(".")[0] not in bound_names(node) | _changed(node):
            try:
                found.append(_statement(node))
            except (RecursionError, ValueError):  # nobody can write it out
                continue
    return tuple(found)


def needed(statements: Sequence[Statement], wanted: set[str] | None) -> str:
    """As source, those statements that bind what is wanted, with what they need in turn; where None is given all but
    those that raise."""
    if wanted is None:
        guarded = ("try: exec({!r})\nexcept Exception: pass\n", "{}\n")
        return "".join([guarded[one.always].format(one.text) for one in statements])
    kept, wanted = set[int](), set(wanted)
    while True:
        found = {
            place for place, one in enumerate(statements) if place not in kept and (one.always or one.binds & wanted)
        }
        if not found:
            return "".join([f"{statements[place].text}\n" for place in sorted(kept)])
        kept |= found
        wanted |= {name for place in found for name in statements[place].reads}


def names_of(tree: ast.AST) -> set[str]:
    """The names that stand anywhere in a piece of code."""
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)}


def parse(source: str) -> ast.Module:
    """
    Raises:
        NotLiftable: too large or too deep for our process.
        Broken: not Python.
    """
    if len(source) > MAX_SOURCE:
        raise NotLiftable("too long")
    try:
        return parsed(source)
    except SyntaxError as error:
        raise Broken(f"does not parse: {error.msg} (line {error.lineno})") from error
    except ValueError as error:
        raise Broken(f"does not parse: {error}") from error
    except (RecursionError, MemoryError) as error:
        raise NotLiftable(TOO_DEEP) from error


def source_of(node: ast.AST) -> str:
    """The source of a syntax tree, of any integers.

    Raises:
        RecursionError, ValueError: it cannot be written.
    """
    return ast.unparse(_Shorter().visit(node))


class _Shorter(ast.NodeTransformer):
    """Writes integers that Python cannot write in decimal as hexadecimal texts."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:
        if type(node.value) is not int or node.value.bit_length() < 10_000:
            return node
        return ast.Call(ast.Name("int", ast.Load()), [ast.Constant(hex(node.value)), ast.Constant(16)], [])


_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
_KEPT = (
    *(*_DEFINES, ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.AugAssign),
    *(ast.Expr, ast.For, ast.If, ast.Try, ast.With),
)


def _parse_starter(code: str) -> list[ast.stmt]:
    trees = filter(None, map(tree_or_none, (code, *completions(code))))
    return next((tree.body for tree in trees), [])


def _statement(node: ast.stmt) -> Statement:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and _is_only_declared(node):
        return _of_programs(node.name)
    names = names_of(node)
    changed = frozenset[str]() if isinstance(node, _DEFINES) else _changed(node)
    unknown = isinstance(node, ast.ImportFrom) and (node.module == "__future__" or node.names[0].name == "*")
    return Statement(source_of(node), frozenset(bound_names(node) | changed), frozenset(names), always=unknown)


def _changed(node: ast.stmt) -> frozenset[str]:
    """The names whose items or attributes a statement sets, or one of whose methods it calls and no more."""
    parts = [part for part in ast.walk(node) if isinstance(part, ast.Subscript | ast.Attribute)]
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    return frozenset().union(*[names_of(one) for one in parts if one is called or isinstance(one.ctx, ast.Store)])


def _of_programs(name: str) -> Statement:
    return Statement(f"{name} = __solution__({name!r})", frozenset({name}), declares=True)


def _is_only_declared(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> bool:
    """Whether nothing stands in its body that would do anything; a class must declare a method."""
    rest = [part for part in node.body if not _says_nothing(part)]
    if isinstance(node, ast.ClassDef):
        methods = [part for part in rest if isinstance(part, ast.FunctionDef)]
        return bool(methods) and len(methods) == len(rest) and all(map(_is_only_declared, methods))
    return not rest


def _says_nothing(node: ast.stmt) -> bool:
    if isinstance(node, ast.Raise):
        return any(isinstance(part, ast.Name) and part.id == "NotImplementedError" for part in ast.walk(node))
    return isinstance(node, ast.Pass) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))


def names_in(nodes: Iterable[ast.AST]) -> frozenset[str]:
    """What these statements bind."""
    return frozenset(name for node in nodes for name in bound_names(node))
