"""Bit strings and their proposer are held to their contracts: `pytest test_bit_strings.py`."""

from bit_strings import START, BitStrings, create

from evosyn.contracts import EvolvedContract, ProposerContract


class TestBitStrings(EvolvedContract):
    make = staticmethod(BitStrings)
    text = START.text


class TestFlipping(ProposerContract):
    make = staticmethod(create)
    parent = START.text
