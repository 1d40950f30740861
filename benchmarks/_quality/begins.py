"""Programs that nobody searched for: known rules, and the openings that every search of the benchmark starts from."""

from __future__ import annotations

from collections.abc import Mapping

from evosyn.strategies import known_names, load_known, load_strategy
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.reader import Reader
from evosyn.synthesis.search.config import EvolveConfig


def known_rules() -> dict[str, str]:
    """Texts of known rules by name."""
    return {name: load_known(name) for name in known_names()}


def openings() -> dict[str, str]:
    """Texts of what a search starts from beside the known rules, under names that no known rule has."""
    known, reader = set(known_rules().values()), Reader()
    texts = {name: load_strategy(name) for name in EvolveConfig().start}
    texts |= {f"opening {name}": reader.write(program) for name, program in OPENINGS.items()}
    return {name: text for name, text in texts.items() if text not in known}


def kind_of(winner: str, known: Mapping[str, str], begun: Mapping[str, str]) -> str:
    """Which of the `KINDS` a winner is, text for text: what a search changed in any way is evolved."""
    if winner in known.values():
        return "known"
    return "opening" if winner in begun.values() else "evolved"
