"""Lines that are made when they are read: to everybody else the tuple that they make."""

import pickle
from dataclasses import replace

import pytest

from evosyn.codec import dump, load
from evosyn.deferred import Deferred
from evosyn.errors import FormatError
from evosyn.records import Evaluation


class Making:
    def __init__(self) -> None:
        self.asked = 0

    def __call__(self) -> tuple[str, ...]:
        self.asked += 1
        return "a", "b"


def test_they_are_made_once_and_not_before_somebody_reads_them():
    make = Making()
    lines = Deferred(make)
    held = replace(Evaluation(0.5, feedback=lines), seconds=1.0)
    assert make.asked == 0
    assert held.feedback == ("a", "b") and ("a", "b") == lines != ("a",)
    assert list(lines) == ["a", "b"] and lines[0] == "a" and lines[1:] == ("b",) and len(lines) == 2
    assert hash(lines) == hash(("a", "b")) and make.asked == 1


def test_they_are_stored_and_pickled_as_a_tuple():
    told = Evaluation(0.5, feedback=("a", "b"), notes=("a", "b"))
    later = Evaluation(0.5, feedback=Deferred(Making()), notes=Deferred(Making()))
    assert dump(told) == dump(later) and told == later
    assert isinstance(load(Evaluation, dump(later)).feedback, tuple)
    again = pickle.loads(pickle.dumps(later))
    assert again == told and isinstance(again.notes, tuple)
    assert "feedback" not in dump(Evaluation(0.5, feedback=Deferred(lambda: ())))


@pytest.mark.parametrize("wrong", ["text", [1]])
def test_what_is_no_list_of_texts_is_not_read(wrong):
    with pytest.raises(FormatError, match="must be a"):
        load(Evaluation, {"score": 0.5, "feedback": wrong})
