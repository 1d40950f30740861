"""Pool rotation keeps the contract of feeds."""

import pytest

from evosyn.contracts import FeedContract
from evosyn.domains import domain
from evosyn.environments import environment
from evosyn.environments.rotation import RotatingPool, RotationConfig
from evosyn.environments.rows import rows_of, samples_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.journal import Journal
from evosyn.randomness import SeedTree
from evosyn.sandbox import open_sandbox


@pytest.fixture(scope="module")
def opened():
    with open_sandbox("local", workers=1, allow_weak=True) as sandbox:
        runner = EnvironmentRunner(sandbox)
        rows = [
            row
            for name in ("brackets", "robot-commands")
            for row in rows_of(environment(name), runner, 10, SeedTree(0))
        ]
        yield runner, samples_of(rows, domain("environment"))


class TestRotatingPool(FeedContract):
    @pytest.fixture(autouse=True)
    def _made(self, opened):
        runner, samples = opened
        config = RotationConfig(active=8)
        self.make = lambda folder: RotatingPool(samples, config, runner, Journal(folder / "journal.jsonl"), SeedTree(3))
