"""BIG-Bench Hard and Extra Hard: input and target. Suzgun 2022 (BBH), Kazemi 2025 (BBEH).

Where the target is the letter of an option, the words of the option count as well.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from evosyn.domains.answers.plain import LONGEST
from evosyn.domains.published._rows import answer_line, text_of
from evosyn.records import Json

_CHOICE = re.compile(r"\(([A-Z])\)")
_OPTION = re.compile(r"^\s*\(([A-Z])\)\s*(\S.*?)\s*$", re.MULTILINE)


def convert(row: Mapping[str, Json]) -> dict[str, Json]:
    """A line of a pool.

    Raises:
        NotUsable: with the reason.
    """
    question, target = text_of(row, "input"), text_of(row, "target").strip()
    line = answer_line(row, question, target)
    choice = _CHOICE.fullmatch(target)
    if choice:
        words = dict(_OPTION.findall(question)).get(choice[1], "")
        line["human_testing"]["also"] = [words] if 0 < len(words) <= LONGEST else []
    return line
