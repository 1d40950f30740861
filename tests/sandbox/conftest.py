"""The sandboxes that the contract tests run on."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from evosyn.errors import EvosynError
from evosyn.ports import Sandbox
from evosyn.sandbox import _image, open_sandbox


def require(name: str) -> None:
    """Skip where a backend cannot work; make the Docker image where only that is missing."""
    if name != "docker":
        return
    try:
        client = _image.docker_client()
    except EvosynError as error:
        pytest.skip(str(error))
    if not client.images.list(name="evosyn-sandbox", filters={"label": _image.PACKAGES_LABEL}):
        _image.build_from_host(client, "evosyn-sandbox")


@pytest.fixture(scope="module", params=["local", pytest.param("docker", marks=pytest.mark.docker)])
def backend(request: pytest.FixtureRequest) -> str:
    require(request.param)
    return str(request.param)


@pytest.fixture(scope="module")
def sandbox(backend: str) -> Iterator[Sandbox]:
    with open_sandbox(backend, workers=2) as opened:
        yield opened
