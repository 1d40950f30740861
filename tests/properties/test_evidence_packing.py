"""Whatever evidence goes into the sandbox's pack comes out of it as it was, and cannot be written to."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.records import Evidence, PassMatrix
from evosyn.strategies.evidence import ALWAYS, MAYBE, evidence_of, unknown
from evosyn.strategies.running._harness import DTYPES, READERS, ShownEvidence
from evosyn.strategies.running.packing import pack
from tests.properties.drawn_matrices import drawn_matrices

FIELDS = {
    **{name: f"{name}_MN" for name in ("passed", "known")},
    "cases": "cases_NMC",
    "copies": "copies_M",
    "replies": "replies_N",
}
FIELDS |= {"solution_groups": "solution_group_M", "testing_groups": "testing_group_N"}
FIELDS |= MAYBE
"""The field of `Evidence` behind each name that a program uses."""


def same(seen: Any, value: Any) -> None:
    """Equal values; whatever is an array cannot be written to."""
    if isinstance(value, np.ndarray):
        np.testing.assert_array_equal(seen, value)
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


def renumbered(values: Any) -> Any:
    """Digests of values as numbers by first appearance in each testing, row by row; 0 stays."""

    def of_testing(digests_MC: Any) -> Any:
        places: dict[int, int] = {}
        numbers = [places.setdefault(digest, len(places)) + 1 for digest in digests_MC.ravel().tolist()]
        return np.where(digests_MC == 0, 0, np.array(numbers, np.uint64).reshape(digests_MC.shape))

    return None if values is None else tuple(None if one is None else of_testing(one) for one in values)


def shown(evidences: list[Evidence]) -> list[ShownEvidence]:
    packed = pack(evidences)
    opened = {**packed, **{key: np.frombuffer(packed[key], dtype) for key, dtype in DTYPES.items()}, "unknown": set()}
    return [ShownEvidence(opened, index) for index in range(len(evidences))]


@settings(max_examples=100, deadline=None)
@given(st.lists(drawn_matrices(), min_size=1, max_size=4))
def test_evidence_survives_packing_and_is_read_only(found: list[PassMatrix]) -> None:
    evidences = [evidence_of(matrix) for matrix in found]
    assert set(FIELDS) == set(READERS) == {*ALWAYS, *MAYBE}
    assert set(FIELDS.values()) == {field.name for field in fields(Evidence)}
    for evidence, inside in zip(evidences, shown(evidences), strict=True):
        inside._pack["unknown"].clear()
        for name, field in FIELDS.items():
            given = getattr(evidence, field)
            same(getattr(inside, name), renumbered(given) if name == "values" else given)
        assert inside._pack["unknown"] == unknown(evidence)


@settings(max_examples=50, deadline=None)
@given(drawn_matrices(), st.randoms(use_true_random=False))
def test_nothing_human_and_no_meta_reaches_a_strategy(matrix: PassMatrix, stream: Any) -> None:
    human_M = np.array([stream.choice("PFETKBNU") for _ in matrix.solution_ids or range(len(matrix.verdicts_MN))])
    meta = {"recorded_verdicts": ["PF"], "recorded_human": "".join(human_M)}
    told = replace(matrix, human_M=human_M, meta=meta)
    untold = replace(matrix, human_M=None, meta={})
    assert pack([evidence_of(told)]) == pack([evidence_of(untold)])
