"""Environments as what a search evolves: scored by what a student learns from them, ended by a directory of them.

The archive holds stepping stones too; what is kept in the end is the best of each cell whose rates fall with the level
and that repeats no better one: band, slope and novelty are gates, not part of the score; the grid sees to variety.
Ours, but for the gates, which are ReSyn's and EvoEnv's. docs/environments.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from evosyn.environments.calibration import unfit
from evosyn.environments.entropy import varieties
from evosyn.environments.genome import EnvironmentGenome
from evosyn.environments.novelty import NoveltyPool
from evosyn.evolve.events import Committed, events_of
from evosyn.jsonlines import write_lines
from evosyn.ports import SearchState
from evosyn.records import Candidate, Elite, Json, content_id
from evosyn.rundir import RunDir
from evosyn.synthesis.environments.config import EnvironmentSearchConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.environments.evaluating import EnvironmentEvaluator, index_of
from evosyn.synthesis.environments.outputs import STAGES, MadeBy, write_environments

KIND = "environment-search"
CALIBRATION = "calibration.jsonl"
ALL = 1_000_000
"""Elites at most that are looked at in the end."""


class EvolvedEnvironments(EnvironmentGenome):
    """Implements `ports.Evolved`.

    Args:
        start: what the search begins with; the first has a score.
        author: name of the model that proposes.
    """

    def __init__(
        self,
        config: EnvironmentSearchConfig,
        start: Sequence[Candidate],
        evaluator: EnvironmentEvaluator,
        author: str,
    ) -> None:
        super().__init__()
        self.start, self.evaluator = start, evaluator
        begun = content_id("i_", sorted(one.id for one in start))
        self.header: Mapping[str, Json] = {
            "kind": KIND, "config": config.identity(), "start": begun, "teacher": author
        }  # fmt: skip

    def finish(self, state: SearchState, run: RunDir) -> dict[str, Json]:
        """Write what is kept, in the files of `evosyn env make`, and `calibration.jsonl`."""
        elites = {one.candidate.id: one for one in state.top(ALL)}
        kept, dropped = self._gated(list(elites.values()))
        begun = {one.candidate.id for one in state.initial}
        counts = state.report()
        best = elites[kept[0].name] if kept else next(iter(elites.values()), None)

        def row(draft: Draft) -> dict[str, Json]:
            elite = elites[draft.name]
            _, frontier, _ = elite.evaluation.descriptor
            score, metrics = elite.evaluation.score, dict(elite.evaluation.metrics)
            made = {"parents": list(elite.candidate.parents), "proposer": elite.candidate.proposer}
            return {"candidate": draft.name, **made, "score": score, "frontier": frontier, "metrics": metrics}

        facts = {
            "best": None if best is None else {"id": best.candidate.id, "score": best.evaluation.score},
            "new": sum(draft.name not in begun for draft in kept),
            "begun": {"candidates": len(begun), "kept": sum(draft.name in begun for draft in kept)},
            "student": self.evaluator.student,
            "entropy": [
                one._asdict() for one in varieties([(draft.environment, draft.prompts) for draft in kept])
            ] if kept else [],
            "models": {name: len(elites) for name in sorted({self.header["teacher"], self.evaluator.student})},
            "calls": counts["model_calls"],
            "cost": counts["cost"],
        }  # fmt: skip
        measured = f"A student, {self.evaluator.student}, answered them: `{CALIBRATION}` has how often it was right."
        stages = (*STAGES[1:], "calibrate", "archive")
        by = MadeBy(KIND, "evosyn env evolve", measured, stages, facts, row)
        report = write_environments(run, self._ended(run, {draft.name for draft in kept}, dropped), by)
        lines = ({"environment": draft.environment.id, **one._asdict()} for draft in kept for one in draft.rates)
        write_lines(run.made(CALIBRATION), list(lines))
        return report

    def _gated(self, elites: Sequence[Elite]) -> tuple[list[Draft], dict[str, tuple[str, str]]]:
        """What is kept, the best first, and stage and reason of what is not."""
        kept, dropped, pool = list[Draft](), dict[str, tuple[str, str]](), NoveltyPool()
        for name in (elite.candidate.id for elite in elites):
            draft = self.evaluator.ledger.item(index_of(name))
            reason = unfit(draft.rates)
            repeat = pool.nearest(draft.environment, draft.prompts)
            if reason:
                told = ", ".join(f"{one.solved} of {one.n}" for one in draft.rates)
                dropped[name] = "calibrate", f"{reason}: {told}"
            elif repeat is not None and repeat.reason:
                dropped[name] = "novelty", f"{repeat.reason}: {repeat.of} ({repeat.similarity:.2f})"
            else:
                kept.append(draft)
                pool.add(draft.environment, draft.prompts)
        return kept, dropped

    def _ended(self, run: RunDir, kept: set[str], dropped: Mapping[str, tuple[str, str]]) -> Iterator[Draft]:
        """Every candidate that was evaluated, in the order of the journal."""
        steps = (event.step for event in events_of(run.journal) if isinstance(event, Committed))
        trials = (trial for step in steps for trial in step.trials if trial.evaluation is not None)
        seen: set[str] = set()
        for trial in trials:
            one, evaluation = trial.candidate, trial.evaluation
            if one.id in seen or evaluation is None:
                continue
            seen.add(one.id)
            draft = self.evaluator.draft(one.id) or Draft(index_of(one.id), source=one.text, label=one.id)
            draft = replace(draft, author=one.proposer, brief={"candidate": one.id, "proposer": one.proposer})
            if draft.ended is None and evaluation.invalid is not None:  # in an earlier epoch
                stage, _, reason = evaluation.invalid.partition(": ")
                draft = draft.drop(stage, reason)
            if draft.ended is None and one.id not in kept:
                draft = draft.drop(*dropped.get(one.id, ("archive", "not-better: its cell holds a better one")))
            yield draft
