"""Which testing code plainly cannot reach into the process that it runs in, so that several may share one.

Testing code is read as a list of words by one regular expression, never parsed or run by us: a parser can be crashed.
Being harmless is about the testing's own process only; what it claims of the program is judged elsewhere.
"""

from __future__ import annotations

import builtins
import functools
import re

MAX_CHARS = 100_000

_TOKEN = re.compile(
    r"""(?P<text>(?:\b[bB])?(?:'''[^'\\]*(?:(?:\\.|'(?!''))[^'\\]*)*'''|\"\"\"[^"\\]*(?:(?:\\.|"(?!""))[^"\\]*)*\"\"\"
    |'[^'\\\n]*(?:\\.[^'\\\n]*)*'|"[^"\\\n]*(?:\\.[^"\\\n]*)*"))
    |(?P<comment>\#[^\n]*)
    |(?P<attribute>\.[ ]*[^\W\d]\w*)
    |(?P<name>[^\W\d]\w*)
    |(?P<number>\d\w*(?:\.(?:\d\w*|(?=[\s)\]},:;+*/%<>=!-]|$)))?|\.\d\w*)
    |(?P<other>[ \t\n()\[\]{}:,=<>!+*/%&|^~;-])""",
    re.VERBOSE | re.DOTALL,
)
_WORD_TEXT = (
    "assert and as break continue def del elif else except False finally for if in is lambda None not or pass raise "
    "return True try while abs all any bool bytes chr complex dict divmod enumerate filter float frozenset hash hex "
    "int isinstance iter len list map max min next ord pow print range repr reversed round set slice sorted str sum "
    "tuple zip AssertionError ArithmeticError Exception IndexError KeyError LookupError OverflowError RuntimeError "
    "StopIteration TypeError ValueError ZeroDivisionError"
)
_METHOD_TEXT = (
    "add append capitalize copy count difference endswith extend find fromkeys get index insert intersection isalnum "
    "isalpha isclose isdigit islower issubset issuperset isupper items join keys lower lstrip partition pop replace "
    "reverse rfind rindex rstrip setdefault sort split splitlines startswith strip swapcase title union update upper "
    "values zfill pi e inf nan sqrt floor ceil gcd factorial fabs log exp sin cos tan prod product permutations "
    "combinations chain all any"
)
_REFUSED_TEXT = "async await class from global import nonlocal with yield"
_WORDS = frozenset(_WORD_TEXT.split())
_METHODS = frozenset(_METHOD_TEXT.split())
_REFUSED = (frozenset(dir(builtins)) | frozenset(_REFUSED_TEXT.split()) | {"aiter", "anext", "exit", "quit"}) - _WORDS
_SHORT = frozenset(["as", "if", "in", "is", "or"])
_PREFIX = re.compile(r"[A-Za-z]{1,2}\Z")


@functools.lru_cache(maxsize=2048)
def harmless(text: str) -> bool:
    """Whether every word outside strings is a harmless keyword or builtin, or a name that means nothing by itself (the
    program, its functions, what the text binds), and every attribute a well-known method of plain data.

    When in doubt, False: the check then gets processes of its own.
    """
    if len(text) > MAX_CHARS or not text.isascii() or "\r" in text or "\\\n" in text or "\0" in text or "\f" in text:
        return False
    position = 0
    while position < len(text):
        match = _TOKEN.match(text, position)
        if match is None:
            return False
        kind, word = match.lastgroup, match.group()
        position = match.end()
        if kind == "attribute" and word[1:].strip() not in _METHODS:
            return False
        if kind == "name" and (_is_hidden(word) or word in _REFUSED or _is_prefix(word, text, position)):
            return False
    return True


def _is_hidden(word: str) -> bool:
    """Whether the name is one of Python's own or ours; underscores alone are a placeholder that nothing defines."""
    return word[0] == "_" and word.strip("_") != ""


def _is_prefix(word: str, text: str, after: int) -> bool:
    """Whether the word stands right before a quote and so makes another kind of string than we read."""
    return text[after : after + 1] in ("'", '"') and _PREFIX.match(word) is not None and word not in _SHORT
