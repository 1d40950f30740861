"""The terms of a strategy program, each left out in turn: what an ablation of a winner is made of.

A program of the genetic grammar is cut as a tree: an argument takes the place of its operation. Any other program is
cut as text (`strategies.grammar.cuts`). Nothing is run.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

from evosyn.strategies.grammar.cuts import longest_cuts
from evosyn.strategies.grammar.source import read, write
from evosyn.strategies.grammar.terms import without_terms

MOST = 40
"""Variants of one program; those of the shortest terms are left out beyond that."""


@dataclass(frozen=True)
class Variant:
    """A program without one of its terms.

    Attributes:
        removed: source of the term, with the operator that bound it.
        where: the line that the term stands in, or which scores it belongs to.
        text: the program without it.
    """

    removed: str
    where: str
    text: str


def variants(program: str) -> list[Variant]:
    """The program without each of its terms, the longest terms first; nothing for a text that does not parse, that
    cannot be written again, or that is too long (`cuts.LONGEST`)."""
    genetic = read(program)
    if genetic is not None:
        cut = [
            Variant(f"{one.removed}, only {one.left}", one.tree, write(one.program)) for one in without_terms(genetic)
        ]
        return sorted(cut, key=lambda variant: -len(variant.removed))[:MOST]
    return [Variant(one.removed, f"line {one.line}", one.text) for one in islice(longest_cuts(program), MOST)]
