"""When two program texts are the same program: equal up to layout, comments and docstrings.

The key is a hash of the compiled code (names kept, line numbers dropped), which costs about a tenth of dumping the
syntax tree. Nothing is executed. It knows nothing of behaviour: that is the evaluation's signature.
"""

from __future__ import annotations

import hashlib
import warnings
from types import CodeType

MAX_CHARACTERS = 100_000


def program_key(text: str) -> str | None:
    """A key that equal programs share, or None where `text` is not a Python program of reasonable size."""
    if len(text) > MAX_CHARACTERS:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            code = compile(text, "<candidate>", "exec", dont_inherit=True, optimize=2)
        digest = hashlib.sha256()
        _feed(digest, code)
    except (SyntaxError, ValueError, RecursionError, MemoryError, OverflowError):
        return None
    return digest.hexdigest()[:24]


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
    digest.update(repr((shape, names)).encode("utf-8", "surrogatepass") + code.co_code + code.co_exceptiontable)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            _feed(digest, constant)
        elif isinstance(constant, frozenset):
            digest.update(repr(sorted(map(repr, constant))).encode("utf-8", "surrogatepass"))
        else:
            digest.update(f"{type(constant).__name__}:{constant!r};".encode("utf-8", "surrogatepass"))
