"""Hostile texts: what is not a program, or is one that our own process must not choke on.

Texts of every sort are compiled where they run. Where ours reads them (merging equal programs, admitting company,
checking a testing), it is bounded, and what it cannot read is treated as a text like any other.
"""

from __future__ import annotations

import random

from hostile_suite.families._make import solutions
from hostile_suite.model import Attack, Family, allow

BAD = allow(
    "load-error killed no-entry-point timeout exception wrong output-limit", rest="exception killed wrong timeout"
)


def text(name: str, whole: str) -> Attack:
    return Attack(name, whole=whole, dressed=False, allowed=BAD)


DEEP = {
    "brackets": lambda n: "x = " + "(" * n + ")" * n,
    "lists": lambda n: "x = " + "[" * n + "]" * n,
    "minus": lambda n: "x = " + "-" * n + "1",
    "not": lambda n: "x = " + "not " * n + "1",
    "attributes": lambda n: "x = 1" + ".real" * n,
    "calls": lambda n: "x = int" + "()" * n,
    "subscripts": lambda n: "x = 1" + "[0]" * n,
    "additions": lambda n: "x = 1" + " + 1" * n,
    "powers": lambda n: "x = 1" + " ** 1" * n,
    "lambdas": lambda n: "x = " + "lambda: " * n + "1",
    "conditions": lambda n: "x = " + "1 if 1 else " * n + "1",
    "f-strings": lambda n: "x = " + "f'{" * (n % 3 + 1) + "1" + "}'" * (n % 3 + 1) + "\ny = " + "(" * n,
    "blocks": lambda n: "".join("\t" * d + "if 1:\n" for d in range(min(n, 99))) + "\t" * min(n, 99) + "pass",
    "functions": lambda n: "".join(" " * d + "def f():\n" for d in range(min(n, 99))) + " " * min(n, 99) + "pass",
    "dictionaries": lambda n: "x = " + "{1:" * n + "1" + "}" * n,
    "comparisons": lambda n: "x = 1" + " < 1" * n,
    "starred": lambda n: "x = " + "[*" * n + "[]" + "]" * n,
    "generators": lambda n: "x = " + "(_ for _ in " * n + "[]" + ")" * n,
    "patterns": lambda n: "match 1:\n case " + "[" * n + "1" + "]" * n + ": pass",
    "awaits": lambda n: "async def f(): " + "await " * n + "1",
}


def _deep(kind: str, depth: int) -> Attack:
    return text(f"{kind}, {depth} deep", DEEP[kind](depth))


NESTED = solutions(
    "deep texts",
    "No depth of nesting crashes a parser of ours or is more than a program that does not load.",
    [
        _deep(kind, depth)
        for kind, depth in zip(DEEP, (20000, 150, 100000, 30000, 50000, 10000, 90, 60000, 5000, 3000) * 2)
    ]
    + [_deep("brackets", 10**6), _deep("minus", 10**6)],
    words=BAD,
    draw=lambda stream: _deep(
        stream.choice(list(DEEP)), stream.choice((50, 90, 99, 101, 200, 999, 5000, 20000, 200000))
    ),
    draws=6,
)

