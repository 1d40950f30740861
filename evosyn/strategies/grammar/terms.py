"""What a genetic program is made of, in words, and the smaller programs that lack one of its terms each."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import NamedTuple

from evosyn.strategies.grammar.grammar import OPS, TERMINALS, Node, Program, type_of
from evosyn.strategies.grammar.trees import paths, replaced


class Without(NamedTuple):
    """A program without one term.

    Attributes:
        tree: `solutions` or `testings`; removed: the term in the program's own notation; left: what stands instead.
    """

    program: Program
    tree: str
    removed: str
    left: str


def notation(node: Node) -> str:
    """A tree as one expression."""
    if not node.args:
        return node.op
    op, parts = OPS[node.op], []
    for arg in node.args:
        text = notation(arg) if isinstance(arg, Node) else repr(arg)
        infix = isinstance(arg, Node) and arg.op in OPS and OPS[arg.op].infix
        parts.append(f"({text})" if infix and (op.infix or op.template.startswith("{0}.")) else text)
    return op.template.format(*parts)


def glossary(program: Program) -> list[str]:
    """One line for each operation and terminal that a program uses."""
    used = {node.op for tree in program for _, node in paths(tree)}
    lines = [f"{name}: {leaf.comment}" for name, leaf in TERMINALS.items() if name in used and leaf.comment]
    for name, op in OPS.items():
        told = inspect.getdoc(op.function) if inspect.isfunction(op.function) else None
        if name in used and told and op.function.__name__ != "<lambda>":
            lines.append(f"{op.function.__name__}: {told.splitlines()[0]}")
    return list(dict.fromkeys(lines))


def without_terms(program: Program) -> Iterator[Without]:
    """Every program that comes of putting an argument of the same type in the place of its operation."""
    seen = {program}
    for name, tree in zip(("solutions", "testings"), program, strict=True):
        for at, node in paths(tree):
            for child in node.args:
                if not isinstance(child, Node) or type_of(child) is not type_of(node):
                    continue
                smaller = replaced(tree, at, child)
                made = program._replace(**{name: smaller})
                if made not in seen:
                    seen.add(made)
                    yield Without(made, name, notation(node), notation(child))
