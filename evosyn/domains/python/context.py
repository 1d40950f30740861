"""What testing code of a problem may refer to: the entry point, and what its starter code declares.

Imports and helpers of the starter code run in the testing's own process. What the starter code only declares (a
function without a body, the class of the entry point) is the program's: a call of it goes there. No other name of a
program exists for a testing, so that no program can define what it is compared with.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from evosyn.domains.python.expressions import NotLiftable
from evosyn.domains.python.payload import entry_point, starter_code
from evosyn.names import BUILTINS, bound_names, free_names
from evosyn.parsing import TOO_DEEP, parsed
from evosyn.records import Problem

MAX_SOURCE = 200_000
"""Characters of testing code that we parse ourselves."""
EVERYWHERE = frozenset({"math", "cmath", "itertools"})
"""Modules that the sandbox gives every testing that names them."""


class Broken(Exception):
    """The testing itself cannot run; the message says why."""


class Statement(NamedTuple):
    """One statement of the starter code, as testing code needs it; it is left out where nothing that it binds is read.

    Attributes:
        always: it binds names that we do not know.
    """

    text: str
    binds: frozenset[str]
    reads: frozenset[str]
    always: bool


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
            tree: ast.AST | None = parse(code)
        except (Broken, NotLiftable):
            tree = None
        kept: set[int] = set(range(len(self.statements))) if tree is None else set()
        wanted = {part.id for part in ast.walk(tree) if isinstance(part, ast.Name)} if tree is not None else set()
        while True:
            found = {
                place
                for place, one in enumerate(self.statements)
                if place not in kept and (one.always or one.binds & wanted)
            }
            if not found:
                break
            kept |= found
            wanted |= {name for place in found for name in self.statements[place].reads}
        return "".join([f"{self.statements[place].text}\n" for place in sorted(kept) if self.statements[place].text])

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
    owner, _, function = under_test.rpartition(".")
    found: list[Statement] = []
    for node in _parse_starter(starter_code(problem)).body:
        if isinstance(node, _KEPT) and getattr(node, "name", None) != (owner or function):
            try:
                found.append(_statement(node))
            except (RecursionError, ValueError):  # nobody can write it out
                continue
    if owner:
        found.append(_of_programs(owner))
    return Context(under_test, tuple(found), frozenset().union(*[one.binds for one in found]))


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


_KEPT = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Assign, ast.AnnAssign)


def _parse_starter(code: str) -> ast.Module:
    for text in (code, code.rstrip() + "\n    pass\n"):
        try:
            return parse(text)
        except (Broken, NotLiftable):
            continue
    return ast.Module([], [])


def _statement(node: ast.stmt) -> Statement:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) and _is_only_declared(node):
        return _of_programs(node.name)
    if isinstance(node, ast.Import) and all(one.name in EVERYWHERE and not one.asname for one in node.names):
        return Statement("", frozenset(bound_names(node)), frozenset(), always=False)
    names = [part for part in ast.walk(node) if isinstance(part, ast.Name)]
    changed = {part.id for part in names} if isinstance(node, ast.Assign) and not bound_names(node) else set()
    unknown = isinstance(node, ast.ImportFrom) and (node.module == "__future__" or node.names[0].name == "*")
    reads = frozenset(part.id for part in names)
    return Statement(source_of(node), frozenset(bound_names(node) | changed), reads, always=unknown)


def _of_programs(name: str) -> Statement:
    return Statement(f"{name} = __solution__({name!r})", frozenset({name}), frozenset(), always=False)


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
