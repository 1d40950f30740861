"""Near-duplicates among more statements than fit into memory: what `DedupIndex` would say, from sorted bands on disk.

Each part of a run writes a sketch of its statements: the keys of their MinHash bands, sorted, and their shingles. One
pass splits the keys by ranges, keeps the buckets with two members or more, and goes through the statements in order;
each is compared with those only that share a bucket and were kept before it, so that a thousand copies of one text are
a thousand comparisons. Leskovec, Rajaraman, Ullman, chapter 3.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.rundir import replacing
from evosyn.synthesis.dedup import PERMUTATIONS, DedupConfig, MinHash, band_keys, rows_per_band
from evosyn.textual import shingle_hashes, words

AT_ONCE = 2_000_000
"""Band keys that are sorted in memory at the same time: about 150 MB."""
OPENED = 256
"""Sketches whose shingles are kept in memory."""
_BAND = np.dtype([("key", "<u8"), ("place", "<i8")])


class Sketch(NamedTuple):
    """What is compared of the statements of one file.

    Attributes:
        places_T: numbers of the statements in the run, ascending.
        texts_T: digests of the normalised texts.
        shingles: 32-bit hashes of all texts, one text after the other; ends_T: where each ends.
    """

    places_T: NDArray[np.int64]
    texts_T: NDArray[np.bytes_]
    shingles: NDArray[np.uint32]
    ends_T: NDArray[np.int64]

    def shingles_of(self, row: int) -> NDArray[np.uint32]:
        """Sorted and distinct."""
        return self.shingles[self.ends_T[row - 1] if row else 0 : self.ends_T[row]]


class Copied(NamedTuple):
    """A statement that repeats an earlier one that was kept.

    Attributes:
        place, of: numbers of both.
        kind: `exact` or `near`.
        similarity: in [0, 1].
    """

    place: int
    of: int
    kind: str
    similarity: float


def write_sketch(file: Path, statements: Mapping[int, str], config: DedupConfig) -> None:
    """Write the sketch of some statements atomically; the same statements give the same bytes.

    Args:
        statements: by their number in the run, ascending; may be empty.
    """
    minhash, rows = MinHash(), rows_per_band(config.threshold)
    tokens = [words(text) for text in statements.values()]
    hashes = [shingle_hashes(one, config.shingle) for one in tokens]
    keys = [band_keys(minhash.signature(one), rows) for one in hashes]
    bands = np.array([(key, place) for place, some in zip(statements, keys, strict=True) for key in some], dtype=_BAND)
    with replacing(file) as opened:
        np.savez(
            opened,
            way=np.array(sketch_way(config), dtype=np.int64),
            bands=np.sort(bands, order=("key", "place")),
            places=np.array(list(statements), dtype=np.int64),
            texts=np.array([_digest(one) for one in tokens], dtype="S32"),
            shingles=np.concatenate([np.zeros(0, dtype=np.uint64), *hashes]).astype(np.uint32),
            ends=np.cumsum([one.size for one in hashes], dtype=np.int64),
        )


class SketchWay(NamedTuple):
    """What decides the keys of a sketch: two that were made in different ways share no bucket.

    Attributes:
        permutations: of a signature; shingle: words in one; rows: permutations of a band.
    """

    permutations: int
    shingle: int
    rows: int


def sketch_way(config: DedupConfig) -> SketchWay:
    """How a sketch is made now."""
    return SketchWay(PERMUTATIONS, config.shingle, rows_per_band(config.threshold))


def way_of(file: Path) -> SketchWay | None:
    """How a sketch was made; None for one that does not say."""
    with np.load(file) as held:
        return SketchWay(*held["way"].tolist()) if "way" in held else None


def repeats(sketches: Sequence[Path], threshold: float, scratch: Path, *, at_once: int = AT_ONCE) -> Iterator[Copied]:
    """Every statement that an index of those before it would call a duplicate, in order.

    Args:
        sketches: files in the order of the run, all made in one way; the numbers of each are above those of the files
            before it. The first is of what was given: it is compared with, and not itself asked about.
        scratch: an empty directory on a local disk, which needs 16 bytes for each band of each text, and as much again
            for what is shared.
        at_once: band keys that are sorted in memory at the same time.
    """
    shared = _shared(_split(sketches, scratch, at_once), scratch)
    kept = np.memmap(scratch / "kept", dtype=np.int64, mode="w+", shape=(max(1, shared.cells),))
    walk = _Walk(sketches, threshold, kept)
    for number, file in enumerate(sketches):
        found = shared.of(load_sketch(file))
        for place, cells in found:
            repeat = walk.repeat(place, cells) if number > 0 else None
            if repeat is None:
                walk.keep(place, cells)
            else:
                yield repeat


def load_sketch(file: Path) -> Sketch:
    """A sketch without its bands."""
    with np.load(file) as held:
        return Sketch(held["places"], held["texts"], held["shingles"], held["ends"])


def _digest(tokens: list[str]) -> str:
    return blake2b(" ".join(tokens).encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def _split(sketches: Sequence[Path], scratch: Path, at_once: int) -> list[Path]:
    """The bands of all sketches in files by ranges of their keys, each with `at_once` of them or so."""
    total = 0
    for file in sketches:
        with np.load(file) as held:
            total += int(held["bands"].size)
    count = -(-max(1, total) // at_once)
    bounds = np.array([(number << 64) // count for number in range(1, count)], dtype=np.uint64)
    files = [scratch / f"bands-{number}" for number in range(count)]
    with ExitStack() as stack:
        opened = [stack.enter_context(file.open("wb")) for file in files]
        for sketch in sketches:
            with np.load(sketch) as held:
                bands = held["bands"]
            for target, part in zip(opened, np.split(bands, np.searchsorted(bands["key"], bounds)), strict=True):
                target.write(part.tobytes())
    return files


class _Buckets(NamedTuple):
    """The buckets with two members or more: for each range of keys two files, of the members' places in ascending order
    and of the cells where their buckets begin; `cells` are needed for all buckets together."""

    places: list[NDArray[np.int64]]
    buckets: list[NDArray[np.int64]]
    cells: int

    def of(self, sketch: Sketch) -> Iterator[tuple[int, NDArray[np.int64]]]:
        """The statements of a sketch that share a bucket with any other, in order, each with its buckets."""
        if not sketch.places_T.size:
            return
        ends = [np.searchsorted(one, (sketch.places_T[0], sketch.places_T[-1] + 1)) for one in self.places]
        places = np.concatenate([one[low:high] for one, (low, high) in zip(self.places, ends, strict=True)])
        buckets = np.concatenate([one[low:high] for one, (low, high) in zip(self.buckets, ends, strict=True)])
        order = np.argsort(places, kind="stable")
        found, firsts = np.unique(places[order], return_index=True)
        for place, first, end in zip(found.tolist(), firsts, [*firsts, len(order)][1:], strict=True):
            yield place, buckets[order[first:end]]


def _shared(files: Sequence[Path], scratch: Path) -> _Buckets:
    shared = _Buckets([], [], 0)
    for number, file in enumerate(files):
        bands = np.sort(np.fromfile(file, dtype=_BAND), order=("key", "place"))
        file.unlink()
        _, sizes = np.unique(bands["key"], return_counts=True)
        several = sizes[sizes > 1]
        starts = shared.cells + np.cumsum(several + 1) - (several + 1)  # a bucket begins with how many it has kept
        places = bands["place"][np.repeat(sizes > 1, sizes)]
        order = np.argsort(places, kind="stable")
        for name, values, held in (
            ("places", places[order], shared.places),
            ("buckets", np.repeat(starts, several)[order], shared.buckets),
        ):
            np.save(scratch / f"{name}-{number}.npy", values.astype(np.int64))
            held.append(np.load(scratch / f"{name}-{number}.npy", mmap_mode="r" if values.size else None))
        shared = shared._replace(cells=shared.cells + int((several + 1).sum()))
    return shared


class _Walk:
    """Goes through the statements in order.

    Args:
        kept: of each bucket, from its first cell on: how many members were kept, then their places.
    """

    def __init__(self, sketches: Sequence[Path], threshold: float, kept: NDArray[np.int64]) -> None:
        self._files, firsts = [], []
        for file in sketches:
            with np.load(file) as held:
                places = held["places"]
            if places.size:
                self._files.append(file)
                firsts.append(int(places[0]))
        self._firsts = np.array(firsts, dtype=np.int64)
        self._threshold, self._kept = threshold, kept
        self._sketch = lru_cache(OPENED)(load_sketch)

    def repeat(self, place: int, buckets: NDArray[np.int64]) -> Copied | None:
        """The most similar of those kept, if it is a duplicate; ties go to the earliest."""
        earlier = np.unique(np.concatenate([self._kept[at + 1 : at + 1 + self._kept[at]] for at in buckets]))
        if not earlier.size:
            return None
        text, shingles = self._statement(place)
        files = np.searchsorted(self._firsts, earlier, "right") - 1
        best: Copied | None = None
        for number in np.unique(files).tolist():
            sketch, others = self._sketch(self._files[number]), earlier[files == number]
            rows = np.searchsorted(sketch.places_T, others)
            same = sketch.texts_T[rows] == text
            if same.any():
                return Copied(place, int(others[same.argmax()]), "exact", 1.0)
            similar = _similarities(shingles, sketch, rows)
            at = int(similar.argmax())
            if similar[at] >= self._threshold and (best is None or similar[at] > best.similarity):
                best = Copied(place, int(others[at]), "near", float(similar[at]))
        return best

    def keep(self, place: int, buckets: NDArray[np.int64]) -> None:
        self._kept[buckets] += 1
        self._kept[buckets + self._kept[buckets]] = place

    def _statement(self, place: int) -> tuple[bytes, NDArray[np.uint32]]:
        sketch = self._sketch(self._files[int(np.searchsorted(self._firsts, place, "right")) - 1])
        row = int(np.searchsorted(sketch.places_T, place))
        return bytes(sketch.texts_T[row]), sketch.shingles_of(row)


def _similarities(shingles: NDArray[np.uint32], sketch: Sketch, rows_C: NDArray[np.int64]) -> NDArray[np.float64]:
    """Of one statement to some of a sketch, as `textual.jaccard` has it, all at once; shape (C,)."""
    listed = [sketch.shingles_of(row) for row in rows_C.tolist()]
    flat, ends = np.concatenate(listed), np.cumsum([one.size for one in listed])
    at = np.minimum(np.searchsorted(shingles, flat), shingles.size - 1)
    shared = np.diff(np.cumsum(shingles[at] == flat)[ends - 1], prepend=0)
    similar_C: NDArray[np.float64] = shared / (shingles.size + np.diff(ends, prepend=0) - shared)
    return similar_C
