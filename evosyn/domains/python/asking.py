"""What fills the prompts of the Python domains: example problems and their testings. A human testing never enters a
prompt of the problem that it belongs to; those of example problems may. Du 2025, appendix A.1.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Sequence

from evosyn.chat import Form
from evosyn.domains.python.asserting import read_asserts
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


def testing_examples(examples: Sequence[Problem], form: Form) -> str:
    """Example problems with some of their human testing's cases, where those are plain."""
    parts: list[str] = []
    for example in examples:
        tests = _tests(example, form)
        if tests is None:
            continue
        starter = starter_code(example).strip("\n")
        start = f"\n### Start code\n```python\n{starter}\n```" if starter else ""
        head = f"## Example {len(parts) + 1}\n### Problem\n{example.statement.strip()}{start}"
        parts.append(f"{head}\n### Unit tests\n{tests}\n")
    return "Here are examples of good unit tests.\n\n" + "\n".join(parts) + "\n" if parts else ""


def shown_tests(own: Sequence[Problem], form: Form) -> str:
    """What is shown of the problem itself: right tests, which count for nobody."""
    shown = next((tests for one in own if (tests := _tests(one, form)) is not None), None)
    return f"\n\n## Right tests, which do not count among yours\n{shown}" if shown is not None else ""


def _tests(example: Problem, form: Form) -> str | None:
    """A few cases of its human testing, in fenced blocks; None where they are not plain, or too long."""
    testing = example.human_testing
    if testing is not None and testing.kind in ("asserts", "program"):
        text = testing.body["code"] if testing.kind == "program" else "\n".join(testing.body["asserts"])
        read = read_asserts(text, example)
        testing = None if read is None else read.value
    if testing is None or testing.kind == "program" or is_generator(testing.body.get("cases")):
        return None
    name = entry_point(example).rpartition(".")[2]
    longest = MAX_EXAMPLE_TEXT // MAX_EXAMPLE_CASES
    kept = [line for line in _written(testing, form, name) if len(line) <= longest][:MAX_EXAMPLE_CASES]
    if not kept:
        return None
    if kept[0].startswith("```"):
        return "\n".join(kept)
    if kept[0].startswith("{"):
        return "```json\n[\n  " + ",\n  ".join(kept) + "\n]\n```"
    if form == "program":
        kept = [f"def check({name}):", *(f"    {line}" for line in kept)]
    return "```python\n" + "\n".join(kept) + "\n```"


def _written(testing: Testing, form: Form, name: str) -> list[str]:
    """Its cases as texts: JSON, blocks of texts in and out, or asserts."""
    if testing.kind == "asserts":
        return [] if form == "json" else list(testing.body["asserts"])
    cases = testing.body["cases"]
    if form == "json":
        return [json.dumps({"input": case["input"], "output": case["output"]}) for case in cases]
    cases = [case for case in cases if not any(map(is_generator, (*_values(case["input"]), case["output"])))]
    if testing.kind == "stdin":
        return [f"```input\n{_line(case['input'])}```\n```output\n{_line(case['output'])}```" for case in cases]
    return [f"assert {name}({_arguments(case['input'])}) == {case['output']!r}" for case in cases]


def _values(given: Json) -> Collection[Json]:
    return (
        given.values()
        if isinstance(given, dict) and not is_generator(given)
        else given
        if type(given) is list
        else [given]
    )


def _arguments(given: Json) -> str:
    if isinstance(given, dict):
        return ", ".join(f"{name}={value!r}" for name, value in given.items())
    return ", ".join(map(repr, given))


def _line(text: str) -> str:
    return text if text.endswith("\n") else f"{text}\n"
