"""What is evolved, ours and that of the example outside of the package (with its proposer), keeps its contract."""

import numpy as np
import pytest
from test_bit_strings import TestBitStrings, TestFlipping

from evosyn.contracts import EvolvedContract, GenomeContract
from evosyn.errors import SandboxUnavailable
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.ports import EvolvedTools, PluginConfig
from evosyn.records import PassMatrix
from evosyn.sandbox import open_sandbox
from evosyn.strategies import load_known
from evosyn.strategies.genome import StrategyGenome
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.seeds import select
from evosyn.synthesis.search.strategies import EvolvedStrategies

__all__ = ["TestBitStrings", "TestFlipping"]


class TestStrategyTexts(GenomeContract):
    make = staticmethod(StrategyGenome)
    text = load_known("initial")


class TestStrategies(EvolvedContract):
    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _running(cls):
        try:
            sandbox = open_sandbox(workers=1, allow_weak=True, packages=("numpy",))
        except SandboxUnavailable as error:
            pytest.skip(str(error))
        with sandbox:
            cls.create = staticmethod(strategies(SandboxedRunner(sandbox)))
            yield


def strategies(runner):
    def create(tools: EvolvedTools, config: PluginConfig):  # noqa: ARG001
        rng = np.random.default_rng(0)
        cells, human = rng.random((8, 6, 5)) < 0.5, np.arange(6) % 2 == 0
        matrices = [
            PassMatrix(f"p{n}", np.where(one, "P", "F"), np.where(human, "P", "F")) for n, one in enumerate(cells)
        ]
        config = EvolveConfig(scoring=ConsistencyConfig(M=6, N=5, draws=2), finalists=2)
        return EvolvedStrategies(runner, select(matrices, config, simulated=False), config)

    return create
