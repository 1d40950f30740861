"""One part at a time: rules that nobody searched for on a fold, or one search and what its winner is worth."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from _quality.begins import kind_of, known_rules, openings
from _quality.pools import Pools
from _quality.protocol import (
    ORACLE,
    REACHABLE,
    SETTINGS,
    SOLUTIONS,
    Part,
    code_digest,
    held_out,
    search_seed,
)
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evaluators.heldout import Split, pool_of
from evosyn.evaluators.views import UNRECORDED, unrecorded
from evosyn.evolve.islands import IslandsConfig
from evosyn.evolve.stopping import StopConfig
from evosyn.records import Candidate, Json, PassMatrix
from evosyn.strategies.grammar.reader import Reader
from evosyn.strategies.running.stacked import TreeRunner
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.seeds import Seeds
from evosyn.synthesis.search.trial import run_split
from evosyn.synthesis.search.winner import contest_report
from evosyn.workbench import Workbench


class Place(NamedTuple):
    """Held-out problems of a fold, as they were recorded or without texts and values."""

    setting: str
    fold: int
    plain: bool = False


class Standard(NamedTuple):
    """The known rule that is best in a place, with hindsight."""

    rule: str
    score: float
    problems: int


class Bench:
    """Makes parts; what several of them need is computed once.

    Attributes:
        code: which code decides what it finds, said by every part.
    """

    def __init__(self, pools: Pools, workbench: Workbench) -> None:
        self._pools, self._workbench = pools, workbench
        self._known, self._openings, self._standards = known_rules(), openings(), dict[Place, Standard]()
        self.code = code_digest()

    def part(self, setting: str, part: Part) -> dict[str, Json]:
        """What a line says, scores in the order of the problems of the fold."""
        made = self._begins(setting, part.fold) if part.arm is None else self._search(setting, part)
        return {**made, "code": self.code}

    def _begins(self, setting: str, fold: int) -> dict[str, Json]:
        """Known rules, openings, the bounds and what is best by the train problems, on the problems of a fold."""
        matrices = self._pools.folds(setting)[fold]
        programs = {**self._known, **self._openings}
        held, rows = self.scores(setting, matrices, programs)
        train = self.scores(setting, self._pools.train(setting, fold), programs)[1]
        means = {name: float(np.mean(scores)) for name, scores in train.items()}
        pools = {matrix.problem_id: pool_of(matrix) for matrix in matrices}
        return {
            "problems": held.draws.problem_ids,
            "tasks": held.draws.tasks_P,
            "pools": [pools[name] for name in held.draws.problem_ids],
            "rows": {name: scores for name, scores in rows.items() if name in self._known},
            "openings": {name: scores for name, scores in rows.items() if name in self._openings},
            "chosen": max(means.keys() & self._known.keys(), key=lambda name: (means[name], name)),
            "chosen_opening": max(means, key=lambda name: (means[name], name)),
            ORACLE: _rounded(held.oracles.tolist()),
            REACHABLE: [] if held.reachables is None else _rounded(held.reachables.tolist()),
        }

    def _search(self, setting: str, part: Part) -> dict[str, Json]:
        """Held-out scores of one winner, what it is, and how it was chosen."""
        seed, held = search_seed(setting, part), self._pools.folds(setting)[part.fold]
        config = EvolveConfig(
            seed=seed,
            scoring=ConsistencyConfig(M=SOLUTIONS, N=SETTINGS[setting], unit="testing", draws=8, seed=seed),
            islands=IslandsConfig.model_validate({"search": part.arm or "evolve"}),
            stop=StopConfig(evaluations=self._pools.inputs.evaluations),
        )
        began = time.process_time()
        seeds = Seeds(Split(self._pools.train(setting, part.fold), held), {}, simulated=False)
        trial = run_split(config, seeds, self._workbench, held=held_out(setting))
        seconds = time.process_time() - began
        contest, winner, found = trial.choice.contest, trial.choice.winner.text, trial.heldout["evolved"]
        return {
            "scores": _rounded(found.per_seed) if found.score is not None else [0.0] * len(held),
            "invalid": found.invalid,
            "searched": trial.choice.luckiest[1],
            "fresh": contest.scored.score,
            "known": contest.reference,
            "winner_is": kind_of(winner, self._known, self._openings),
            "gain": None
            if contest.gain is None
            else [contest.gain.mean, contest.gain.lower, contest.gain.drawing_error],
            "draws": contest.draws._asdict(),
            "rounds": contest_report(contest)["rounds"],
            "winner": winner,
            "elsewhere": dict(self.elsewhere(setting, part.fold, winner)) if part.arm == "evolve" else {},
            "controller_s": seconds,
        }

    def elsewhere(self, setting: str, fold: int, winner: str) -> Iterator[tuple[str, Json]]:
        """How a winner and the best known rule do on other pools, on tasks that it was not searched on, and on its own
        without texts and values; the winner's score is None where it is invalid."""
        has = self._pools.inputs.has
        others = [name for name in SETTINGS if name not in (setting, "both") and has(name)]
        places = {name: Place(name, fold) for name in others} | {UNRECORDED: Place(setting, fold, plain=True)}
        for name, place in places.items():
            best = self._standard(place)
            scores = self.scores(place.setting, self._matrices(place), {"winner": winner})[1].get("winner")
            own = None if scores is None else float(np.mean(scores))
            yield name, {"best": best.rule, "known": best.score, "winner": own, "problems": best.problems}

    def _standard(self, place: Place) -> Standard:
        if place not in self._standards:
            rows = self.scores(place.setting, self._matrices(place), self._known)[1]
            means = {name: float(np.mean(scores)) for name, scores in rows.items()}
            best = max(means, key=lambda name: (means[name], name))
            self._standards[place] = Standard(best, means[best], len(rows[best]))
        return self._standards[place]

    def _matrices(self, place: Place) -> list[PassMatrix]:
        recorded = self._pools.folds(place.setting)[place.fold]
        return [unrecorded(matrix) for matrix in recorded] if place.plain else recorded

    def scores(
        self, setting: str, matrices: Sequence[PassMatrix], programs: Mapping[str, str]
    ) -> tuple[SeedConsistency, dict[str, list[float]]]:
        """Scores of the valid ones by problem, and what they were found with."""
        runner = TreeRunner(self._workbench.runner, Reader())
        evaluator = SeedConsistency(runner, matrices, held_out(setting), axes=())
        evaluations = evaluator.evaluate([Candidate(text) for text in programs.values()])
        scored = zip(programs, evaluations, strict=True)
        return evaluator, {name: _rounded(found.per_seed) for name, found in scored if found.score is not None}


def _rounded(scores: Sequence[float]) -> list[float]:
    return [round(score, 4) for score in scores]
