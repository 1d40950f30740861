"""MATH and MATH-500: problem, solution and answer, or the solution's last box. Hendrycks 2021 (MATH)."""

from __future__ import annotations

from collections.abc import Mapping

from evosyn.domains.answers.marks import last_box
from evosyn.domains.published._rows import answer_line, text_of
from evosyn.records import Json


def convert(row: Mapping[str, Json]) -> dict[str, Json]:
    """A line of a pool.

    Raises:
        NotUsable: with the reason.
    """
    working = str(row.get("solution") or "")
    meta = {key: row[key] for key in ("subject", "type", "level") if row.get(key)}
    answer = str(row.get("answer") or last_box(working) or "")
    return answer_line(row, text_of(row, "problem"), answer, working, **meta)
