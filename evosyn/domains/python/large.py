"""Large inputs of a problem: code of a model that makes them, and what a good solution gives on each.

Nobody can write down what is expected of an input of 10^5 numbers; good solutions that agree can. Each input stays the
code that makes it, so that a row holds a few lines in place of megabytes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace

from evosyn.chat import Parsed
from evosyn.domains.python.reading import with_helpers
from evosyn.domains.replies import defines, sets_of_blocks
from evosyn.records import Json, Testing, json_text

MOST_INPUTS, LONGEST_OUTPUT = 5, 20_000
"""Inputs of one reply; characters of an output that is written down."""


def read_inputs(text: str, kind: str) -> Parsed[Testing]:
    """The last block that defines `build_inputs()`, with its helpers, as cases of whose outputs nothing is said yet."""
    read = ((blocks, [one for one in blocks if defines(one.text, "build_inputs")]) for blocks in sets_of_blocks(text))
    blocks, found = next((pair for pair in read if pair[1]), ((), []))
    if not found:
        return Parsed(None, "no-inputs: no block defines build_inputs()")
    source = with_helpers(found[-1], blocks)
    made = [
        {"input": {"python": f"{source}\nreturn build_inputs()[{at}]\n"}, "output": ""} for at in range(MOST_INPUTS)
    ]
    return Parsed(Testing(kind, {"cases": made}))


def answered(testing: Testing, outputs: Sequence[Json]) -> Testing | None:
    """See `ports.Domain.answered`."""
    cases: Sequence[Mapping[str, Json]] = testing.body["cases"]
    made = []
    for case, output in zip(cases, outputs, strict=True):
        text = json_text(output)
        if text is None or len(text) > LONGEST_OUTPUT:
            return None
        made.append({**case, "output": json.loads(text)})
    return replace(testing, body={**testing.body, "cases": made})
