"""Wrong answers near a right one."""

from __future__ import annotations

import pytest

from evosyn.environments.probes import ROUNDED, literals, perturbed, shortcuts


@pytest.mark.parametrize(("answer", "others"), [("42", {"43", "41", "49"}), ("3/4", {"3/5", "3/3", "3/11"})])
def test_a_whole_number_is_missed_by_little(answer: str, others: set[str]) -> None:
    assert others <= set(perturbed(answer).values())


@pytest.mark.parametrize("answer", ["3.14", "1234567.25", "0.5", "-0.25", "x = 2.75", "12.0625"])
def test_a_decimal_is_missed_by_more_than_a_rounding(answer: str) -> None:
    number = float(answer.rpartition(" ")[2])
    for name, text in perturbed(answer).items():
        if name == "coarse":
            assert abs(float(text.rpartition(" ")[2]) - number) == pytest.approx(
                100 * 10.0 ** -len(answer.partition(".")[2])
            )
            continue
        try:
            missed = float(text.rpartition(" ")[2])
        except ValueError:
            continue
        assert abs(missed - number) > ROUNDED * max(1.0, abs(number)) or text.count(" ") != answer.count(" "), text
    assert {"plus-1", "minus-1", "plus-7", "longer"} <= set(perturbed(answer))


def test_numbers_of_any_size_are_texts_like_others() -> None:
    """Python writes no integers of more than 4300 digits, and has no float for one of 400."""
    assert literals(f"a = 0x{'f' * 5000}\nb = (7, -12, 10, 1e999, {10**99})\n") == ["7", "10", "inf", str(10**99), "12"]
    for answer in ("9" * 1999, f"x = -{'9' * 399}.5", f"{'9' * 900}.{'9' * 900}"):
        assert answer not in perturbed(answer).values()
        assert shortcuts(f"What is {answer} times 2?")["last-word"] == "2"
