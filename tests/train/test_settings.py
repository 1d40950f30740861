import os
from pathlib import Path

import pytest

from evosyn.configs.loading import load_config
from evosyn.errors import UsageError
from evosyn.train.config import MemoryConfig, RlvrConfig
from evosyn.train.launch import join_alone, launch_lines, precision
from evosyn.train.settings import deepspeed_file, grpo_settings, resolve


def settings(tmp_path: Path, *sets: str) -> dict[str, object]:
    return grpo_settings(resolve(load_config(RlvrConfig, sets=sets)), tmp_path, bf16=False, cpu=True)


def test_an_unknown_form_of_reasoning_is_told_by_its_key_once() -> None:
    with pytest.raises(UsageError, match=r"^--set: rollout\.reasoning: 'qwen' is no form"):
        load_config(RlvrConfig, sets=["rollout.reasoning=qwen"])


def test_each_algorithm_has_its_papers_settings(tmp_path: Path) -> None:
    grpo, dapo, dr_grpo = (settings(tmp_path, f"algorithm={name}") for name in ("grpo", "dapo", "dr_grpo"))
    assert (grpo["loss_type"], grpo["scale_rewards"], grpo["epsilon_high"]) == ("grpo", "group", None)
    assert (dapo["loss_type"], dapo["epsilon_high"], dapo["beta"]) == ("dapo", 0.28, 0.0)
    assert (dr_grpo["loss_type"], dr_grpo["scale_rewards"]) == ("dr_grpo", "none")
    own = resolve(RlvrConfig(algorithm="dapo"))
    assert (own.rollout.oversample, own.reward.shape) == (2, "soft-overlong")


def test_the_users_word_beats_the_algorithms(tmp_path: Path) -> None:
    assert settings(tmp_path, "algorithm=dapo", "optim.epsilon_high=0.5")["epsilon_high"] == 0.5
    config = resolve(load_config(RlvrConfig, sets=["algorithm=dapo", "rollout.oversample=1", "reward.shape=none"]))
    assert (config.rollout.oversample, config.reward.shape) == (1, "none")


@pytest.mark.parametrize(("prompts", "group"), [(1, 2), (3, 8), (5, 7), (16, 8)])
def test_one_optimizer_step_sees_exactly_the_asked_completions(tmp_path: Path, prompts: int, group: int) -> None:
    got = settings(tmp_path, f"rollout.prompts={prompts}", f"rollout.group={group}")
    size, steps = got["per_device_train_batch_size"], got["gradient_accumulation_steps"]
    assert isinstance(size, int)
    assert isinstance(steps, int)
    assert size * steps == prompts * group
    assert got["steps_per_generation"] == steps


def test_a_batch_that_does_not_divide_over_the_processes_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORLD_SIZE", "3")
    with pytest.raises(UsageError, match="not divisible by the 3 processes"):
        settings(tmp_path, "rollout.prompts=2", "rollout.group=8")


def test_vllm_settings_appear_only_when_asked(tmp_path: Path) -> None:
    assert "use_vllm" not in settings(tmp_path)
    colocated = settings(tmp_path, "rollout.engine=vllm-colocate", "rollout.gpu_share=0.4")
    assert (colocated["vllm_mode"], colocated["vllm_gpu_memory_utilization"]) == ("colocate", 0.4)
    served = settings(tmp_path, "rollout.engine=vllm-server", "rollout.server=http://10.0.0.1:8000")
    assert (served["vllm_mode"], served["vllm_server_base_url"]) == ("server", "http://10.0.0.1:8000")
    assert any("vllm serve m" in line for line in launch_lines("m", ["train", "d"], served))


def test_an_unknown_deepspeed_preset_names_the_known_ones() -> None:
    assert deepspeed_file("zero3").is_file()
    with pytest.raises(UsageError, match="zero2, zero3, zero3-offload"):
        deepspeed_file("zero9")


def test_an_unknown_key_offers_the_nearest() -> None:
    with pytest.raises(UsageError, match="did you mean 'group'"):
        load_config(RlvrConfig, sets=["rollout.grup=4"])


def test_a_bundled_model_is_started_in_one_process() -> None:
    assert len(launch_lines("builtin:tiny", ["train", "d"], {})) == 1
    assert len(launch_lines("Qwen/Qwen3-4B", ["train", "d"], {})) == 3


@pytest.mark.parametrize(
    ("devices", "hidden", "cpu"),
    [((), None, True), (("nvidiactl", "nvidia-uvm"), None, True), (("nvidia0",), None, False),
     (("nvidia3",), None, False), (("nvidia0",), "", True), (("nvidia0",), "-1", True), (("nvidia0",), "0", False)],
)  # fmt: skip
def test_a_gpu_is_seen_under_any_number_unless_it_is_hidden(
    devices: tuple[str, ...], hidden: str | None, cpu: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A container that was given the third GPU of a machine has no /dev/nvidia0."""
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    if hidden is not None:
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", hidden)
    for name in devices:
        (tmp_path / name).touch()
    assert precision(MemoryConfig(), tmp_path) == (not cpu, cpu)
    assert precision(MemoryConfig(bf16=False), tmp_path) == (False, cpu)


def test_a_process_without_a_launcher_is_a_group_of_one_and_another_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    names = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
    for name in names:
        monkeypatch.setenv(name, "7")
    join_alone()
    assert [os.environ[name] for name in names] == ["7"] * 5
    monkeypatch.delenv("RANK")
    join_alone()
    assert [os.environ[name] for name in names[:4]] == ["0", "0", "1", "127.0.0.1"]
    assert 0 < int(os.environ["MASTER_PORT"]) < 65536
