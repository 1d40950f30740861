"""Texts of others as they may be shown: in a terminal, a table, a report, a prompt. They mislead nobody and break no
encoding; what they mean is not looked at.
"""

from __future__ import annotations

import re

_UNUSUAL = re.compile(r"[^\n\t -~]")
LONGEST_REASON = 600
"""Characters of a reason that a program in the sandbox gave."""


def safe(text: str) -> str:
    """A text with every control and direction character but newline and tab escaped, halves of surrogate pairs too."""
    return _UNUSUAL.sub(lambda found: found[0] if found[0].isprintable() else _escaped(found[0]), text)


def one_line(text: str) -> str:
    """A reason from the sandbox as one line of printable text, not longer than `LONGEST_REASON`."""
    said = "".join(one if one.isprintable() else _escaped(one) for one in text[: LONGEST_REASON + 1])
    return said if len(said) <= LONGEST_REASON else said[: LONGEST_REASON - 3] + "..."


def _escaped(sign: str) -> str:
    return sign.encode("unicode_escape").decode("ascii")
