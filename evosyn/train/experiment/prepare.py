"""One seed's data: pools, matrices, an evolved strategy, and the training tasks of every arm.

All arms see the same problems with the same prompts; only the testing that pays (or the solution that is imitated)
differs. Matrices come from the sandbox; the strategy comes from the search on seed problems that no arm trains on.
EvoSyn (2510.17928) sections 3.1 and 3.2.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from evosyn.pools import write_matrices
from evosyn.ports import Crossexec, StrategyRunner
from evosyn.records import Evidence, Invalid, Json, PassMatrix, Pool, Problem, Ranking
from evosyn.rundir import write_atomic
from evosyn.seeds import SeedTree
from evosyn.strategies import load_known
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.ranking import varies
from evosyn.testings import testing_from_json
from evosyn.train.experiment.language import Noise, Spec, draw_specs, is_good, make_pool, program

EvolveStrategy: TypeAlias = Callable[[Path, Path, int, int], str]
"""(matrices file, run directory, seed, M = N of a draw) -> source of the best strategy."""

KNOWN = {"initial": "initial", "figure3": "gap"}
"""Arms that use a shipped strategy of the paper."""


@dataclass(frozen=True)
class Sizes:
    """How much of everything one seed has."""

    seeds: int = 51
    problems: int = 300
    heldout: int = 300
    draws: int = 16

    def size_of(self, number: int) -> int:
        """Solutions (and testings) of problem `number`: the seeds, which come first, have half as many again."""
        return self.draws + self.draws // 2 if number < self.seeds else self.draws


@dataclass(frozen=True)
class Prepared:
    """What the arms of one seed train on. Every list is in the order of `problems`.

    Attributes:
        problems: statement and human testing of the training problems, as JSON tasks.
        heldout: the same for problems that nobody trains on.
        arms: name -> {index of a problem -> testing}.
        answers: name -> {index of a problem -> answer to imitate}.
        warm: (index, answer) pairs of the warm start, right or wrong.
        facts: what the choices were worth, per arm.
    """

    problems: list[Json]
    heldout: list[Json]
    arms: dict[str, dict[str, Json]]
    answers: dict[str, dict[str, str]]
    warm: list[tuple[int, str]]
    facts: Json

    def save(self, path: Path) -> None:
        write_atomic(path, json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> Prepared:
        value = json.loads(path.read_text(encoding="utf-8"))
        value["warm"] = [(int(index), str(answer)) for index, answer in value["warm"]]
        return cls(**value)


def prepare(
    out: Path,
    seed: int,
    sizes: Sizes,
    noise: Noise,
    crossexec: Crossexec,
    runner: StrategyRunner,
    evolve: EvolveStrategy,
) -> Prepared:
    """Make (or load) one seed's data under `out`."""
    path = out / "prepared.json"
    if path.exists():
        return Prepared.load(path)
    seeds = SeedTree(seed).child("experiment")
    specs = draw_specs(sizes.seeds + sizes.problems + sizes.heldout, seeds.child("specs").random())
    pools = [
        make_pool(spec, sizes.size_of(number), noise, seeds.child("pool", number).random())
        for number, spec in enumerate(specs[: sizes.seeds + sizes.problems])
    ]
    matrices = crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in pools])
    write_matrices(out / "seeds.jsonl", matrices[: sizes.seeds])
    strategy = evolve(out / "seeds.jsonl", out / "evolve", seed, sizes.draws)
    training = slice(sizes.seeds, sizes.seeds + sizes.problems)
    prepared = _arms(specs[training], pools[training], matrices[training], strategy, runner, seeds)
    heldout = [_task(make_pool(spec, 0, noise, seeds.child("heldout", number).random()).problem)
               for number, spec in enumerate(specs[sizes.seeds + sizes.problems :])]  # fmt: skip
    prepared.heldout.extend(heldout)
    prepared.save(path)
    return prepared


