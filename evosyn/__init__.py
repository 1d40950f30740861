"""evosyn: evolve filtering strategies, synthesize verifiable data, train on it (Du 2025, EvoSyn)."""

__version__ = "0.1.0"
