"""Writes the same program in other words: other local names, spellings, comments. Never changes what it does.

Ten authors who have the same idea rarely send the same text; a share of the drawn solutions is left plain, so that
duplicates occur as they do in real pools.
"""

from __future__ import annotations

import ast
import functools
import random
from typing import NamedTuple

from evosyn.parsing import parsed
from evosyn.randomness import SeedTree

_NAMES = {
    "result": ("res", "ans", "output", "answer"),
    "total": ("acc", "running_total", "s", "sum_so_far"),
    "count": ("cnt", "counter", "how_many"),
    "best": ("best_so_far", "top", "optimum"),
    "i": ("idx", "pos", "index"),
    "j": ("other", "jdx", "second"),
    "n": ("length", "size", "num"),
    "x": ("value", "item", "elem"),
    "seen": ("visited", "known", "already"),
    "out": ("result", "res", "collected"),
    "line": ("row", "text_line"),
    "lines": ("rows", "all_lines"),
}
_GENERIC = ("temp", "data", "current", "val", "cur", "aux", "part", "state", "entry", "held")
_COMMENTS = (
    "# handle each element in turn",
    "# edge cases first",
    "# keep track of the state",
    "# check the condition",
    "# update the result",
    "# walk over the input",
    "# straightforward implementation",
)
_DOCSTRINGS = (
    "Return the answer described in the task.",
    "Compute the result as specified.",
    "Solve the problem.",
    "Straightforward solution in one pass.",
)

_MIRROR: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.Gt,
    ast.Gt: ast.Lt,
    ast.LtE: ast.GtE,
    ast.GtE: ast.LtE,
    ast.Eq: ast.Eq,
}


WORDINGS = 12
"""In how many ways an author writes down one program."""


@functools.lru_cache(maxsize=8192)
def worded(source: str, freedom: float, number: int) -> str:
    """The `number`-th of the `WORDINGS` ways in which authors of this freedom write a program."""
    return restyled(source, SeedTree(number).child("wording", source).random(), freedom)


def restyled(source: str, rng: random.Random, freedom: float) -> str:
    """The program in other words.

    Args:
        source: a program that parses.
        freedom: chance of each kind of rewriting, in [0, 1]; 0 gives the plain form of the program.
    """
    tree = parsed(source)
    if freedom > 0:
        nodes = list(ast.walk(tree))
        if rng.random() < freedom:
            _rename(nodes, rng, share=freedom)
        _rewrite(nodes, _Dice(rng, freedom * 0.5))
    text = ast.unparse(tree)
    return _commented(text, rng) if rng.random() < freedom * 0.7 else text


class _Dice(NamedTuple):
    """Decides of each place whether it is rewritten."""

    rng: random.Random
    chance: float

    def fall(self) -> bool:
        return self.rng.random() < self.chance


def _rename(nodes: list[ast.AST], rng: random.Random, share: float) -> None:
    """Rename local variables, one new name for the whole program, none that is used for anything else."""
    names = [node for node in nodes if isinstance(node, ast.Name)]
    fixed = _fixed_names(nodes)
    taken = fixed | {node.id for node in names}
    table: dict[str, str] = {}
    for old in sorted({node.id for node in names if isinstance(node.ctx, ast.Store)} - fixed):
        if old.startswith("_") or rng.random() > share:
            continue
        free = [new for new in (*_NAMES.get(old, ()), *_GENERIC, f"{old}_value", f"my_{old}") if new not in taken]
        new = rng.choice(free[:4])
        taken.add(new)
        table[old] = new
    for node in names:
        node.id = table.get(node.id, node.id)


