"""The stages that ask for opinions: ReSyn's two judges with a revision, and EvoEnv's independent reviews.

ReSyn (section 2.2, step 3): a judge of the program, one of the questions, one revision with what they found, the same
judges again. EvoEnv (section 3.2): several reviews, any of which rejects; what they say decides about admission and
never about a reward. Two questions a level and three reviewed instances are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from evosyn.chat import Parsed, Request
from evosyn.environments import asking
from evosyn.environments.asking import ShownInstance
from evosyn.environments.contract import LEVELS, Environment
from evosyn.environments.probes import alike
from evosyn.environments.replies import Judgement, read_draft, read_judgement
from evosyn.environments.rows import EnvironmentRow, rows_of
from evosyn.environments.runner import BrokenCall, EnvironmentRunner, MadeInstance, Verified
from evosyn.randomness import SeedTree
from evosyn.records import canonical_json
from evosyn.running.batches import Batches
from evosyn.running.progress import Usage
from evosyn.synthesis.environments.author import EnvironmentAsker, RequestSlot
from evosyn.synthesis.environments.climbing import AT_ONCE, ClimbLadder
from evosyn.synthesis.environments.config import JudgingConfig
from evosyn.synthesis.environments.draft import Draft
from evosyn.synthesis.generate import all_or_first_error

PER_LEVEL = 2
REVIEWED = (1, 3, 5)
"""Levels whose instances a reviewer is shown."""


class Instances:
    """Instances of drafts as judges see them, made in the sandbox; and their verifiers, tried there."""

    def __init__(self, runner: EnvironmentRunner, tree: SeedTree) -> None:
        self._runner, self._tree = runner, tree
        self.of: Batches[Draft, Sequence[ShownInstance]] = Batches(
            lambda drafts: list(map(self._made, drafts)), 1, AT_ONCE
        )

        self._verify: Batches[tuple[Environment, list[tuple[MadeInstance, str]]], list[Verified]] = Batches(
            lambda asked: [runner.verify(*one) for one in asked], 1, AT_ONCE
        )

    async def tried(self, draft: Draft, said: Judgement, shown: Sequence[ShownInstance]) -> Judgement:
        """What a judge said, with its wrong answers tried: a verifier that takes one of them, or breaks at it, is
        refused. One that says what the environment's own solver says is none."""
        firsts = {one.level: one for one in reversed(shown)}
        wrong = [
            one for one in said.wrong if one.level in firsts and alike(one.answer) != alike(firsts[one.level].answer)
        ]
        made = [MadeInstance(firsts[one.level].instance, firsts[one.level].reference, "") for one in wrong]
        asked = [(instance, one.answer) for instance, one in zip(made, wrong, strict=True)]
        values = await self._verify((draft.environment, asked)) if asked else []
        found = [
            f"level {one.level}: {value.reason if isinstance(value, BrokenCall) else 'verify accepts'}: "
            f"{one.answer!r}, against: {one.rule}"
            for one, value in zip(wrong, values, strict=True)
            if isinstance(value, BrokenCall) or value.value == 1.0
        ]
        if not found:
            return said
        return replace(said, accepts=False, reason=said.reason or "accepts-wrong", issues=(*said.issues, *found))

    def _made(self, draft: Draft) -> Sequence[ShownInstance]:
        """Some of each level in turn; fewer than were wanted where some cannot be made."""
        rows = rows_of(draft.environment, self._runner, PER_LEVEL * LEVELS, self._tree)
        return [shown(row) for row in rows if isinstance(row, EnvironmentRow)]


def shown(row: EnvironmentRow) -> ShownInstance:
    body = row.testing.body
    level, statement = row.problem.meta["level"], row.problem.statement
    return ShownInstance(level, statement, body["instance"], body["reference"], row.solution.text)


