"""Every experiment that the registry finds, and one from outside, keeps the contract of experiments."""

import json

import pytest
from click.testing import CliRunner
from pydantic import Field

from evosyn import registry
from evosyn.cli import group
from evosyn.contracts import ExperimentContract
from evosyn.ports import Comparison, ExperimentTools, PluginConfig

NAMES = registry.names("experiments")


def test_the_tables_of_the_paper_are_there():
    assert {"table2", "table3"} <= set(NAMES)


class TestFound(ExperimentContract):
    compares_arms = True

    @pytest.fixture(autouse=True, params=NAMES)
    def _named(self, request):
        self.create = registry.find("experiments", request.param).create


class Config(PluginConfig):
    """Counts to a number."""

    upto: int = Field(default=3, description="Where it ends.")
    words: dict[str, str] = Field(default_factory=dict, description="what to say")


class Counting:
    def __init__(self, tools, config):
        self.tools, self.config = tools, config

    def run(self, _out):
        print("a library prints")  # noqa: T201
        self.tools.say("half-way")
        return Comparison({"upto": self.config.upto, **self.config.words}, f"counted to {self.config.upto}")


def create(tools: ExperimentTools, config: Config) -> Counting:
    return Counting(tools, config)


class TestOutside(ExperimentContract):
    create = staticmethod(create)
    small = {"upto": 2}  # noqa: RUF012


def test_an_experiment_that_lives_elsewhere_is_a_dotted_path(tmp_path):
    line = ["experiment", f"{__name__}:create", "--upto", "4", "--out", str(tmp_path / "out")]
    told = CliRunner().invoke(group, line, catch_exceptions=False)
    assert told.stdout == "counted to 4\n"
    assert "half-way" in told.stderr
    found = CliRunner().invoke(group, [*line, "--set", "words.end=done", "--json"], catch_exceptions=False)
    assert json.loads(found.stdout) == {"upto": 4, "end": "done"}
    shown = CliRunner().invoke(group, [*line[:2], "--help"], catch_exceptions=False).stdout
    assert "Counts to a number." in shown
    assert "words.KEY: what to say" in shown
