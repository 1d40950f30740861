"""What a prompt is worth with a real model: replies, cases, solutions, and what CodeT makes of them, from one drawing.

    PYTHONPATH=. python benchmarks/real_prompts.py --seeds SEEDS --model openai/NAME --base-url URL --out DIR
                                                   [--set testing.form=json --set example=none --set style=brief ...]
    PYTHONPATH=. python benchmarks/real_prompts.py --pool POOL [--out DIR]

Six solutions and six testings of each of the first 40 problems: prompts are tuned on the first 24, the other 16 are for
figures alone. The same command goes on where DIR stands; it has `pool.jsonl.gz` and `figures.json`. `--set` takes keys
of the drawing. A pool that is there already (`evosyn pool sample`) needs no model; of its replies only those are known
that were usable. Judged by execution: a case is right if the reference passes it, a solution if the human testing
passes. `wholly` are testings of which all cases are right; `missed` are replies that were lost unread and that a plain
reader can read. `closed` is the share of the way from a random choice to the oracle that CodeT over single cases goes,
with its interval.
"""

from __future__ import annotations

import argparse
import asyncio
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from evosyn.chat import FULL, REPEATS, WAS_CUT
from evosyn.configs.loading import load_config
from evosyn.configs.sampling import SamplingConfig
from evosyn.domains import load_pools
from evosyn.domains.python.payload import entry_point
from evosyn.evaluators.columns import ranked_columns
from evosyn.evaluators.intervals import Strata
from evosyn.pools import write_pools
from evosyn.records import Evidence, Invalid, Json, PassMatrix, Pool, Solution, Verdict
from evosyn.strategies import load_known
from evosyn.strategies.evidence import evidence_of, sub_matrix
from evosyn.synthesis.generate import Drawn, Want, drawn_pools
from evosyn.workbench import Workbench, WorkbenchConfig
from tests.real.plain import missed

PROBLEMS, TUNING, EACH = 40, 24, 6
CUT = {*WAS_CUT, REPEATS, FULL}


class Judged(NamedTuple):
    """What was drawn of one problem, judged.

    Attributes:
        right_M: of solutions; one that nobody could judge is left out.
        cases: of all testings, whether each is right; wholly: of each testing, likewise.
        chosen: the chance that CodeT's choice is right, where several are first; None without a solution.
    """

    name: str
    right_M: Sequence[bool]
    cases: Sequence[bool]
    wholly: Sequence[bool]
    chosen: float | None

    @property
    def random(self) -> float:
        return float(np.mean(self.right_M))


def draw(seeds: str, sets: Sequence[str], workbench: Workbench, count: int = PROBLEMS) -> list[Drawn]:
    """The first problems of a pool file, with everything that was asked about them."""
    problems = [pool.problem for pool in load_pools(seeds)[:count]]
    config, teacher = load_config(SamplingConfig, sets=sets), workbench.teacher()
    found: dict[int, Drawn] = {}

    def ended(index: int, drawn: Drawn) -> None:
        found[index] = drawn
        print(f"{len(found)} of {len(problems)} problems drawn", flush=True)

    async def every() -> None:
        try:
            await drawn_pools(problems, teacher, workbench.domains, Want(EACH, EACH), config, ended)
        finally:
            await teacher.aclose()

    asyncio.run(every())
    return [found[index] for index in range(len(problems))]


def judged(pools: Sequence[Pool], workbench: Workbench) -> list[Judged]:
    """Execute the pools whose problem has a reference that its human testing passes."""
    whole = [pool for pool in pools if pool.problem.reference_solution and pool.problem.human_testing]
    items = [
        (one.problem, [*one.solutions, Solution(one.problem.reference_solution or "")], one.testings) for one in whole
    ]
    matrices = [one for one in workbench.crossexec.matrices(items) if letters(one.human_M)[-1] is True]
    drawn = [_rows(one, [right is not None for right in letters(one.human_M)[:-1]]) for one in matrices]
    ranked = [ranked_columns(one, "case") if one.verdicts_MN.size else one for one in drawn]
    scores = _codet([evidence_of(one) for one in ranked if one.verdicts_MN.size], workbench)
    found = []
    for matrix, own in zip(matrices, drawn, strict=True):
        right_M = known(letters(own.human_M))
        chosen = next(scores) if own.verdicts_MN.size else [0.0] * len(right_M)
        first = [right for right, score in zip(right_M, chosen, strict=True) if score == max(chosen)]
        cases = known(right for one in matrix.cases_NMC or () for right in letters(one[-1]))
        wholly = known(letters(matrix.verdicts_MN[-1]))
        found.append(Judged(matrix.problem_id, right_M, cases, wholly, float(np.mean(first)) if first else None))
    return found


