"""When two program texts are the same program: equal up to layout, comments and docstrings.

The key is a hash of the compiled code (names kept, line numbers dropped), statement by statement at the top, so that
helper functions that many programs share are compiled once. Nothing is executed. It knows nothing of behaviour: that is
the evaluation's signature.
"""

from __future__ import annotations

import dis
import hashlib
import warnings
from functools import lru_cache
from types import CodeType

MAX_CHARACTERS = 100_000

NOP = dis.opmap["NOP"]
"""Stands where a docstring stood."""


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

    Blank lines and comments stay with the code above, which may be a string that they stand in; above all code they are
    dropped.
    """
    chunks: list[list[str]] = [[]]
    for line in text.split("\n"):
        is_code = line.strip()[:1] not in ("", "#")
        if is_code and line[0] not in " \t)]}":
            chunks.append([])
        if is_code or len(chunks) > 1:
            chunks[-1].append(line)
    return ["\n".join(lines) for lines in chunks if lines]


@lru_cache(maxsize=20_000)
def _chunk_key(text: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(text, "<candidate>", "exec", dont_inherit=True, optimize=2)
        digest = hashlib.sha256()
        _feed(digest, code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return digest.hexdigest()


def why_not(text: str) -> str:
    """Why `program_key` is None, in one line."""
    if len(text) > MAX_CHARACTERS:
        return f"program of {len(text)} characters; the limit is {MAX_CHARACTERS}"
    try:
        compile(text, "<candidate>", "exec", dont_inherit=True)
    except SyntaxError as error:
        return f"does not parse: {error.msg} (line {error.lineno})"
    except (ValueError, RecursionError, MemoryError, OverflowError) as error:
        return f"does not parse: {type(error).__name__}: {error}"
    return "parses"


def _feed(digest: hashlib._Hash, code: CodeType) -> None:
    shape = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    body = b"".join(code.co_code[at : at + 2] for at in range(0, len(code.co_code), 2) if code.co_code[at] != NOP)
    digest.update(repr((shape, names)).encode("utf-8", "surrogatepass") + body + code.co_exceptiontable)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _feed(digest, constant)
        elif isinstance(constant, frozenset):
            digest.update(repr(sorted(map(repr, constant))).encode("utf-8", "surrogatepass"))
        else:
            digest.update(f"{type(constant).__name__}:{constant!r};".encode("utf-8", "surrogatepass"))
