"""`evosyn init`: what it writes is taken as it stands by the commands that it names, and it overwrites nothing."""

import re
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner

from evosyn.cli import group
from evosyn.configs.loading import dotted_keys, load_config
from evosyn.domains import load_pools
from evosyn.errors import UsageError
from evosyn.pools import PoolLine
from evosyn.reading.opening import open_directory
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.search.config import EvolveConfig

KEYS = PoolLine.__dataclass_fields__


def run(*words):
    return CliRunner().invoke(group, [str(word) for word in words], standalone_mode=False)


def opened(text: str) -> str:
    """The text with what stands in comments switched on: lines of one key."""
    lines = [line.removeprefix("# ") for line in text.splitlines()]
    return "\n".join(line for line in lines if re.match(r" *\w+:( |$)", line))


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    result = run("init", "my")
    assert result.exception is None
    assert result.output.splitlines() == [
        "written: my/seeds.yaml",
        "written: my/evolve.yaml",
        "written: my/synthesize.yaml",
        "next:    evosyn pool check my/seeds.yaml --execute",
        "         evosyn evolve --config my/evolve.yaml --model provider/name --out my/run",
        "         evosyn synthesize --config my/synthesize.yaml --model provider/name --out my/data",
    ]
    return tmp_path / "my"


def test_the_seeds_are_good_of_both_domains_and_every_key_is_explained(folder):
    pools = load_pools(folder / "seeds.yaml")
    assert {pool.problem.domain for pool in pools} == {"python-function", "python-stdin"}
    assert all(pool.problem.human_testing and pool.problem.reference_solution for pool in pools)
    text = (folder / "seeds.yaml").read_text()
    assert [key for key in KEYS if key not in text] == []
    checked = run("pool", "check", folder / "seeds.yaml")
    assert checked.return_value == 0 and "good; 6 problems, 6 human testings, 6 references" in checked.output


@pytest.mark.slow
def test_the_references_of_the_seeds_pass_and_the_testings_tell_wrong_solutions(folder):
    checked = run("pool", "check", folder / "seeds.yaml", "--execute")
    assert checked.return_value == 0 and "every reference passes" in checked.output and "note:" not in checked.output


@pytest.mark.parametrize(("name", "model"), [("evolve", EvolveConfig), ("synthesize", SynthesizeConfig)])
def test_a_configuration_is_taken_as_it_stands_and_with_its_comments_switched_on(folder, name, model):
    file = folder / f"{name}.yaml"
    load_config(model, file=file)
    head, blank, rest = file.read_text().partition("\n\n")
    file.write_text(head + blank + opened(rest))
    whole = yaml.safe_load(file.read_text())
    load_config(model, file=file)
    assert set(whole) <= {key.partition(".")[0] for key in dotted_keys(model)} and "workbench" in whole


def test_the_configurations_name_what_the_other_commands_write(folder):
    evolve = load_config(EvolveConfig, file=folder / "evolve.yaml")
    synthesize = load_config(SynthesizeConfig, file=folder / "synthesize.yaml")
    assert evolve.sources[0] == synthesize.seeds == "my/seeds.yaml" and synthesize.run == "my/run"


def test_nothing_is_overwritten(folder):
    (folder / "seeds.yaml").write_text("mine")
    (folder / "evolve.yaml").unlink()
    result = run("init", "my")
    assert "left as it was: my/seeds.yaml\nwritten: my/evolve.yaml\nleft as it was: my/synthesize" in result.output
    assert (folder / "seeds.yaml").read_text() == "mine"


def test_a_path_with_blanks_is_quoted_for_yaml_and_for_the_shell(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("init", "my #1 seeds")
    assert (
        "evosyn evolve --config 'my #1 seeds/evolve.yaml' --model provider/name --out 'my #1 seeds/run'"
        in result.output
    )
    assert load_config(EvolveConfig, file=Path("my #1 seeds/evolve.yaml")).sources[0] == "my #1 seeds/seeds.yaml"


def test_a_directory_that_cannot_be_made_is_a_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    result = run("init", tmp_path / "file" / "my")
    assert isinstance(result.exception, UsageError) and "cannot be written" in str(result.exception)


def test_inspect_of_what_init_wrote_says_what_to_run(tmp_path):
    assert run("init", tmp_path).exception is None
    with pytest.raises(
        UsageError, match=r"`evosyn init` wrote, and no run yet; make one: evosyn evolve --config .*ve.yaml"
    ):
        open_directory(tmp_path)
