"""Proposers, one a file: `create(...)` gives a `ports.Proposer`. These ask a teacher, whatever is evolved."""
