"""A small search, and a dataset that its winner chose."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from evosyn.synthesis.config import SynthesizeConfig
from tests.synthesis.conftest import Toy, toy, toy_seeds  # noqa: F401
from tests.view.conftest import run_dir  # noqa: F401


@pytest.fixture
def data_of_run(run_dir: Path, toy: Toy, tmp_path: Path) -> Path:  # noqa: F811
    toy.inputs = replace(toy.inputs, strategy=(run_dir / "strategy.py").read_text(), strategy_from=str(run_dir))
    toy.run(tmp_path / "data", SynthesizeConfig(problems=24, solutions=5, testings=4))
    assert json.loads((tmp_path / "data" / "report.json").read_text())["kept"]
    return tmp_path / "data"
