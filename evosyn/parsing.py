"""`ast.parse` for a process in which several threads read programs; nothing of ours calls it directly.

Texts from outside are parsed here, in C, where nothing can interrupt them: what would take more than linear time is
refused before. What walks a tree, ours or Python's own, takes frames for each level: a tree of too many is refused
here, so that nobody after it runs out of them.
"""

from __future__ import annotations

import ast
import re
import sys
import threading
import unicodedata
import warnings
from typing import Any

warnings.filterwarnings("ignore", category=SyntaxWarning, module="<unknown>")  # as `ast.parse` calls a text of a model
BOM = "\ufeff"
"""Python itself skips this at the start of a file."""
DEEPEST = 100
"""Levels of a tree. Of the 1000 frames that Python gives a thread, copying and writing a tree take six for a level; as
many levels is what Python itself allows of indentation. Programs that people write have about 20."""
TOO_DEEP = "nested too deeply"
_ONE_AT_A_TIME = threading.RLock()
_ATTEMPTS = 100
"""A library's thread may parse as well, without asking us; that both do so at once again and again is out of reach."""
MARKS_IN_A_ROW = 128
"""Combining characters after each other in a name: normalizing it sorts them in quadratic time (PEP 3131, NFKC)."""
BRACES_TIMES_CHARS = 1_000_000_000
"""CPython 3.11 goes through an f-string from its begin for each of its expressions."""
_FORMATTED = re.compile(r"""\b(?:f|rf|fr)['"]""", re.IGNORECASE)
INTEGER_KEYS, INTEGER_BITS = 32, 60
"""Keys of a literal that are no texts: so many may be anything, more only integers of so few bits, which do not
collide."""


def parsed(text: str) -> ast.Module:
    """The syntax tree of a text, parsed by one thread at a time.

    CPython 3.11 keeps the depth of the tree that it builds in one place for all threads: two trees at once can end in a
    SystemError for a good program (seen; github.com/python/cpython/issues/106905).

    Raises:
        SyntaxError, ValueError: it is no program.
        MemoryError: it is too large for our process.
        RecursionError: it is nested too deeply, beyond `DEEPEST` levels.
    """
    text = text.removeprefix(BOM)
    if (text.count("{") * len(text) > BRACES_TIMES_CHARS and _FORMATTED.search(text)) or not _is_quickly_normalized(
        text
    ):
        raise MemoryError("too large for our process")
    tree = _tree(text)
    if len(text) > DEEPEST and _is_deep(tree):
        raise RecursionError(TOO_DEEP)
    return tree


def tree_or_none(text: str) -> ast.Module | None:
    """The syntax tree of a text; None where `parsed` raises."""
    try:
        return parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _tree(text: str) -> ast.Module:
    with _ONE_AT_A_TIME:
        for _ in range(_ATTEMPTS):
            try:
                return ast.parse(text)
            except SystemError:
                continue
        return ast.parse(text)


def _is_deep(tree: ast.AST) -> bool:
    level: list[ast.AST] = [tree]
    for _ in range(DEEPEST):
        values = [value for node in level for value in vars(node).values()]
        level = [one for one in values if isinstance(one, ast.AST)]
        level += [one for value in values if type(value) is list for one in value if isinstance(one, ast.AST)]
        if not level:
            return False
    return True


def _is_quickly_normalized(text: str) -> bool:
    if text.isascii():
        return True
    marks = {sign for sign in set(text) if _is_mark(sign)}
    run = 0
    for sign in text if marks else "":
        run = run + 1 if sign in marks else 0
        if run > MARKS_IN_A_ROW:
            return False
    return True


def _is_mark(sign: str) -> bool:
    """Whether it stands for combining characters and nothing else."""
    return sign > "\x7f" and all(map(unicodedata.combining, unicodedata.normalize("NFKD", sign)))


LONGEST_COMPARED = 20_000
"""Longer texts are compared as they are."""


