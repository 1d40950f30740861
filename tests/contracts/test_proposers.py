"""Every proposer that the registry finds, also for what is evolved outside of the package, keeps their contract."""

import pytest
from bit_strings import START, BitStrings

from evosyn import registry
from evosyn.contracts import ProposerContract
from evosyn.strategies import load_known
from evosyn.strategies.genome import StrategyGenome

NAMES = registry.names("proposers")


class TestFound(ProposerContract):
    parent = load_known("initial")
    others = (load_known("codet"), load_known("gap"))
    genome = StrategyGenome()
    reply = f"I changed it.\n```python\n{load_known('hardness')}```\n"

    @pytest.fixture(autouse=True, params=NAMES)
    def _named(self, request):
        self.create = registry.find("proposers", request.param).create
        self.options = {"burst": 3} if request.param == "genetic" else {}


class TestRewritingBits(ProposerContract):
    create = staticmethod(registry.find("proposers", "rewrite").create)
    parent, genome, reply = START.text, BitStrings({}), f"Set all: {'1' * 32}"
