"""RLVR on a dataset: GRPO and kin through TRL, the reward being the chosen testing, run in the sandbox.

What it shares with every training run stands in `run`. EvoSyn (2510.17928) section 3.3.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from evosyn.chat import Message
from evosyn.crossexec.verdict_cache import SqliteVerdicts
from evosyn.dataset import Sample
from evosyn.domains import domains_named
from evosyn.environments.rotation import RotatingPool
from evosyn.environments.runner import EnvironmentRunner
from evosyn.errors import UsageError
from evosyn.ports import Feed, Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.sandbox.packages import require_shown
from evosyn.sharing import Company
from evosyn.text.tokenizers import completion_texts, marks_are_special, reasoning_of
from evosyn.train.config import RlvrConfig
from evosyn.train.data import fit_lengths, prompt_of, tasks_of
from evosyn.train.models import TINY, adapter_config, check_context, context_of, load_tokenizer
from evosyn.train.report import mean_of
from evosyn.train.rewards import RewardFunction, pass_histogram
from evosyn.train.run import Metrics, OnRow, PreparedTrainer, Start, run_training
from evosyn.train.scoring import Scorer, reward_judge
from evosyn.train.settings import grpo_settings, resolve, world_size

CURVES = ("reward", "pass_rate")
"""Those that are drawn, and told of each domain where rows are of several."""
METRICS = (*CURVES, "zero_variance", "case_share", "cut", "entropy")


class FeedTools(NamedTuple):
    """What a feed is made with: the run's directory and rows that fit, its sandbox, and whether a prompt fits."""

    start: Start
    samples: Sequence[Sample]
    sandbox: Sandbox
    fits: Callable[[tuple[Message, ...]], bool]


MakeFeed: TypeAlias = Callable[[FeedTools], Feed]


def train_rlvr(
    config: RlvrConfig,
    out: Path,
    sandbox: Sandbox,
    *,
    on_row: OnRow | None = None,
    feed: MakeFeed | None = None,
    parts: Sequence[Sequence[Sample]] | None = None,
) -> dict[str, Json]:
    """Run or go on with one RLVR run; errors as of `run_training`.

    Args:
        config: as given; it is resolved here.
        sandbox: where completions run.
        feed: where rows come from; None for the data as they are, or their rotation where the configuration says so.
        parts: rows of each dataset, where they were read before or are of none; see `run_training`.
    """
    config = resolve(config)
    if config.model != TINY:
        tokenizer = load_tokenizer(config.model, pad_token=config.pad_token)
        form = reasoning_of(tokenizer, config.model, config.rollout.reasoning)
        config = config.model_copy(update={"rollout": config.rollout.model_copy(update={"reasoning": form})})
    if feed is None and config.rotation.active is not None:
        feed = functools.partial(_rotation, config)
    if feed is not None:
        check_changing_rows(config)
    if config.rollout.oversample != 1 and world_size() > 1:
        raise UsageError(
            "rollout.oversample: works in one process only; --set rollout.oversample=1 for more (vLLM and "
            "more prompts help)"
        )
    return run_training(config, out, lambda start: _prepare(config, start, sandbox, feed), on_row, parts)


def check_changing_rows(config: RlvrConfig) -> None:
    """
    Raises:
        UsageError: several processes train together, and a feed is owned by one; or a batch is passed over several
            times: steps without rows of their own are reported nowhere, and what goes on would draw them anew.
    """
    if world_size() > 1:
        raise UsageError(
            "rows that change while a model trains (--rotate, evosyn coevolve) work in one process only; start it "
            "without torchrun"
        )
    if config.optim.iterations > 1:
        raise UsageError(
            f"optim.iterations={config.optim.iterations}: rows that change while a model trains (--rotate, evosyn "
            "coevolve) take one pass over each batch, or a run that goes on would differ from one that was never "
            "stopped; --set optim.iterations=1"
        )


def _rotation(config: RlvrConfig, tools: FeedTools) -> RotatingPool:
    """
    Raises:
        UsageError: rows of another domain; a pool that is smaller than a batch.
    """
    runner, seeds = EnvironmentRunner(tools.sandbox), SeedTree(config.seed).child("rotation")
    pool = RotatingPool(tools.samples, config.rotation, runner, tools.start.run.journal, seeds, tools.fits)
    needed = config.rollout.prompts * (config.rollout.oversample or 1)
    if len(pool) < needed:
        raise UsageError(
            f"--rotate {config.rotation.active}: a pool of {len(pool)} rows is smaller than one step, which draws "
            f"{needed}; raise it, or lower --set rollout.prompts"
        )
    return pool


