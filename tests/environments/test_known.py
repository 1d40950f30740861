"""The environments that come with evosyn stand on every rung of the ladder, whatever seed draws their instances."""

from __future__ import annotations

import os
import random
from collections import Counter

import pytest

from evosyn.environments import BUILTIN, bundled, environment, sources
from evosyn.environments.contract import CATEGORIES
from evosyn.environments.ladder import Ladder
from evosyn.environments.novelty import NoveltyPool

SEED = os.environ.get("EVOSYN_TEST_SEED", "0")
NAMES = [*bundled("known"), *bundled("held-out")]
DRAWN = random.Random(f"environments/{SEED}").sample(NAMES, 4)


def stands(ladder: Ladder, name: str) -> None:
    climb = ladder.check(sources([f"builtin:{name}"])[name])
    assert (climb.level, climb.reason) == (5, ""), climb
    assert climb.figures["right"] == 1.0 and len(climb.prompts) == 5


@pytest.mark.parametrize("name", DRAWN, ids=lambda name: f"{name}-seed-{SEED}")
def test_a_drawn_one_passes(ladder: Ladder, name: str) -> None:
    stands(ladder, name)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_each_passes(ladder: Ladder, name: str) -> None:
    stands(ladder, name)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_none_is_rejected_for_the_instances_it_happened_to_draw(sandboxes: tuple, name: str) -> None:  # type: ignore[type-arg]
    for seed in (11, 12, 13):
        climb = Ladder(*sandboxes, seed=seed).check(sources([f"builtin:{name}"])[name])
        assert not climb.reason, (seed, climb)


def test_there_are_enough_of_them_in_all_categories_and_none_is_both_shown_and_held_out() -> None:
    known, held = bundled("known"), bundled("held-out")
    assert (len(known), len(held)) == (28, 12) and not set(known) & set(held)
    made = [environment(f"builtin:{name}") for name in NAMES]
    assert set(Counter(one.category for one in made)) == set(CATEGORIES)
    assert all(one.provenance == BUILTIN and one.solves for one in made)
    assert len({one.id for one in made}) == 40


def test_they_are_new_to_each_other_by_their_code() -> None:
    pool = NoveltyPool()
    for name in NAMES:
        one = environment(f"builtin:{name}")
        nearest = pool.nearest(one, [one.title])
        assert nearest is None or not nearest.reason, (name, nearest)
        pool.add(one, [one.title])
