"""Whatever evidence goes into the sandbox's pack comes out of it as it was, and cannot be written to."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.records import PassMatrix
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.running._harness import DTYPES, READERS, ShownEvidence
from evosyn.strategies.running.sandboxed import pack

LETTERS = "PFETKBNU"


@st.composite
def matrices(draw: st.DrawFn) -> PassMatrix:
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    texts, cases = draw(st.booleans()), draw(st.booleans())
    counts = [draw(st.integers(0, 3)) for _ in range(columns)]
    return PassMatrix(
        "p",
        rng.choice(list(LETTERS), (rows, columns)),
        human_M=rng.choice(list(LETTERS), rows),
        cases_NMC=tuple(rng.choice(list(LETTERS), (rows, count)) for count in counts) if cases else None,
        durations_MN=rng.random((rows, columns)) if draw(st.booleans()) else None,
        copies_M=rng.integers(1, 9, rows) if draw(st.booleans()) else None,
        solution_texts=tuple(draw(st.text(max_size=5)) for _ in range(rows)) if texts else (),
        testing_texts=tuple(draw(st.text(max_size=5)) for _ in range(columns)) if texts else (),
    )


@settings(max_examples=60, deadline=None)
@given(st.lists(matrices(), min_size=1, max_size=4))
def test_evidence_survives_packing_and_is_read_only(found: list[PassMatrix]) -> None:
    evidences = [evidence_of(matrix) for matrix in found]
    packed = pack(evidences)
    opened = {**packed, **{key: np.frombuffer(packed[key], dtype) for key, dtype in DTYPES.items()}}
    for index, evidence in enumerate(evidences):
        inside = ShownEvidence(opened, index)
        expected = (
            evidence.passed_MN, evidence.known_MN, evidence.cases_NMC, evidence.durations_MN, evidence.copies_M,
            evidence.solution_group_M, evidence.testing_group_N, evidence.solution_texts, evidence.testing_texts,
        )  # fmt: skip
        for name, value in zip(READERS, expected, strict=True):
            seen = getattr(inside, name)
            if name == "cases":
                assert [case.tolist() for case in seen] == [case.tolist() for case in value]
            elif name.endswith("texts"):
                assert seen == value
            else:
                assert seen.tolist() == value.tolist()
                with pytest.raises(ValueError, match="read-only"):
                    seen[...] = 0
                with pytest.raises(ValueError, match="WRITEABLE"):
                    seen.flags.writeable = True
