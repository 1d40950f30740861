"""Configuration: later sources win, unknown keys are errors that name the nearest key."""

from pathlib import Path

import pytest
from pydantic import BaseModel, ConfigDict

from evosyn.configs.loading import load_config, preset_names
from evosyn.errors import UsageError


class Inner(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    islands: int = 4
    ratio: float = 0.5


class Outer(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)
    seed: int = 0
    evolve: Inner = Inner()


def test_file_then_set_then_flags_each_over_the_one_before(tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_text("seed: 1\nevolve: {islands: 2, ratio: 0.1}\n")
    config = load_config(
        Outer, file=file, sets=["evolve.islands=3"], flags={"evolve.islands": 9, "seed": None, "evolve.ratio": None}
    )
    assert config == Outer(seed=1, evolve=Inner(islands=9, ratio=0.1))


def test_an_unknown_key_names_the_nearest_one() -> None:
    with pytest.raises(UsageError, match=r"unknown key 'evolve.iland'.*did you mean 'islands'"):
        load_config(Outer, sets=["evolve.iland=3"])


def test_a_wrong_value_names_key_and_value(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"evolve.islands.*'many'"):
        load_config(Outer, sets=["evolve.islands=many"])
    broken = tmp_path / "broken.yaml"
    broken.write_text("a: [")
    with pytest.raises(UsageError, match="is not YAML"):
        load_config(Outer, file=broken)
    with pytest.raises(UsageError, match="No such file"):
        load_config(Outer, file=tmp_path / "none.yaml")
    with pytest.raises(UsageError, match=r"key\.key=value"):
        load_config(Outer, sets=["evolve"])


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no such preset"):
        load_config(Outer, preset="nothing-like-this")
    assert "nothing-like-this" not in preset_names()
