"""HumanEval, and HumanEval+ in the same form: prompt, entry_point, canonical_solution, test. Chen 2021 (Codex)."""

from __future__ import annotations

from collections.abc import Mapping

from evosyn.domains.published._rows import line_of, text_of
from evosyn.records import Json


def convert(row: Mapping[str, Json]) -> dict[str, Json]:
    """A line of a pool; the prompt is both the statement and the start of the program.

    Raises:
        NotUsable: with the reason.
    """
    prompt = text_of(row, "prompt")
    right = row.get("canonical_solution")
    return line_of(
        str(row.get("task_id") or ""),
        "python-function",
        prompt.strip("\n") + "\n",
        {"kind": "program", "code": text_of(row, "test")},
        entry_point=text_of(row, "entry_point"),
        starter_code=prompt,
        reference_solution=prompt + right if isinstance(right, str) else None,
    )
