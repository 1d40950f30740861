"""The config.yaml of a run: it repeats the run, and other settings are refused by name."""

from pathlib import Path

import pytest
import yaml

from evosyn.configs.loading import load_config
from evosyn.configs.saving import freeze_config, save_config
from evosyn.errors import UsageError
from evosyn.train.config import DistillConfig, RlvrConfig


def test_other_settings_for_the_same_directory_are_refused_by_name(tmp_path: Path) -> None:
    freeze_config(tmp_path, {"steps": 30, "rollout": {"group": 8}})
    freeze_config(tmp_path, {"steps": 30, "rollout": {"group": 8}})
    with pytest.raises(UsageError, match=r"rollout\.group: 8 before, 4 now"):
        freeze_config(tmp_path, {"steps": 30, "rollout": {"group": 4}})


def test_a_run_goes_on_with_another_sandbox_which_is_written_down(tmp_path: Path) -> None:
    freeze_config(tmp_path, load_config(RlvrConfig, sets=["data=d", "model=m"]))
    freeze_config(tmp_path, load_config(RlvrConfig, sets=["data=d", "model=m", "workbench.sandbox.backend=docker"]))
    written = yaml.safe_load((tmp_path / "config.yaml").read_text())
    assert written["workbench"]["sandbox"]["backend"] == "docker"


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(UsageError, match="choose another directory"):
        freeze_config(tmp_path, {"steps": 1})


def test_the_configuration_of_another_command_is_not_overwritten(tmp_path: Path) -> None:
    save_config(tmp_path, DistillConfig())
    before = (tmp_path / "config.yaml").read_text()
    with pytest.raises(UsageError, match="choose another --out"):
        save_config(tmp_path, RlvrConfig())
    assert (tmp_path / "config.yaml").read_text() == before


def test_files_of_something_else_are_not_overwritten_where_settings_may_differ(tmp_path: Path) -> None:
    (tmp_path / "report.json").write_text("{}")
    with pytest.raises(UsageError, match="choose another directory"):
        save_config(tmp_path, DistillConfig())
    assert not (tmp_path / "config.yaml").exists()
