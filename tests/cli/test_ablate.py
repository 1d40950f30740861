"""`evosyn ablate k` and `size`: the files they write and what they refuse."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from evosyn.cli import main
from evosyn.matrices import write_matrices
from evosyn.records import PassMatrix


@pytest.fixture
def pool(tmp_path: Path) -> str:
    rng = np.random.default_rng(0)
    made = []
    for index in range(6):
        human = np.array(list("PFPFFFPF"))
        flip = rng.random((8, 8)) < 0.25
        cells = np.where((human == "P")[:, None] ^ flip, "P", "F")
        made.append(PassMatrix(f"p{index}", cells, human))
    made.append(PassMatrix("easy", np.full((8, 8), "P"), np.full(8, "P")))
    path = tmp_path / "pool.jsonl"
    write_matrices(path, made)
    return str(path)


def run(*arguments: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(["ablate", *arguments, "--allow-weak-sandbox"])
    return int(ended.value.code or 0)


def read(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open()))


def test_k_writes_a_table_in_two_forms_and_a_plot(pool: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("k", "--pool", pool, "-M", "8", "-N", "8", "--ks", "1,2,4", "--out", str(out)) == 0
    rows = read(out / "ablate-k.csv")
    assert [(row["k"], row["criterion 1"]) for row in rows] == [(k, c) for c in ("False", "True") for k in "124"]
    assert [float(row["executions"]) for row in rows] == [4, 8, 16, 4, 8, 16]
    assert (out / "ablate-k.md").read_text().count("\n") == 8
    assert (out / "ablate-k.png").read_bytes().startswith(b"\x89PNG")


def test_size_keeps_more_problems_with_more_of_each_and_drops_the_trivial_one(pool: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    assert run("size", "--pool", pool, "--sizes", "2,4,8", "--draws", "10", "--out", str(out)) == 0
    rows = read(out / "ablate-size.csv")
    kept = [float(row["kept"]) for row in rows]
    assert kept == sorted(kept)
    assert kept[-1] == pytest.approx(6 / 7)
    assert [float(row["relaxed"]) >= float(row["kept"]) for row in rows] == [True] * 3
    assert [int(row["executions"]) for row in rows] == [4 * 7, 16 * 7, 64 * 7]


@pytest.mark.parametrize(("what", "options"), [("k", ("--ks", "1", "-M", "8", "-N", "8")), ("size", ("--sizes", "4"))])
def test_problems_that_say_the_same_narrow_no_interval(tmp_path: Path, what: str, options: tuple[str, ...]) -> None:
    rng, widths = np.random.default_rng(1), list[float]()
    cells = [np.where(rng.random((8, 8)) < rng.random(), "F", "P") for _ in range(8)]
    for statement in ("Task {0}.", "Task {0}, said in way {1}."):
        made = [
            PassMatrix(
                f"p{index}-{copy}", cells[index], np.array(list("PFPFPFPF")), statement=statement.format(index, copy)
            )
            for index in range(8)
            for copy in range(4)
        ]
        write_matrices(tmp_path / "m.jsonl", made)
        out = tmp_path / f"out{len(widths)}"
        assert run(what, "--pool", str(tmp_path / "m.jsonl"), *options, "--draws", "3", "--out", str(out)) == 0
        row = read(out / f"ablate-{what}.csv")[-1]
        widths.append(float(row["high"]) - float(row["low"]))
        told = "24 problems say what another one says" in (out / "report.json").read_text()
        assert told is ("{1}" not in statement)
    assert widths[0] > 1.4 * widths[1] > 0


def test_the_same_seed_gives_the_same_table(pool: str, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run("size", "--pool", pool, "--sizes", "4", "--draws", "3", "--out", str(tmp_path / name))
    assert (tmp_path / "one/ablate-size.csv").read_text() == (tmp_path / "two/ablate-size.csv").read_text()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--sizes", "64"], "no problem has 64 solutions"),
        (["--sizes", "4,x"], "sizes.1: must be a valid integer"),
    ],
)
def test_what_cannot_be_done_ends_with_2(
    pool: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], message: str
) -> None:
    assert run("size", "--pool", pool, "--out", str(tmp_path / "out"), *arguments) == 2
    assert message in capsys.readouterr().err


def test_an_option_that_is_mistyped_is_told_the_nearest_option(capsys: pytest.CaptureFixture[str]) -> None:
    for option in ("-k", "--k"):
        assert run("k", option, "30") == 2
        assert "'--ks'" in capsys.readouterr().err


@pytest.mark.parametrize("what", ["k", "size"])
def test_a_name_that_is_refused_leaves_nothing_behind(what, pool, tmp_path, capsys):
    assert run(what, "--pool", pool, "--strategy", "initiall", "--out", str(tmp_path / "out")) == 2
    assert "did you mean 'initial'" in capsys.readouterr().err and not (tmp_path / "out").exists()
