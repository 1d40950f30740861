"""The contracts of plug-ins as test classes: subclass one in your own tests, set `create` to yours, and run them.

    class TestShortAnswer(DomainContract):
        create = staticmethod(create)
        samples = (DomainSample(problem, testing, right="14", wrong="15"),)

Every test method is one property that evosyn relies on, named as a sentence; its failure says what to do. They need
neither pytest nor fixtures (for `unittest` name `TestCase` as a second base). evosyn's own parts are held to them in
`tests/contracts`. What the methods of a port promise stands in `evosyn.ports`.
"""

from __future__ import annotations

from evosyn.contracts.agents import AgentContract
from evosyn.contracts.axes import AxisContract
from evosyn.contracts.domains import DomainContract, DomainSample
from evosyn.contracts.evolved import EvolvedContract, GenomeContract
from evosyn.contracts.feeds import FeedContract
from evosyn.contracts.proposers import ProposerContract
from evosyn.contracts.sandboxes import SandboxContract
from evosyn.contracts.teachers import TeacherContract
from evosyn.contracts.worlds import WorldContract

__all__ = [
    "AgentContract",
    "AxisContract",
    "DomainContract",
    "DomainSample",
    "EvolvedContract",
    "FeedContract",
    "GenomeContract",
    "ProposerContract",
    "SandboxContract",
    "TeacherContract",
    "WorldContract",
]