class JudgeDraft:
    """Asks both judges; a draft that one refuses is revised, climbs again and is judged again, so often as allowed."""

    name = "judge"
    concurrency = None

    def __init__(
        self, config: JudgingConfig, asker: EnvironmentAsker, ladder: ClimbLadder, instances: Instances
    ) -> None:
        self._config, self._asker, self._ladder, self._instances = config, asker, ladder, instances

    async def run(self, draft: Draft) -> Draft:
        while True:
            instances = sorted(await self._instances.of(draft), key=lambda one: one.level)
            if len(instances) < PER_LEVEL * LEVELS:
                return draft.drop("judge", "breaks: an instance of another seed cannot be made")
            draft, said = await self._judged(draft, instances)
            refused = [one for one in said if not one.accepts]
            if not refused:
                return draft
            if draft.revised == self._config.revisions:
                return draft.drop(refused[0].of, f"{refused[0].reason}: {'; '.join(refused[0].issues)}")
            draft = await self._revised(draft, [issue for one in refused for issue in (one.reason, *one.issues)])
            if draft.ended is not None:
                return draft

    async def _judged(
        self, draft: Draft, instances: Sequence[ShownInstance]
    ) -> tuple[Draft, tuple[Judgement, Judgement]]:
        source, params = draft.source or "", self._config.sampling
        by_level = [[one for one in instances if one.level == level] for level in range(1, LEVELS + 1)]
        sizes = [sum(len(canonical_json(one.instance)) for one in some) // len(some) for some in by_level]
        code = asking.judge_code_request(draft.climb, source, params, sizes)
        questions = asking.judge_questions_request(instances, params)
        one, draft = await self._opinion(draft, asking.JUDGE_CODE, code)
        other, draft = await self._opinion(draft, asking.JUDGE_QUESTIONS, questions)
        other = await self._instances.tried(draft, other, instances)
        return replace(draft, judgements=(*draft.judgements, one, other)), (one, other)

    async def _opinion(self, draft: Draft, of: str, request: Request) -> tuple[Judgement, Draft]:
        # a number of its own for each revision: the same words about another program are another request
        slot = RequestSlot(of, draft.revised)
        heard = await self._asker.ask(draft, slot, request, _reader(of), self._config.attempts)
        return heard.value or Judgement(of, False, "unreadable-verdict"), heard.draft

    async def _revised(self, draft: Draft, issues: Sequence[str]) -> Draft:
        source = draft.source or ""
        request = asking.revision_request(source, list(dict.fromkeys(issues)), self._config.sampling)

        def read(text: str) -> Parsed[str]:
            return read_draft(text, (source,))

        slot = RequestSlot(asking.REVISION, draft.revised)
        heard = await self._asker.ask(draft, slot, request, read, self._config.attempts)
        if heard.value is None:
            return heard.draft.drop("judge", f"not-revised: {heard.draft.rejects[-1].reason}")
        return await self._ladder.run(replace(heard.draft, source=heard.value, revised=draft.revised + 1))


class ReviewDraft:
    """Asks for independent reviews; one that rejects, or cannot be read, drops the draft."""

    name = "review"
    concurrency = None

    def __init__(self, config: JudgingConfig, asker: EnvironmentAsker, instances: Instances) -> None:
        self._config, self._asker, self._instances = config, asker, instances

    async def run(self, draft: Draft) -> Draft:
        instances = {one.level: one for one in await self._instances.of(draft)}
        some = [instances[level] for level in REVIEWED if level in instances]
        flags = [*draft.flags, *([draft.crosscheck.verdict] if draft.crosscheck else [])]
        request = asking.review_request(draft.climb, draft.source or "", some, flags, self._config.sampling)
        bare = replace(draft, rejects=(), usage=Usage())
        heard = await all_or_first_error(
            [
                self._asker.ask(
                    bare, RequestSlot(asking.REVIEW, number), request, _reader(asking.REVIEW), self._config.attempts
                )
                for number in range(self._config.reviews)
            ]
        )
        draft = merged(draft, [one.draft for one in heard])
        read = [one.value or Judgement(asking.REVIEW, False, "unreadable-verdict") for one in heard]
        said = [await self._instances.tried(draft, one, some) for one in read]
        draft = replace(draft, judgements=(*draft.judgements, *said))
        refused = next((one for one in said if not one.accepts), None)
        return draft if refused is None else draft.drop("review", f"{refused.reason}: {'; '.join(refused.issues)}")


def merged(draft: Draft, heard: Sequence[Draft]) -> Draft:
    """The draft with what copies of it, bare of rejects and cost, spent at the same time; in their order."""
    for one in heard:
        draft = replace(draft, rejects=(*draft.rejects, *one.rejects), usage=draft.usage.plus(one.usage))
    return draft


def _reader(of: str) -> Callable[[str], Parsed[Judgement]]:
    return lambda text: read_judgement(of, text)
