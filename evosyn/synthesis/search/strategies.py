"""Strategies as what a search evolves: scored by seed consistency, ended by a winner with its leaderboards and card."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from evosyn.evaluators.behaviour import axes_named
from evosyn.evaluators.briefing import Briefer
from evosyn.evaluators.card import card_facts, pruned_file
from evosyn.evaluators.card import render as card_text
from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evolve.events import Committed, events_of
from evosyn.journal import INPUTS
from evosyn.ports import ProposalContext, SearchState, StrategyRunner, Told
from evosyn.records import Candidate, Json
from evosyn.rundir import RunDir
from evosyn.strategies import PROGRAM
from evosyn.strategies.genome import PROMPTS, StrategyGenome
from evosyn.strategies.grammar.openings import OPENINGS
from evosyn.strategies.grammar.source import called_in, rank_of
from evosyn.strategies.running.stacked import TreeRunner
from evosyn.synthesis.search.card import card_of
from evosyn.synthesis.search.config import KIND, EvolveConfig
from evosyn.synthesis.search.seeds import Seeds, inputs_of, searched_of
from evosyn.synthesis.search.winner import boards, choose, report_of, started_from, strategy_file
from evosyn.templates import render

DIRECTIONS = render(PROMPTS, "prompts/directions.md")


GENETIC = "genetic"
"""The proposer that varies programs of the grammar; a search that has it starts from the openings too."""


PRUNED = "pruned.py"
"""What of the winner matters, where some of it does not."""


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
        self.start = [Candidate(text, detail={"name": name}) for name, text in started_from(config).items()]
        if GENETIC in {name.partition("@")[0] for name in config.proposers.arms}:
            texts = {name: self.reader.write(program) for name, program in OPENINGS.items()}
            self.start += [Candidate(text, detail={"opening": name}) for name, text in texts.items()]
        self.runner = TreeRunner(behind, self.reader)
        self.evaluator = SeedConsistency(
            self.runner, searched_of(seeds.split.train, config), config.scoring, axes_named(config.axes)
        )
        self._briefer = Briefer(self.evaluator.draws, self.evaluator.oracle_E, DIRECTIONS.splitlines())

    def brief(self, context: ProposalContext) -> Told:
        """See `ports.Briefing.brief`."""
        shown = [elite.candidate for elite in (context.parent, *context.others)]
        bodies = {one.id: rank_of(one.text) for one in shown if self._is_ours(one.text)}
        return self._briefer.brief(context)._replace(bodies=bodies, glossary=called_in(bodies.values()))

    def _is_ours(self, text: str) -> bool:
        """Whether all but its `rank` are the functions of the grammar as they are."""
        program = self.reader.read(text)
        return program is not None and self.reader.write(program) == text

    @property
    def header(self) -> Mapping[str, Json]:
        return {"kind": KIND, "config": self._config.identity(), INPUTS: inputs_of(self._seeds.split)}

    def finish(self, state: SearchState, run: RunDir) -> dict[str, Json]:
        """Write `strategy.py`, its card as `card.md` and `card.json`, and `pruned.py`: what of it matters."""
        seeds, config = self._seeds, self._config
        choice = choose(state, self.runner, seeds, config)
        found = boards(choice, state.initial[: len(config.start)], self._behind, seeds, config)
        run.write(PROGRAM, strategy_file(choice, state, found, simulated=seeds.simulated))
        parent = _text_of(run, choice.winner.parents[:1])
        card = card_of(choice, state, self.runner, seeds, config, parent)
        run.write("card.md", card_text(card))
        run.write_json("card.json", card_facts(card))
        if (pruned := pruned_file(card)) is not None:
            run.write(PRUNED, pruned)
        else:  # of an earlier winner
            run.file(PRUNED).unlink(missing_ok=True)
        return {"kind": KIND, **report_of(choice, state, found, seeds)}


def _text_of(run: RunDir, names: Sequence[str]) -> str | None:
    """The program of the first of these names, as the journal has it first."""
    steps = (event.step for event in events_of(run.journal) if isinstance(event, Committed))
    trials = (trial.candidate for step in steps for trial in step.trials)
    return next((one.text for one in trials if one.id in names[:1]), None)
