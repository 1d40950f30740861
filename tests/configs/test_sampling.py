"""Sampling has one name for each kind of call, the same in a search and in a synthesis."""

import pytest

from evosyn.chat import Reply, Request, roomier
from evosyn.configs.loading import load_config
from evosyn.errors import UsageError
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.search.config import EvolveConfig


@pytest.mark.parametrize("kind", [EvolveConfig, SynthesizeConfig])
@pytest.mark.parametrize("key", ["draw.solution", "draw.testing"])
def test_what_is_given_stands_over_the_defaults_and_null_sends_none(kind: type, key: str) -> None:
    config = load_config(kind, sets=[f"{key}.max_tokens=16000", f"{key}.temperature=null", f"{key}.top_p=0.9"])
    given = getattr(config.draw, key.partition(".")[2])
    assert given == {"max_tokens": 16000, "temperature": None, "top_p": 0.9}
    other = config.draw.testing if key.endswith("solution") else config.draw.solution
    assert other == {"temperature": 1.0, "max_tokens": "auto"}
    assert load_config(kind, sets=[f"{key}={given}".replace("None", "null")]).draw == config.draw


def test_a_search_without_them_has_the_identity_that_it_had_before() -> None:
    plain = EvolveConfig().identity()
    assert "params" not in plain["proposers"] and "draw" not in plain
    hotter = load_config(EvolveConfig, sets=["proposers.params.temperature=1.2", "draw.solution.max_tokens=9"])
    assert hotter.identity() == plain, "an old run goes on with them"


def test_a_search_draws_at_once() -> None:
    with pytest.raises(UsageError, match="only evosyn synthesize draws in rounds"):
        load_config(EvolveConfig, sets=["draw.adaptive.start=4"])


@pytest.mark.parametrize(
    ("params", "failure", "length"),
    [({"max_tokens": 100}, "truncated", 400), ({"max_tokens": 100}, "empty", 100), ({}, "truncated", None)],
)
def test_only_a_reply_that_was_cut_gets_more_room(params: dict, failure: str, length: int | None) -> None:  # type: ignore[type-arg]
    request = Request((), "solution", params, 3)
    again = roomier(request, Reply("r", "", "m", failure=failure))
    assert again.params.get("max_tokens") == length and again.sample == 3
