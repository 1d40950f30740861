"""Makes every single case or assert a testing of its own, from outcomes that were recorded case by case.

Nothing is executed. Weak models write testings of which one assert in three is right but hardly any list; single checks
then carry more evidence than lists do.
"""

from __future__ import annotations

import json
from dataclasses import replace

import numpy as np

from evosyn.errors import UsageError
from evosyn.records import Json, ParsedCall, PassMatrix, canonical_json
from evosyn.textual import similarity

LISTS = ("cases", "asserts")


def split_testings(matrix: PassMatrix) -> PassMatrix:
    """The matrix with one testing for each distinct case; a testing without recorded cases stays whole. Cases are the
    same where their texts are, or where texts are unknown what they ask and expect is.

    Raises:
        UsageError: the matrix holds no case outcomes.
    """
    if matrix.cases_NMC is None:
        raise UsageError(
            f"--split-testings: problem {matrix.problem_id!r} has no recorded cases; cross-execute the pool again"
        )
    columns, texts, ids, calls, values = [], [], [], [], []
    seen: set[str | ParsedCall] = set()
    for n, cases_MC in enumerate(matrix.cases_NMC):
        whole = cases_MC if cases_MC.shape[1] else matrix.verdicts_MN[:, [n]]
        own_texts = _single_texts(matrix.testing_texts[n], whole.shape[1]) if matrix.testing_texts else None
        name = matrix.testing_ids[n] if matrix.testing_ids else str(n)
        recorded = whole is cases_MC
        asked = matrix.calls_N[n] if recorded and matrix.calls_N is not None else None
        given_MC = matrix.values_NMC[n] if recorded and matrix.values_NMC is not None else None
        for c in range(whole.shape[1]):
            text = None if own_texts is None else own_texts[c]
            if (same := text or _whole(asked[c] if asked else None)) in seen:
                continue
            if same is not None:
                seen.add(same)
            columns.append(whole[:, c])
            ids.append(f"{name}/{c}")
            texts.append(text or "")
            calls.append(None if asked is None else (asked[c],))
            values.append(None if given_MC is None else given_MC[:, [c]])
    return replace(
        matrix,
        verdicts_MN=np.stack(columns, axis=1) if columns else matrix.verdicts_MN[:, :0],
        cases_NMC=None,
        durations_MN=None,
        testing_ids=tuple(ids),
        testing_texts=tuple(texts) if matrix.testing_texts else (),
        calls_N=None if matrix.calls_N is None else tuple(calls),
        values_NMC=None if matrix.values_NMC is None else tuple(values),
        testing_similarity_NN=similarity(texts) if matrix.testing_texts else None,
    )


def _whole(call: ParsedCall | None) -> ParsedCall | None:
    """The call where it says all that its case asks."""
    return None if call is None or call.expected is None else call


def _single_texts(text: str, count: int) -> list[str]:
    """The texts of the testings that hold one case each; the whole text, numbered, where its form is another."""
    body: Json = json.loads(text)
    for name in LISTS:
        cases = body.get(name)
        if isinstance(cases, list) and len(cases) == count:
            return [canonical_json({**body, name: [case]}) for case in cases]
    return [text] if count == 1 else [f"{text}#{number}" for number in range(count)]
