"""Every experiment that the registry finds brings its options, explains itself, and imports no trainer to do so."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any, get_args, get_type_hints

import pytest
from click.testing import CliRunner
from pydantic import BaseModel

from evosyn import registry
from evosyn.cli import group

NAMES = registry.names("experiments")


def config_of(name: str) -> type[BaseModel]:
    hints: dict[str, Any] = get_type_hints(registry.factory("experiments", name))
    assert list(hints) == ["tools", "config", "return"]
    found: type[BaseModel] = hints["config"]
    return found


def test_the_table_of_the_paper_is_there() -> None:
    assert "table2" in NAMES


@pytest.mark.parametrize("name", NAMES)
def test_an_experiment_has_sizes_seeds_and_arms_and_a_default_for_everything(name: str) -> None:
    config = config_of(name)
    assert get_args(config.model_fields["size"].annotation) == ("smoke", "cpu", "gpu")
    assert {"seeds", "first_seed", "arms"} <= set(config.model_fields)
    config()


@pytest.mark.parametrize("name", NAMES)
def test_its_help_names_every_field(name: str) -> None:
    shown = CliRunner().invoke(group, ["experiment", name, "--help"], catch_exceptions=False).output
    for key, field in config_of(name).model_fields.items():
        option = f"--{key.replace('_', '-')}"
        assert option in shown or f"{key}.KEY" in shown
        assert field.description


def test_help_imports_no_trainer() -> None:
    code = (
        "import sys\nfrom click.testing import CliRunner\nfrom evosyn.cli import group\n"
        "for name in ('--help', *sys.argv[1:]):\n    CliRunner().invoke(group, ['experiment', name, '--help'])\n"
        "assert not {'torch', 'trl', 'transformers', 'datasets'} & set(sys.modules)\n"
    )
    subprocess.run([sys.executable, "-c", code, *NAMES], check=True, timeout=120)


OUTSIDE = '''
from pydantic import BaseModel, Field
from evosyn.ports import Comparison, ExperimentTools


class Config(BaseModel):
    """Counts to a number."""

    upto: int = Field(default=3, description="Where it ends.")
    words: dict[str, str] = Field(default_factory=dict, description="what to say")


class Counting:
    def __init__(self, tools, config):
        self.tools, self.config = tools, config

    def run(self, out):
        print("a library prints")
        self.tools.say("half-way")
        return Comparison({"upto": self.config.upto, **self.config.words}, f"counted to {self.config.upto}")


def create(tools: ExperimentTools, config: Config) -> Counting:
    return Counting(tools, config)
'''


def test_an_experiment_that_lives_elsewhere_is_a_dotted_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "outside_experiment.py").write_text(OUTSIDE)
    monkeypatch.syspath_prepend(tmp_path)
    line = ["experiment", "outside_experiment:create", "--upto", "4", "--out", str(tmp_path / "out")]
    told = CliRunner().invoke(group, line, catch_exceptions=False)
    assert told.stdout == "counted to 4\n"
    assert "half-way" in told.stderr
    found = CliRunner().invoke(group, [*line, "--set", "words.end=done", "--json"], catch_exceptions=False)
    assert json.loads(found.stdout) == {"upto": 4, "end": "done"}
    shown = CliRunner().invoke(group, [*line[:2], "--help"], catch_exceptions=False).stdout
    assert "Counts to a number." in shown
    assert "words.KEY: what to say" in shown
