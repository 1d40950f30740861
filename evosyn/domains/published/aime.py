"""AIME in the forms in which its problems are handed round: problem and answer, in any case of their names."""

from __future__ import annotations

from collections.abc import Mapping

from evosyn.domains.published._rows import answer_line, text_of
from evosyn.records import Json


def convert(row: Mapping[str, Json]) -> dict[str, Json]:
    """A line of a pool.

    Raises:
        NotUsable: with the reason.
    """
    given = {key.lower(): value for key, value in row.items()}
    question = text_of(given, "problem", "question")
    return answer_line(given, question, str(given.get("answer") or ""), str(given.get("solution") or ""))
