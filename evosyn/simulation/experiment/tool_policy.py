"""The policy of `evosyn experiment worlds`: it writes a whole plan, a word a token; a state, or its own words, pay.

What is measured is the final state of tasks in worlds that nobody trains on, by the rule of docs/worlds.md.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from evosyn.domains.tool_tasks import problem_of, testing_of
from evosyn.randomness import SeedTree
from evosyn.records import Json, Verdict
from evosyn.simulation.experiment.tool_data import in_bundled, player_of, read_posed
from evosyn.simulation.experiment.tool_language import PosedTask, ToolPlan, message_of, plan_of, prompt_of, words_of
from evosyn.simulation.experiment.tool_offices import HELD, TRAIN, WARM, office_of
from evosyn.simulation.experiment.toy_data import StepBudget
from evosyn.simulation.experiment.toy_policy import ToyPolicy, make_tokenizer, warmed
from evosyn.train.config import RewardConfig
from evosyn.train.rewards import RewardFunction
from evosyn.train.scoring import Score, Task
from evosyn.worlds.tools.diff import differences
from evosyn.worlds.tools.files import bundled, read_world
from evosyn.worlds.tools.in_process import InProcessPlayer
from evosyn.worlds.tools.playing import Play

LONGEST, CONTEXT, TIMES = 26, 112, 4
"""Tokens of an answer, and of all; answers to each held-out task where they are drawn."""
Pays = Literal["state", "words"]


def warm_weights(folder: Path, told: Sequence[tuple[str, str]], budget: StepBudget, seeds: SeedTree) -> Path:
    """The weights from which all arms of a seed start; made once."""
    worlds = [office_of(number)[1] for each in (TRAIN, WARM, HELD) for number in each]
    tokenizer = make_tokenizer(words_of([*worlds, *(read_world(f"builtin:{name}") for name in bundled())]))
    return warmed(folder, tokenizer, told, budget, seeds, CONTEXT)


class PlanScorer:
    """Scores answers: `state`, by the rule; `words`, by what they say of themselves. Remembers what it was asked."""

    def __init__(self, posed: Mapping[str, PosedTask], player: InProcessPlayer, pays: Pays) -> None:
        self._posed, self._player, self._pays = posed, player, pays
        self._known: dict[tuple[str, str], bool | None] = {}

    def score(self, tasks: Sequence[Task], texts: Sequence[str]) -> list[Score]:
        """As `Scorer.score`."""
        asked = [(task.row_id, text) for task, text in zip(tasks, texts, strict=True)]
        for row in dict.fromkeys(row for row, _ in asked):
            missing = list(dict.fromkeys(text for one, text in asked if one == row and (row, text) not in self._known))
            for text, found in zip(missing, self._paid(self._posed[row], missing), strict=True):
                self._known[row, text] = found
        return [_score(self._known[one]) for one in asked]

    def _paid(self, posed: PosedTask, texts: Sequence[str]) -> list[bool | None]:
        """Whether each is paid; None where it is no plan."""
        plans = [plan_of(posed, text) for text in texts]
        if self._pays == "words":
            wanted = message_of(posed)
            return [None if one is None else one.said == wanted for one in plans]
        return solved(posed, plans, self._player)


def solved(posed: PosedTask, plans: Sequence[ToolPlan | None], player: InProcessPlayer) -> list[bool | None]:
    """Whether the final state is the gold one; None where there is no plan."""
    world, task, _ = posed
    known = [one for one in plans if one is not None]
    runs = iter(player.play(world, [Play(task.state, one.calls) for one in known]))
    found = list[bool | None]()
    for one in plans:
        played = None if one is None else next(runs)
        found.append(
            None if played is None else not played.lost and not differences(world, task.state, task.gold, played.rows)
        )
    return found


def _score(paid: bool | None) -> Score:
    if paid is None:
        return Score(Verdict.ERROR, 0.0, False, "no plan")
    return Score(Verdict.PASS if paid else Verdict.FAIL, float(paid), True)


class PlanLearner:
    """Trains the arms of one seed, whose data stand in `folder` and `shared`."""

    def __init__(self, folder: Path, shared: Path, budget: StepBudget, seeds: SeedTree) -> None:
        self._policy, self._steps = ToyPolicy(folder / "start", budget, seeds, LONGEST), budget.steps
        self._held, self._within = read_posed(shared / "held.jsonl"), read_posed(shared / "within.jsonl")
        self._player = player_of([*self._held, *self._within])

    def reinforce(self, posed: Sequence[PosedTask], pays: Pays, scratch: Path) -> Json:
        """GRPO on these tasks."""
        rows = {f"row-{at}": one for at, one in enumerate(posed)}
        tasks = {row: Task(row, problem_of(one.world, one.task), testing_of(one.task)) for row, one in rows.items()}
        scorer = PlanScorer(rows, player_of(posed), pays)
        reward = RewardFunction(tasks, scorer, RewardConfig(), max_completion=LONGEST)
        prompts = {row: prompt_of(one) for row, one in rows.items()}
        return self._policy.reinforce(prompts, reward, scratch, self._measure)

    def _measure(self, step: int) -> dict[str, float]:
        """Share of tasks solved in worlds that nobody trains on, drawn and greedy; at the end also of new tasks in the
        worlds of training (`within`), and of those in the worlds that come with evosyn."""
        found: dict[str, float] = {"step": step}
        found["sampled"] = self._share(self._held * TIMES, step, greedy=False)
        found["greedy"] = self._share(self._held, step, greedy=True)
        if step in (0, self._steps):
            found["within"] = self._share(self._within * TIMES, step, greedy=False)
            found["bundled"] = self._share(in_bundled(), step, greedy=False)
        return found

    def _share(self, posed: Sequence[PosedTask], step: int, *, greedy: bool) -> float:
        texts = self._policy.answers([prompt_of(one) for one in posed], step, greedy=greedy)
        right = [solved(one, [plan_of(one, text)], self._player)[0] for one, text in zip(posed, texts, strict=True)]
        return round(sum(one is True for one in right) / max(1, len(right)), 6)
