"""Evidence as plain data on its way into the sandbox, where `_harness` shows it to strategies.

Every array travels as bytes, every text and every testing's calls once for all evidences that share them. It decides
what strategies see: what is not packed here does not exist for them. Digests of values become numbers by first
appearance: they say what is equal, and nothing of what the values are or of who else was recorded. DESIGN.md section 5,
"Strategy".
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from importlib import resources

import numpy as np
from numpy.typing import NDArray

from evosyn.records import Digests, Evidence, Json
from evosyn.strategies.evidence import numbered


def source(name: str) -> str:
    """A file of this folder, as text for the sandbox."""
    return (resources.files("evosyn.strategies.running") / name).read_text(encoding="utf-8")


def pack(evidences: Sequence[Evidence]) -> dict[str, Json]:
    """What the harness reads: plain data, every array as bytes one after the other, every text once."""
    numbers: dict[str, int] = {}

    def listed(texts: Sequence[str]) -> list[int]:
        return [numbers.setdefault(text, len(numbers)) for text in texts]

    asked = {id(one): one for evidence in evidences for one in evidence.calls_N or () if one is not None}
    calls = {name: number for number, name in enumerate(asked)}
    solution_texts = [listed(evidence.solution_texts) for evidence in evidences]
    testing_texts = [listed(evidence.testing_texts) for evidence in evidences]
    cases = [array for evidence in evidences for array in evidence.cases_NMC]
    more = [_more(evidence, calls, listed) for evidence in evidences]
    return {
        "places": _places(evidences),
        "scores": sum(sum(evidence.passed_MN.shape) for evidence in evidences),
        "passed": b"".join(evidence.passed_MN.astype(np.bool_).tobytes() for evidence in evidences),
        "known": b"".join(evidence.known_MN.astype(np.bool_).tobytes() for evidence in evidences),
        "durations": b"".join(evidence.durations_MN.astype(np.float64).tobytes() for evidence in evidences),
        "copies": b"".join(evidence.copies_M.astype(np.int64).tobytes() for evidence in evidences),
        "solution_groups": b"".join(evidence.solution_group_M.astype(np.int64).tobytes() for evidence in evidences),
        "testing_groups": b"".join(evidence.testing_group_N.astype(np.int64).tobytes() for evidence in evidences),
        "replies": [evidence.replies_N for evidence in evidences],
        "case_counts": np.array([array.shape[1] for array in cases], np.int64).tobytes(),
        "cases": b"".join(array.astype(np.bool_).tobytes() for array in cases),
        "more": more,
        "calls": [tuple([call and tuple(call) for call in one]) for one in asked.values()],
        "texts": list(numbers),
        "solution_texts": solution_texts,
        "testing_texts": testing_texts,
        "lists": source("_paper_form.py"),
    }


def _more(
    evidence: Evidence, calls: Mapping[int, int], listed: Callable[[Sequence[str]], list[int]]
) -> dict[str, Json]:
    """What may be unknown of one evidence, by the name that strategies know it by.

    Args:
        calls: numbers of what testings ask, by identity.
        listed: the numbers of texts.
    """
    payload = None if evidence.payload is None else json.dumps(evidence.payload)
    statement, given = (None if text is None else listed([text])[0] for text in (evidence.statement, payload))
    asked, values = evidence.calls_N, evidence.values_NMC
    return {
        "verdicts": None if evidence.verdicts_MN is None else evidence.verdicts_MN.astype("<U1").tobytes(),
        "statement": statement,
        "payload": given,
        "calls": None if asked is None else [None if one is None else calls[id(one)] for one in asked],
        "values": None if values is None else [None if one is None else _values(one) for one in values],
        "solution_similarity": _bytes(evidence.solution_similarity_MM),
        "testing_similarity": _bytes(evidence.testing_similarity_NN),
        "solution_logprob": _bytes(evidence.solution_logprob_M),
        "testing_logprob": _bytes(evidence.testing_logprob_N),
    }


def _values(digests_MC: Digests) -> bytes:
    return np.where(digests_MC == 0, 0, numbered(digests_MC) + 1).astype(np.uint64).tobytes()


def _bytes(array: NDArray[np.float64] | None) -> bytes | None:
    return None if array is None else array.astype(np.float64).tobytes()


def size_of(value: Json) -> int:
    """Bytes and characters in all of a pack."""
    if isinstance(value, bytes | str):
        return len(value)
    if isinstance(value, dict):
        return sum(map(size_of, value.values()))
    return sum(map(size_of, value)) if isinstance(value, list | tuple) else 8


def _places(evidences: Sequence[Evidence]) -> list[tuple[int, ...]]:
    """For each evidence its M and N, and where it starts in the arrays over cells, solutions, testings and cases."""
    places: list[tuple[int, ...]] = []
    at_mn = at_m = at_n = at_c = 0
    for evidence in evidences:
        m, n = evidence.passed_MN.shape
        places.append((m, n, at_mn, at_m, at_n, at_c))
        at_c += sum(array.size for array in evidence.cases_NMC)
        at_mn, at_m, at_n = at_mn + m * n, at_m + m, at_n + n
    return places
