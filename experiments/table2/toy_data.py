"""One seed's data: pools, matrices, an evolved strategy, and the training tasks of every arm.

All arms see the same problems with the same prompts; only the testing that pays (or the solution that is imitated)
differs. Matrices come from the sandbox; the strategy comes from the search on seed problems that no arm trains on.
EvoSyn (2510.17928) sections 3.1 and 3.2.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from evosyn.matrices import write_matrices
from evosyn.ports import StrategyRunner
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Pool, Problem
from evosyn.rundir import write_atomic
from evosyn.testings import testing_from_json
from experiments.table2.choices import Choices, Sizes, choose, mean_worth
from experiments.table2.search import StrategySearch
from experiments.table2.toy_language import Noise, Spec, draw_specs, is_good, make_pool


@dataclass(frozen=True)
class StepBudget:
    """What every arm gets.

    Attributes:
        warm_steps: SFT steps before anything else, on solutions right or wrong.
        steps: GRPO steps of `prompts` x `group` completions.
        distill_steps: SFT steps of the imitation arms.
        every: steps between measurements on unseen problems.
    """

    warm_steps: int = 40
    steps: int = 120
    distill_steps: int = 100
    prompts: int = 16
    group: int = 8
    rate: float = 3e-4
    every: int = 40
    width: int = 128


@dataclass(frozen=True)
class PreparedExperiment:
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
    def load(cls, path: Path) -> PreparedExperiment:
        value = json.loads(path.read_text(encoding="utf-8"))
        value["warm"] = [(int(index), str(answer)) for index, answer in value["warm"]]
        return cls(**value)


def prepare(out: Path, seed: int, sizes: Sizes, noise: Noise, search: StrategySearch) -> PreparedExperiment:
    """Make one seed's data and write them to `out`/prepared.json."""
    seeds = SeedTree(seed).child("experiment")
    specs = draw_specs(sizes.seeds + sizes.problems + sizes.heldout, seeds.child("specs").random())
    pools = [
        make_pool(spec, sizes.size_of(number), noise, seeds.child("pool", number).random())
        for number, spec in enumerate(specs[: sizes.seeds + sizes.problems])
    ]
    matrices = search.crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in pools])
    write_matrices(out / "seeds.jsonl", matrices[: sizes.seeds])
    strategy = search.evolve(out / "seeds.jsonl", out / "evolve", seed, sizes.draws)
    training = slice(sizes.seeds, sizes.seeds + sizes.problems)
    prepared = _arms(specs[training], pools[training], matrices[training], strategy, search.runner, seeds)
    heldout = [_task(make_pool(spec, 0, noise, seeds.child("heldout", number).random()).problem)
               for number, spec in enumerate(specs[sizes.seeds + sizes.problems :])]  # fmt: skip
    prepared.heldout.extend(heldout)
    prepared.save(out / "prepared.json")
    return prepared


def _arms(
    specs: Sequence[Spec],
    pools: Sequence[Pool],
    matrices: Sequence[PassMatrix],
    strategy: str,
    runner: StrategyRunner,
    seeds: SeedTree,
) -> PreparedExperiment:
    chosen = choose(matrices, strategy, runner, seeds)
    arms: dict[str, dict[str, Json]] = {
        arm: {str(at): pools[at].testings[places[at]].to_json() for at in chosen.rows(arm)}
        for arm, places in chosen.testings.items()
    }
    arms["oracle"] = {str(at): _human(pools[at].problem) for at in chosen.kept}
    answers = {
        "distill-best": {str(at): _answer(pools[at], chosen.best[at]) for at in chosen.kept},
        "distill-random": {str(at): _answer(pools[at], chosen.some[at]) for at in chosen.kept},
    }
    order = seeds.child("warm").random()
    shown = order.sample(range(len(pools)), min(150, len(pools)))
    warm = [(at, _answer(pools[at], order.randrange(len(pools[at].solutions)))) for at in shown]
    facts = {
        "kept": len(chosen.kept),
        "problems": len(pools),
        "strategy": strategy,
        "arms": _worth(arms, specs, matrices, chosen) | {arm: {"rows": len(rows)} for arm, rows in answers.items()},
    }
    return PreparedExperiment([_task(pool.problem) for pool in pools], [], arms, answers, warm, facts)


def _worth(
    arms: Mapping[str, Mapping[str, Json]],
    specs: Sequence[Spec],
    matrices: Sequence[PassMatrix],
    chosen: Choices,
) -> Json:
    """Per arm: rows, share of good testings, and how well the testings agree with the human ones on the solutions."""
    facts = {}
    for arm, rows in arms.items():
        good = [is_good(testing_from_json(testing), specs[int(at)]) for at, testing in rows.items()]
        facts[arm] = {"rows": len(rows), "good": round(sum(good) / max(1, len(good)), 4)}
        worth = mean_worth(matrices, chosen, arm)
        if worth is not None:
            facts[arm]["balanced_accuracy"] = worth
    return facts


def _answer(pool: Pool, index: int) -> str:
    return f"```python\n{pool.solutions[index].text}```"


def _human(problem: Problem) -> Json:
    if problem.human_testing is None:
        raise ValueError(f"{problem.problem_id}: has no human testing")
    return problem.human_testing.to_json()


def _task(problem: Problem) -> Json:
    return {"id": problem.problem_id, "statement": problem.statement, "testing": _human(problem)}


def spec_of(task: Json) -> Spec:
    return tuple(str(task["id"]).split("-"))
