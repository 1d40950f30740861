"""Made-up matrices of seeds for benchmarks of speed: with all that evidence may hold, or with verdicts alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from evosyn.records import ParsedCall, PassMatrix
from evosyn.textual import similarity


def seeds(problems: int, m: int, n: int, *, view: bool = True) -> list[PassMatrix]:
    """So many problems of m solutions x n testings with four cases each.

    Args:
        view: with all that evidence may hold, not verdicts alone.
    """
    rng = np.random.default_rng(0)
    made = []
    for number in range(problems):
        right = rng.random(m) < 0.4
        good = rng.random(n) < 0.4
        chance = np.where(good[None, :], np.where(right[:, None], 0.95, 0.1), 0.5)
        cases = tuple(np.where(rng.random((m, 4)) < chance[:, [at]] ** 0.25, "P", "F") for at in range(n))
        verdicts = np.stack([np.where((one == "P").all(axis=1), "P", "F") for one in cases], axis=1)
        bare = PassMatrix(f"p{number}", verdicts, np.where(right, "P", "F"), cases_NMC=cases)
        whole, copies = in_view(bare, rng), rng.integers(1, 9, m)
        made.append(replace(whole if view else bare, copies_M=copies))
    return made


def in_view(matrix: PassMatrix, rng: np.random.Generator) -> PassMatrix:
    """The same with what solutions gave in each case, equal where they pass, texts of 300 characters, a statement and a
    payload, durations, and calls of which some testings share theirs."""
    rows, columns = matrix.verdicts_MN.shape
    cases = matrix.cases_NMC or tuple(matrix.verdicts_MN[:, [n]] for n in range(columns))
    values = tuple(np.where(one == "P", 1, rng.integers(0, 4, one.shape)).astype(np.uint64) for one in cases)
    texts = tuple("".join(rng.choice(list("abcdef ():\n"), 300)) for _ in range(max(rows, columns)))
    asked = tuple(
        tuple(ParsedCall(f"[{n % (1 + columns // 2)}, {at}]", str(at)) for at in range(one.shape[1]))
        for n, one in enumerate(cases)
    )
    return replace(
        matrix,
        values_NMC=values,
        solution_texts=texts[:rows],
        testing_texts=texts[:columns],
        calls_N=asked,
        durations_MN=0.001 + np.arange(rows * columns).reshape(rows, columns) / 1e6,
        statement=texts[0] + texts[-1],
        payload={"entry_point": "f", "starter_code": texts[0]},
        solution_similarity_MM=similarity(texts[:rows]),
        testing_similarity_NN=similarity(texts[:columns]),
        solution_logprob_M=np.negative(rng.random(rows)),
        logprobs_NC=tuple(np.negative(rng.random(one.shape[1])) for one in cases),
    )
