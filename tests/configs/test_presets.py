"""The presets of the published settings: each is a configuration of its command, and what is given stands over it."""

import json

import pytest
import yaml
from click.testing import CliRunner

from evosyn.cli import group
from evosyn.cli._configs import KAblationConfig, SizeAblationConfig
from evosyn.configs.loading import load_config, preset_names
from evosyn.errors import UsageError
from evosyn.synthesis.config import SynthesizeConfig
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.train.config import DistillConfig, RlvrConfig

PAPER = {
    "evolve": EvolveConfig,
    "synthesize": SynthesizeConfig,
    "ablate-k": KAblationConfig,
    "ablate-size": SizeAblationConfig,
    "train": RlvrConfig,
    "distill": DistillConfig,
}


@pytest.mark.parametrize("command", PAPER)
def test_every_command_of_the_paper_has_its_preset(command):
    assert f"{command}-paper" in preset_names()
    given = {"data": "d", "model": "m"} if command in ("train", "distill") else {}
    assert load_config(PAPER[command], preset=f"{command}-paper", flags=given) != PAPER[command](**given) or given


def plan(tmp_path, pool, *words):
    line = ["evolve", str(pool), "--out", str(tmp_path / "run"), "--dry-run", "--json", *words]
    return json.loads(CliRunner().invoke(group, line, catch_exceptions=False).stdout)


@pytest.fixture
def source(tmp_path):
    rows = ["PFPF"[:4] * 4] * 16
    lines = [{"problem_id": f"p{n}", "verdicts": rows, "human": "PF" * 8} for n in range(5)]
    (tmp_path / "m.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return tmp_path / "m.jsonl"


def test_the_papers_search_is_one_command_and_flags_stand_over_it(tmp_path, source):
    asked = plan(tmp_path, source, "--preset", "paper", "--model", "openai/m")
    assert asked["proposals"] == 20 and asked["proposers"] == {"diff": 1.0}
    assert plan(tmp_path, source, "--preset", "paper", "--model", "openai/m", "--iterations", "7")["proposals"] == 7
    with pytest.raises(UsageError, match="no such preset of this command; known: paper"):
        plan(tmp_path, source, "--preset", "papr")


def test_table_1_is_one_command(source):
    from evosyn.cli.ablate import by_k

    values = {"preset": "paper", "sets": (), "file": None, "source": str(source)}
    config = by_k.configuration(values)
    assert (config.ks, config.scoring.ties, config.scoring.M, config.scoring.draws) == ((1, 2, 4, 8), "stable", 16, 1)


def test_the_papers_synthesis_leaves_out_what_is_ours():
    config = load_config(SynthesizeConfig, preset="synthesize-paper")
    assert (config.problem.examples, config.problem.vary, config.draw.views) == (1, False, False)
    assert not (config.filter.reward.union or config.filter.reward.large or config.filter.reward.examples)
    assert not load_config(EvolveConfig, preset="evolve-paper").draw.views


@pytest.mark.parametrize("name", ["train", "distill"])
def test_a_training_takes_its_preset_too(name):
    from evosyn.cli.distill import command as distill
    from evosyn.cli.train import command as train

    values = {"preset": "paper", "sets": (), "file": None, "data": "d", "model": "m"}
    config = {"train": train, "distill": distill}[name].configuration(values)
    assert (config.algorithm if name == "train" else config.method) == {"train": "grpo", "distill": "sft"}[name]


def test_a_preset_says_of_every_value_where_it_is_from():
    from importlib import resources

    text = (resources.files("evosyn.configs") / "presets" / "evolve-paper.yaml").read_text()
    assert yaml.safe_load(text)["islands"]["count"] == 3
    assert all(mark in text for mark in ("[text]", "[code]", "[ours]"))
