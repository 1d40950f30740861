"""Near-duplicates from sorted bands on disk: what an index in memory says of the same texts in the same order."""

import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.synthesis import sketches
from evosyn.synthesis.dedup import DedupConfig, DedupIndex
from evosyn.synthesis.sketches import repeats, write_sketch

CONFIG = DedupConfig(threshold=0.6, shingle=2)
WORDS = st.sampled_from(["sum", "list", "of", "the", "largest", "even", "odd", "prime"])
BASES = st.lists(WORDS, min_size=3, max_size=25)


@st.composite
def cut_texts(draw):
    """Texts with many twins, exact and near, cut into parts; the first part is given."""
    bases = draw(st.lists(BASES, min_size=1, max_size=4))
    texts = []
    for _ in range(draw(st.integers(2, 30))):
        text = list(draw(st.sampled_from(bases)))
        if draw(st.booleans()):
            text[draw(st.integers(0, len(text) - 1))] = draw(WORDS)
        texts.append(" ".join(text))
    cuts = sorted(draw(st.lists(st.integers(0, len(texts)), max_size=4)))
    return [texts[low:high] for low, high in zip([0, *cuts], [*cuts, len(texts)], strict=True)]


def by_index(parts, config=CONFIG):
    index, found, place = DedupIndex(config), [], 0
    for number, part in enumerate(parts):
        for text in part:
            twin = index.find(text) if number else None
            if twin is None:
                index.add(str(place), text)
            else:
                found.append((place, int(twin.of), twin.kind, twin.similarity))
            place += 1
    return found


def by_sketches(parts, folder, at_once, config=CONFIG):
    files, place = [], 0
    for number, part in enumerate(parts):
        files.append(folder / f"{number}.npz")
        write_sketch(files[-1], dict(enumerate(part, place)), config)
        place += len(part)
    scratch = folder / "scratch"
    scratch.mkdir()
    return [tuple(one) for one in repeats(files, config.threshold, scratch, at_once=at_once)]


@settings(max_examples=60)
@given(cut_texts(), st.sampled_from([7, 100, 10**6]))
def test_the_index_and_the_disk_find_the_same_at_any_cut_and_in_any_portion(tmp_path_factory, parts, at_once):
    assert by_sketches(parts, tmp_path_factory.mktemp("d"), at_once) == by_index(parts)


def test_what_is_like_a_dropped_text_only_is_kept(tmp_path):
    base = [f"w{number}" for number in range(40)]
    near = [*base[:30], *(f"v{number}" for number in range(8))]
    far = [*base[:20], *near[30:]]
    parts = [[], [" ".join(base)], [" ".join(near)], [" ".join(far)]]
    found = by_sketches(parts, tmp_path, 10**6)
    assert [(one[0], one[1]) for one in found] == [(1, 0)]
    assert by_index(parts) == found


def test_many_copies_of_one_text_are_each_compared_once(tmp_path, monkeypatch):
    kept = []
    monkeypatch.setattr(sketches._Walk, "keep", counted(sketches._Walk.keep, kept))
    text = " ".join(f"w{number}" for number in range(50))
    found = by_sketches([[], [text] * 400, [text] * 400], tmp_path, 10**6)
    assert len(found) == 799
    assert {one[1:] for one in found} == {(0, "exact", 1.0)}
    assert kept == [0], "only the first is there to be compared with"


def counted(method, calls):
    def called(self, place, *given):
        calls.append(place)
        return method(self, place, *given)

    return called


def test_a_sketch_is_the_same_in_every_process(tmp_path):
    code = (
        "import sys; from pathlib import Path; from evosyn.synthesis.dedup import DedupConfig\n"
        "from evosyn.synthesis.sketches import write_sketch\n"
        "write_sketch(Path(sys.argv[1]), {3: 'sum of the list', 5: 'the largest even prime'}, DedupConfig())"
    )
    held = set()
    for seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        subprocess.run([sys.executable, "-c", code, str(tmp_path / seed)], check=True, env=environment)
        held.add((tmp_path / seed).read_bytes())
    assert len(held) == 1


def test_no_texts_have_no_repeats(tmp_path):
    assert by_sketches([[], [], []], tmp_path, 10**6) == []


@pytest.mark.slow
def test_memory_is_that_of_a_portion_whatever_the_number_of_texts(tmp_path):
    rng = np.random.default_rng(0)
    parts = [[" ".join(map(str, rng.integers(0, 9999, 30))) for _ in range(200)] for _ in range(20)]
    parts[7][3] = parts[2][5]
    assert [one[:2] for one in by_sketches([[], *parts], tmp_path, 5_000)] == [(1403, 405)]
    held = {file.name: file.stat().st_size for file in (tmp_path / "scratch").iterdir()}
    assert held.pop("texts") == 4000 * (32 + 29 * 4)  # of which one text at a time is read
    assert max(held.values()) < 5_000 * 16
