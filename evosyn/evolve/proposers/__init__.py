"""Proposers, one a file: `create(...)` gives a `ports.Proposer`. Genetic needs no model; the others ask a teacher."""
