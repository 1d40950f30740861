"""One codec for records: what goes out comes back, short; what is none is refused with field, rule and value."""

from dataclasses import dataclass, field
from typing import Annotated, Any

import numpy as np
import pytest

from evosyn.codec import Through, dump, load
from evosyn.errors import FormatError
from evosyn.matrices import StoredMatrix
from evosyn.records import Candidate, Elite, Evaluation, Invalid, PassMatrix, Ranking


@dataclass(frozen=True)
class Judged:
    ranking: Ranking | Invalid | None = None
    matrix: StoredMatrix | None = None


ELITE = Elite(
    Candidate("x\ud800", ("c_1",), "rewrite", {"model": "m", "deep": [1, {"a": None}]}),
    Evaluation(1.0, per_seed=(0.5, 1.0)),
)


def test_defaults_are_left_out_unless_they_are_asked_for() -> None:
    assert dump(Candidate("x")) == {"text": "x"}
    assert dump(Candidate("x"), defaults=True) == {"text": "x", "parents": [], "proposer": "initial", "detail": {}}


def test_nested_records_odd_texts_and_free_json_come_back() -> None:
    assert load(Elite, dump(ELITE)) == ELITE
    assert load(Elite, dump(ELITE, defaults=True)) == ELITE


def test_what_is_computed_from_a_record_is_not_written() -> None:
    candidate = Candidate("x")
    assert candidate.id and dump(candidate) == {"text": "x"}


def test_arrays_and_matrices_come_back() -> None:
    matrix = PassMatrix("p", np.array([["P", "F"], ["P", "U"]]), meta={"a": 1})
    found = load(Judged, dump(Judged(Ranking(np.array([0.5, 1]), np.array([2.0, 3])), matrix)))
    assert isinstance(found.ranking, Ranking) and found.ranking.testing_scores_N.tolist() == [2.0, 3.0]
    assert found.matrix is not None and found.matrix.digest == matrix.digest and found.matrix.meta == {"a": 1}
    assert load(Judged, dump(Judged(Invalid("late")))) == Judged(Invalid("late"))


@pytest.mark.parametrize(
    ("kind", "value", "said"),
    [
        (Candidate, {"text": 3}, "text: must be a text"),
        (Candidate, {}, "text: is missing"),
        (Candidate, {"text": "x", "parent": []}, "parent: is not a field of it"),
        (Candidate, ["x"], "must be an object"),
        (Elite, {"candidate": {"text": "x"}, "evaluation": {"score": 1, "per_seed": [1, []]}},
         r"evaluation\.per_seed\[1\]: must be a number"),
        (Judged, {"ranking": [[1], [{}]]}, "must be two lists of numbers"),
        (Judged, {"matrix": {"problem_id": "p", "verdicts": ["PX"]}}, r"matrix\.verdicts\[0\]: unknown letter 'X'"),
    ],
)  # fmt: skip
def test_what_is_no_such_record_is_refused_with_its_field(kind: type, value: Any, said: str) -> None:
    with pytest.raises(FormatError, match=said):
        load(kind, value)


def test_a_mistyped_field_is_told_its_likely_name() -> None:
    with pytest.raises(FormatError) as caught:
        load(Candidate, {"text": "x", "parent": []})
    assert caught.value.hint == "Did you mean 'parents'?"


@pytest.mark.parametrize("wrong", [Candidate(3), Candidate("x", ["c_1"]), Candidate("x", detail={"at": object()})])
def test_a_record_that_is_not_what_it_says_is_not_written(wrong: Candidate) -> None:
    with pytest.raises(ValueError, match=r"`str`|`tuple\[str, ...\]`|object"):
        dump(wrong)


def test_a_number_that_json_does_not_know_is_never_written_as_null() -> None:
    @dataclass(frozen=True)
    class Free:
        anything: dict[str, Any] = field(default_factory=dict)
        score: float = 0.0

    found = dump(Free({"a": float("nan")}, float("inf")))
    assert found["anything"]["a"] != found["anything"]["a"] and found["score"] == float("inf")


def test_an_interrupt_while_a_record_is_written_stays_an_interrupt() -> None:
    def interrupted(_value: object) -> object:
        raise KeyboardInterrupt

    @dataclass(frozen=True)
    class Slow:
        value: Annotated[int, Through(int, interrupted)]

    with pytest.raises(KeyboardInterrupt):
        dump(Slow(1))
