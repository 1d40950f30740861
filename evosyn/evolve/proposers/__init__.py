"""Proposers that ask a teacher for a better Python program, of whatever is evolved (`ports.Genome`); one a file."""
