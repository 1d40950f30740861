"""One sandbox for the tests of this folder, and matrices in which right solutions and valid testings are known."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.records import PassMatrix
from evosyn.sandbox import open_sandbox
from evosyn.strategies.running.sandboxed import SandboxedRunner
from evosyn.textual import similarity as similar_to


@pytest.fixture(scope="session")
def runner() -> Iterator[SandboxedRunner]:
    try:
        sandbox = open_sandbox(workers=2, allow_weak=True, packages=("numpy",))
    except SandboxUnavailable as error:
        pytest.skip(str(error))
    with sandbox:
        yield SandboxedRunner(sandbox)


@pytest.fixture(scope="session")
def make_matrix() -> Callable[..., PassMatrix]:
    return noisy_matrix


def noisy_matrix(name: str, rows: int = 12, columns: int = 10, noise: float = 0.15, seed: int = 0) -> PassMatrix:
    """Half the solutions are right, half the testings follow the human but for noise, the others accept at random."""
    rng = np.random.default_rng([seed, *name.encode()])
    human = np.arange(rows) % 2 == 0
    valid = np.arange(columns) % 2 == 0
    passed = np.where(valid, human[:, None] ^ (rng.random((rows, columns)) < noise), rng.random((rows, columns)) < 0.3)
    order = rng.permutation(rows)
    verdicts = np.where(passed, "P", "F")[order]
    given_MN = np.where(verdicts == "P", 1, rng.integers(2, 5, verdicts.shape)).astype(np.uint64)
    values = tuple(given_MN[:, [n]] for n in range(columns))
    words = ("right" * 9 if one else "mistaken" * 6 for one in human[order])
    similarity = similar_to([f"{word} {number}" for number, word in enumerate(words)])
    return PassMatrix(
        name, verdicts, np.where(human, "P", "F")[order], values_NMC=values, solution_similarity_MM=similarity
    )
