"""One search from start to held-out score without a run directory: for comparisons over several seeds and searches."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.evolve.islands import Archipelago
from evosyn.journal import Journal
from evosyn.records import Candidate, Evaluation, PassMatrix
from evosyn.synthesis.search.config import EvolveConfig
from evosyn.synthesis.search.parts import arms_of, search_of
from evosyn.synthesis.search.seeds import Seeds, select
from evosyn.synthesis.search.strategies import EvolvedStrategies
from evosyn.synthesis.search.winner import WinnerChoice, choose, fresh_scoring
from evosyn.workbench import Workbench


class SearchTrial(NamedTuple):
    """What one search came to.

    Attributes:
        heldout: evaluations on the held-out problems by name: `evolved`, and the programs that were asked for.
        oracle: the best possible score there.
    """

    state: Archipelago
    choice: WinnerChoice
    heldout: dict[str, Evaluation]
    oracle: float

    @property
    def score(self) -> float:
        """Held-out score of the winner."""
        return self.heldout["evolved"].score or 0.0

    @property
    def fall(self) -> float:
        """How far the held-out score lies below that on fresh draws of the train problems: over-fitting."""
        return self.choice.contest.scored.score - self.score


def run_trial(
    config: EvolveConfig,
    matrices: Sequence[PassMatrix],
    workbench: Workbench,
    *,
    others: Mapping[str, str] | None = None,
) -> SearchTrial:
    """Search on the train problems of `config.seed`, choose, score held out.

    Args:
        others: program texts to score on the same held-out draws.

    Raises:
        UsageError: the matrices do not suffice.
        BudgetSpent, UnavailableError: from the proposers.
    """
    return run_split(config, select(matrices, config, simulated=False), workbench, others=others)


def run_split(
    config: EvolveConfig,
    seeds: Seeds,
    workbench: Workbench,
    *,
    others: Mapping[str, str] | None = None,
    held: ConsistencyConfig | None = None,
) -> SearchTrial:
    """The same on problems that are split already.

    Args:
        held: how held-out problems are scored; by default as on the final leaderboards.
    """
    evolved = EvolvedStrategies(workbench.runner, seeds, config)
    arms = arms_of(config, workbench, evolved)
    with tempfile.TemporaryDirectory(prefix="evosyn-trial-") as folder:
        journal = Journal(Path(folder) / "journal.jsonl")
        search = search_of(config, evolved, arms, journal)
        search.run()
        journal.close()
    choice = choose(search.state, evolved.runner, seeds, config)
    scoring = held or fresh_scoring(config, "boards")
    evaluator = SeedConsistency(evolved.runner, seeds.split.heldout, scoring, axes=())
    programs = {**(others or {}), "evolved": choice.winner.text}
    found = evaluator.evaluate([Candidate(text) for text in programs.values()])
    return SearchTrial(search.state, choice, dict(zip(programs, found, strict=True)), evaluator.oracle)
