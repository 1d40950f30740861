"""Deduplication of problem statements: exact after normalising, and near-duplicates by MinHash.

Candidates come from banded MinHash signatures (Broder 1997; Leskovec, Rajaraman, Ullman, chapter 3); each candidate
is then decided by the exact Jaccard similarity of its word shingles, so a signature never decides alone. The index
answers against whatever was added before, so callers add in a fixed order. Overlap with benchmarks is
`synthesis.decontaminate`; more statements than fit into memory are `synthesis.sketches`.
"""

from __future__ import annotations

import importlib
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.textual import jaccard, shingle_hashes, words

PERMUTATIONS = 256


class DedupConfig(BaseModel):
    """What counts as a duplicate.

    Attributes:
        threshold: Jaccard similarity of word shingles from which two statements are near-duplicates, in (0, 1].
        shingle: words in one shingle.
        embedding: dotted path `package.module:function` from a list of texts to one vector each (an array, shape
            (texts, dimensions)); empty for none. evosyn ships no model and downloads none.
        cosine: similarity of embeddings from which two statements are near-duplicates.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    threshold: float = Field(default=0.8, gt=0.0, le=1.0)
    shingle: int = Field(default=3, ge=1, le=20)
    embedding: str = ""
    cosine: float = Field(default=0.95, gt=0.0, le=1.0)


@dataclass(frozen=True)
class Duplicate:
    """Which earlier text it repeats: `exact`, `near` or `embedding`, its name, and their similarity in [0, 1]."""

    kind: str
    of: str
    similarity: float


class MinHash:
    """Signatures of sets: in each place two of them agree with the probability of their Jaccard similarity."""

    def __init__(self) -> None:
        rng = SeedTree(0).child("minhash").rng()
        top = np.iinfo(np.uint64).max
        self._multiplier_K = rng.integers(1, top, size=PERMUTATIONS, dtype=np.uint64) | np.uint64(1)
        self._offset_K = rng.integers(0, top, size=PERMUTATIONS, dtype=np.uint64)

    def signature(self, hashes: NDArray[np.uint64]) -> NDArray[np.uint32]:
        """The signature, shape (PERMUTATIONS,), of a set that is not empty (multiply-shift hashing)."""
        mixed_KS = self._multiplier_K[:, None] * hashes[None, :] + self._offset_K[:, None]
        return np.asarray((mixed_KS >> np.uint64(32)).min(axis=1), dtype=np.uint32)


def rows_per_band(threshold: float) -> int:
    """The longest band that still finds a pair at `threshold` with a probability of 0.99 or more."""
    for rows in (16, 8, 4, 2):
        if 1 - (1 - threshold**rows) ** (PERMUTATIONS // rows) >= 0.99:
            return rows
    return 1


def band_keys(signature: NDArray[np.uint32], rows: int) -> list[int]:
    """One 64-bit number for each band of a signature, the same in every process; a clash costs one comparison, never a
    wrong answer."""
    bands = (signature[at : at + rows].tobytes() for at in range(0, signature.size, rows))
    digests = (blake2b(band, digest_size=8, salt=number.to_bytes(2, "little")) for number, band in enumerate(bands))
    return [int.from_bytes(digest.digest(), "little") for digest in digests]


class Nearest(NamedTuple):
    """The most similar text: its position and the cosine."""

    at: int
    similarity: float


class Embedded:
    """Unit vectors of the texts seen so far."""

    def __init__(self, path: str, cosine: float) -> None:
        """
        Raises:
            UsageError: nothing is at `path`.
        """
        module, _, name = path.partition(":")
        try:
            self._embed = getattr(importlib.import_module(module), name)
        except (ImportError, AttributeError, ValueError) as error:
            raise UsageError(
                f"filter.dedup.embedding {path!r}: write it as package.module:function: {error}"
            ) from error
        self._cosine = cosine
        self._vectors: list[NDArray[np.float32]] = []

    def find(self, text: str) -> Nearest | None:
        """Position and similarity of the nearest earlier text, if it is near enough."""
        if not self._vectors:
            return None
        similarities = np.stack(self._vectors) @ self._unit(text)
        best = int(similarities.argmax())
        return Nearest(best, float(similarities[best])) if similarities[best] >= self._cosine else None

    def add(self, text: str) -> None:
        self._vectors.append(self._unit(text))

    def _unit(self, text: str) -> NDArray[np.float32]:
        vector = np.asarray(self._embed([text]), dtype=np.float32)[0]
        return np.asarray(vector / max(float(np.linalg.norm(vector)), 1e-12), dtype=np.float32)


class DedupIndex:
    """Statements seen so far. `find` asks, `add` remembers."""

    def __init__(self, config: DedupConfig | None = None) -> None:
        self._config = config or DedupConfig()
        self._minhash = MinHash()
        self._embedded = Embedded(self._config.embedding, self._config.cosine) if self._config.embedding else None
        self._rows = rows_per_band(self._config.threshold)
        self._names: list[str] = []
        self._shingles: list[NDArray[np.uint64]] = []
        self._exact: dict[str, int] = {}
        # A band key that one text has holds its position; the rare further ones go into lists. At 10^5 texts this is
        # the difference between 1 GB and 0.3 GB.
        self._first: dict[int, int] = {}
        self._more: defaultdict[int, list[int]] = defaultdict(list)

    def __len__(self) -> int:
        return len(self._names)

    def find(self, text: str) -> Duplicate | None:
        """The most similar text added before, if it is a duplicate; ties go to the earliest."""
        tokens = words(text)
        same = self._exact.get(" ".join(tokens))
        if same is not None:
            return Duplicate("exact", self._names[same], 1.0)
        hashes = shingle_hashes(tokens, self._config.shingle)
        candidates = {at for key in self._keys(hashes) for at in self._sharing(key)}
        best: Duplicate | None = None
        for at in sorted(candidates):
            similarity = jaccard(hashes.astype(np.uint32), self._shingles[at])
            if similarity >= self._config.threshold and (best is None or similarity > best.similarity):
                best = Duplicate("near", self._names[at], similarity)
        if best is None and self._embedded is not None:
            nearest = self._embedded.find(text)
            return None if nearest is None else Duplicate("embedding", self._names[nearest.at], nearest.similarity)
        return best

    def add(self, name: str, text: str) -> None:
        """Remember a text under a name; later texts are compared with it."""
        tokens = words(text)
        hashes = shingle_hashes(tokens, self._config.shingle)
        at = len(self._names)
        self._names.append(name)
        if self._embedded is not None:
            self._embedded.add(text)
        self._shingles.append(hashes.astype(np.uint32))
        self._exact.setdefault(" ".join(tokens), at)
        for key in self._keys(hashes):
            if self._first.setdefault(key, at) != at:
                self._more[key].append(at)

    def _sharing(self, key: int) -> Iterator[int]:
        if key in self._first:
            yield self._first[key]
            yield from self._more.get(key, ())

    def _keys(self, hashes: NDArray[np.uint64]) -> list[int]:
        return band_keys(self._minhash.signature(hashes), self._rows)
