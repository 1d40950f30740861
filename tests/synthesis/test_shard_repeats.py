"""The pass over the problems of all shards: what it says belongs to the very shards that it read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from evosyn.errors import CorruptRun
from evosyn.records import Problem
from evosyn.storage import Storage, open_storage
from evosyn.synthesis.dedup import DedupConfig
from evosyn.synthesis.report import Figures
from evosyn.synthesis.shards.config import ShardPlan
from evosyn.synthesis.shards.orders import ShardOrder
from evosyn.synthesis.shards.repeating import RepeatPass
from evosyn.synthesis.shards.seals import SKETCH, Seal, packed, write_seal, write_sealed
from evosyn.synthesis.sketches import write_sketch

SEEDS = [Problem("seed", "python-function", "count the vowels of a word")]
TEXTS = ["sum the even numbers of a list", "find the longest word of a line", "sum the even numbers of a list"]
CONFIG = DedupConfig()


@pytest.fixture
def storage(tmp_path: Path) -> Storage:
    """A shard for each text."""
    store = open_storage(str(tmp_path / "store"))
    for shard, text in enumerate(TEXTS):
        seal(store, tmp_path, shard, text)
    return store


def seal(store: Storage, folder: Path, shard: int, text: str, *, without: str = "") -> None:
    sketch = folder / f"sketch-{shard}.npz"
    write_sketch(sketch, {len(SEEDS) + shard: text}, CONFIG)
    if without:
        with np.load(sketch) as held:
            parts = {name: held[name] for name in held if name != without}
        np.savez(sketch, **parts)
    file, digest = write_sealed(store, ShardOrder("problems", shard, f"e{len(text)}"), packed({SKETCH: sketch}))
    write_seal(store, Seal("run", "problems", shard, file, digest, "worker", 1.0, Figures()))


def unseal(folder: Path, shard: int) -> None:
    (folder / "store" / "sealed" / f"problems-{shard:06d}.json").unlink()


def found(store: Storage, scratch: Path, config: DedupConfig = CONFIG) -> dict[int, list[str]]:
    scratch.mkdir()
    repeats = RepeatPass(store, "run", ShardPlan(len(TEXTS), 1), SEEDS, config, scratch).by_shard()
    return {shard: [one.kind for one in some] for shard, some in repeats.items()}


def test_the_pass_is_made_once_and_again_where_a_shard_was_made_anew(storage: Storage, tmp_path: Path) -> None:
    assert found(storage, tmp_path / "1") == {2: ["exact"]}
    assert found(storage, tmp_path / "2") == {2: ["exact"]} and not list((tmp_path / "2").iterdir())
    unseal(tmp_path, 0)
    seal(storage, tmp_path, 0, "turn a number into its roman form")
    assert found(storage, tmp_path / "3") == {}, "what it repeated is no longer there"


@pytest.mark.parametrize("text", [b"{", b"[1]\n", b"\xff\xfe\n", b"3\n", b'["x", "exact", "a", 1.0]\n'])
def test_a_damaged_list_of_repeats_is_named_and_made_again_where_it_is_removed(
    text: bytes, storage: Storage, tmp_path: Path
) -> None:
    assert found(storage, tmp_path / "1") == {2: ["exact"]}
    (listed,) = (tmp_path / "store").glob("**/repeats-*")
    listed.write_bytes(text)
    with pytest.raises(CorruptRun, match=rf"shards\.store: .*{listed.name}: is damaged.*Remove it"):
        found(storage, tmp_path / "2")
    listed.unlink()
    assert found(storage, tmp_path / "3") == {2: ["exact"]}


def test_sketches_that_were_made_in_another_way_are_refused_with_what_to_do(
    storage: Storage, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for shard in (0, 2):
        unseal(tmp_path, shard)
    with monkeypatch.context() as other:
        other.setattr("evosyn.synthesis.dedup.PERMUTATIONS", 128)
        other.setattr("evosyn.synthesis.sketches.PERMUTATIONS", 128)
        seal(storage, tmp_path, 0, TEXTS[0])
    seal(storage, tmp_path, 2, TEXTS[2], without="way")
    told = (
        r"2 of 3 shards .* remove sealed/problems-000000\.json, sealed/problems-000002\.json, and these shards are made"
    )
    with pytest.raises(CorruptRun, match=told):
        found(storage, tmp_path / "1")
    for shard in (0, 2):
        unseal(tmp_path, shard)
        seal(storage, tmp_path, shard, TEXTS[shard])
    assert found(storage, tmp_path / "2") == {2: ["exact"]}


def test_another_size_of_shingles_is_another_way(storage: Storage, tmp_path: Path) -> None:
    with pytest.raises(CorruptRun, match=r"remove .*000002\.json, all of that phase, and these shards are made again"):
        found(storage, tmp_path / "1", DedupConfig(shingle=2))
