"""One seed of table 3: the teacher's episodes and testings, their matrices, an evolved strategy, the rows of the arms.

Episodes happen in real rooms, through the loop that every agent goes through. All arms take rows of the same problems;
only the testing that accepts a trajectory, and so the trajectory, differs. EvoSyn (2510.17928) section 4.4.
"""

from __future__ import annotations

import asyncio
import itertools
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from evosyn.agents.dialects import written
from evosyn.agents.episodes import Actor, AskTurn
from evosyn.agents.loop import LoopAgent, SpeechConfig
from evosyn.agents.turns import TurnJournal
from evosyn.chat import Reply, Request
from evosyn.crossexec.executor import CrossExecutor
from evosyn.crossexec.judge import Cell
from evosyn.domains import domain
from evosyn.errors import UnavailableError
from evosyn.matrices import write_matrices
from evosyn.randomness import SeedTree
from evosyn.records import Json, PassMatrix, Pool, Problem, Provenance, Solution, Verdict
from evosyn.rundir import write_atomic
from evosyn.simulation.experiment.choices import Choices, Sizes, Split, choose, mean_worth
from evosyn.simulation.experiment.search import StrategySearch
from evosyn.simulation.experiment.shell_language import (
    FAMILIES,
    UNTRAINED,
    Errors,
    FileTask,
    careless_testing,
    draw_task,
    plan_of,
)
from evosyn.text.tool_calls import ToolCall
from evosyn.trajectories import ANSWER, Trajectory, trajectory_of
from evosyn.worlds.shell.kind import ShellWorlds

ARMS = ("evosyn", "random", "oracle")
ROOMS = 8
AUTHOR = Provenance("file-agent", simulated=True)


class Posed(NamedTuple):
    """A task and the problem that it is."""

    task: FileTask
    problem: Problem


@dataclass(frozen=True)
class ShellRows:
    """What the arms of one seed learn: by arm (place of the problem, trajectory), and what the choices are worth."""

    arms: dict[str, list[tuple[int, str]]]
    warm: list[tuple[int, str]]
    teacher: dict[str, float]
    facts: Json

    def save(self, path: Path) -> None:
        write_atomic(path, json.dumps(asdict(self)))

    @classmethod
    def load(cls, path: Path) -> ShellRows:
        value = json.loads(path.read_text(encoding="utf-8"))
        value["arms"] = {arm: [(int(at), str(text)) for at, text in rows] for arm, rows in value["arms"].items()}
        value["warm"] = [(int(at), str(text)) for at, text in value["warm"]]
        return cls(**value)


