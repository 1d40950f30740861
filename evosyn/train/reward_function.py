"""The sandboxed reward as plain functions for other trainers: verl, OpenRLHF, TRL.

    verl       reward.custom_reward_function.path=.../evosyn/train/reward_function.py  name=compute_score
    OpenRLHF   --remote_rm_url .../evosyn/train/reward_function.py                     (finds `reward_func`)
    TRL        GRPOTrainer(reward_funcs=[trl_reward], ...)                             (columns `testing`, `domain`,
    `entry_point`)

With EVOSYN_REWARD_URL set, a running `evosyn reward serve` is asked (token in EVOSYN_REWARD_TOKEN); otherwise a
sandbox is opened in this process at the first call and closed at its end. The ground truth is the JSON of a task
(`{"domain", "entry_point", "statement", "testing"}`) or of its testing alone. It imports no torch at its top, and
nothing of evosyn but this package. Where our machine fails, the reward is 0.0 for trainers that know no missing
reward, and the extra field `unknown` is 1.
"""

from __future__ import annotations

import atexit
import json
import os
import threading
from collections.abc import Mapping, Sequence
from typing import Any

from evosyn.errors import UsageError
from evosyn.jobs import Limits
from evosyn.records import Json

_lock = threading.Lock()
_local: Any = None


def compute_score(
    data_source: str, solution_str: str, ground_truth: Any, extra_info: Mapping[str, Json] | None = None, **rest: Any
) -> dict[str, float]:
    """verl's contract for one completion: a dictionary whose `score` is the reward, the rest is logged."""
    del data_source, rest
    return compute_scores([], [solution_str], [ground_truth], [extra_info])[0]


def compute_scores(
    data_sources: Sequence[str],
    solution_strs: Sequence[str],
    ground_truths: Sequence[Any],
    extra_infos: Sequence[Mapping[str, Json] | None] | None = None,
    **rest: Any,
) -> list[dict[str, float]]:
    """verl's batch reward manager (`reward_manager=batch`): one sandbox run for all completions."""
    del data_sources, rest
    extras = extra_infos if extra_infos is not None else [None] * len(solution_strs)
    items = [
        {"task": _task(truth, extra), "completion": text}
        for text, truth, extra in zip(solution_strs, ground_truths, extras, strict=True)
    ]
    return [
        {
            "score": score["reward"] or 0.0,
            "share": score["share"],
            "parsed": float(score["parsed"]),
            "unknown": float(score["reward"] is None),
        }
        for score in _score(items)
    ]


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **rest: Any) -> Any:
    """OpenRLHF's contract: full texts, prompts and labels in; tensors out."""
    import torch

    del rest
    pairs = zip(queries, prompts, strict=True)
    texts = [query.removeprefix(prompt) for query, prompt in pairs]
    rows = compute_scores([], texts, labels)
    rewards = torch.tensor([row["score"] for row in rows])
    extra = {name: torch.tensor([row[name] for row in rows]) for name in ("share", "parsed", "unknown")}
    return {"rewards": rewards, "scores": rewards, "extra_logs": extra}


def trl_reward(
    prompts: Sequence[Any],
    completions: Sequence[Any],
    testing: Sequence[Any],
    domain: Sequence[str] | None = None,
    entry_point: Sequence[str | None] | None = None,
    **rest: Any,
) -> list[float | None]:
    """TRL's contract with the columns of an evosyn dataset: one reward per completion, or None."""
    from evosyn.train.rewards import completion_text

    del prompts, rest
    count = len(completions)
    items = [
        {"task": {"domain": one, "entry_point": entry, "testing": truth}, "completion": completion_text(completion)}
        for completion, truth, one, entry in zip(
            completions, testing, domain or ["python-function"] * count, entry_point or [None] * count, strict=True
        )
    ]
    return [score["reward"] for score in _score(items)]


def _task(truth: Any, extra: Mapping[str, Json] | None) -> Json:
    """The task of one row, whatever form the trainer's data gave it."""
    try:
        value = json.loads(truth) if isinstance(truth, str) else truth
    except ValueError as error:
        raise UsageError("ground truth: is not the JSON of a task or a testing (see docs/reward.md)") from error
    if isinstance(value, dict) and "testing" in value:
        return value
    known = {
        name: extra[name]
        for name in ("domain", "entry_point", "statement", "starter_code")
        if extra and extra.get(name)
    }
    return {**known, "testing": value}


def _score(items: list[Json]) -> list[Json]:
    url = os.environ.get("EVOSYN_REWARD_URL")
    if url:
        from evosyn.train.client import RewardClient

        token = "EVOSYN_REWARD_TOKEN" if "EVOSYN_REWARD_TOKEN" in os.environ else None
        return RewardClient(url, token_env=token).score(items)
    from evosyn.train.service import score_json, task_from_json

    tasks = [task_from_json(item["task"], f"ground truth {place}") for place, item in enumerate(items)]
    scorer = _open(tasks)
    return [score_json(score) for score in scorer.score(tasks, [item["completion"] for item in items])]


def _open(tasks: Sequence[Any]) -> Any:
    """The scorer of this process, made at the first call."""
    global _local
    with _lock:
        if _local is None:
            from evosyn import registry
            from evosyn.sandbox import open_sandbox
            from evosyn.train.scoring import Scorer

            sandbox = open_sandbox("local", allow_weak=os.environ.get("EVOSYN_ALLOW_WEAK_SANDBOX") == "1")
            sandbox.__enter__()
            atexit.register(sandbox.close)
            domains = {name: registry.factory("domains", name)() for name in registry.names("domains")}
            _local = Scorer(sandbox, domains, Limits(wall_s=2.0, budget_s=10.0))
    for task in tasks:
        reason = _local.complaint(task)
        if reason is not None:
            raise UsageError(f"ground truth: {reason}")
    return _local
