"""The commands: what they show without starting anything, and what bad input gets."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from click.testing import CliRunner
from simulation import TEACHER

from evosyn.cli import group
from evosyn.errors import EvosynError, UsageError


def invoke(*line: str) -> str:
    result = CliRunner().invoke(group, line, catch_exceptions=False)
    assert result.exit_code == 0
    return result.output


def test_print_config_shows_trls_settings_and_starts_nothing(small_data: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    shown = invoke("train", str(small_data), "--model", "m", "--out", str(out), "--algorithm", "dapo", "--print-config")
    document = yaml.safe_load(shown)
    assert document["trl"]["loss_type"] == "dapo"
    assert document["evosyn"]["rollout"]["oversample"] == 2
    assert "torchrun" in shown
    assert not out.exists()
    shown = invoke("distill", str(small_data), "--model", "m", "--out", str(out), "--method", "dpo", "--print-config")
    assert yaml.safe_load(shown)["trl"]["beta"] == 0.1


def test_print_config_and_help_import_no_torch(small_data: Path, tmp_path: Path) -> None:
    line = ["train", str(small_data), "--model", "m", "--out", str(tmp_path / "run"), "--print-config"]
    code = (
        "import sys\nfrom evosyn.cli import group\n"
        f"group.main({line!r}, standalone_mode=False)\n"
        "assert not {'torch', 'trl', 'transformers'} & set(sys.modules), 'imported'\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (("train", "DATA", "--model", "m", "--out", "OUT", "--set", "optim.rate=1", "--print-config"), "unknown key"),
        (("train", "DATA", "--model", "m", "--out", "OUT", "--steps", "0", "--print-config"), "steps"),
        (("eval", "--bench", "x", "--out", "OUT"), "MODELS"),
        (("eval", "m", "--bench", "x", "--k", "4", "--out", "OUT"), "--k 4"),
        (("reward", "serve", "--host", "0.0.0.0"), "--token-env"),
    ],
)
def test_bad_usage_is_an_error_in_words(line: tuple[str, ...], message: str, small_data: Path, tmp_path: Path) -> None:
    real = [{"DATA": str(small_data), "OUT": str(tmp_path / "out")}.get(part, part) for part in line]
    with pytest.raises(EvosynError, match=message) as caught:
        CliRunner().invoke(group, real, catch_exceptions=False, standalone_mode=False)
    assert caught.value.exit_code == 2


def test_a_model_that_is_a_path_to_nothing_is_refused_before_the_hub_is_asked() -> None:
    from evosyn.train.models import check_model

    for name in ("models/mine/model", "./mine", "/nowhere/model"):
        with pytest.raises(EvosynError, match="no such directory; a training leaves its model in RUN/model"):
            check_model(name)


def test_what_a_training_waits_for_is_said_in_plain_lines_and_warnings_as_such() -> None:
    program = (
        "import logging; from evosyn.cli._training import quiet_libraries; quiet_libraries()\n"
        "from evosyn.train.models import check_model; check_model('namespace/name')\n"
        "logging.getLogger('evosyn.train.run').warning('careful'); logging.getLogger('evosyn.sandbox').info('hidden')\n"
        "logging.getLogger('DeepSpeed').warning('Setting accelerator to CPU')\n"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stderr.splitlines() == [
        "namespace/name is no directory here, so the hub is asked for it",
        "WARNING: careful",
    ]


@pytest.mark.train
def test_with_json_the_report_stands_alone_and_quiet_shows_no_progress(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from evosyn.cli._training import training

    (tmp_path / "report.json").write_text('{"kind": "train"}')
    with training(3, ("loss",), tmp_path, as_json=True, quiet=False) as on_row:
        assert on_row is None
        sys.stdout.write("what a library prints\n")
    said = capsys.readouterr()
    assert json.loads(said.out) == {"kind": "train"}
    assert "what a library prints" in said.err
    with pytest.raises(ZeroDivisionError), training(3, ("loss",), tmp_path, as_json=False, quiet=True) as on_row:
        assert on_row is None
        raise ZeroDivisionError  # nothing is said of a run that did not end
    assert not capsys.readouterr().out


@pytest.mark.train
def test_data_that_is_not_there_or_empty_is_said(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    line = [
        "train",
        str(tmp_path / "none"),
        "--model",
        "builtin:tiny",
        "--out",
        str(tmp_path / "o"),
        "--allow-weak-sandbox",
    ]
    result = CliRunner().invoke(group, line, standalone_mode=False)
    assert isinstance(result.exception, EvosynError) and "no such dataset" in str(result.exception)
    assert "rewards run" not in result.output  # nothing of the sandbox stands before it


@pytest.mark.train
@pytest.mark.parametrize("theirs", ["checkpoints/checkpoint-500/model.safetensors", "model/README.md", "curve.png"])
@pytest.mark.parametrize("command", ["train", "distill"])
def test_what_another_trainer_left_is_refused_by_name_and_stays(
    command: str, theirs: str, small_data: Path, tmp_path: Path
) -> None:
    pytest.importorskip("trl")
    (tmp_path / theirs).parent.mkdir(parents=True, exist_ok=True)
    for name in (theirs, "slurm-1.out"):
        (tmp_path / name).write_text("theirs")
    before = sorted(tmp_path.rglob("*"))
    line = (command, str(small_data), "--model", "builtin:tiny", "--out", str(tmp_path), "--steps", "1")
    refused = CliRunner().invoke(group, line, standalone_mode=False).exception
    assert isinstance(refused, UsageError)
    assert f"holds files of something else ({theirs.partition('/')[0]}); choose another directory" in str(refused)
    assert sorted(tmp_path.rglob("*")) == before and (tmp_path / theirs).read_text() == "theirs"


@pytest.mark.train
def test_a_coevolution_takes_no_journal_of_something_else(tmp_path: Path) -> None:
    pytest.importorskip("trl")
    (tmp_path / "journal.jsonl").write_text("theirs")
    line = ("coevolve", "builtin:math-seeds", "--model", "builtin:tiny", "--out", str(tmp_path), "--steps", "1")
    line = (*line, "--teacher", TEACHER)
    refused = CliRunner().invoke(group, line, standalone_mode=False).exception
    assert isinstance(refused, UsageError) and "(journal.jsonl)" in str(refused)
    assert [one.name for one in tmp_path.iterdir()] == ["journal.jsonl"]
