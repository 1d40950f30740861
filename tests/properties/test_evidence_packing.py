"""Whatever evidence goes into the sandbox's pack comes out of it as it was, and cannot be written to."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.evaluators.card import READ
from evosyn.records import Evidence, PassMatrix
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.running._harness import DTYPES, READERS, ShownEvidence
from evosyn.strategies.running.packing import pack
from tests.properties.drawn_matrices import drawn_matrices

RENAMED = {"solution_group_M": "solution_groups", "testing_group_N": "testing_groups"}
"""Names that differ by more than their axes."""


def same(seen: Any, value: Any) -> None:
    """Equal values; whatever is an array cannot be written to."""
    if isinstance(value, np.ndarray):
        assert seen.tolist() == value.tolist()
        with pytest.raises(ValueError, match="read-only"):
            seen[...] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            seen.flags.writeable = True
    elif isinstance(value, tuple) and any(isinstance(item, np.ndarray) for item in value):
        assert len(seen) == len(value)
        for one, other in zip(seen, value, strict=True):
            same(one, other)
    else:
        assert seen == (list(value) if isinstance(seen, list) else value)


def shown(evidences: list[Evidence]) -> list[ShownEvidence]:
    packed = pack(evidences)
    opened = {**packed, **{key: np.frombuffer(packed[key], dtype) for key, dtype in DTYPES.items()}}
    return [ShownEvidence(opened, index) for index in range(len(evidences))]


@settings(max_examples=100, deadline=None)
@given(st.lists(drawn_matrices(), min_size=1, max_size=4))
def test_evidence_survives_packing_and_is_read_only(found: list[PassMatrix]) -> None:
    evidences = [evidence_of(matrix) for matrix in found]
    names = {field.name: RENAMED.get(field.name, field.name.rpartition("_")[0]) for field in fields(Evidence)}
    names |= {name: name for name in ("solution_texts", "testing_texts", "statement", "payload")}
    assert set(names.values()) == set(READERS) == set(READ)
    for evidence, inside in zip(evidences, shown(evidences), strict=True):
        for field, name in names.items():
            same(getattr(inside, name), getattr(evidence, field))


@settings(max_examples=50, deadline=None)
@given(drawn_matrices(), st.randoms(use_true_random=False))
def test_nothing_human_and_no_meta_reaches_a_strategy(matrix: PassMatrix, stream: Any) -> None:
    human_M = np.array([stream.choice("PFETKBNU") for _ in matrix.solution_ids or range(len(matrix.verdicts_MN))])
    meta = {"recorded_verdicts": ["PF"], "recorded_human": "".join(human_M)}
    told = replace(matrix, human_M=human_M, meta=meta)
    untold = replace(matrix, human_M=None, meta={})
    assert pack([evidence_of(told)]) == pack([evidence_of(untold)])
