"""What fills the prompts of the Python domains: example problems and their testings. A human testing never enters a
prompt of the problem that it belongs to; those of example problems may. Du 2025, appendix A.1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from evosyn.domains.python.payload import entry_point, starter_code
from evosyn.domains.python.shapes import is_generator
from evosyn.records import Json, Problem, Testing

MAX_EXAMPLE_CASES = 6
"""Cases of a human testing that are shown with an example problem."""
MAX_EXAMPLE_TEXT = 6000


def problem_examples(seeds: Sequence[Problem]) -> str:
    """Seed problems as they are shown when a new problem is asked for."""
    parts = []
    for number, seed in enumerate(seeds, 1):
        title = seed.meta.get("title")
        shown: dict[str, Json] = {**({"title": title} if isinstance(title, str) else {}), "statement": seed.statement}
        if entry_point(seed):
            shown |= {"entry_point": entry_point(seed), "starter_code": starter_code(seed)}
        parts.append(f"## Example {number}\n```json\n{json.dumps(shown, indent=2, ensure_ascii=False)}\n```\n")
    return "\n".join(parts) + "\n" if parts else ""


def testing_examples(examples: Sequence[Problem]) -> str:
    """Example problems with some of their human testing's cases, where those are plain cases."""
    parts: list[str] = []
    for example in examples:
        cases = None if example.human_testing is None else shown_cases(example.human_testing)
        if cases is None:
            continue
        starter = starter_code(example).strip("\n")
        start = f"\n### Start code\n```python\n{starter}\n```" if starter else ""
        tests = f"### Unit tests\n```json\n{cases}\n```\n"
        parts.append(f"## Example {len(parts) + 1}\n### Problem\n{example.statement.strip()}{start}\n{tests}")
    return "Here are examples of good unit tests.\n\n" + "\n".join(parts) + "\n" if parts else ""


def shown_cases(testing: Testing) -> str | None:
    """A few cases as JSON, one a line; None for testings that are not lists of cases, or too long to show."""
    cases = testing.body.get("cases")
    if testing.kind not in ("cases", "stdin") or is_generator(cases) or not cases:
        return None
    lines = [json.dumps({"input": case["input"], "output": case["output"]}) for case in cases]
    kept = [line for line in lines if len(line) <= MAX_EXAMPLE_TEXT // MAX_EXAMPLE_CASES][:MAX_EXAMPLE_CASES]
    return "[\n  " + ",\n  ".join(kept) + "\n]" if kept else None
