"""A search that an earlier version began goes on as it was begun, or is refused by name."""

from pathlib import Path

import pytest

from evosyn.configs.loading import load_config
from evosyn.errors import OtherSettings
from evosyn.evolve.events import events_of
from evosyn.journal import Journal
from evosyn.reading.search_journal import config_of_strategies
from evosyn.records import Json
from evosyn.strategies.proposers.genetic import AROUND, GeneticConfig
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.parts import as_begun


def header(config: EvolveConfig, *without: str) -> dict[str, Json]:
    """The header of a search, without what earlier versions did not write."""
    told = config.identity()
    for name in without:
        del (told["proposers"] if name == "around" else told)[name]
    return {"kind": "evolve", "config": told}


def begun(path: Path, *without: str, config: EvolveConfig = EvolveConfig()) -> Journal:  # noqa: B008  (it is frozen)
    journal = Journal(path / "journal.jsonl")
    events_of(journal).begin(header(config, *without))
    journal.close()
    return Journal(path / "journal.jsonl")


def test_how_many_variants_follow_a_program_is_always_said_and_has_one_default():
    assert EvolveConfig().proposers.around == GeneticConfig().around == AROUND
    for around in (AROUND, 128, 7):
        config = load_config(EvolveConfig, sets=[f"proposers.around={around}"])
        assert config.identity()["proposers"]["around"] == around


@pytest.mark.parametrize(("without", "around"), [(("around", "views"), 128), (("around",), 160), ((), AROUND)])
def test_a_search_that_did_not_say_how_many_goes_on_with_the_default_of_its_time(tmp_path, without, around):
    journal = begun(tmp_path, *without)
    config = as_begun(EvolveConfig(), journal)
    assert (config.proposers.around, config.views) == (around, "views" not in without)
    events_of(journal).begin(header(config))
    told = config_of_strategies(journal)
    assert told is not None and (told["proposers"]["around"], told["views"]) == (around, config.views)


def test_a_search_that_was_begun_with_as_many_by_name_goes_on_with_them(tmp_path):
    fewer = load_config(EvolveConfig, sets=["proposers.around=128"])
    journal = begun(tmp_path, config=fewer)
    assert as_begun(EvolveConfig(), journal) == as_begun(fewer, journal) == fewer


@pytest.mark.parametrize("without", [("around", "views"), ("around",), ()])
def test_another_number_than_it_was_begun_with_is_refused_by_name(tmp_path, without):
    journal = begun(tmp_path, *without)
    config = as_begun(load_config(EvolveConfig, sets=["proposers.around=64"]), journal)
    with pytest.raises(OtherSettings, match=r"proposers.around: 1\d\d there, 64 asked for"):
        events_of(journal).begin(header(config))


def test_a_journal_of_another_kind_of_run_is_left_to_be_refused(tmp_path):
    journal = Journal(tmp_path / "journal.jsonl")
    events_of(journal).begin({"kind": "synthesize"})
    assert as_begun(EvolveConfig(), journal) == EvolveConfig()
