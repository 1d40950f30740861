"""Reasoning of any family is no answer: what is paid stands behind the last mark that closes it."""

from __future__ import annotations

import pytest

import evosyn
from evosyn.ports import Sandbox
from evosyn.records import Json
from tests.train.reasoning_forms import FAMILIES, probes

TASK: Json = {
    "domain": "math-answer",
    "statement": "How many clips in all?",
    "testing": {"kind": "answer", "answer": "72"},
}
PROBES = {name: probes(one, "So \\boxed{72}.", "\\boxed{72}.", "The answer is 72.") for name, one in FAMILIES.items()}


@pytest.mark.parametrize("name", FAMILIES)
def test_each_family_is_paid_for_its_final_answer_alone(name: str, sandbox: Sandbox) -> None:
    texts = [text for text, _ in PROBES[name].values()]
    wanted = dict(zip(PROBES[name], [pay for _, pay in PROBES[name].values()], strict=True))
    for form in [FAMILIES[name].form, *(["auto"] if FAMILIES[name].told else [])]:
        found = evosyn.reward([TASK] * len(texts), texts, sandbox=sandbox, reasoning=form)
        assert dict(zip(wanted, found, strict=True)) == wanted, form
