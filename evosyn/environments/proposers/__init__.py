"""Proposers of environments that are no search's of anything else."""
