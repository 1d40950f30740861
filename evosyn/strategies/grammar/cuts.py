"""Programs outside the grammar without one of their terms: text that is rewritten, never run.

A term is one side of an arithmetic operation, one branch of `np.where`, or one statement that changes a value in place.
The tree is changed where the term stands and changed back, and only that statement at the top is written anew.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from evosyn.parsing import parsed

LONGEST = 20_000
"""Characters of a program whose terms are left out; a longer one has none."""
MOST_TERMS = 500
"""Of one program, in the order of its tree."""


class Cut(NamedTuple):
    """A program without a term: its source with the operator that bound it, its line, and the text that is left."""

    removed: str
    line: int
    text: str


class _TextPlace(NamedTuple):
    """A node, where it hangs in the tree, and the number of the statement at the top that it belongs to."""

    node: ast.AST
    holder: ast.AST | list[ast.AST]
    field: str | int
    top: int


class _TextTerm(NamedTuple):
    """What can be left out: its source with the operator that bound it, and what then stands in which place."""

    removed: str
    place: _TextPlace
    left: ast.AST

    @property
    def line(self) -> int:
        return getattr(self.place.node, "lineno", 0)


def cuts(program: str) -> Iterator[Cut]:
    """The program without each of its terms, in the order of its tree, no two alike and none like it.

    Nothing for a text that does not parse, that cannot be written again, or that is longer than `LONGEST`.
    """
    tree = _tree(program)
    return _cuts(tree, _terms(tree))


def longest_cuts(program: str) -> Iterator[Cut]:
    """As `cuts`, the longest terms first."""
    tree = _tree(program)
    return _cuts(tree, sorted(_terms(tree), key=lambda term: (-len(term.removed), term.line)))


def _tree(program: str) -> ast.Module:
    """The tree of a program; an empty one of a text that has no cuts."""
    try:
        tree = parsed(program) if len(program) <= LONGEST else ast.Module([], [])
        ast.unparse(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])
    return tree


def _cuts(tree: ast.Module, terms: Iterable[_TextTerm]) -> Iterator[Cut]:
    parts = [_written(tree, top) for top in range(len(tree.body))]
    seen = {"".join(parts)}
    for term in terms:
        top = term.place.top
        text = "".join([*parts[:top], _without(tree, term), *parts[top + 1 :]])
        if text not in seen:
            seen.add(text)
            yield Cut(term.removed, term.line, text.removesuffix("\n"))


def _written(tree: ast.Module, top: int) -> str:
    """A statement at the top as `ast.unparse` writes it within its program."""
    node = tree.body[top]
    text = ast.unparse(node if top else ast.Module([node], []))
    blank = "\n" if top and isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) else ""
    return f"{blank}{text}\n"


def _without(tree: ast.Module, term: _TextTerm) -> str:
    """The statement at the top that a term stands in, without it; the tree is left as it was."""
    node, holder, field, top = term.place
    _put(holder, field, term.left)
    text = _written(tree, top)
    _put(holder, field, node)
    return text


def _put(holder: ast.AST | list[ast.AST], field: str | int, node: ast.AST) -> None:
    if isinstance(holder, list):
        holder[int(field)] = node
    else:
        setattr(holder, str(field), node)


def _terms(tree: ast.Module) -> Iterator[_TextTerm]:
    found = (_TextTerm(removed, place, left) for place in _places(tree) for removed, left in _left(place.node))
    return islice(found, MOST_TERMS)


def _places(tree: ast.Module) -> Iterator[_TextPlace]:
    """Every node below the root, in the order of `ast.walk`."""
    body: list[ast.AST] = list(tree.body)
    tree.body = body  # type: ignore[assignment]
    todo = deque(_TextPlace(node, body, number, number) for number, node in enumerate(body))
    while todo:
        place = todo.popleft()
        yield place
        for name, value in ast.iter_fields(place.node):
            if isinstance(value, ast.AST):
                todo.append(_TextPlace(value, place.node, name, place.top))
            elif isinstance(value, list):
                here = [(number, one) for number, one in enumerate(value) if isinstance(one, ast.AST)]
                todo.extend(_TextPlace(one, value, number, place.top) for number, one in here)


def _left(node: ast.AST) -> Iterator[tuple[str, ast.AST]]:
    """What can be left out of a node, and what then stands in its place."""
    if isinstance(node, ast.BinOp):
        sign = SIGNS.get(type(node.op), "?")
        yield f"{sign} {_shown(node.right)}", node.left
        if not isinstance(node.op, ast.Div | ast.Pow | ast.Mod | ast.FloorDiv):
            yield f"{_shown(node.left)} {sign}", _negated(node)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "where":
        if len(node.args) == 3:
            condition = ast.unparse(node.args[0])
            yield f"where {condition}: {ast.unparse(node.args[1])}", node.args[2]
            yield f"where not {condition}: {ast.unparse(node.args[2])}", node.args[1]
    elif isinstance(node, ast.AugAssign):
        yield ast.unparse(node), ast.Pass()


def _shown(node: ast.expr) -> str:
    text = ast.unparse(node)
    return f"({text})" if isinstance(node, ast.BinOp) else text


def _negated(node: ast.BinOp) -> ast.expr:
    return ast.UnaryOp(ast.USub(), node.right) if isinstance(node.op, ast.Sub) else node.right


SIGNS: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.Div: "/",
    ast.Pow: "**",
    ast.Mod: "%",
    ast.FloorDiv: "//",
    ast.MatMult: "@",
}
