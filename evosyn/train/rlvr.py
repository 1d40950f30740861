"""RLVR on a dataset: GRPO and kin through TRL, the reward being the chosen testing, run in the sandbox.

What it shares with every training run stands in `run`. EvoSyn (2510.17928) section 3.3.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from evosyn.crossexec.verdict_cache import SqliteVerdicts
from evosyn.dataset import Sample
from evosyn.domains import domains_named
from evosyn.errors import UsageError
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.sharing import Company
from evosyn.train.config import RlvrConfig
from evosyn.train.data import fit_lengths, prompt_of, tasks_of
from evosyn.train.models import adapter_config, check_context
from evosyn.train.report import mean_of
from evosyn.train.rewards import RewardFunction, pass_histogram
from evosyn.train.run import Metrics, OnRow, PreparedTrainer, Start, run_training
from evosyn.train.scoring import Scorer, reward_judge
from evosyn.train.settings import grpo_settings, resolve, world_size

CURVES = ("reward", "pass_rate")
"""Those that are drawn, and told of each domain where rows are of several."""
METRICS = (*CURVES, "case_share", "entropy")


def train_rlvr(config: RlvrConfig, out: Path, sandbox: Sandbox, *, on_row: OnRow | None = None) -> dict[str, Json]:
    """Run or go on with one RLVR run; errors as of `run_training`.

    Args:
        config: as given; it is resolved here.
        sandbox: where completions run.
    """
    config = resolve(config)
    if config.rollout.oversample != 1 and world_size() > 1:
        raise UsageError(
            "rollout.oversample: works in one process only; --set rollout.oversample=1 for more (vLLM and "
            "more prompts help)"
        )
    return run_training(config, out, lambda start: _prepare(config, start, sandbox), on_row)


def _prepare(config: RlvrConfig, start: Start, sandbox: Sandbox) -> PreparedTrainer:
    from datasets import Dataset
    from trl import GRPOConfig

    from evosyn.train.early_scoring import EarlyScorer
    from evosyn.train.trainer import EvosynGRPOTrainer

    rows, left_out = _rows(config, start)
    domains = domains_named({sample.domain for sample in start.samples})
    verdicts = start.resources.enter_context(SqliteVerdicts(start.run.file("verdicts.sqlite")))
    company = Company(share=config.reward.company)
    scorer = Scorer(reward_judge(sandbox, domains, config.reward.limits, verdicts, company=company))
    early = EarlyScorer(scorer, start.tokenizer)
    tasks, length = tasks_of(start.samples), config.rollout.max_completion
    reward = RewardFunction(tasks, scorer, config.reward, max_completion=length, wait=early.drain)
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
    )

    def own(metrics: Metrics) -> dict[str, Json]:
        return {
            "reward_share": mean_of(metrics, "reward_share"),
            "executed": scorer.judge.executed,
            "drawn": reward.drawn,
            "pass_histogram": pass_histogram(reward.passes),
        }

    names = [f"{name}/{domain}" for domain in sorted(domains) for name in CURVES] if len(domains) > 1 else []
    return PreparedTrainer(trainer, settings, left_out, (*METRICS, *names), (*CURVES, *names), own, reward)


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
