"""The stages that need no model: the ladder with the comparison to what comes with evosyn, and to what a run has kept.

Drafts are compared with the kept ones last, in order, so that a sound environment is not lost to an earlier one like
it that was dropped (ours; EvoEnv compares within a batch).
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial

from evosyn.environments import FOLDERS, bundled
from evosyn.environments.contract import LEVELS, Environment, read_environment
from evosyn.environments.ladder import Climb, Ladder
from evosyn.environments.novelty import NoveltyPool, Repeat
from evosyn.environments.runner import EnvironmentRunner, MadeInstance, instance_seed
from evosyn.program_identity import program_key
from evosyn.randomness import SeedTree
from evosyn.running.batches import Batches, in_thread
from evosyn.synthesis.environments.draft import Draft, NearestKept

AT_ONCE = 4
"""Programs on the ladder at the same time; what they run shares the workers of the sandboxes."""


class ClimbLadder:
    """Puts each draft on the ladder, and compares it with the bundled environments.

    Args:
        known: makes the pool of these, in a thread, when the first draft needs it.
    """

    name = "ladder"
    concurrency = None

    def __init__(self, ladder: Ladder, known: Callable[[], NoveltyPool]) -> None:
        self._known, self._pool = known, asyncio.Lock()
        self._made: NoveltyPool | None = None
        self.climb: Batches[str, Climb] = Batches(lambda sources: list(map(ladder.check, sources)), 1, AT_ONCE)

    async def run(self, draft: Draft) -> Draft:
        """The draft as far as it comes."""
        climbed = draft.climbed(await self.climb(draft.source or ""))
        if climbed.ended is not None:
            return climbed
        async with self._pool:
            if self._made is None:
                self._made = await in_thread(self._known)
        return compared(climbed, self._made)


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


def questions_of(runner: EnvironmentRunner, environment: Environment) -> list[str]:
    """A question of each level, as novelty is measured by; fewer where it fails at one."""
    cells = [(level, instance_seed(SeedTree(0), environment, level, 0)) for level in range(1, LEVELS + 1)]
    made = [one.instance for one in runner.generate(environment, cells) if isinstance(one, MadeInstance)]
    return [one for one in runner.observe(environment, made) if isinstance(one, str)]


def bundled_pool(runner: EnvironmentRunner, without: Collection[str | None] = ()) -> NoveltyPool:
    """All environments that come with evosyn, those held out included: nothing may be trained on that they measure.

    Args:
        without: keys of programs that may be repeated.
    """
    texts = [path.read_text(encoding="utf-8") for folder in FOLDERS for path in bundled(folder).values()]
    wanted = [text for text in texts if program_key(text) not in without]
    known = [read.value for read in map(read_environment, wanted) if read.value is not None]
    pool = NoveltyPool()
    with ThreadPoolExecutor(AT_ONCE) as threads:
        for environment, prompts in zip(known, threads.map(partial(questions_of, runner), known), strict=True):
            pool.add(environment, prompts)
    return pool
