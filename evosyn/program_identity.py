"""When two program texts are the same program: equal up to layout, comments and docstrings.

The key is a hash of the syntax tree, statement by statement at the top, so that helper functions that many programs
share are read once. Nothing is executed, nor compiled, which can take exponential time (`finally` in `finally`). It
knows nothing of behaviour: that is the evaluation's signature.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache

from evosyn.parsing import BOM, parsed

MAX_CHARACTERS = 100_000


def program_key(text: str) -> str | None:
    """A key that equal programs share, or None where `text` is not a Python program of reasonable size."""
    if len(text) > MAX_CHARACTERS:
        return None
    chunks = _chunks(text)
    keys = [_chunk_key(chunk) for chunk in chunks]
    if None in keys:  # a statement that spans chunks, or no program
        whole = _chunk_key.__wrapped__(text)
        return None if whole is None else whole[:24]
    return hashlib.sha256("".join(key or "" for key in keys).encode()).hexdigest()[:24]


def _chunks(text: str) -> list[str]:
    """The text cut before each line of code that starts at the margin.

    Blank lines and comments stay with the code above, which may be a string that they stand in; above all code they
    stay with the first of it. So all of the text is parsed: what looks like a comment here may be no text of a program.
    """
    chunks: list[list[str]] = [[]]
    begun = False
    for line in text.replace("\r\n", "\n").replace("\r", "\n").split("\n"):
        if line.strip()[:1] not in ("", "#") and line[0] not in " \t)]}":
            if begun:
                chunks.append([])
            begun = True
        chunks[-1].append(line)
    return ["\n".join(lines) for lines in chunks]


@lru_cache(maxsize=20_000)
def _chunk_key(text: str) -> str | None:
    if text.startswith(BOM):  # `parsed` skips it as Python does in a file; where a program runs it is an error
        return None
    try:
        said = ast.dump(_without_words(parsed(text)), annotate_fields=False)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return hashlib.sha256(said.encode("utf-8", "surrogatepass")).hexdigest()


def _without_words(tree: ast.Module) -> ast.Module:
    """The tree without the constants that stand alone, docstrings among them: they do nothing."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            part = getattr(node, name, None)
            if isinstance(part, list):
                setattr(node, name, [one for one in part if not _is_words(one)])
    return tree


def _is_words(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def why_not(text: str) -> str:
    """Why `program_key` is None, in one line."""
    if len(text) > MAX_CHARACTERS:
        return f"program of {len(text)} characters; the limit is {MAX_CHARACTERS}"
    try:
        parsed(text)
    except SyntaxError as error:
        return f"does not parse: {error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError) as error:
        return f"does not parse: {type(error).__name__}: {error}"
    return "parses"
