"""Strategies as what a search evolves: scored by seed consistency, ended by a winner with its leaderboards and card."""

from __future__ import annotations

from collections.abc import Mapping

from evosyn.evaluators.behaviour import axes_named
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.ports import SearchState, StrategyRunner
from evosyn.records import Candidate, Json, content_id
from evosyn.rundir import RunDir
from evosyn.strategies import PROGRAM, load_strategy
from evosyn.strategies.genome import StrategyGenome
from evosyn.strategies.running.stacked import TreeRunner
from evosyn.synthesis.search.card import card_of
from evosyn.synthesis.search.config import KIND, EvolveConfig
from evosyn.synthesis.search.seeds import Seeds
from evosyn.synthesis.search.winner import boards, choose, report_of, strategy_file


class EvolvedStrategies(StrategyGenome):
    """Implements `ports.Evolved`.

    Args:
        behind: runs programs, those outside the grammar during the search and all of them on the final leaderboards.

    Attributes:
        runner: runs programs of the grammar in stacks, and the others by `behind`.
    """

    def __init__(self, behind: StrategyRunner, seeds: Seeds, config: EvolveConfig) -> None:
        super().__init__()
        self._behind, self._seeds, self._config = behind, seeds, config
        self.start = [Candidate(load_strategy(name), detail={"name": name}) for name in config.start]
        self.runner = TreeRunner(behind, self.reader)
        self.evaluator = SeedConsistency(self.runner, seeds.split.train, config.scoring, axes_named(config.axes))

    @property
    def header(self) -> Mapping[str, Json]:
        split = self._seeds.split
        inputs = content_id("i_", [[one.digest for one in split.train], [one.digest for one in split.heldout]])
        return {"kind": KIND, "config": self._config.identity(), "inputs": inputs}

    def finish(self, state: SearchState, run: RunDir) -> dict[str, Json]:
        """Write `strategy.py` and `card.md`."""
        seeds, config = self._seeds, self._config
        choice = choose(state, self.runner, seeds, config)
        found = boards(choice, state.initial, self._behind, seeds, config)
        run.write(PROGRAM, strategy_file(choice, state, found, simulated=seeds.simulated))
        run.write("card.md", card_of(choice, state, self.runner, seeds, config))
        return {"kind": KIND, **report_of(choice, state, found, seeds)}