def letters(row: Iterable[str] | None) -> list[bool | None]:
    """Verdicts as passed or not; None where that is unknown."""
    unknown = (Verdict.UNKNOWN, Verdict.NOT_RUN)
    return [None if letter in unknown else letter == Verdict.PASS for letter in (() if row is None else row)]


def known(row: Iterable[bool | None]) -> list[bool]:
    return [one for one in row if one is not None]


def _rows(matrix: PassMatrix, kept: Sequence[bool]) -> PassMatrix:
    """The solutions that a model wrote and that could be judged; the last row is the reference."""
    return sub_matrix(matrix, np.flatnonzero(kept), np.arange(matrix.verdicts_MN.shape[1]))


def _codet(evidences: Sequence[Evidence], workbench: Workbench) -> Iterator[Sequence[float]]:
    ranked = workbench.runner.rank([load_known("codet")], evidences)[0]
    if isinstance(ranked, Invalid):
        raise RuntimeError(ranked.reason)
    return iter([one.solution_scores_M.tolist() for one in ranked])


def of_replies(drawn: Sequence[Drawn]) -> dict[str, Json]:
    """Figures of the requests, by kind."""
    found: dict[str, Json] = {}
    for kind in ("solution", "testing"):
        named = [(entry_point(one.pool.problem), a) for one in drawn for a in one.attempts if a.kind == kind]
        found[kind] = {
            "replies": len(named),
            "cut": _share(one.reply.failure in CUT for _, one in named),
            "usable": _share(not one.reason for _, one in named),
            "tokens": _share(one.reply.output_tokens for _, one in named),
            "missed": sum(missed(one.reason, kind, one.reply.text, name) for name, one in named),
        }
    return found


def of_pools(found: Sequence[Judged], asked: int) -> dict[str, Json]:
    """Figures of what was executed, of so many problems."""
    some = [one for one in found if one.chosen is not None]
    random = np.array([one.random for one in some])
    gained = np.array([one.chosen for one in some], dtype=float) - random
    possible = np.array([float(any(one.right_M)) for one in some]) - random
    names = [one.name for one in some]
    ends = Strata([""] * len(some), names).share(gained, possible) if possible.sum() > 0 else None
    return {
        "problems": len(found),
        "without_a_sound_reference": asked - len(found),
        "right_cases": _share(right for one in found for right in one.cases),
        "wholly_right": _share(right for one in found for right in one.wholly),
        "right_solutions": _share(right for one in found for right in one.right_M),
        "random": _share(random),
        "codet_over_cases": _share(random + gained),
        "oracle": _share(random + possible),
        "closed": round(float(gained.sum() / possible.sum()), 3) if possible.sum() > 0 else None,
        "closed_between": None if ends is None else [round(end, 3) for end in ends],
    }


def _share(values: Iterable[float]) -> float | None:
    listed = list(values)
    return round(float(np.mean(listed)), 3) if listed else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", help="pool file of problems with references and human testings")
    parser.add_argument("--pool", help="with solutions and testings")
    parser.add_argument("--model")
    parser.add_argument("--base-url")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--set", action="append", default=[], metavar="KEY=VALUE")
    given = parser.parse_args()
    if bool(given.pool) == bool(given.seeds) or (given.seeds and not (given.model and given.out)):
        parser.error("give --pool, or --seeds with --model and --out")
    asked = {"teacher.model": given.model, "teacher.base_url": given.base_url}
    figures: dict[str, Json] = {"given": given.pool or given.seeds, "model": given.model, "set": given.set}
    with Workbench(load_config(WorkbenchConfig, flags=asked), out=given.out) as workbench:
        drawn = draw(given.seeds, given.set, workbench) if given.seeds else []
        pools = [one.pool for one in drawn] or load_pools(given.pool)[:PROBLEMS]
        if drawn:
            write_pools(given.out / "pool.jsonl.gz", pools)
        for name, part in (("tuning", slice(TUNING)), ("figures", slice(TUNING, PROBLEMS))):
            replies: Mapping[str, Json] = of_replies(drawn[part]) if drawn else {}
            figures[name] = {**replies, **of_pools(judged(pools[part], workbench), len(pools[part]))}
    text = json.dumps(figures, indent=1)
    print(text)
    if given.out:
        (given.out / "figures.json").write_text(text + "\n")


if __name__ == "__main__":
    main()
