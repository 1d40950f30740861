"""Every behaviour axis that the registry finds keeps the contract of axes."""

import pytest

from evosyn import registry
from evosyn.contracts import AxisContract
from evosyn.evaluators.behaviour import DEFAULT_AXES

NAMES = registry.names("axes")


def test_the_default_axes_are_found():
    assert set(DEFAULT_AXES) <= set(NAMES)


class TestFound(AxisContract):
    @pytest.fixture(autouse=True, params=NAMES)
    def _named(self, request):
        self.create = registry.find("axes", request.param).create

    def test_it_has_the_name_by_which_it_is_found(self, request):
        assert request.node.callspec.params["_named"] == self.make().axis.name
