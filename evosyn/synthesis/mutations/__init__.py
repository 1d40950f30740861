"""Mutations of problems by models: another setting, a distractor, another structure. DejaQ (2601.01931) section 4.3.

A mutation is a chain of links, one request each, read and checked by what costs nothing. Nothing here trains or keeps
an archive (`evosyn.evolve.curriculum`). docs/coevolve.md.
"""
