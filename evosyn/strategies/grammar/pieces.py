"""What of a program outside the grammar can be said in it: sub-expressions of its straight lines, read leniently.

For making variants, not for running: a sum counts as a mean, guards against zero and rounding are left out. What stands
in loops, conditions and functions of the program's own is not read. The text is parsed, never executed.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping
from itertools import product
from typing import NamedTuple

from evosyn.names import bound_names
from evosyn.parsing import parsed
from evosyn.strategies.grammar.grammar import TERMINALS, Node, Type, type_of
from evosyn.strategies.grammar.source import own_helpers, read_expression

_PARTS = {"passed": "passed", "copies": "copies", "solution_similarity": "kin", "testing_similarity": "testing_kin"}
_CALLS = {"np.log": "logarithm", "np.log1p": "logarithm", "np.sqrt": "root", "np.mean": "mean", "np.sum": "mean"}
_KEPT = frozenset({"tidy", "np.asarray", "np.array", "np.nan_to_num", "np.round", "np.clip"})
_GUARDS = frozenset({"np.maximum", "np.minimum"})
_METHODS = frozenset({"astype", "copy", "clip", "round"})
_MEANS = frozenset({"mean", "sum"})
_PRODUCTS = ("vote", "accepted", "smooth")
"""What a matrix product may be, by the types of its sides."""


class Pieces(NamedTuple):
    """What could be read.

    Attributes:
        solutions, testings: the returned scores; the second may use `solution_scores`.
        parts: what variables hold, per solution or per testing, in order.
    """

    solutions: Node | None = None
    testings: Node | None = None
    parts: tuple[Node, ...] = ()


def pieces_of(text: str) -> Pieces:
    """Nothing at all where `text` is no `rank(evidence)`; never raises."""
    try:
        module = parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Pieces()
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    ranks = [node for node in functions if node.name == "rank"]
    if len(ranks) != 1:
        return Pieces()
    bound = {name for part in ast.walk(module) if isinstance(part, ast.stmt) for name in bound_names(part)}
    try:
        return _of_body(ranks[0].body, bound - own_helpers(functions))
    except RecursionError:
        return Pieces()


def _of_body(body: list[ast.stmt], foreign: set[str]) -> Pieces:
    known: dict[str, Node] = {}
    parts: dict[Node, None] = {}
    for statement in body:
        if isinstance(statement, ast.Return) and isinstance(statement.value, ast.Tuple):
            first, *rest = (_node(value, known, foreign) for value in statement.value.elts[:2])
            solutions = first if first is not None and type_of(first) is Type.M else None
            testings = rest[0] if rest and rest[0] is not None and type_of(rest[0]) is Type.N else None
            if solutions is not None and testings is not None and solutions.args:
                testings = _put(testings, solutions, Node("solution_scores"))
            return Pieces(solutions, testings, tuple(one for one in parts if one.args))
        if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
            target = statement.targets[0]
            node = _node(statement.value, known, foreign) if isinstance(target, ast.Name) else None
            if isinstance(target, ast.Name) and node is not None:
                known[target.id] = node
                if type_of(node) in (Type.M, Type.N):
                    parts[node] = None
                continue
        for part in ast.walk(statement):
            for name in bound_names(part) if isinstance(part, ast.stmt) else ():
                known.pop(name, None)
    return Pieces(parts=tuple(one for one in parts if one.args))


def _put(tree: Node, old: Node, new: Node) -> Node:
    if tree == old:
        return new
    return Node(tree.op, tuple(_put(arg, old, new) if isinstance(arg, Node) else arg for arg in tree.args))


def _node(value: ast.expr, known: Mapping[str, Node], foreign: set[str]) -> Node | None:
    """A checked tree, or None where the expression cannot be said in the grammar."""
    names = {**known, **{f"evidence.{name}": Node(name) for name, leaf in TERMINALS.items() if leaf.definition}}
    for made in _said(value, foreign):
        try:
            return read_expression(made, names)
        except ValueError:
            continue
    return None


def _said(value: ast.expr, foreign: set[str]) -> Iterator[ast.expr]:
    """The expression in the grammar's own words, once for each meaning of its matrix products."""
    count = sum(isinstance(node, ast.MatMult) for node in ast.walk(value))
    for meaning in product(_PRODUCTS, repeat=min(count, 2)):
        yield _Words(foreign, iter(meaning)).visit(copy.deepcopy(value))


class _Words(ast.NodeTransformer):
    """Says in the words of the grammar what is otherwise said in numpy's."""

    def __init__(self, foreign: set[str], products: Iterator[str]) -> None:
        self._foreign, self._products = foreign, products

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        if isinstance(node.value, ast.Name) and node.value.id == "evidence" and node.attr in _PARTS:
            return ast.Name(f"evidence.{_PARTS[node.attr]}", ast.Load())
        if node.attr == "T":
            return _call("turned", self.visit(node.value))
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.expr:
        left, right = self.visit(node.left), self.visit(node.right)
        if isinstance(node.op, ast.Div):
            by = right.value if isinstance(right, ast.Constant) else None
            if isinstance(by, (int, float)) and by:
                return ast.BinOp(left, ast.Mult(), ast.Constant(1 / by))
            return _call("ratio", left, right)
        if isinstance(node.op, ast.Pow):
            return _call("power", left, right)
        if isinstance(node.op, ast.MatMult):
            meaning = next(self._products, "vote")
            return _call(meaning, right, left) if meaning == "accepted" else _call(meaning, left, right)
        return ast.BinOp(left, node.op, right)

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name, args = ast.unparse(node.func), [self.visit(arg) for arg in node.args]
        if name in self._foreign:
            return ast.Name("", ast.Load())  # unknown
        if name in _KEPT and args:
            return args[0]  # type: ignore[no-any-return]
        if name in _GUARDS and any(isinstance(arg, ast.Constant) for arg in args):
            return next(arg for arg in args if not isinstance(arg, ast.Constant))  # type: ignore[no-any-return]
        if name == "np.where" and len(args) == 3:
            return next((arg for arg in args[1:] if not isinstance(arg, ast.Constant)), args[1])  # type: ignore[no-any-return]
        word = _CALLS.get(name)
        if word == "root" and args:
            return _call("power", args[0], ast.Constant(0.5))
        if word == "mean" and args:
            return self._mean(args[0], [*args[1:], *(one.value for one in node.keywords if one.arg == "axis")])
        if word is None and isinstance(node.func, ast.Attribute):
            inner = self.visit(node.func.value)
            if node.func.attr in _METHODS:
                return inner  # type: ignore[no-any-return]
            if node.func.attr in _MEANS:
                return self._mean(inner, [*args, *(one.value for one in node.keywords if one.arg == "axis")])
        return ast.Call(ast.Name(word, ast.Load()) if word else node.func, args, node.keywords)

    def _mean(self, of: ast.expr, axes: list[ast.expr]) -> ast.expr:
        """Along the rows, or along the columns; along all of it there is no word for."""
        axis = ast.unparse(axes[0]) if axes else ""
        if axis not in {"0", "1", "-1", "-2"}:
            return ast.Name("", ast.Load())
        over = _call("turned", of) if axis in {"0", "-2"} else of
        mean = ast.Attribute(over, "mean", ast.Load())
        return ast.Call(mean, [], [ast.keyword("axis", ast.Constant(1))])


def _call(name: str, *args: ast.expr) -> ast.Call:
    return ast.Call(ast.Name(name, ast.Load()), list(args), [])
