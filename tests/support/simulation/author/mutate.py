"""Lists and applies single edits of a program's syntax tree: the mistakes that a simulated author can make.

A change is put into the one parsed tree, written out as source, and taken back, so mutants share nothing but text.
The operators are in `mutate_exprs` and `mutate_stmts`; which mutants are wrong is found out in `study`.
"""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from typing import NamedTuple

from evosyn.parsing import parsed
from simulation.author.mutate_exprs import EXPR_OPERATORS
from simulation.author.mutate_stmts import STMT_OPERATORS, Block

_BLOCKS = ("body", "orelse")


class Mutant(NamedTuple):
    """A changed program and the operators that made it."""

    source: str
    operators: tuple[str, ...]


class _Slot(NamedTuple):
    """Where an expression or a block hangs in its parent."""

    parent: ast.AST
    field: str
    position: int | None

    def swap(self, new: object) -> object:
        """Put `new` here and give back what was here."""
        if self.position is None:
            held = getattr(self.parent, self.field)
            setattr(self.parent, self.field, new)
            return held
        items = getattr(self.parent, self.field)
        held, items[self.position] = items[self.position], new
        return held


class _Change(NamedTuple):
    operator: str
    slot: _Slot
    new: ast.expr | Block


def mutants(source: str, rng: random.Random, count: int) -> list[Mutant]:
    """Up to `count` distinct single-edit mutants, operators drawn evenly so that rare ones occur.

    Raises:
        SyntaxError: `source` is not Python.
    """
    tree = parsed(source)
    by_operator: dict[str, list[_Change]] = {}
    for change in _changes(tree):
        by_operator.setdefault(change.operator, []).append(change)
    for found in by_operator.values():
        rng.shuffle(found)
    seen: set[str] = {ast.unparse(tree)}
    drawn: list[Mutant] = []
    for change in _spread(by_operator, rng):
        if len(drawn) >= count:
            break
        text = _rendered(tree, change)
        if text is not None and text not in seen:
            seen.add(text)
            drawn.append(Mutant(text, (change.operator,)))
    return drawn


def _spread(by_operator: dict[str, list[_Change]], rng: random.Random) -> list[_Change]:
    """The n-th change of an operator comes after about n changes of each other operator."""
    keyed = [
        (rank + 1.5 * rng.random(), order, change)
        for order, operator in enumerate(sorted(by_operator))
        for rank, change in enumerate(by_operator[operator])
    ]
    return [change for _, _, change in sorted(keyed, key=lambda item: item[:2])]


def _changes(tree: ast.Module) -> Iterator[_Change]:
    slots = _slots(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.expr) and node in slots:
            for name, expr_operator in EXPR_OPERATORS.items():
                for new in expr_operator(node):
                    yield _Change(name, slots[node], new)
        for field in _BLOCKS:
            block = getattr(node, field, None)
            if isinstance(block, list) and block and isinstance(block[0], ast.stmt):
                yield from _block_changes(_Slot(node, field, None), block)


def _block_changes(slot: _Slot, block: Block) -> Iterator[_Change]:
    for name, operator in STMT_OPERATORS.items():
        for at in range(len(block)):
            for new in operator(block, at):
                yield _Change(name, slot, new)


def _slots(tree: ast.Module) -> dict[ast.AST, _Slot]:
    """Where each replaceable expression hangs: not targets, annotations, decorators, f-string parts or docstrings."""
    slots: dict[ast.AST, _Slot] = {}
    for parent in ast.walk(tree):
        if isinstance(parent, ast.JoinedStr | ast.FormattedValue | ast.arguments | ast.arg | ast.ImportFrom):
            continue
        for field, value in ast.iter_fields(parent):
            if field in {"annotation", "returns", "decorator_list", "targets", "target", "bases"}:
                continue
            if isinstance(parent, ast.Expr) and isinstance(value, ast.Constant):
                continue
            if isinstance(value, ast.expr):
                slots[value] = _Slot(parent, field, None)
            elif isinstance(value, list):
                slots.update(
                    {item: _Slot(parent, field, at) for at, item in enumerate(value) if isinstance(item, ast.expr)}
                )
    return slots


def _rendered(tree: ast.Module, change: _Change) -> str | None:
    """The source with this one change, which is taken back afterwards; None where that is no program."""
    slot = change.slot
    held = slot.swap(change.new)
    try:
        text = ast.unparse(tree)
        compile(text, "<mutant>", "exec")
    except (SyntaxError, ValueError, AttributeError):
        return None
    finally:
        slot.swap(held)
    return text
