"""Environments for measuring, with no family in common with `known`: never shown to a generator, never trained on."""
