"""Sampling has one name for each kind of call, the same in a search and in a synthesis."""

import pytest

from evosyn.chat import Reply, Request, roomier
from evosyn.configs.loading import load_config
from evosyn.errors import UsageError
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.search.config import EvolveConfig


@pytest.mark.parametrize("kind", [EvolveConfig, SynthesizeConfig])
@pytest.mark.parametrize("key", ["sampling.solution", "sampling.testing"])
def test_what_is_given_stands_over_the_defaults_and_null_sends_none(kind: type, key: str) -> None:
    config = load_config(kind, sets=[f"{key}.max_tokens=16000", f"{key}.temperature=null", f"{key}.top_p=0.9"])
    told = {"solution": config.sampling.solution, "testing": config.sampling.testing.params}
    given = told.pop(key.partition(".")[2])
    assert given == {"max_tokens": 16000, "temperature": None, "top_p": 0.9}
    assert [*told.values()] == [{"temperature": 1.0, "max_tokens": "auto"}]
    assert load_config(kind, sets=[f"{key}={given}".replace("None", "null")]).sampling == config.sampling


@pytest.mark.parametrize("kind", [EvolveConfig, SynthesizeConfig])
def test_the_form_of_testings_is_no_parameter_of_theirs(kind: type) -> None:
    config = load_config(kind, sets=["sampling.testing.form=json", "sampling.testing.min_p=0.1"])
    assert config.sampling.manner.form == "json"
    assert config.sampling.testing.params == {"temperature": 1.0, "max_tokens": "auto", "min_p": 0.1}
    with pytest.raises(UsageError, match=r"sampling\.testing.*max_tokens: a whole number"):
        load_config(kind, sets=["sampling.testing.max_tokens=0"])


def test_a_search_without_them_has_the_identity_that_it_had_before() -> None:
    plain = EvolveConfig().identity()
    assert "sampling" not in plain
    hotter = load_config(EvolveConfig, sets=["sampling.strategy.temperature=1.2", "sampling.solution.max_tokens=9"])
    assert hotter.identity() == plain, "an old run goes on with them"


def test_a_search_draws_at_once() -> None:
    with pytest.raises(UsageError, match=r"sampling\.adaptive"):
        load_config(EvolveConfig, sets=["sampling.adaptive.start=4"])


@pytest.mark.parametrize(
    ("params", "failure", "length"),
    [({"max_tokens": 100}, "truncated", 400), ({"max_tokens": 100}, "empty", 100), ({}, "truncated", None)],
)
def test_only_a_reply_that_was_cut_gets_more_room(params: dict, failure: str, length: int | None) -> None:  # type: ignore[type-arg]
    request = Request((), "solution", params, 3)
    again = roomier(request, Reply("r", "", "m", failure=failure))
    assert again.params.get("max_tokens") == length and again.sample == 3
