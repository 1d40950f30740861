"""Evaluators: cross-execution makes matrices, seed consistency scores strategies on them."""
