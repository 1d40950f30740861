"""The sandboxed reward as plain functions for other trainers: verl, OpenRLHF, TRL.

    verl       reward.custom_reward_function.path=.../evosyn/train/reward_function.py  name=compute_score
    OpenRLHF   --remote_rm_url .../evosyn/train/reward_function.py                     (finds `reward_func`)
    TRL        GRPOTrainer(reward_funcs=[trl_reward], ...)                             (column `task`)

With EVOSYN_REWARD_URL set, a running `evosyn reward serve` is asked, or several whose addresses stand there with commas
between them (token in EVOSYN_REWARD_TOKEN); otherwise a sandbox is opened in this process at the first call and closed
at its end. What a row says of itself is one text everywhere, the JSON of `evosyn.tasks`. It imports no torch at its
top; trainers load this file by its path, so it holds no classes that need their module. Where our machine fails, the
reward is None where the trainer knows a missing reward (TRL), else 0.0 with the extra field `unknown` set to 1.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from evosyn.domains import check_task
from evosyn.errors import UsageError
from evosyn.records import Json
from evosyn.tasks import Task, task_from_json, task_to_json
from evosyn.text.reasoning import without_marks

log = logging.getLogger(__name__)

TAIL = 64
"""Characters at the end of a prompt by which a completion is found where the text before it was cut or changed."""


def compute_score(
    data_source: str,
    solution_str: str,
    ground_truth: Any,
    extra_info: Mapping[str, Json] | None = None,
    *,
    reasoning: str | None = None,
    **rest: Any,
) -> dict[str, float]:
    """verl's contract for one completion: a dictionary whose `score` is the reward, the rest is logged.

    Args:
        reasoning: as for `trl_reward`; verl passes it from `reward.custom_reward_function.reward_kwargs`.
    """
    del data_source, extra_info, rest
    return _numbers(_score([task_from_json(ground_truth, "ground_truth", check_task)], [solution_str], reasoning))[0]


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Json] | None] | None = None,
    *,
    reasoning: str | None = None,
    **rest: Any,
) -> list[dict[str, float]]:
    """verl's batch reward manager (`reward_manager=batch`): one sandbox run for all completions."""
    del data_sources, extra_infos, rest
    tasks = [task_from_json(truth, f"ground_truths[{place}]", check_task) for place, truth in enumerate(ground_truths)]
    return _numbers(_score(tasks, list(solution_strs), reasoning))


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **rest: Any) -> Any:
    """OpenRLHF's contract: full texts with all special tokens, prompts and labels in; tensors out."""
    import torch

    del rest
    tasks = [task_from_json(label, f"labels[{place}]", check_task) for place, label in enumerate(labels)]
    texts = [completion_of(query, prompt) for query, prompt in zip(queries, prompts, strict=True)]
    known = [place for place, text in enumerate(texts) if text is not None]
    found = _score([tasks[place] for place in known], [text for text in texts if text is not None])
    answers = dict(zip(known, found, strict=True))
    if len(known) < len(texts):
        log.error("%d of %d queries do not hold their prompt; they are not judged", len(texts) - len(known), len(texts))
    rows = _numbers(
        [
            answers.get(place, {"reward": None, "share": 0.0, "parsed": False, "cut": False})
            for place in range(len(texts))
        ]
    )
    rewards = torch.tensor([row["score"] for row in rows])
    extra = {name: torch.tensor([row[name] for row in rows]) for name in ("share", "parsed", "cut", "unknown")}
    return {"rewards": rewards, "scores": rewards, "extra_logs": extra}


def trl_reward(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    task: Sequence[Any] | None = None,
    reasoning: str | None = None,
    **columns: Any,
) -> list[float | None]:
    """TRL's contract with the columns of `evosyn export --format trl`: one reward per completion, or None.

    Args:
        reasoning: how completions mark what the model thought, in place of what tasks say; with `functools.partial`.
    """
    from evosyn.train.rewards import completion_text

    del prompts
    if task is None:
        found = ", ".join(sorted(columns))
        raise UsageError(f"the data has no column `task` ({found}); write it with: evosyn export DATA --format trl")
    tasks = [task_from_json(one, f"task[{place}]", check_task) for place, one in enumerate(task)]
    return [score["reward"] for score in _score(tasks, [completion_text(one) for one in completions], reasoning)]


def completion_of(query: str, prompt: str) -> str | None:
    """What was generated after the prompt, without end marks; None where the query does not hold the prompt's end.

    A tokenizer may have cut a long prompt at its start, or decode it slightly differently; its end is looked for then.
    """
    tail = prompt[-TAIL:]
    start = len(prompt) if query.startswith(prompt) else query.find(tail) + len(tail)
    if start < len(tail):
        return None
    return without_marks(query[start:])


def _numbers(scores: Sequence[Json]) -> list[dict[str, float]]:
    return [
        {
            "score": score["reward"] or 0.0,
            "share": score["share"],
            "parsed": float(score["parsed"]),
            "cut": float(score["cut"]),
            "unknown": float(score["reward"] is None),
        }
        for score in scores
    ]


def _score(tasks: Sequence[Task], texts: Sequence[str], reasoning: str | None = None) -> list[Json]:
    """One answer per completion, as the service gives it, from the service or from a sandbox of this process.

    Args:
        reasoning: as of `here.reasoning_named`.

    Raises:
        UsageError: there is no such form.
    """
    from evosyn.train.here import client_of, reasoning_named, scorer_of

    form, url = reasoning_named(reasoning), os.environ.get("EVOSYN_REWARD_URL")
    if url:
        token = "EVOSYN_REWARD_TOKEN" if "EVOSYN_REWARD_TOKEN" in os.environ else None
        items = [
            {"task": task_to_json(task), "completion": text, "reasoning": form}
            for task, text in zip(tasks, texts, strict=True)
        ]
        scores: list[Json] = client_of(url, token).score(items)
    else:
        from evosyn.train.scoring import score_json

        scores = [score_json(score) for score in scorer_of(tasks).score(tasks, texts, [form] * len(texts))]
    unknown = [score["error"] for score in scores if score["reward"] is None]
    if unknown:
        log.warning("%d of %d completions could not be judged; the first: %s", len(unknown), len(scores), unknown[0])
    return scores