SLOW_TO_PARSE = {
    "marks in a name": lambda n: (
        "def ENTRY(x):\n    a" + "\u0301" * (n // 2) + "\u0316" * (n // 2) + " = x\n    return 0"
    ),
    "marks in turn": lambda n: "a" + "\u0301\u0316" * (n // 2) + " = 0\ndef ENTRY(x): return 0",
    "marks that stand for two": lambda n: "a" + "\u0344\u0316" * (n // 2) + " = 0\ndef ENTRY(x): return 0",
    "names of marks": lambda n: "a" + "\u0316\u0301" * 60 + " = 0\n" * (n // 120) + "def ENTRY(x): return 0",
    "ligatures": lambda n: "\ufdfa" * n + " = 0\ndef ENTRY(x): return 0",
    "an f-string": lambda n: "def ENTRY(x): return f'" + "{x}" * (n // 3) + "'",
    "lines of an f-string": lambda n: 'def ENTRY(x): return f"""' + "{x}\n" * (n // 4) + '"""',
    "keys that collide": lambda n: (
        "def ENTRY(x): return {" + ", ".join(f"{k * (2**61 - 1)}: 1" for k in range(n // 26)) + "}"
    ),
    "fences": lambda n: "```py\n" * (n // 6),
    "edits": lambda n: "<<<<<<< SEARCH\n" * (n // 30) + "=======\n" * (n // 16),
    "escaped quotes": lambda n: "[" + '\\"' * (n // 2),
    "ticks": lambda n: "`" * n,
}


def _slow(kind: str, size: int) -> Attack:
    words = {mode: words | {"not-plain-data"} for mode, words in BAD.items()}
    return Attack(f"{kind}, {size} characters", whole=SLOW_TO_PARSE[kind](size), dressed=False, allowed=words)


SLOW_TEXTS = solutions(
    "texts that are slow to read",
    "No repetition makes reading a text in our own process take more than linear time: what would is refused before.",
    [_slow(kind, size) for kind, size in zip(SLOW_TO_PARSE, (20_000, 60_000, 90_000) * 4)],
    words=BAD,
    draw=lambda stream: _slow(stream.choice(list(SLOW_TO_PARSE)), stream.choice((3_000, 30_000, 80_000))),
    draws=3,
)

BROKEN = solutions(
    "broken texts",
    "NULs, surrogates, cookies, odd characters and endless lines make a program that does not load, and nothing else.",
    [
        text("NUL byte", "def ENTRY(x): return x\0"),
        text("NUL byte in front", "\0def ENTRY(x): return x"),
        text("only NULs", "\0" * 10000),
        text("lone surrogate", "s = '\ud800'\ndef ENTRY(x): return s"),
        text("surrogate in a name", "def f\udcff(x): pass"),
        text("encoding that is none", "# -*- coding: no-such-codec -*-\ndef ENTRY(x): return 0"),
        text("encoding that would hide", "# coding: utf-7\n+AGQAZQBm-\ndef ENTRY(x): return 0"),
        text("encoding of another width", "# coding: utf-16\ndef ENTRY(x): return 0"),
        text("encoding rot13", "# coding: rot13\nqrs SBB(k): erghea 0\ndef ENTRY(x): return 0"),
        text("form feeds", "\fdef ENTRY(x):\n\f    return 0\f"),
        text("two byte order marks", "\ufeff\ufeffdef ENTRY(x): return 0"),
        text("byte order mark inside", "def ENTRY(x):\n    \ufeffreturn 0"),
        text("mixed line ends", "def ENTRY(x):\r    y = 1\r\n    return 0\n\r"),
        text("vertical tabs and separators", "def ENTRY(x):\x0b return 0\x1c\x85\u2028"),
        text("tabs and blanks", "def ENTRY(x):\n\tif x:\n        return 0\n\treturn 1"),
        text("unfinished", "def ENTRY(x):\n    return ("),
        text("unfinished text", "def ENTRY(x):\n    return '''abc"),
        text("escape at the end", "x = 1 \\"),
        text("not Python", "<html><body>I cannot help with that.</body></html>"),
        text("prose", "The function multiplies its argument.\n\nNote that it is fast."),
        text("a megabyte of nothing", " " * (1 << 20) + "\ndef ENTRY(x): return 0"),
        text("a megabyte of one line", "x = '" + "a" * (1 << 20) + "'"),
        text("a line of a hundred thousand names", "x = [" + ", ".join(f"a{n}" for n in range(100000)) + "]"),
        text("a name of a megabyte", "a" * (1 << 20) + " = 1"),
        text("an integer of a million digits", "x = " + "9" * 10**6),
        text("an integer of 4,301 digits", "x = " + "9" * 4301 + "\ndef ENTRY(y): return x"),
        text("a hexadecimal integer of a million digits", "x = 0x" + "f" * 10**6 + "\ndef ENTRY(y): return 0"),
        text("a float of a million digits", "x = 1." + "1" * 10**6 + "\ndef ENTRY(y): return x"),
        text("twenty thousand statements", "x = 1\n" * 20000),
        text("fifty thousand functions", "".join(f"def f{n}(): pass\n" for n in range(50000))),
        text("twenty thousand decorators", "@int\n" * 20000 + "def ENTRY(x): pass"),
        text("ten thousand parameters", "def ENTRY(" + ", ".join(f"a{n}" for n in range(10000)) + "): pass"),
        text("constants that fold without end", "def ENTRY(x): return ((((2 ** 4000) ** 4000) ** 4000) ** 4000)\ny = ENTRY(1)"),
        text("texts that fold without end", "x = ('a' * 4000 * 4000, ) * 4000"),
        text("future that is none", "from __future__ import braces\ndef ENTRY(x): return 0"),
        text("global of a parameter", "def ENTRY(x):\n    global x\n    return x"),
        text("return outside", "return 17"),
        text("nonlocal without end", "def ENTRY(x):\n    nonlocal y"),
        text("assignment to a keyword", "None = 1"),
        text("star import of itself", "from program import *\nfrom __main__ import *"),
        text("confusables", "def ЕNTRY(x): return 0\nENTRY = ЕNTRY"),
        text("right to left", "def ENTRY(x):\n    '''\u202e'''\n    return 0 # \u2066"),
        text("format specifications", "def ENTRY(x): return f'{x:{x}{x}{x}}'"),
        text("nested f-strings", "def ENTRY(x): return f\"{f'{f\"{x}\"}'}\""),
        text("deprecated escapes", "import warnings\nwarnings.simplefilter('error')\nx = eval(\"'\\\\d'\")\ndef ENTRY(x): return 0"),
    ],
    words=BAD,
    draw=lambda stream: text(f"noise {stream.randrange(10**6)}", _noise(stream)),
    draws=6,
)  # fmt: skip


def _noise(stream: random.Random) -> str:
    """Tokens of Python in no order."""
    tokens = [
        "def",
        "class",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ":",
        ",",
        ".",
        "=",
        "==",
        "+",
        "-",
        "*",
        "/",
        "lambda",
        "if",
        "else",
        "for",
        "in",
        "not",
        "and",
        "or",
        "x",
        "f",
        "1",
        "0x",
        "1e9",
        "''",
        "'\\'",
        '"',
        "#",
        "@",
        "async",
        "await",
        "yield",
        "return",
        "import",
        "from",
        "\n",
        "\t",
        "\r",
        "\x0c",
        "\x00",
        "\ufeff",
        "é",
        "ﬁ",
        "ª",
        "²",
        "𝐱",
        ":",
        ":=",
    ]
    return " ".join(stream.choices(tokens, k=stream.randint(5, 300)))


FAMILIES: tuple[Family, ...] = (NESTED, SLOW_TEXTS, BROKEN)
