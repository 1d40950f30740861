"""The plainest reader of replies: where it finds something and evosyn nothing, the fault is ours."""

from __future__ import annotations

import ast
import re

_FENCED = re.compile(r"^[ \t]*```[^\n]*\n(.*?)(?:^[ \t]*```|\Z)", re.M | re.S)
UNREAD = ("reply-", "no-", "does-not-parse", "unparsable")
"""Beginnings of the reasons that say that nothing was read; others say what is wrong with what was."""


def missed(reason: str, kind: str, text: str, entry_point: str) -> bool:
    """Whether a reply was lost unread that this reader can read."""
    return reason.startswith(UNREAD) and reads(kind, text, entry_point)


def reads(kind: str, text: str, entry_point: str) -> bool:
    """Whether the first fenced block defines the function, or holds a line that parses and asserts something of it."""
    found = _FENCED.search(text)
    if found is None or not entry_point:
        return False
    if kind == "solution":
        nodes = ast.walk(tree) if (tree := _parsed(found[1])) else ()
        return any(isinstance(node, ast.FunctionDef) and node.name == entry_point for node in nodes)
    lines = filter(None, map(_parsed, found[1].splitlines()))
    asserts = [node for tree in lines for node in tree.body if isinstance(node, ast.Assert)]
    calls = (node for one in asserts for node in ast.walk(one) if isinstance(node, ast.Call))
    return any(isinstance(call.func, ast.Name) and call.func.id == entry_point for call in calls)


def _parsed(text: str) -> ast.Module | None:
    try:
        return ast.parse(text.strip() if "\n" not in text else text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
