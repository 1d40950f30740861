"""The seed tree: streams depend on root and path only, and neighbours share nothing."""

from hypothesis import given
from hypothesis import strategies as st

from evosyn.randomness import SeedTree

STEPS = st.lists(st.text(max_size=6) | st.integers(), max_size=4)


@given(st.integers(), STEPS)
def test_the_same_path_gives_the_same_stream(root: int, steps: list[str | int]) -> None:
    first, second = SeedTree(root).child(*steps), SeedTree(root, tuple(steps))
    assert first.rng().random() == second.rng().random()
    assert first.random().random() == second.random().random()


def test_neighbouring_roots_and_paths_give_other_streams() -> None:
    nodes = [SeedTree(root).child(name, index) for root in range(5) for name in ("a", "b") for index in range(5)]
    assert len({node.integer() for node in nodes}) == 50
    assert SeedTree(1).child("1").integer() != SeedTree(1).child(1).integer()
    assert SeedTree(1).child("a", "b").integer() != SeedTree(1).child("ab").integer()
