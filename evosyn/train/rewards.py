"""The reward function that TRL calls: sandboxed scores, weighted and logged.

It never raises into the trainer: where the machine fails, the affected completions get None (TRL then leaves them out
of the baseline and of the loss), the failure is kept in `failure`, and the `RunWatch` callback ends the run after a
checkpoint. TRL contract: all columns arrive as lists aligned with `completions`. EvoSyn (2510.17928) section 3.3.
"""

from __future__ import annotations

import logging
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from evosyn.records import Json, Verdict
from evosyn.train.config import RewardConfig
from evosyn.train.scoring import Score, Scores, Task
from evosyn.train.shaping import cosine, format_score, soft_overlong

log = logging.getLogger(__name__)


class Recorded(NamedTuple):
    """What a batch is told beside its scores: figures to log, and what completions are worth by their place, where the
    scores do not say it; None where nobody knows.
    """

    figures: Mapping[str, float] = {}
    paid: Mapping[int, float | None] = {}


Record: TypeAlias = Callable[[Sequence[str], Sequence[Score], Sequence[str]], Recorded]
NO_ROW = Score(Verdict.UNKNOWN, 0.0, False, "no such row")


class RewardFunction:
    """Callable as TRL wants it; one instance per process and run.

    Args:
        tasks: by row id, the column `row_id` of the training data.
        scorer: decides pass or fail.
        config: the parts and their weights.
        max_completion: tokens, for the length-aware parts.
        wait: called before scoring; returns when what is scored in the background is done.
        record: told the rows, scores and texts of each batch.
        decode: makes texts of ids, where the trainer leaves marks of reasoning out of its own; else None.

    Attributes:
        failure: the exception that broke scoring, or None.
        passes: for each row seen, [passed, scored] since the start of this process.
        drawn: completions seen.
        flat_steps: consecutive batches in which no group held two different rewards.
    """

    def __init__(
        self,
        tasks: Mapping[str, Task],
        scorer: Scores,
        config: RewardConfig,
        *,
        max_completion: int,
        wait: Callable[[], None] = lambda: None,
        record: Record | None = None,
        decode: Callable[[Sequence[Sequence[int]]], list[str]] | None = None,
    ) -> None:
        self.__name__ = "evosyn"
        self.tasks, self.scorer, self._config = tasks, scorer, config
        self._max_completion, self._wait, self._record = max_completion, wait, record
        self._decode = decode
        self._mixed = len({task.problem.domain for task in tasks.values()}) > 1
        self._left: float | None = None
        self.failure: BaseException | None = None
        self.passes: dict[str, list[int]] = defaultdict(lambda: [0, 0])
        self.flat_steps = 0
        self.drawn = 0

    def __call__(
        self,
        completions: Sequence[Json],
        row_id: Sequence[str],
        completion_ids: Sequence[Sequence[int]] | None = None,
        log_metric: Callable[[str, float], None] | None = None,
        **columns: Any,
    ) -> list[float | None]:
        """A reward per completion; None where the sandbox could not judge it."""
        del columns
        started = time.perf_counter()
        self.drawn += len(completions)
        try:
            texts = (
                [completion_text(completion) for completion in completions]
                if self._decode is None or completion_ids is None
                else self._decode(completion_ids)
            )
            lengths = [len(text) for text in texts] if completion_ids is None else [len(ids) for ids in completion_ids]
            self._wait()
            scores = self._scores(row_id, texts)
            rewards = [
                self._pay(score, text, length) for score, text, length in zip(scores, texts, lengths, strict=True)
            ]
            recorded = Recorded() if self._record is None else self._record(row_id, scores, texts)
        except Exception as error:  # noqa: BLE001  the sandbox boundary: the trainer must live to save
            log.error("scoring failed; the run ends after a checkpoint: %s", error)
            self.failure = error
            return [None] * len(completions)
        rewards = [recorded.paid.get(place, reward) for place, reward in enumerate(rewards)]
        lost = sum(row not in self.tasks and place not in recorded.paid for place, row in enumerate(row_id))
        if lost:
            log.error("%d completions name no row of the training data; they get no reward", lost)
        alike = self._keep_book(row_id, scores, rewards)
        if log_metric is not None:
            self._log(log_metric, scores, texts, started)
            for name, value in {"zero_variance": alike, **recorded.figures}.items():
                log_metric(name, value)
            if self._mixed:
                self._log_domains(log_metric, row_id, scores, rewards)
        self._left = time.perf_counter()
        return rewards

    def _scores(self, rows: Sequence[str], texts: Sequence[str]) -> list[Score]:
        """One score per completion; a row that is not there leaves its own completions undecided."""
        known = [place for place, row in enumerate(rows) if row in self.tasks]
        found = self.scorer.score([self.tasks[rows[place]] for place in known], [texts[place] for place in known])
        scores = dict(zip(known, found, strict=True))
        return [scores.get(place, NO_ROW) for place in range(len(rows))]

    def _pay(self, score: Score, text: str, length: int) -> float | None:
        if not score.known:
            return None
        config = self._config
        earned = config.weight * (score.share if config.credit == "share" else float(score.passed))
        if config.combine == "product":
            earned *= self._formatted(score, text)
        elif config.format_weight:
            earned += config.format_weight * self._formatted(score, text)
        if config.shape == "soft-overlong":
            earned += config.shape_weight * soft_overlong(length, self._max_completion)
        elif config.shape == "cosine":
            earned += config.shape_weight * cosine(score.passed, length, self._max_completion)
        return earned

    def _formatted(self, score: Score, text: str) -> float:
        """1.0 where the text has the asked form and its domain finds a solution in it, else 0.0."""
        return format_score(text, self._config.format) if score.parsed else 0.0

    def _keep_book(self, rows: Sequence[str], scores: Sequence[Score], rewards: Sequence[float | None]) -> float:
        """The share of rows whose rewards are all equal, which teach nothing."""
        groups: dict[str, set[float]] = defaultdict(set)
        for row, score, reward in zip(rows, scores, rewards, strict=True):
            if reward is not None:
                groups[row].add(round(reward, 9))
            if reward is not None and score.known:
                self.passes[row][0] += score.passed
                self.passes[row][1] += 1
        alike = sum(len(values) < 2 for values in groups.values())
        self.flat_steps = self.flat_steps + 1 if alike == len(groups) else 0
        return alike / len(groups) if groups else 0.0

    def _log(
        self, log_metric: Callable[[str, float], None], scores: Sequence[Score], texts: Sequence[str], started: float
    ) -> None:
        known = [score for score in scores if score.known]
        seconds = time.perf_counter() - started
        if known:
            log_metric("pass_rate", sum(score.passed for score in known) / len(known))
            log_metric("case_share", sum(score.share for score in known) / len(known))
        log_metric("parsed", sum(score.parsed for score in scores) / len(scores))
        log_metric("cut", sum(score.cut for score in scores) / len(scores))
        log_metric("formatted", sum(map(self._formatted, scores, texts)) / len(texts))
        log_metric("unknown", 1.0 - len(known) / len(scores))
        log_metric("reward_seconds", seconds)
        if self._left is not None:
            log_metric("reward_share", seconds / max(seconds, time.perf_counter() - self._left))

    def _log_domains(
        self,
        log_metric: Callable[[str, float], None],
        rows: Sequence[str],
        scores: Sequence[Score],
        rewards: Sequence[float | None],
    ) -> None:
        """What completions for rows of each domain of the batch came to."""
        found: dict[str, list[tuple[float, bool]]] = defaultdict(list)
        for row, score, reward in zip(rows, scores, rewards, strict=True):
            if reward is not None and row in self.tasks:
                found[self.tasks[row].problem.domain].append((reward, score.passed))
        for domain, paid in found.items():
            log_metric(f"reward/{domain}", sum(reward for reward, _ in paid) / len(paid))
            log_metric(f"pass_rate/{domain}", sum(passed for _, passed in paid) / len(paid))


def completion_text(completion: Json) -> str:
    """The text of a completion in TRL's forms: plain text, or messages whose last one holds text or parts."""
    if isinstance(completion, str):
        return completion
    content = completion[-1].get("content") if completion else None
    if isinstance(content, list):
        return "".join([str(part.get("text") or "") for part in content if isinstance(part, dict)])
    return content if isinstance(content, str) else ""


def pass_histogram(passes: Mapping[str, Sequence[int]]) -> list[int]:
    """How many rows have a pass rate in each of five equal parts of [0, 1]; rows never scored are left out."""
    counts = [0] * 5
    for passed, scored in passes.values():
        if scored:
            counts[min(4, int(5 * passed / scored))] += 1
    return counts
