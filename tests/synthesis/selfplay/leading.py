"""A pool of environments without a trainer: a scripted author, and a student that is right by chance.

`python -m tests.synthesis.selfplay.leading RUN STEPS CUT` leads one to its end, or goes on with a killed one.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from evosyn.chat import Reply, Request
from evosyn.environments import bundled
from evosyn.environments.asking import REVIEW
from evosyn.environments.fresh import Fits
from evosyn.jobs import Call, CallsJob
from evosyn.ports import FeedRow, GroupOutcome, Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import content_id
from evosyn.rundir import RunDir
from evosyn.sandbox import open_sandbox
from evosyn.synthesis.coevolution.config import CoevolutionConfig
from evosyn.synthesis.recipes.dejaq import StudentPlan
from evosyn.synthesis.recipes.evoenv import DRAFTS, SelfplayTools, environments_named, evolving_environments
from evosyn.synthesis.selfplay.feed import EvolvingEnvironments
from tests.synthesis.feed_kills import go_on

GROUP, PROMPTS = 4, 4
SEEDS = environments_named(["builtin:subset-sum", "builtin:brackets"])
WRITTEN = [path for path in bundled("known").values() if path.stem not in ("subset_sum", "brackets")]
SMALL = {"ladder": {"seeds": 4}, "judging": {"reviews": 1}, "drafting": {"per_step": 1}, "band": {"answers": 4}}


class ScriptedStudent:
    """Right with a chance, the same for the same request.

    Attributes:
        batches: how many requests came at once.
    """

    def __init__(self, chance: float = 0.5) -> None:
        self._chance = chance
        self.batches: list[int] = []

    def replies(self, requests: Sequence[Request]) -> list[Reply]:
        self.batches.append(len(requests))
        return [self._reply(one) for one in requests]

    def _reply(self, request: Request) -> Reply:
        assert request.problem is not None
        digest = content_id("r_", request.messages[-1].content)
        right = SeedTree(7).child(digest).random().random() < self._chance
        answer = request.problem.reference_solution if right else "no idea"
        return Reply(digest, f"<answer>{answer}</answer>", "scripted")


def box(hash_seed: int) -> Sandbox:
    """A sandbox whose worker is there already: a limit on what our process writes is none of its."""
    opened = open_sandbox("local", workers=1, allow_weak=True, hash_seed=hash_seed)
    opened.run([CallsJob("def begin():\n    return 1", "begin", (Call(()),))])
    return opened


class ScriptedAuthor:
    """Writes bundled environments, each request another one, and accepts every draft or none; implements
    `ports.Teacher`."""

    name, simulated = "scripted", True

    def __init__(self, verdict: str = "accept") -> None:
        self._verdict = verdict

    async def complete(self, request: Request) -> Reply:
        assert request.problem is not None
        name, digest = request.problem.problem_id, content_id("r_", [request.messages[-1].content, request.sample])
        await asyncio.sleep(0.02 * SeedTree(1).child(digest).random().random())
        if request.purpose == REVIEW:
            return Reply(digest, json.dumps({"verdict": self._verdict, "issue": "", "where": ""}), self.name)
        source = WRITTEN[int(name.split("-")[1]) % len(WRITTEN)].read_text(encoding="utf-8")
        return Reply(digest, f"```python\n{source}```", self.name)

    async def aclose(self) -> None:
        return None


@contextmanager
def opened(
    folder: Path,
    student: ScriptedStudent | None = None,
    *,
    steps: int = 8,
    by_student: bool = False,
    arm: str = "no-novelty",
    verdict: str = "accept",
    fits: Fits = lambda _: True,
    selfplay: dict[str, object] | None = None,
    boxes: tuple[Sandbox, Sandbox] | None = None,
    **config: object,
) -> Iterator[EvolvingEnvironments]:
    """The feed of a directory.

    Args:
        boxes: sandboxes that are open; then the directory is not locked either.
    """
    with ExitStack() as resources:
        run = RunDir(folder) if boxes else resources.enter_context(RunDir(folder))
        one, other = boxes or (resources.enter_context(box(seed)) for seed in (0, 1))
        tools = SelfplayTools(
            run,
            resources,
            ScriptedAuthor(verdict),
            student or ScriptedStudent(),
            one,
            other,
            fits,
            by_student,
        )
        given = CoevolutionConfig(recipe="evoenv", arm=arm, selfplay={**SMALL, **(selfplay or {})}, **config)  # type: ignore[arg-type]
        yield evolving_environments(given, SEEDS, StudentPlan(PROMPTS, steps, 3), tools)


def outcomes(rows: Sequence[FeedRow], step: int, texts: Sequence[str] = ("",) * GROUP) -> list[GroupOutcome]:
    """What a student makes of rows, by chance; of what is not judged nothing is known."""
    found = []
    for row in rows:
        rng = SeedTree(2).child(step, row.task.row_id).random()
        passed = sum(rng.random() < 0.4 for _ in range(GROUP)) if row.judged else 0
        found.append(GroupOutcome(row.task.row_id, passed, GROUP * row.judged, tuple(texts)))
    return found


def lead(feed: EvolvingEnvironments, steps: int, start: int = 0) -> None:
    """Report step after step."""
    for step in range(start, steps):
        feed.report(step, outcomes(feed.rows(step, PROMPTS), step))


def main(folder: Path, steps: int, cut: int) -> None:
    """See `feed_kills.go_on`."""
    with opened(folder, steps=steps) as feed:
        names = ("journal.jsonl", DRAFTS)
        go_on(folder, feed, lambda step: lead(feed, step + 1, step), steps, cut=cut, names=names, every=2)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
