"""`evosyn ablate search` and `curve`: equal budgets, tables, plots, and a verdict that does not flatter."""

import csv
import subprocess
import sys
from types import SimpleNamespace

import pytest
from click.testing import CliRunner

from evosyn.cli import _matrices
from evosyn.cli._ablate_search import Compared, _points, verdicts
from evosyn.cli.ablate import command
from evosyn.errors import UsageError


def ablate(*arguments: object) -> subprocess.CompletedProcess:
    sizes = ["-M", "5", "-N", "4", "--draws", "2", "--seeds", "2", "--evaluations", "40"]
    command = [sys.executable, "-m", "evosyn", "ablate", *map(str, arguments), *sizes]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


@pytest.mark.long
def test_search_compares_at_equal_budget_and_writes_table_and_plot(tmp_path, pool_file):
    result = ablate("search", "--pool", pool_file, "--out", tmp_path / "o", "--searches", "evolve,iid")
    assert result.returncode == 0, result.stderr
    assert "evolution" in result.stdout
    with (tmp_path / "o" / "ablate-search.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["search"] for row in rows] == ["evolve", "iid", "initial strategy"]
    assert (tmp_path / "o" / "ablate-search.png").stat().st_size > 1000


@pytest.mark.long
def test_curve_never_falls(tmp_path, pool_file):
    result = ablate("curve", "--pool", pool_file, "--out", tmp_path / "o")
    assert result.returncode == 0, result.stderr
    with (tmp_path / "o" / "ablate-curve.csv").open() as file:
        best = [float(row["best so far"]) for row in csv.DictReader(file)]
    assert best == sorted(best) and len(best) > 3


def test_an_unknown_search_is_refused(pool_file):
    result = ablate("search", "--pool", pool_file, "--searches", "evolve,luck")
    assert result.returncode == 2 and "'luck'" in result.stderr


@pytest.mark.parametrize("search", ["search", "curve"])
@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("proposers.arms={nobody: 1}", "nobody"),
        ("proposers.arms={rewrite: 1}", "no model is named: --model"),
        ("proposers.options.genetic.nothing=1", "nothing"),
        ("axes=[nowhere]", "nowhere"),
        ("start=[unheard-of]", "unheard-of"),
        ("workbench.sandbox.backend=sand", "sand"),
    ],
)
def test_what_a_search_cannot_do_is_refused_before_anything_is_executed_or_written(
    tmp_path, monkeypatch, pool_file, search, asked, said
):
    monkeypatch.setattr(_matrices, "_execute", lambda *_: pytest.fail("the pool was executed"))
    ended = CliRunner().invoke(
        command, [search, "--pool", str(pool_file), "--out", str(tmp_path / "o"), "--set", asked]
    )
    assert isinstance(ended.exception, UsageError) and said in str(ended.exception)
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize(
    ("others", "said"),
    [([0.1, 0.2, 0.15], "evolution beats"), ([0.7, 0.8, 0.9], "LOSES"), ([0.5, 0.4, 0.62], "does not beat")],
)
def test_the_verdict_says_what_the_interval_says(others, said):
    def compared(name, scores):
        return Compared(name, tuple(SimpleNamespace(score=score) for score in scores))

    assert said in verdicts([compared("evolve", [0.5, 0.5, 0.5]), compared("iid", others)])[0]


def test_points_begin_at_one_and_end_at_the_budget():
    assert _points(1000)[0] == 1 and _points(1000)[-1] == 1000