def _fixed_names(nodes: list[ast.AST]) -> set[str]:
    """Names that must stay: parameters, imports, functions, keywords."""
    fixed: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.arg):
            fixed.add(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            fixed.add(node.name)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            fixed.update(node.names)
        elif isinstance(node, ast.alias):
            fixed.add((node.asname or node.name).split(".")[0])
        elif isinstance(node, ast.keyword) and node.arg:
            fixed.add(node.arg)
        elif isinstance(node, ast.ExceptHandler) and node.name:
            fixed.add(node.name)
    return fixed


def _rewrite(nodes: list[ast.AST], dice: _Dice) -> None:
    """Change the spelling of comparisons, branches, functions and simple statements, in place."""
    for node in nodes:
        if isinstance(node, ast.Compare):
            _mirror(node, dice)
        elif isinstance(node, ast.FunctionDef):
            _head(node, dice)
        elif isinstance(node, ast.If) and node.orelse and not isinstance(node.orelse[0], ast.If) and dice.fall():
            node.test, node.body, node.orelse = _negated(node.test), node.orelse, node.body
        for field in ("body", "orelse"):
            block = getattr(node, field, None)
            if isinstance(block, list):
                block[:] = [_respelled(statement, dice) for statement in block]


def _mirror(node: ast.Compare, dice: _Dice) -> None:
    """`a < b` becomes `b > a`, where both are simple."""
    simple = (ast.Name, ast.Constant, ast.Subscript, ast.Attribute)
    other = _MIRROR.get(type(node.ops[0])) if len(node.ops) == 1 else None
    if other is None or not isinstance(node.left, simple) or not isinstance(node.comparators[0], simple):
        return
    if dice.fall():
        node.left, node.ops, node.comparators = node.comparators[0], [other()], [node.left]


def _head(node: ast.FunctionDef, dice: _Dice) -> None:
    """A docstring comes or goes, annotations go."""
    first = node.body[0]
    documented = isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant)
    if dice.fall():
        if documented and len(node.body) > 1:
            del node.body[0]
        elif not documented:
            node.body.insert(0, ast.Expr(ast.Constant(dice.rng.choice(_DOCSTRINGS))))
    if dice.fall():
        node.returns = None
        for arg in node.args.args:
            arg.annotation = None


def _respelled(node: ast.stmt, dice: _Dice) -> ast.stmt:
    """`x += 1` becomes `x = x + 1`, `return a if c else b` becomes a branch."""
    if isinstance(node, ast.Return) and isinstance(node.value, ast.IfExp) and dice.fall():
        return ast.If(node.value.test, [ast.Return(node.value.body)], [ast.Return(node.value.orelse)])
    if _steps(node) and isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name) and dice.fall():
        value = ast.BinOp(ast.Name(node.target.id, ast.Load()), node.op, node.value)
        return ast.Assign([ast.Name(node.target.id, ast.Store())], value, lineno=0)
    return node


def _steps(node: ast.stmt) -> bool:
    """A variable changed by a whole number: no list that would be changed in place."""
    return isinstance(node, ast.AugAssign) and isinstance(node.value, ast.Constant) and type(node.value.value) is int


def _negated(node: ast.expr) -> ast.expr:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        return node.operand
    return ast.UnaryOp(ast.Not(), node)


def _commented(text: str, rng: random.Random) -> str:
    """One comment line before a line of code that starts a statement."""
    lines = text.split("\n")
    inside = _string_lines(text) if '"""' in text else set()
    places = [at for at, line in enumerate(lines) if line.startswith("    ") and line.strip() and at not in inside]
    places = [at for at in places if not _continues(lines[at])]
    if not places:
        return text
    at = rng.choice(places)
    indent = lines[at][: len(lines[at]) - len(lines[at].lstrip())]
    return "\n".join([*lines[:at], indent + rng.choice(_COMMENTS), *lines[at:]])


def _continues(line: str) -> bool:
    """Whether the line belongs to an `if` chain or handler above it, so that no comment goes before it."""
    return line.lstrip().startswith(("else", "elif", "except", "finally"))


def _string_lines(text: str) -> set[int]:
    """Lines inside texts that run over several lines (0-based, without the first of each)."""
    found: set[int] = set()
    for node in ast.walk(parsed(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.end_lineno is not None:
            found.update(range(node.lineno, node.end_lineno))
    return found
