"""What runs for a solution: the prelude of its problem, what it needs of the starter code, and the solution itself.

Whatever executes a solution takes it from here, so that references, recorded solutions and completions are paid alike.
What comes before a solution is a source of its own: it can neither override what the solution defines nor stand for its
entry point, and lines keep their numbers.
"""

from __future__ import annotations

import symtable
from typing import NamedTuple

from evosyn.domains.python.context import NAMES_ANYTHING, names_in, needed, statements_of
from evosyn.domains.python.payload import entry_point, prelude, starter_code
from evosyn.parsing import BOM, tree_or_none
from evosyn.records import Problem, Solution


class Program(NamedTuple):
    """A solution, and the sources that run before it in the same module."""

    text: str
    before: tuple[str, ...]


def program_of(problem: Problem, solution: Solution) -> Program:
    """The prelude whole; of the starter code the imports, constants and helpers with a body whose names the solution
    reads and does not bind at its top, all of them that do not raise where its names cannot be told."""
    before = [prelude(problem)]
    statements = [one for one in statements_of(starter_code(problem), entry_point(problem)) if not one.declares]
    if statements:
        tree = tree_or_none(solution.text)
        read = None if tree is None or NAMES_ANYTHING.search(solution.text) else _globals_read(solution.text)
        before.append(needed(statements, None if tree is None or read is None else read - names_in(tree.body)))
    return Program(solution.text, tuple(filter(None, before)))


def _globals_read(text: str) -> set[str] | None:
    """The names that a program reads from its module, in whatever scope; None where they cannot be told."""
    try:
        tables = [symtable.symtable(text.removeprefix(BOM), "<solution>", "exec")]
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    read = {one.get_name() for one in tables[0].get_symbols() if one.is_referenced()}
    while tables:
        inner = tables.pop().get_children()
        tables += inner
        read |= {one.get_name() for table in inner for one in table.get_symbols() if one.is_global()}
    return read
