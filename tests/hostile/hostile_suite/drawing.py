"""Which cases belong to the suite, and which to a drawn sample of it; both follow from one seed."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

from hostile_suite.families import FAMILIES
from hostile_suite.fitting import dress
from hostile_suite.model import Case, Family, Role

HONEST = 6
"""Cases of an honest family in a sample."""


def cases_of(family: Family, seed: str) -> list[Case]:
    """All cases of a family: the fixed ones, then the drawn ones."""
    found = [Case(family, attack, seed) for attack in family.fixed]
    for place in range(family.draws):
        stream = random.Random(f"{seed}|{family.name}|drawn {place}")
        attack = family.draw(stream) if family.draw is not None else stream.choice(family.fixed)
        if family.role in (Role.SOLUTION, Role.STRATEGY):
            attack = dress(attack, stream)
        found.append(Case(family, replace(attack, name=f"drawn {place}: {attack.name}"), seed, drawn=True))
    return found


def all_cases(seed: str) -> list[Case]:
    return [case for family in FAMILIES for case in cases_of(family, seed)]


def sample(seed: str, share: int, shares: int) -> list[Case]:
    """One of so many shares of a drawn sample: all shares together hold one case of each quick family, a few of each
    honest one, and one of as many slow families as there are shares."""
    stream = random.Random(f"{seed}|sample")
    quick, slow = ([family for family in FAMILIES if family.slow is which] for which in (False, True))
    chosen = [*stream.sample(quick, len(quick))[share::shares], *stream.sample(slow, shares)[share : share + 1]]
    found = []
    for family in chosen:
        cases = cases_of(family, seed)
        count = HONEST if family.role is Role.HONEST else 1
        found += random.Random(f"{seed}|sample|{family.name}").sample(cases, min(count, len(cases)))
    return found


def alike(cases: Sequence[Case]) -> list[list[Case]]:
    """The cases in groups that may share limits: slow ones, honest ones, others."""
    groups: dict[tuple[bool, bool], list[Case]] = {}
    for case in cases:
        groups.setdefault((case.family.slow, case.family.role is Role.HONEST), []).append(case)
    return list(groups.values())
