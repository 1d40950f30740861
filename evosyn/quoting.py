"""What stands in quotes in a model's reply, and a reply with plain line ends and blanks outside of them.

A reply mixes prose, programs and JSON, so a quote is a guess; the guesses err where nothing is lost by it. Nothing is
parsed, and nothing is changed in quotes but line ends. Linear time: a quoted text that is not closed is a match too,
so that no quote is looked at twice.
"""

from __future__ import annotations

import re

from evosyn.parsing import BOM

QUOTED = re.compile(
    r"""
    (?<![^\[{,:(\s])"(?:[^"\\]|\\.)*+"(?=\s*+[,:\]})])  # as in JSON, whose line breaks models forget to escape
    | "(?:[^"\\\n]|\\[^\n])*+("?)
    | (?:(?<!\w)|(?<=\b[rbfuRBFU])|(?<=\b[rbfRBF]{2}))'(?:[^'\\\n]|\\[^\n]|'(?=\w))*+('?)  # no apostrophe of a word
    | (?<!\S)\#+[ ][^\n]*+  # a remark: quotes in it are none
    """,
    re.VERBOSE | re.DOTALL,
)
"""Texts in quotes and remarks behind `#`; where a group is empty, the quote is not closed."""
_ODD = {"\u00a0": " ", "\u2007": " ", "\u202f": " ", "\u2060": "", BOM: ""}
"""Blanks that do not break: editors and web pages put them in, and no program means them outside of quotes."""
_PLAINLY = re.compile(rf"({QUOTED.pattern}) | [{''.join(_ODD)}]", QUOTED.flags)


def is_closed(found: re.Match[str]) -> bool:
    """Whether a match of `QUOTED` is a text in quotes on both sides, or a remark."""
    return found.lastindex is None or bool(found[found.lastindex])


def plain_text(reply: str) -> str:
    """A reply with line feeds alone, and outside of quoted texts with plain blanks for those that do not break.

    A line break in a quoted text is one of the reply, and becomes a line feed as well.
    """
    reply = reply.replace("\r\n", "\n")
    if not any(sign in reply for sign in _ODD):
        return reply
    return _PLAINLY.sub(lambda found: found[1] or _ODD[found[0]], reply)
