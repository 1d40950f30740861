"""GSM8K: question, and an answer whose last line is `#### NUMBER`. Cobbe 2021 (GSM8K)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from evosyn.domains.answers.marks import MARK
from evosyn.domains.published._rows import answer_line, text_of
from evosyn.records import Json

_CALCULATED = re.compile(r"<<[^<>]*>>")
"""What the working hands to a calculator: `<<3*4=12>>`."""


def convert(row: Mapping[str, Json]) -> dict[str, Json]:
    """A line of a pool.

    Raises:
        NotUsable: with the reason.
    """
    working = _CALCULATED.sub("", text_of(row, "answer"))
    return answer_line(row, text_of(row, "question"), working.rpartition(MARK)[2] if MARK in working else "", working)
