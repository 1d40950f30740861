"""Bit strings and their proposer are held to their contracts: `pytest test_bit_strings.py`."""

from bit_strings import START, BitStrings, create, flipping

from evosyn.contracts import EvolvedContract, ProposerContract


class TestBitStrings(EvolvedContract):
    create = staticmethod(create)


class TestFlipping(ProposerContract):
    create = staticmethod(flipping)
    genome = BitStrings({})
    parent = START.text
