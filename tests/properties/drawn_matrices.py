"""Drawn matrices with everything that one may hold, or less."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from numpy.typing import NDArray

from evosyn.records import Digests, ParsedCall, PassMatrix

LETTERS = "PFETKBNU"
SMALL_TEXTS = st.text(max_size=5)


@st.composite
def drawn_matrices(draw: st.DrawFn) -> PassMatrix:
    """Up to 4 x 4, each field that may be missing there or not; also single testings without values or calls."""
    rows, columns = draw(st.integers(1, 4)), draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    texts, cases = draw(st.booleans()), draw(st.booleans())
    counts = [draw(st.integers(0, 3)) if cases else 1 for _ in range(columns)]
    call = st.none() | st.builds(ParsedCall, SMALL_TEXTS, st.none() | SMALL_TEXTS)

    def values(count: int) -> Digests | None:
        return rng.integers(0, 2**64, (rows, count), np.uint64) if draw(st.booleans()) else None

    def logprobs(count: int) -> NDArray[np.float64] | None:
        found = -rng.random(count).round(4)
        found[rng.random(count) < 0.3] = np.nan
        return found if draw(st.booleans()) else None

    return PassMatrix(
        "p",
        rng.choice(list(LETTERS), (rows, columns)),
        human_M=rng.choice(list(LETTERS), rows),
        cases_NMC=tuple(rng.choice(list(LETTERS), (rows, count)) for count in counts) if cases else None,
        durations_MN=rng.random((rows, columns)).round(6) if draw(st.booleans()) else None,
        copies_M=rng.integers(1, 9, rows) if draw(st.booleans()) else None,
        solution_texts=tuple(draw(SMALL_TEXTS) for _ in range(rows)) if texts else (),
        testing_texts=tuple(draw(SMALL_TEXTS) for _ in range(columns)) if texts else (),
        statement=draw(st.none() | SMALL_TEXTS),
        payload=draw(st.none() | st.dictionaries(SMALL_TEXTS, SMALL_TEXTS | st.integers(), max_size=2)),
        calls_N=draw(st.none() | st.tuples(*[st.none() | st.tuples(*[call] * count) for count in counts])),
        values_NMC=tuple(map(values, counts)) if draw(st.booleans()) else None,
        solution_similarity_MM=rng.random((rows, rows)).round(4) if draw(st.booleans()) else None,
        testing_similarity_NN=rng.random((columns, columns)).round(4) if draw(st.booleans()) else None,
        solution_logprob_M=logprobs(rows),
        logprobs_NC=tuple(map(logprobs, counts)) if draw(st.booleans()) else None,
    )
