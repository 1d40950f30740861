"""The stages that need no model: the ladder with the comparison to what comes with evosyn, and to what a run has kept.

Drafts are compared with the kept ones last, in order, so that a sound environment is not lost to an earlier one like
it that was dropped (ours; EvoEnv compares within a batch).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

from evosyn.environments import FOLDERS, bundled
from evosyn.environments.contract import LEVELS, Environment, read_environment
from evosyn.environments.ladder import Climb, Ladder
from evosyn.environments.novelty import NoveltyPool, Repeat
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import EnvironmentRunner
from evosyn.randomness import SeedTree
from evosyn.running.batches import Batches
from evosyn.synthesis.environments.draft import Draft, NearestKept

AT_ONCE = 4
"""Programs on the ladder at the same time; what they run shares the workers of the sandboxes."""


class ClimbLadder:
    """Puts each draft on the ladder, and compares it with the bundled environments."""

    name = "ladder"
    concurrency = None

    def __init__(self, ladder: Ladder, bundled_ones: NoveltyPool) -> None:
        self._bundled = bundled_ones
        self.climb: Batches[str, Climb] = Batches(lambda sources: list(map(ladder.check, sources)), 1, AT_ONCE)

    async def run(self, draft: Draft) -> Draft:
        """The draft as far as it comes."""
        climbed = draft.climbed(await self.climb(draft.source or ""))
        return climbed if climbed.ended is not None else compared(climbed, self._bundled)


class CompareKept:
    """Drops what repeats an environment that the run has kept before; the last stage, and an ordered one."""

    name = "novelty"
    concurrency = None

    def __init__(self) -> None:
        self._kept = NoveltyPool()

    async def run(self, draft: Draft) -> Draft:
        found = compared(draft, self._kept)
        if found.ended is None:
            self.recall(found)
        return found

    def recall(self, item: Draft) -> None:
        self._kept.add(item.environment, item.prompts)


def compared(draft: Draft, pool: NoveltyPool) -> Draft:
    """The draft with its nearest in the pool, where that is nearer than one before; dropped where it repeats it."""
    repeat = pool.nearest(draft.environment, draft.prompts)
    if repeat is None:
        return draft
    before = draft.nearest
    if before is None or repeat.similarity > Repeat(before.of, before.prompt, before.code, "").similarity:
        draft = replace(draft, nearest=NearestKept(repeat.of, round(repeat.prompt, 4), round(repeat.code, 4)))
    return draft.drop("novelty", f"{repeat.reason}: {repeat.of} ({repeat.similarity:.2f})") if repeat.reason else draft


def bundled_pool(runner: EnvironmentRunner) -> NoveltyPool:
    """All environments that come with evosyn, those held out included: nothing may be trained on that they measure."""

    def questions(environment: Environment) -> list[str]:
        rows = rows_of(environment, runner, LEVELS, SeedTree(0))
        return [row.problem.statement for row in rows if isinstance(row, EnvironmentRow)]

    texts = [path.read_text(encoding="utf-8") for folder in FOLDERS for path in bundled(folder).values()]
    known = [read.value for read in map(read_environment, texts) if read.value is not None]
    pool = NoveltyPool()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for environment, prompts in zip(known, threads.map(questions, known), strict=True):
            pool.add(environment, prompts)
    return pool
