"""The registry: parts by name or dotted path, and a helpful error for anything else."""

import pytest

from evosyn import registry
from evosyn.errors import UsageError


@pytest.mark.parametrize("kind", registry.HOMES)
def test_every_listed_name_of_a_kind_can_be_made_or_is_a_plain_module(kind: str) -> None:
    for name in registry.names(kind):
        assert name == name.lower()


def test_no_name_stands_in_two_homes() -> None:
    for kind in registry.HOMES:
        names = registry.names(kind)
        assert len(set(names)) == len(names)


def test_a_dotted_path_loads_a_part_of_the_user() -> None:
    assert registry.factory("proposers", "fractions:Fraction").__name__ == "Fraction"


def test_an_unknown_name_offers_the_nearest() -> None:
    with pytest.raises(UsageError, match="python-function"):
        registry.factory("domains", "python-funktion")
    with pytest.raises(UsageError, match="cannot load"):
        registry.factory("domains", "no.such:thing")
    with pytest.raises(UsageError, match="unknown kind"):
        registry.factory("things", "x")
