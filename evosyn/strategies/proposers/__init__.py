"""Proposers of strategies, one a file. Those that ask a model know no noun and stand in `evosyn.evolve.proposers`."""
