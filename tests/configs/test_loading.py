"""Configuration: later sources win, unknown keys are errors that name the nearest key."""

from pathlib import Path

import pytest
import yaml
from pydantic import BaseModel, ConfigDict

from evosyn.configs.loading import load_config, preset_names, validated
from evosyn.errors import UsageError
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.train.config import RlvrConfig


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


@pytest.mark.parametrize("pair", ["evolve", "=3", ".=3", " = 3"])
def test_a_pair_without_a_key_or_a_value_says_how_it_is_written(pair: str) -> None:
    with pytest.raises(UsageError, match=r"key\.key=value"):
        load_config(Outer, sets=[pair])


@pytest.mark.parametrize(
    ("held", "told"),
    [
        (b"- seed: 1\n", "is a list; write keys with values"),
        (b"only words\n", "is a text; write keys with values"),
        (b"7\n", "is 7; write keys with values"),
        ("seed: 1  # f\u00fcr".encode("latin-1"), "byte 12 is not UTF-8; save it as UTF-8"),
        (b"seed: 2026-99-99\n", "is not YAML"),
    ],
)
def test_a_file_that_is_no_configuration_is_named_with_the_remedy(held: bytes, told: str, tmp_path: Path) -> None:
    file = tmp_path / "run.yaml"
    file.write_bytes(held)
    with pytest.raises(UsageError, match=f"--config .*run.yaml: {told}"):
        load_config(Outer, file=file)


def test_the_configuration_in_the_documentation_is_what_is_in_force_without_it() -> None:
    page = (Path(__file__).parents[2] / "docs" / "synthesize.md").read_text(encoding="utf-8")
    (block,) = [part for part in page.split("```yaml\n")[1:] if part.startswith("problems:")]
    shown = yaml.safe_load(block.partition("```")[0])
    assert validated(SynthesizeConfig, shown, "docs") == SynthesizeConfig()


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(UsageError, match="no such preset"):
        load_config(Outer, preset="nothing-like-this")
    assert "nothing-like-this" not in preset_names()


def test_a_file_of_another_command_is_called_so(tmp_path: Path) -> None:
    file = tmp_path / "config.yaml"
    file.write_text("command: crossexec\npool: x.jsonl\n")
    with pytest.raises(UsageError, match=r"is of `evosyn crossexec`, not of `evosyn train`; give the file"):
        load_config(RlvrConfig, file=file)
    with pytest.raises(UsageError, match=r"is of `evosyn crossexec`, not of this one"):
        load_config(EvolveConfig, file=file)
    file.write_text("command: train\nmodel: m\n")
    assert load_config(RlvrConfig, file=file).model == "m"


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("draw.solution.max_tokens", "'sampling.solution.max_tokens'"),
        ("sampling.solutoin.max_tokens", "'solution'"),
        ("problem.params.max_tokens", "'sampling.problem.max_tokens'"),
        ("rollout.max_completion", "'sampling.solution.max_tokens'"),
        ("cpu_s", "'execute.cpu_s'"),
        ("sampling.form", "'sampling.testing.form'"),
        ("proposers.params.temperature", "'sampling.problem.temperature'"),
    ],
)
def test_a_misplaced_key_names_the_one_that_is_meant_wherever_it_stands(key: str, meant: str) -> None:
    with pytest.raises(UsageError, match=rf"unknown key.*did you mean .*{meant}"):
        load_config(SynthesizeConfig, sets=[f"{key}=4"])
    with pytest.raises(UsageError, match=r"unknown key 'zzz'; known: problems"):
        load_config(SynthesizeConfig, sets=["zzz=4"])