def _arms(
    specs: Sequence[Spec],
    pools: Sequence[Pool],
    matrices: Sequence[PassMatrix],
    strategy: str,
    runner: StrategyRunner,
    seeds: SeedTree,
) -> Prepared:
    evidences = [evidence_of(matrix) for matrix in matrices]
    rankings = _rankings(
        {"evosyn": strategy, **{arm: load_known(name) for arm, name in KNOWN.items()}}, evidences, runner
    )
    picks = {arm: [_pick(each.testing_scores_N, seeds.child(arm, "t", at)) for at, each in enumerate(found)]
             for arm, found in rankings.items()}  # fmt: skip
    best = [_pick(each.solution_scores_M, seeds.child("evosyn", "s", at)) for at, each in enumerate(rankings["evosyn"])]
    kept = [
        at
        for at, each in enumerate(rankings["evosyn"])
        if varies(each.testing_scores_N) and bool(matrices[at].passed_MN[best[at], picks["evosyn"][at]])
    ]
    lots = [seeds.child("random", at).random() for at in range(len(pools))]
    picks["random"] = [lot.randrange(len(pool.testings)) for lot, pool in zip(lots, pools, strict=True)]
    arms: dict[str, dict[str, Json]] = {
        arm: {str(at): pools[at].testings[chosen[at]].to_json() for at in kept} for arm, chosen in picks.items()
    }
    everything = range(len(pools))
    arms["relaxed"] = {str(at): pools[at].testings[picks["evosyn"][at]].to_json() for at in everything}
    arms["oracle"] = {str(at): _human(pools[at].problem) for at in kept}
    some = [lot.randrange(len(pool.solutions)) for lot, pool in zip(lots, pools, strict=True)]
    answers = {
        "distill-best": {str(at): _answer(pools[at], best[at]) for at in kept},
        "distill-random": {str(at): _answer(pools[at], some[at]) for at in kept},
    }
    order = seeds.child("warm").random()
    chosen = order.sample(range(len(pools)), min(150, len(pools)))
    warm = [(at, _answer(pools[at], order.randrange(len(pools[at].solutions)))) for at in chosen]
    facts = {
        "kept": len(kept),
        "problems": len(pools),
        "strategy": strategy,
        "arms": _worth(arms, specs, matrices, picks),
    }
    return Prepared([_task(pool.problem) for pool in pools], [], arms, answers, warm, facts)


def _rankings(
    programs: Mapping[str, str], evidences: Sequence[Evidence], runner: StrategyRunner
) -> dict[str, tuple[Ranking, ...]]:
    found = {}
    for name, result in zip(programs, runner.rank(list(programs.values()), evidences), strict=True):
        if isinstance(result, Invalid):
            raise ValueError(f"the strategy {name!r} ranks nothing: {result.reason}")
        found[name] = result
    return found


def _pick(scores: NDArray[np.float64], seeds: SeedTree) -> int:
    """The place of the highest score; ties are broken by lot, as in the score of a strategy."""
    return int(seeds.random().choice(np.flatnonzero(scores == scores.max()).tolist()))


def _worth(
    arms: Mapping[str, Mapping[str, Json]],
    specs: Sequence[Spec],
    matrices: Sequence[PassMatrix],
    picks: Mapping[str, Sequence[int]],
) -> Json:
    """Per arm: rows, share of good testings, and how well the testings agree with the human ones on the solutions."""
    facts = {}
    for arm, rows in arms.items():
        good = [is_good(testing_from_json(testing), specs[int(at)]) for at, testing in rows.items()]
        entry: dict[str, Json] = {"rows": len(rows), "good": round(sum(good) / max(1, len(good)), 4)}
        chosen = picks.get("evosyn" if arm == "relaxed" else arm)
        if chosen is not None:
            agreed = [_balanced(matrices[int(at)], chosen[int(at)]) for at in rows]
            known = [value for value in agreed if value is not None]
            entry["balanced_accuracy"] = round(sum(known) / max(1, len(known)), 4)
        facts[arm] = entry
    return facts


def _balanced(matrix: PassMatrix, testing: int) -> float | None:
    """Balanced accuracy of one testing against the human verdicts; None where all solutions are alike."""
    if matrix.human_M is None:
        return None
    right = matrix.human_M == "P"
    if right.all() or not right.any():
        return None
    accepted = matrix.passed_MN[:, testing]
    return float((accepted[right].mean() + (~accepted[~right]).mean()) / 2)


def _answer(pool: Pool, index: int) -> str:
    return f"```python\n{pool.solutions[index].source}```"


def _human(problem: Problem) -> Json:
    if problem.human_testing is None:
        raise ValueError(f"{problem.problem_id}: has no human testing")
    return problem.human_testing.to_json()


def _task(problem: Problem) -> Json:
    return {"id": problem.problem_id, "statement": problem.statement, "testing": _human(problem)}


def spec_of(task: Json) -> Spec:
    return tuple(str(task["id"]).split("-"))


def right_answer(task: Json) -> str:
    return program(spec_of(task))