def _prepare(config: RlvrConfig, start: Start, sandbox: Sandbox, make_feed: MakeFeed | None) -> PreparedTrainer:
    from datasets import Dataset
    from trl import GRPOConfig

    from evosyn.train.early_scoring import EarlyScorer
    from evosyn.train.feeding import LiveRows
    from evosyn.train.trainer import EvosynGRPOTrainer

    rows, left_out = _rows(config, start)
    domains = domains_named({sample.domain for sample in start.samples})
    verdicts = start.resources.enter_context(SqliteVerdicts(start.run.file("verdicts.sqlite")))
    company = Company(share=config.reward.company)
    tasks, length = tasks_of(start.samples), config.rollout.max_completion
    require_shown((task.problem for task in tasks.values()), sandbox.protection)
    judge = reward_judge(sandbox, domains, config.reward.limits, verdicts, company=company)
    scorer = Scorer(judge, config.rollout.reasoning)
    early = EarlyScorer(scorer, start.tokenizer)
    feed = None if make_feed is None else make_feed(_tools(config, start, sandbox, rows))
    live = None if feed is None else LiveRows(feed, tasks, config.rollout.group)
    record = None if live is None else live.record
    decode = functools.partial(completion_texts, start.tokenizer) if marks_are_special(start.tokenizer) else None
    reward = RewardFunction(
        tasks, scorer, config.reward, max_completion=length, wait=early.drain, record=record, decode=decode
    )
    settings = grpo_settings(config, start.run.path, bf16=start.bf16, cpu=start.cpu)
    trainer = EvosynGRPOTrainer(
        model=start.model,
        args=GRPOConfig(**settings),
        reward_funcs=[reward],
        train_dataset=Dataset.from_list(rows),
        processing_class=start.tokenizer,
        peft_config=adapter_config(config.memory),
        oversample=config.rollout.oversample or 1,
        seeds=SeedTree(config.seed),
        tasks=reward.tasks,
        early=early,
        live=live,
        callbacks=[] if live is None else [live],
    )

    def own(metrics: Metrics) -> dict[str, Json]:
        return {
            "reward_share": mean_of(metrics, "reward_share"),
            "executed": scorer.judge.executed,
            "drawn": reward.drawn,
            "pass_histogram": pass_histogram(reward.passes),
            **({} if feed is None else {"feed": feed.summary()}),
        }

    names = [f"{name}/{domain}" for domain in sorted(domains) for name in CURVES] if len(domains) > 1 else []
    told = () if feed is None else tuple(feed.figures())
    curves = (*CURVES, *names, *(("zero_variance",) if feed else ()))
    return PreparedTrainer(trainer, settings, left_out, (*METRICS, *told, *names), curves, own, reward, live)


def _tools(config: RlvrConfig, start: Start, sandbox: Sandbox, rows: Sequence[Mapping[str, Json]]) -> FeedTools:
    fitting, rollout = {row["row_id"] for row in rows}, config.rollout
    most = min(rollout.max_prompt, context_of(start.model) - rollout.max_completion)

    def fits(prompt: tuple[Message, ...]) -> bool:
        shown = [{"role": one.role, "content": one.content} for one in prompt]
        return len(start.tokenizer.apply_chat_template(shown, add_generation_prompt=True, return_dict=False)) <= most

    return FeedTools(start, [one for one in start.samples if one.id in fitting], sandbox, fits)


def _rows(config: RlvrConfig, start: Start) -> tuple[list[dict[str, Json]], int]:
    tokens, completion = _prompt_lengths(start.samples, start.tokenizer), config.rollout.max_completion
    rows = [{"prompt": prompt_of(sample), "row_id": sample.id} for sample in start.samples]
    limit = config.rollout.max_prompt
    fitting, left_out = fit_lengths(rows, lambda row: tokens[row["row_id"]], limit, "rollout.max_prompt")
    longest = max(tokens[row["row_id"]] for row in fitting)
    check_context(start.model, start.path, longest + completion, longest, completion)
    if len(fitting) < config.rollout.prompts:
        raise UsageError(
            f"rollout.prompts={config.rollout.prompts}: the data has only {len(fitting)} rows; lower it, "
            f"or synthesize more"
        )
    return fitting, left_out


def _prompt_lengths(samples: Sequence[Sample], tokenizer: Any) -> dict[str, int]:
    return {
        sample.id: len(tokenizer.apply_chat_template(prompt_of(sample), add_generation_prompt=True, return_dict=False))
        for sample in samples
    }
