"""How alike texts are: symmetric, 1 for equal ones, blind to what all begin with, whatever the texts hold."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.textual import LONGEST, similarity


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=40), max_size=6))
def test_it_is_symmetric_bounded_and_1_for_equal_texts(texts):
    found = similarity(texts)
    assert found.shape == (len(texts), len(texts)) and np.array_equal(found, found.T)
    assert ((found >= 0) & (found <= 1)).all() and np.array_equal(found, found.round(4))
    for row, one in enumerate(texts):
        assert all(found[row, column] == 1 for column, other in enumerate(texts) if one == other)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.text(max_size=30), min_size=2, max_size=5), st.randoms(use_true_random=False))
def test_the_order_of_the_texts_does_not_matter(texts, random):
    order = list(range(len(texts)))
    random.shuffle(order)
    assert np.array_equal(similarity([texts[at] for at in order]), similarity(texts)[np.ix_(order, order)])


def test_what_all_texts_begin_with_says_nothing():
    head = "def f(values):\n    '''A long statement that every solution repeats.'''\n"
    bodies = ["return sorted(values)", "return sorted(values)[::-1]", "raise NotImplementedError"]
    assert np.array_equal(similarity([head + body for body in bodies]), similarity(bodies))


def test_a_near_copy_is_nearer_than_another_program():
    found = similarity(["for x in y:\n    total += x", "for x in ys:\n    total += x", "import math"])
    assert found[0, 1] > 0.7 > 0.2 > found[0, 2]


def test_long_texts_are_looked_at_in_part():
    one, other = "ab" * LONGEST, "ab" * LONGEST + "!"
    assert similarity(["z" + one, "y" + other, "other"])[0, 1] > 0.99
