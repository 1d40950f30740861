"""A hash of all that the state of a search holds, whatever it holds: what is added to it later is part of it by itself.

For benchmarks and tests that compare states. Values that are equal hash equal: order counts where it decides something
(sequences, the cells of an archive in the order in which they were filled), and the order of a mapping does not.
DESIGN.md section 4.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass

from evosyn.evolve.archive import Archive
from evosyn.evolve.islands import Archipelago
from evosyn.records import Json, canonical_json

GIVEN = frozenset({"axes", "_merit", "config", "seed"})
"""What a state is begun with; all else is the state."""


def fingerprint(state: Archipelago) -> str:
    """The hash: equal states give equal ones.

    Raises:
        TypeError: it holds something else than archives, records, mappings, sequences and JSON.
    """
    held = {name: value for name, value in vars(state).items() if name not in GIVEN}
    return hashlib.sha256(canonical_json(_plain(held)).encode("utf-8", "surrogatepass")).hexdigest()


def _plain(value: object) -> Json:
    if isinstance(value, Archive):
        return [[list(cell), _plain(elite)] for cell, elite in value.cells().items()]
    if is_dataclass(value):
        return {one.name: _plain(getattr(value, one.name)) for one in fields(value) if one.compare}
    if isinstance(value, Mapping):
        return {str(name): _plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
