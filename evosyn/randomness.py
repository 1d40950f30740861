"""The seed tree: every random stream of a run, derived from one number by hashing names and indices.

Neighbouring seeds share nothing, streams do not depend on the order in which they are asked for, and nothing global is
touched. It is not about seed *problems* (those are in `pools`). DESIGN.md section 5, "Determinism".
"""

from __future__ import annotations

import hashlib
import random
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class SeedTree:
    """A node of the tree; `child` walks down, `rng` and `random` open the stream of this node.

    Attributes:
        root: the seed of the run, as given by the user.
        path: names and indices from the root to this node.
    """

    root: int
    path: tuple[str | int, ...] = ()

    def child(self, *steps: str | int) -> SeedTree:
        """The node below this one at `steps`."""
        return SeedTree(self.root, self.path + steps)

    def integer(self) -> int:
        """A 128-bit integer that depends on the root and the whole path only."""
        text = "\x1f".join([str(self.root), *(f"{type(step).__name__}:{step}" for step in self.path)])
        return int.from_bytes(hashlib.sha256(text.encode()).digest()[:16], "big")

    def rng(self) -> np.random.Generator:
        """A fresh numpy generator at the start of this node's stream."""
        return np.random.Generator(np.random.PCG64(self.integer()))

    def random(self) -> random.Random:
        """A fresh standard-library generator at the start of this node's stream."""
        return random.Random(self.integer())
