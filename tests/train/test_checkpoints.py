import json
from pathlib import Path

import pytest

from evosyn.errors import UnavailableError
from evosyn.train.checkpoints import check_disk, last_whole, mark_complete, read_metrics, trim_metrics


def test_a_torn_checkpoint_is_removed_and_the_last_whole_one_taken(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    for name in (10, 20, 30, "best"):
        (folder / f"checkpoint-{name}").mkdir(parents=True)
    mark_complete(folder / "checkpoint-10", 10)
    mark_complete(folder / "checkpoint-20", 20)
    assert last_whole(folder) == folder / "checkpoint-20"
    assert (folder / "checkpoint-30").exists()  # until the directory is known to be of a run
    (tmp_path / "config.yaml").touch()
    assert last_whole(folder) == folder / "checkpoint-20"
    assert sorted(one.name for one in folder.iterdir()) == ["checkpoint-10", "checkpoint-20", "checkpoint-best"]


def test_no_checkpoint_is_no_error(tmp_path: Path) -> None:
    assert last_whole(tmp_path / "nowhere") is None


def test_metrics_after_the_checkpoint_and_a_torn_line_are_dropped(tmp_path: Path) -> None:
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(json.dumps({"step": step}) + "\n" for step in (1, 2, 3)) + '{"step": 4')
    assert [row["step"] for row in read_metrics(path)] == [1, 2, 3]
    trim_metrics(path, 2)
    assert [row["step"] for row in read_metrics(path)] == [1, 2]


def test_a_disk_without_room_for_the_checkpoints_is_said_before_training(tmp_path: Path) -> None:
    with pytest.raises(UnavailableError, match="lower --set keep"):
        check_disk(tmp_path, 10**18, 2)