class Tasks:
    """The tasks of one seed: seeds and training problems of the trained families, and those to measure on, which are
    unseen ones of all families or, as in the paper, the seeds."""

    def __init__(self, seed: int, sizes: Sizes, split: Split) -> None:
        tree = SeedTree(seed).child("experiment", "table3")
        trained = [family for family in FAMILIES if family not in UNTRAINED]
        self.seeds = self._drawn("seed", sizes.seeds, trained, tree)
        self.training = self._drawn("train", sizes.problems, trained, tree)
        unseen = [
            *self._drawn("unseen", sizes.heldout // 2, trained, tree),
            *self._drawn("untrained", sizes.heldout - sizes.heldout // 2, UNTRAINED, tree),
        ]
        self.measured = self.seeds if split == "paper" else unseen

    def _drawn(self, part: str, count: int, families: Sequence[tuple[str, str]], tree: SeedTree) -> list[Posed]:
        found = []
        for number, family in zip(range(count), itertools.cycle(families)):
            task = draw_task(family, tree.child(part, number).random())
            found.append(Posed(task, task.problem(f"{part}-{number:03}-{'-'.join(family)}")))
        return found


class Episodes:
    """Runs episodes of a seed in rooms. What a command printed in a world is remembered, whoever typed it.

    Args:
        turns: file that remembers.
    """

    def __init__(self, shells: ShellWorlds, turns: Path) -> None:
        self._actor = Actor(shells, TurnJournal(turns), LoopAgent(SpeechConfig()), ROOMS)

    def run(self, wanted: Sequence[tuple[Problem, AskTurn]]) -> list[Trajectory]:
        """One episode each.

        Raises:
            UnavailableError: a room was lost for good.
        """
        return asyncio.run(self._all(wanted))

    async def _all(self, wanted: Sequence[tuple[Problem, AskTurn]]) -> list[Trajectory]:
        return list(await asyncio.gather(*[self._one(*one) for one in wanted]))

    async def _one(self, problem: Problem, ask: AskTurn) -> Trajectory:
        request = domain(problem.domain).ask("solution", problem, 0, {})
        run = await self._actor.solve(problem, request, ask)
        if run.trajectory is None:
            raise UnavailableError(f"the room of an episode was lost ({run.lost}); repeat the command")
        return run.trajectory


def reply(number: int, call: ToolCall | None) -> Reply:
    """A turn as the loop hears it; no call is a reply without an action."""
    return Reply(f"r_{number}", "..." if call is None else written(call, "text"), AUTHOR.source)


def last_line(request: Request) -> str:
    """Of what the agent was shown last."""
    lines = request.messages[-1].content.splitlines() if len(request.messages) > 1 else []
    return lines[-1].strip() if lines else ""


def planned(task: FileTask, plan: Sequence[ToolCall]) -> AskTurn:
    """The turns of one who does this, whatever comes of it; the answer is the last line shown."""

    async def ask(number: int, request: Request) -> Reply:
        call = plan[min(number, len(plan) - 1)]
        return reply(number, filled(task, call, last_line(request)))

    return ask


def filled(task: FileTask, call: ToolCall, seen: str) -> ToolCall:
    """A step with the values of the task, or an answer with what was seen."""
    if call.name == ANSWER:
        return ToolCall(ANSWER, {"answer": seen or "unknown"})
    return ToolCall(call.name, {key: task.filled(str(text)) for key, text in call.arguments.items()})


def taught(tasks: Sequence[Posed], count: int, errors: Errors, episodes: Episodes, tree: SeedTree) -> list[list[str]]:
    """The teacher's trajectories of each task, `count` each."""
    wanted: list[tuple[Problem, AskTurn]] = []
    for at, (task, problem) in enumerate(tasks):
        careful = errors.of_problem(tree.child("care", at).random())
        for number in range(count):
            plan = plan_of(task, careful, tree.child("episode", at, number).random())
            wanted.append((problem, planned(task, plan)))
    runs = episodes.run(wanted)
    return [[run.text for run in runs[at * count : (at + 1) * count]] for at in range(len(tasks))]


def pools_of(tasks: Sequence[Posed], count: int, errors: Errors, episodes: Episodes, tree: SeedTree) -> list[Pool]:
    """As many careless testings as trajectories."""
    found = []
    for at, (posed, texts) in enumerate(zip(tasks, taught(tasks, count, errors, episodes, tree), strict=True)):
        careful = errors.of_problem(tree.child("care", at).random())
        testings = [
            careless_testing(posed.task, careful, tree.child("testing", at, one).random()) for one in range(count)
        ]
        solutions = tuple(Solution(text, AUTHOR) for text in texts)
        found.append(Pool(posed.problem, solutions, tuple(testings)))
    return found


def prepare_shell(
    out: Path, seed: int, tasks: Tasks, sizes: Sizes, search: StrategySearch, shells: ShellWorlds, errors: Errors
) -> ShellRows:
    """Make one seed's rows and write them to `out`/rows.json."""
    tree = SeedTree(seed).child("experiment", "table3")
    episodes = Episodes(shells, out / "turns.jsonl")
    half_more = sizes.size_of(0)
    pools = [
        *pools_of(tasks.seeds, half_more, errors, episodes, tree.child("seeds")),
        *pools_of(tasks.training, sizes.draws, errors, episodes, tree.child("training")),
    ]
    matrices = search.crossexec.matrices([(pool.problem, pool.solutions, pool.testings) for pool in pools])
    write_matrices(out / "seeds.jsonl", matrices[: sizes.seeds])
    strategy = search.evolve(out / "seeds.jsonl", out / "evolve", seed, sizes.draws)
    pools, matrices = pools[sizes.seeds :], matrices[sizes.seeds :]
    chosen = choose(matrices, strategy, search.runner, tree)
    arms = {arm: _rows(arm, pools, matrices, chosen, tree) for arm in ARMS}
    shown = tree.child("warm").random()
    warm = [(at, shown.choice(pools[at].solutions).text) for at in range(0, len(pools), 2)]
    twice = [posed for posed in tasks.measured for _ in range(2)]
    texts = [text for each in taught(tasks.measured, 2, errors, episodes, tree.child("unseen")) for text in each]
    right = judged(search.crossexec, [(posed.problem, text) for posed, text in zip(twice, texts, strict=True)])
    facts = {
        "kept": len(chosen.kept),
        "problems": len(pools),
        "strategy": strategy,
        "arms": {arm: _worth(arm, rows, matrices, pools, chosen) for arm, rows in arms.items()},
    }
    made = ShellRows(arms, warm, {"sampled": _mean(right), **by_training(twice, right)}, facts)
    made.save(out / "rows.json")
    return made


def _rows(
    arm: str, pools: Sequence[Pool], matrices: Sequence[PassMatrix], chosen: Choices, tree: SeedTree
) -> list[tuple[int, str]]:
    """A trajectory for each problem that pruning kept, accepted by the arm's testing: the best-ranked, or by lot."""
    found = []
    for at in chosen.kept:
        lot = tree.child("lot", at).random()
        if arm == "evosyn":
            place = chosen.best[at]
        else:
            accepted = _accepted(arm, matrices[at], chosen.testings["random"][at])
            if not accepted:
                continue
            place = lot.choice(accepted)
        found.append((at, pools[at].solutions[place].text))
    return found


def _accepted(arm: str, matrix: PassMatrix, testing: int) -> list[int]:
    accepted = _human(matrix) if arm == "oracle" else matrix.passed_MN[:, testing]
    return [int(at) for at in np.flatnonzero(accepted)]


def _worth(
    arm: str, rows: Sequence[tuple[int, str]], matrices: Sequence[PassMatrix], pools: Sequence[Pool], chosen: Choices
) -> Json:
    """Rows, share of right trajectories among them, share of testings that are good, and how well they agree with the
    human ones."""
    right = 0
    for at, text in rows:
        place = [one.text for one in pools[at].solutions].index(text)
        right += bool(_human(matrices[at])[place])
    worth = {"rows": len(rows), "right": round(right / max(1, len(rows)), 4)}
    if arm == "oracle":
        return {**worth, "good": 1.0}
    same = [_agrees(matrices[at], chosen.testings[arm][at]) for at, _ in rows]
    agreement = mean_worth(matrices, chosen, arm)
    return {**worth, "good": round(sum(same) / max(1, len(same)), 4), "balanced_accuracy": agreement}


def _human(matrix: PassMatrix) -> NDArray[np.bool_]:
    """Which solutions the human testing accepts, shape (M,)."""
    return np.array([letter == Verdict.PASS.value for letter in (() if matrix.human_M is None else matrix.human_M)])


def _agrees(matrix: PassMatrix, testing: int) -> bool:
    """Whether a testing says of every solution what the human one says."""
    return bool((matrix.passed_MN[:, testing] == _human(matrix)).all())


def judged(crossexec: CrossExecutor, runs: Sequence[tuple[Problem, str]]) -> list[float]:
    """Of each trajectory whether the human testing of its problem accepts it.

    Raises:
        UnavailableError: that could not be found out.
    """
    cells = [Cell(problem, Solution(text), problem.human_testing) for problem, text in runs if problem.human_testing]
    found = crossexec.judge.verify(cells)
    if lost := [
        cell.problem.problem_id for cell, one in zip(cells, found, strict=True) if one.verdict is Verdict.UNKNOWN
    ]:
        raise UnavailableError(f"{lost[0]}: an episode could not be judged; repeat the command")
    return [float(one.verdict is Verdict.PASS) for one in found]


def by_training(tasks: Sequence[Posed], right: Sequence[float]) -> dict[str, float]:
    """The same for tasks of families that were trained on, and of others."""
    other = [(posed.task.choice, posed.task.end) in UNTRAINED for posed in tasks]
    parts = {"trained": [one for one, new in zip(right, other, strict=True) if not new],
             "untrained": [one for one, new in zip(right, other, strict=True) if new]}  # fmt: skip
    return {name: _mean(part) for name, part in parts.items() if part}


def _mean(values: Sequence[float]) -> float:
    return round(sum(values) / max(1, len(values)), 6)


def actions_of(text: str) -> list[ToolCall]:
    """What was done in a trajectory, in order."""
    return [ToolCall(call.tool, call.args) for call in trajectory_of(text).calls]
