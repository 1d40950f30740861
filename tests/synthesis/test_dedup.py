"""Deduplication: exact and near, against a brute-force answer."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from evosyn.errors import UsageError
from evosyn.synthesis.dedup import DedupConfig, DedupIndex, MinHash, rows_per_band
from evosyn.textual import jaccard, shingle_hashes, words

WORDS = st.sampled_from(
    ["sum", "list", "of", "the", "largest", "even", "odd", "prime", "string", "count", "sort", "pair"]
)
TEXTS = st.lists(WORDS, min_size=1, max_size=40).map(" ".join)


@settings(deadline=None, max_examples=60)
@given(st.lists(TEXTS, min_size=1, max_size=12))
def test_what_is_reported_is_really_that_similar_and_what_was_added_is_found(texts):
    index = DedupIndex(DedupConfig(threshold=0.7))
    for name, text in enumerate(texts):
        found = index.find(text)
        if found is not None:
            assert int(found.of) < name
            hashes = [shingle_hashes(words(one), 3) for one in (text, texts[int(found.of)])]
            assert found.kind == "exact" or jaccard(*hashes) == found.similarity >= 0.7
        index.add(str(name), text)
        again = index.find(text)
        assert again is not None
        assert again.kind == "exact"


def test_case_blanks_and_punctuation_do_not_hide_an_exact_duplicate():
    index = DedupIndex()
    index.add("a", "Return the sum of all EVEN numbers, please.")
    found = index.find("return the sum of all even   numbers please")
    assert found is not None
    assert (found.kind, found.of) == ("exact", "a")


def test_operators_distinguish_texts():
    index = DedupIndex(DedupConfig(threshold=1.0))
    index.add("a", "count x with x < 3")
    assert index.find("count x with x > 3") is None


def test_one_changed_word_in_a_long_text_is_a_near_duplicate_and_half_a_text_is_not():
    rng = np.random.default_rng(0)
    text = [f"w{number}" for number in rng.integers(0, 500, size=120)]
    index = DedupIndex()
    index.add("a", " ".join(text))
    near = index.find(" ".join([*text[:60], "changed", *text[61:]]))
    assert near is not None
    assert near.kind == "near"
    assert index.find(" ".join([*text[:60], *(f"v{number}" for number in range(60))])) is None


def test_near_duplicates_at_the_threshold_are_rarely_missed():
    rng = np.random.default_rng(1)
    index, missed, asked = DedupIndex(DedupConfig(threshold=0.8, shingle=1)), 0, 0
    for number in range(200):
        base = [f"w{number}x{at}" for at in range(90)]
        index.add(str(number), " ".join(base))
        kept = rng.permutation(90)[:80]
        changed = [*(base[at] for at in sorted(kept)), *(f"n{number}x{at}" for at in range(8))]
        similarity = jaccard(shingle_hashes(base, 1), shingle_hashes(changed, 1))
        if similarity >= 0.8:
            asked += 1
            missed += index.find(" ".join(changed)) is None
    assert asked > 150
    assert missed <= 0.02 * asked


def test_signatures_estimate_the_similarity():
    minhash = MinHash()
    a, b = (
        np.arange(0, 1000, dtype=np.uint64) * np.uint64(7919),
        np.arange(500, 1500, dtype=np.uint64) * np.uint64(7919),
    )
    estimate = float((minhash.signature(a) == minhash.signature(b)).mean())
    assert abs(estimate - 1 / 3) < 0.13


def test_bands_get_longer_with_the_threshold():
    rows = [rows_per_band(threshold) for threshold in (0.3, 0.6, 0.8, 0.95, 1.0)]
    assert rows == sorted(rows)
    assert rows[-1] > rows[0]


def test_an_empty_text_is_a_duplicate_of_an_empty_text_only():
    index = DedupIndex()
    assert index.find("") is None
    index.add("a", "")
    assert index.find("...") is not None
    assert index.find("word") is None


def test_embeddings_find_what_words_do_not(monkeypatch):
    def embed(texts):
        return [[1.0, text.count("prime"), text.count("sort")] for text in texts]

    monkeypatch.setitem(sys.modules, "topic_vectors", SimpleNamespace(embed=embed))
    config = DedupConfig(embedding="topic_vectors:embed", cosine=0.99)
    index, plain = DedupIndex(config), DedupIndex()
    for one in (index, plain):
        one.add("a", "count the prime prime prime numbers up to n")
    found = index.find("how often does a prime follow a prime; prime twins")
    assert found is not None
    assert (found.kind, found.of) == ("embedding", "a")
    assert plain.find("how often does a prime follow a prime; prime twins") is None
    assert index.find("sort sort sort these names") is None


def test_a_wrong_path_of_an_embedding_is_refused():
    with pytest.raises(UsageError, match="package"):
        DedupIndex(DedupConfig(embedding="no.such.module:embed"))