def same_program(text: str) -> str:
    """A text that is equal for programs with the same syntax tree, of which none can read its own text or lines; the
    text itself where it does not parse, or might."""
    if len(text) > LONGEST_COMPARED:
        return text
    try:
        tree = parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return text
    dump = ast.dump(tree, annotate_fields=False)
    return text if _HINT.search(dump) and any(map(_may_read_lines, ast.walk(tree))) else dump


_MODULES = """
__future__ abc array base64 binascii bisect calendar cmath collections contextlib copy csv dataclasses datetime decimal
enum fractions functools hashlib heapq io itertools json math numbers numpy operator os queue random re secrets
statistics string struct sys textwrap time typing unicodedata zlib
"""
WITHOUT_LINES = frozenset(_MODULES.split())
"""Modules that tell no program about its own text, but by the names below."""
_READS = (
    r"Formatter|ForwardRef|_current_frames|_getframe|addaudithook|attrgetter|breakpoint|end_lineno|eval|exc_info|exec|"
    r"format_map|get_type_hints|getattr|globals|lineno|locals|methodcaller|modules|monitoring|setprofile|settrace|vars|"
    r"(?:f|tb|co|gi|cr|ag)_\w*|__(?!(?:init|new|post_init|name|main|doc|class|len|iter|next|call|hash|bool|str|repr|eq|ne|"
    r"lt|le|gt|ge|add|radd|sub|mul|truediv|floordiv|mod|pow|neg|abs|contains|getitem|setitem|delitem|enter|exit|slots)__)"
    r"\w*__"
)
"""Names of frames, tracebacks and code, of what stands in them, and by which they are found."""
_READER, _HINT = re.compile(_READS), re.compile(rf"'(?:{_READS}|compile|format)'|\balias\(")
_DEEP_FIELD = re.compile(r"\{[^{}:!]*[.\[]")


def _may_read_lines(node: ast.AST) -> bool:
    """Whether a part of a program might lead to a frame, a traceback or code, which know on which lines it stands."""
    match node:
        case ast.Attribute(value=ast.Constant(value=str(text)), attr="format"):
            return _DEEP_FIELD.search(text) is not None
        case ast.Attribute(attr=name):
            return name == "format" or _is_outside(name.lstrip("_")) or _READER.fullmatch(name) is not None
        case ast.Name(id=name):
            return name == "compile" or _READER.fullmatch(name) is not None
        case ast.alias(name=name):
            return _is_outside(name.partition(".")[0]) or _READER.fullmatch(name) is not None
        case ast.ImportFrom(module=module):
            return (module or "").partition(".")[0] not in WITHOUT_LINES
        case ast.Import(names=names):
            return any(one.name.partition(".")[0] not in WITHOUT_LINES for one in names)
        case ast.MatchClass(kwd_attrs=attributes):
            return any(map(_READER.fullmatch, attributes))
    return False


def _is_outside(module: str) -> bool:
    return module in sys.stdlib_module_names and module not in WITHOUT_LINES


def literal(text: str) -> Any:
    """The value of a text that is one literal of Python.

    Raises:
        SyntaxError, ValueError, TypeError, RecursionError, MemoryError: it is none.
    """
    match parsed(text.strip()).body:
        case [ast.Expr(value)]:
            _check_keys(value)
            return ast.literal_eval(value)
    raise ValueError("not a literal")


def _check_keys(tree: ast.expr) -> None:
    """
    Raises:
        ValueError: a set or dict in it could take quadratic time to make.
    """
    for node in ast.walk(tree):
        keys = node.keys if isinstance(node, ast.Dict) else node.elts if isinstance(node, ast.Set) else []
        if sum(not _is_spread(key) for key in keys) > INTEGER_KEYS:
            raise ValueError("keys that may collide")


def _is_spread(key: ast.expr | None) -> bool:
    value = key.value if isinstance(key, ast.Constant) else None
    return isinstance(value, str) or (type(value) is int and value.bit_length() <= INTEGER_BITS)
