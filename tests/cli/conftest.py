"""What the tests of several commands start from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evosyn.matrices import write_matrices
from evosyn.records import PassMatrix


@pytest.fixture
def pool_file(tmp_path: Path) -> Path:
    """Ten drawn matrices, 8 x 6: half of the testings tell right from wrong, the others accept nearly everything."""
    rng = np.random.default_rng(3)
    made = []
    for number in range(10):
        right = rng.random(8) < 0.5
        right[0], right[1] = True, False
        good = rng.random(6) < 0.5
        chance = np.where(good[None, :], np.where(right[:, None], 0.95, 0.1), 0.9)
        verdicts = np.where(rng.random((8, 6)) < chance, "P", "F")
        made.append(PassMatrix(f"problem-{number}", verdicts, human_M=np.where(right, "P", "F")))
    path = tmp_path / "m.jsonl"
    write_matrices(path, made)
    return path
