"""Records: ids depend on content alone, matrices know what they know."""

import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from evosyn.codec import dump
from evosyn.nesting import DEEPEST
from evosyn.records import (
    PassMatrix,
    Problem,
    Provenance,
    Solution,
    Testing,
    Verdict,
    canonical_json,
    json_text,
)

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_the_text_of_a_value_is_that_of_json(value: object) -> None:
    assert json_text(value) == canonical_json(value)


def test_what_is_not_json_has_no_text() -> None:
    deep: list[object] = []
    for _ in range(100_000):
        deep = [deep]
    assert [json_text(one) for one in (float("nan"), {1, 2}, b"", [float("inf")], deep)] == [None] * 5


@pytest.mark.parametrize("wrap", [lambda one: [one], lambda one: {"a": 1, "b": one}, lambda one: (0, one)])
def test_a_value_from_outside_is_taken_up_to_a_depth_that_the_codec_writes(wrap) -> None:  # type: ignore[no-untyped-def]
    value: object = "[" * 999
    for _ in range(DEEPEST):
        value = wrap(value)
    assert json_text(value) == canonical_json(value)
    around = Provenance(detail={str(depth): value for depth in range(3)})
    assert dump(around)["detail"] == json.loads(canonical_json(around.detail))
    assert json_text(wrap(value)) is None


@given(st.text(), st.text())
def test_the_id_of_a_solution_is_its_source_whoever_wrote_it(source: str, author: str) -> None:
    assert Solution(source).id == Solution(source, Provenance(author)).id


@given(st.dictionaries(st.text(), JSON, max_size=5))
def test_the_id_of_a_testing_does_not_depend_on_the_order_of_its_keys(body: dict[str, object]) -> None:
    backwards = dict(reversed(body.items()))
    assert Testing("cases", body).id == Testing("cases", backwards).id


def test_problems_of_equal_statement_share_an_id_and_others_do_not() -> None:
    first = Problem("a", "python-function", "Add.", payload={"entry_point": "add"})
    assert first.id == Problem("b", "python-function", "Add.", payload={"entry_point": "add"}, line=7).id
    assert first.id != Problem("a", "python-function", "Add!", payload={"entry_point": "add"}).id


def test_canonical_json_refuses_what_is_not_json() -> None:
    with pytest.raises(ValueError, match="Out of range"):
        canonical_json(float("nan"))


def test_unknown_cells_are_neither_passed_nor_known() -> None:
    matrix = PassMatrix("p", np.array([list("PFETKBNU")]))
    assert matrix.passed_MN.tolist() == [[True] + [False] * 7]
    assert matrix.known_MN.tolist() == [[True] * 6 + [False] * 2]


def test_the_digest_of_a_matrix_sees_verdicts_and_human_but_not_durations() -> None:
    verdicts_MN = np.array([["P", "F"], ["F", "F"]])
    plain = PassMatrix("p", verdicts_MN)
    assert plain.digest == PassMatrix("p", verdicts_MN, durations_MN=np.ones((2, 2))).digest
    assert plain.digest != PassMatrix("p", verdicts_MN, human_M=np.array(["P", "F"])).digest
    assert plain.digest != PassMatrix("p", verdicts_MN[::-1]).digest


def test_every_letter_is_one_character() -> None:
    assert all(len(verdict.value) == 1 for verdict in Verdict)
