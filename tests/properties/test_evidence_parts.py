"""Every permutation and sub-matrix of evidence shows each cell, text and value where its row and column went."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.evaluators.columns import in_unit
from evosyn.records import ParsedCall, PassMatrix
from evosyn.strategies.evidence import evidence_of, select, sub_matrix
from tests.properties.drawn_matrices import drawn_matrices

BY_CELL = ("passed_MN", "known_MN", "verdicts_MN", "durations_MN")
BY_ROW = ("copies_M", "solution_texts")
BY_COLUMN = ("testing_texts",)
BY_CASE = ("cases_NMC",)
HELD = ("calls_N", "values_NMC")
"""None where no column has any."""
SQUARE = {"solution_similarity_MM": 0, "testing_similarity_NN": 1}
WHOLE = ("statement", "payload")


@st.composite
def cuts(draw: st.DrawFn) -> tuple[PassMatrix, Any, Any]:
    """A matrix, and some of its rows and columns in some order."""
    matrix = draw(drawn_matrices())
    some = [draw(st.permutations(range(size)))[: draw(st.integers(1, size))] for size in matrix.verdicts_MN.shape]
    return matrix, np.array(some[0]), np.array(some[1])


def is_there(whole: Any, part: Any) -> bool:
    """Whether a field has anything to follow; it is missing in both or in neither."""
    missing = whole is None or len(whole) == 0
    assert missing == (part is None or len(part) == 0)
    return not missing


def hold_together(whole: Any, part: Any, rows: Any, columns: Any) -> None:
    for name in WHOLE:
        assert getattr(part, name) == getattr(whole, name)
    for names, places in ((BY_ROW, rows), (BY_COLUMN, columns)):
        for name in names:
            old, new = getattr(whole, name), getattr(part, name)
            if is_there(old, new):
                assert [new[place] for place in range(len(places))] == [old[place] for place in places]
    for m, row in enumerate(rows):
        for n, column in enumerate(columns):
            for name in BY_CELL:
                assert getattr(part, name)[m, n] == getattr(whole, name)[row, column]
            for name in BY_CASE:
                old, new = getattr(whole, name), getattr(part, name)
                if is_there(old, new) and is_there(old[column], new[n]):
                    assert new[n][m].tolist() == old[column][row].tolist()
    for name in HELD:
        old = getattr(whole, name) or [None] * whole.passed_MN.shape[1]
        cut, new = [old[column] for column in columns], getattr(part, name)
        assert (new is None) == all(one is None for one in cut)
        for one, other in zip(cut, new or cut, strict=True):
            same = one[rows].tolist() == other.tolist() if name == "values_NMC" and one is not None else one == other
            assert same or (one is None and other is None)
    for name, axis in SQUARE.items():
        old, new, places = getattr(whole, name), getattr(part, name), (rows, columns)[axis]
        if is_there(old, new):
            assert new.tolist() == [[old[one, other] for other in places] for one in places]


@settings(max_examples=200, deadline=None)
@given(cuts())
def test_every_field_follows_its_rows_and_columns(cut: tuple[PassMatrix, Any, Any]) -> None:
    matrix, rows, columns = cut
    whole = evidence_of(matrix)
    hold_together(whole, select(whole, rows, columns), rows, columns)
    part = sub_matrix(matrix, rows, columns)
    hold_together(whole, evidence_of(part), rows, columns)
    assert part.human_M is not None
    assert part.human_M.tolist() == [matrix.human_M[row] for row in rows]  # type: ignore[index]


@settings(max_examples=100, deadline=None)
@given(drawn_matrices().filter(lambda matrix: matrix.cases_NMC is not None and not matrix.testing_texts))
def test_each_case_that_becomes_a_testing_keeps_its_call_and_values(matrix: PassMatrix) -> None:
    """And one that asks and expects what another does is no second one."""
    single = in_unit(matrix, "case")
    assert matrix.cases_NMC is not None
    at, asked = 0, set[ParsedCall]()
    for n, cases_MC in enumerate(matrix.cases_NMC):
        count = cases_MC.shape[1]
        for c in range(count or 1):
            whole = cases_MC[:, c] if count else matrix.verdicts_MN[:, n]
            calls = matrix.calls_N[n] if matrix.calls_N is not None and count else None
            call = calls[c] if calls else None
            if call is not None and call.expected is not None:
                if call in asked:
                    continue
                asked.add(call)
            assert single.verdicts_MN[:, at].tolist() == whole.tolist()
            assert single.calls_N is None or single.calls_N[at] == (None if calls is None else (calls[c],))
            values = matrix.values_NMC[n] if matrix.values_NMC is not None and count else None
            now = None if single.values_NMC is None else single.values_NMC[at]
            assert (now is None) == (values is None)
            assert now is None or values is None or now.tolist() == values[:, [c]].tolist()
            at += 1
    assert single.verdicts_MN.shape[1] == at
