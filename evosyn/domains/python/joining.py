"""One testing made of cases of several: the reward of a row is what all testings that agree say together.

A case stands there once; what JSON cannot say is left out. It decides nothing about which cases are good
(`synthesis.reward`).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from evosyn.domains.python.shapes import is_generator
from evosyn.records import Json, Testing, canonical_json, json_text

LONGEST_CASE = 100_000
"""Characters of one case; longer ones stay in the code that makes them."""


def join(parts: Sequence[tuple[Testing, Sequence[int]]]) -> Testing | None:
    """See `ports.Domain.join`; testings are all of one kind, lists of cases or of asserts."""
    kinds = {testing.kind for testing, _ in parts}
    if kinds == {"asserts"}:
        taken = [testing.body["asserts"][at] for testing, places in parts for at in places]
        return Testing("asserts", {"asserts": list(dict.fromkeys(taken))}) if taken else None
    if kinds not in ({"cases"}, {"stdin"}) or any(is_generator(testing.body["cases"]) for testing, _ in parts):
        return None
    compared = {testing.body.get("compare") for testing, _ in parts}
    if len(compared) > 1:
        return None
    kept: dict[str, Json] = {}
    for testing, places in parts:
        for at in places:
            case = _plain(testing.body["cases"][at], testing.body)
            if case is not None:
                kept.setdefault(canonical_json(case["input"]), case)
    by = compared.pop()
    return Testing(kinds.pop(), {"cases": list(kept.values()), **({"compare": by} if by else {})}) if kept else None


def _plain(case: Mapping[str, Json], body: Mapping[str, Json]) -> Json:
    """The case as JSON has it, with the tolerance of its testing; None for one that JSON cannot say, or a long one."""
    whole = {**({"tolerance": body["tolerance"]} if body.get("tolerance") is not None else {}), **case}
    text = json_text(whole)
    return json.loads(text) if text is not None and len(text) <= LONGEST_CASE and _said(whole) else None


def _said(value: Json) -> bool:
    """Whether JSON keeps it: names of objects stay what they are."""
    if isinstance(value, dict):
        return all(type(name) is str for name in value) and all(map(_said, value.values()))
    return all(map(_said, value)) if isinstance(value, list | tuple) else True
