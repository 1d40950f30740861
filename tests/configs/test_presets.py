"""The presets of the published settings: each is a configuration of its command, and what is given stands over it."""

import json
from importlib import resources

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
from evosyn.train.settings import grpo_settings, resolve

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
    with pytest.raises(UsageError, match="no such preset of this command; did you mean 'paper'"):
        plan(tmp_path, source, "--preset", "papr")


def test_table_1_is_one_command(source):
    from evosyn.cli.ablate import by_k

    values = {"preset": "paper", "sets": (), "file": None, "source": str(source)}
    config = by_k.configuration(values)
    assert (config.ks, config.scoring.ties, config.scoring.M, config.scoring.draws) == ((1, 2, 4, 8), "stable", 16, 1)


def test_the_papers_synthesis_leaves_out_what_is_ours():
    config = load_config(SynthesizeConfig, preset="synthesize-paper")
    assert (config.problem.examples, config.problem.vary, config.sampling.prompt_hints) == (1, False, False)
    assert not (config.filter.reward.union or config.filter.reward.large or config.filter.reward.examples)
    assert not load_config(EvolveConfig, preset="evolve-paper").sampling.prompt_hints


@pytest.mark.parametrize("name", ["train", "distill"])
def test_a_training_takes_its_preset_too(name):
    from evosyn.cli.distill import command as distill
    from evosyn.cli.train import command as train

    values = {"preset": "paper", "sets": (), "file": None, "data": "d", "model": "m"}
    config = {"train": train, "distill": distill}[name].configuration(values)
    assert (config.algorithm if name == "train" else config.method) == {"train": "grpo", "distill": "sft"}[name]


DEJAQ = {
    "loss_type": "grpo",
    "max_steps": 500,
    "num_generations": 6,
    "per_device_train_batch_size": 6,
    "gradient_accumulation_steps": 32,
    "learning_rate": 1e-6,
    "lr_scheduler_type": "cosine_with_min_lr",
    "lr_scheduler_kwargs": {"min_lr_rate": 0.1},
    "max_completion_length": 2048,
    "num_iterations": 1,
    "scale_rewards": "group",
    "gradient_checkpointing": True,
}
TRAININGS = {
    "resyn": ({"loss_type": "dapo", "max_steps": 400}, {"combine": "product", "format": "think", "shape": "none"}),
    "dejaq": (DEJAQ, {"weight": 0.0, "shape": "cosine", "shape_weight": 2.0, "format": "boxed", "format_weight": 1.0}),
    "scaleenv": ({"loss_type": "grpo", "max_steps": 48}, {"combine": "sum", "weight": 1.0}),
    "evoenv": ({"loss_type": "grpo", "max_steps": 100}, {"combine": "sum", "weight": 1.0}),
}


@pytest.mark.parametrize("name", TRAININGS)
def test_trainings_of_other_papers_have_the_values_that_those_give(name, tmp_path):
    config = resolve(load_config(RlvrConfig, preset=f"train-{name}", flags={"data": "d", "model": "m"}))
    given, reward = TRAININGS[name]
    made = grpo_settings(config, tmp_path, bf16=False, cpu=True)
    assert {key: made[key] for key in given} == given
    assert {key: getattr(config.reward, key) for key in reward} == reward


@pytest.mark.parametrize("name", ["evolve-paper", "train-resyn", "train-dejaq", "train-scaleenv", "train-evoenv"])
def test_a_preset_marks_what_is_of_the_paper_and_what_is_ours(name):
    text = (resources.files("evosyn.configs") / "presets" / f"{name}.yaml").read_text()
    assert "[text]" in text and "[ours]" in text


def test_a_preset_says_of_every_value_where_it_is_from():
    text = (resources.files("evosyn.configs") / "presets" / "evolve-paper.yaml").read_text()
    assert yaml.safe_load(text)["islands"]["count"] == 3
    assert all(mark in text for mark in ("[text]", "[code]", "[ours]"))
