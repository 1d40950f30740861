"""Reading testings that are written as Python: asserts at the top of a block, or a `check(candidate)`."""

from __future__ import annotations

import ast

from evosyn.domains.python.context import source_of
from evosyn.domains.python.payload import entry_point
from evosyn.domains.python.reading import with_helpers
from evosyn.domains.replies import defines, sets_of_blocks
from evosyn.parsing import tree_or_none
from evosyn.records import Problem, Testing

MAX_ASSERTS = 1000


def read_asserts(text: str, problem: Problem) -> Testing | None:
    """The last block that defines `check`, with its helpers, or holds asserts; None where there is none."""
    function = entry_point(problem).rpartition(".")[2]
    for blocks in sets_of_blocks(text):
        for block in reversed(blocks):
            if defines(block.text, "check"):
                return Testing("program", {"code": with_helpers(block, blocks) + "\n"})
            asserts = _asserts(block.text, function)
            if asserts:
                return Testing("asserts", {"asserts": asserts})
    return None


def _asserts(block: str, function: str) -> list[str]:
    """The asserts that stand alone: at the top, or in test functions that hold nothing else."""
    tree = tree_or_none(block)
    body = tree.body if tree else _line_by_line(block)
    found: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and not node.args.args:
            found += node.body if all(isinstance(part, ast.Assert) for part in node.body) else []
        elif isinstance(node, ast.Assert):
            found.append(node)
    texts = [_text(node) for node in found[:MAX_ASSERTS] if _mentions(node, function)]
    return [text for text in texts if text]


def _text(node: ast.stmt) -> str:
    try:
        return source_of(node)
    except (ValueError, RecursionError):
        return ""


def _line_by_line(block: str) -> list[ast.stmt]:
    """The asserts of a block that is not Python as a whole (a reply that was cut, prose between lines)."""
    found: list[ast.stmt] = []
    for line in block.splitlines()[:MAX_ASSERTS]:
        tree = tree_or_none(line) if line.startswith("assert ") else None
        found += tree.body if tree else []
    return found


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(part, ast.Name) and part.id == name for part in ast.walk(node))
