import pytest

from evosyn.train.shaping import cosine, format_score, soft_overlong


@pytest.mark.parametrize(
    ("text", "kind", "expected"),
    [
        ("```python\nx = 1\n```", "fence", 1.0),
        ("Here it is:\n```\nx = 1\n```\nDone.", "fence", 1.0),
        ("x = 1", "fence", 0.0),
        ("```python\nx\n```\n```python\ny\n```", "fence", 0.0),
        ("```python\nx = 1", "fence", 0.0),
        ("<think>hm</think><answer>1</answer>", "think", 1.0),
        ("<think>hm</think>\n1", "think", 0.0),
        ("<think>a</think><think>b</think><answer>1</answer>", "think", 0.0),
        ("so \\boxed{\\frac{1}{2}}.", "boxed", 1.0),
        ("so \\boxed{1", "boxed", 0.0),
        ("so \\boxed{}", "boxed", 0.0),
        ("so 1", "boxed", 0.0),
        ("", "fence", 0.0),
        ("", "think", 0.0),
    ],
)
def test_format_is_paid_only_for_the_asked_form(text: str, kind: str, expected: float) -> None:
    assert format_score(text, kind) == expected


def test_soft_overlong_is_free_up_to_the_buffer_and_full_at_the_limit() -> None:
    assert [soft_overlong(length, 100) for length in (0, 80, 90, 100, 130)] == [0.0, 0.0, -0.5, -1.0, -1.0]


def test_cosine_pays_short_passes_most_and_short_failures_least() -> None:
    assert cosine(True, 0, 100) == 1.0
    assert cosine(True, 100, 100) == pytest.approx(0.5)
    assert cosine(False, 0, 100) == -1.0
    assert cosine(False, 100, 100) == pytest.approx(-0.5)
    assert cosine(True, 10, 100) > cosine(True, 60, 100) > cosine(False, 60, 100) > cosine(False, 10, 100)
