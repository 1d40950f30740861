"""The domain is held to the contract of domains: `pytest test_short_answer.py`, wherever evosyn is installed."""

from short_answer import create

from evosyn.contracts import DomainContract, DomainSample
from evosyn.records import Problem, Testing

AREA = Problem("area", "short-answer", "A rectangle is 2 m wide and 7 m long. What is its area?", {"unit": "m"})
ACCEPTS = Testing("answer", {"accepts": ["14"]})


class TestShortAnswer(DomainContract):
    create = staticmethod(create)
    samples = (DomainSample(AREA, ACCEPTS, right="14 m", wrong="15"),)
