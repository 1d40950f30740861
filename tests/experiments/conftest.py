"""The small dataset of the training tests, for table 2 on a user's own data."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.train.conftest import write_small_data


@pytest.fixture(scope="session")
def small_data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_small_data(tmp_path_factory.mktemp("data"))
