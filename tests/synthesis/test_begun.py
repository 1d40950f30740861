"""A search goes on as it was begun, or is refused by name."""

import pytest

from evosyn.configs.loading import load_config
from evosyn.errors import OtherSettings
from evosyn.evolve.events import events_of
from evosyn.journal import Journal
from evosyn.strategies.proposers.genetic import AROUND, GeneticConfig
from evosyn.synthesis.search.config import EvolveConfig


def test_how_many_variants_follow_a_program_is_always_said_and_has_one_default():
    assert EvolveConfig().proposers.around == GeneticConfig().around == AROUND
    for around in (AROUND, 128, 7):
        config = load_config(EvolveConfig, sets=[f"proposers.around={around}"])
        assert config.identity()["proposers"]["around"] == around
        assert "params" not in config.identity()["proposers"], "how models are asked is no part of what a search is"


def test_another_number_than_it_was_begun_with_is_refused_by_name(tmp_path):
    events = events_of(Journal(tmp_path / "journal.jsonl"))
    events.begin({"kind": "evolve", "config": EvolveConfig().identity()})
    other = load_config(EvolveConfig, sets=["proposers.around=64"])
    with pytest.raises(OtherSettings, match=r"proposers.around: 160 there, 64 asked for"):
        events.begin({"kind": "evolve", "config": other.identity()})
