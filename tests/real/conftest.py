"""A small model behind a meter, for the tests of `make test-real`. They are skipped where it cannot be had.

EVOSYN_REAL_BASE_URL names a server that is up, EVOSYN_REAL_MODEL_FILE a GGUF file in place of the model that is
fetched, EVOSYN_REAL_MODEL another one of `tests.real.weights`, EVOSYN_REAL_MBPP a copy of MBPP in place of bundled
seeds.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from evosyn.cli import group
from evosyn.domains import load_pools
from evosyn.pools import write_pools
from tests.real.meter import Meter
from tests.real.running import Lane
from tests.real.server import LlamaServer
from tests.real.weights import NotServed


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of all runs, with the seeds in it: 12 problems of functions, 4 of a shell."""
    made = tmp_path_factory.mktemp("real")
    if mbpp := os.environ.get("EVOSYN_REAL_MBPP"):
        words = ["pool", "import", "mbpp", mbpp, "--limit", "12", "--out", str(made / "seeds.jsonl")]
        group(words, standalone_mode=False)
    else:
        write_pools(made / "seeds.jsonl", load_pools("builtin:python-seeds")[:12])
    write_pools(made / "shell.jsonl", load_pools("builtin:os-seeds")[:4])
    return made


@pytest.fixture(scope="class")
def lane(request: pytest.FixtureRequest, folder: Path) -> Iterator[Lane]:
    """The server with as many slots as the class says: few have longer windows."""
    url = os.environ.get("EVOSYN_REAL_BASE_URL", "")
    model = os.environ.get("EVOSYN_REAL_MODEL_FILE") or os.environ.get("EVOSYN_REAL_MODEL") or "qwen-1.5b"
    with ExitStack() as open_ones:
        served = None
        if not url:
            try:
                served = open_ones.enter_context(LlamaServer(model, request.cls.slots))
            except NotServed as error:
                pytest.skip(str(error))
            url = served.base_url
        yield Lane(open_ones.enter_context(Meter(url)), served, folder)
