"""RLVR on a dataset: GRPO and kin through TRL, the reward being the chosen testing, run in the sandbox.

One call is one run directory; the same call goes on after any interruption. It imports torch; nothing else of evosyn
does so. EvoSyn (2510.17928) section 3.3; facts about TRL 1.16 stand in `docs/train.md`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evosyn.crossexec.verdict_cache import SqliteVerdicts
from evosyn.domains import domains_named
from evosyn.errors import UnavailableError, UsageError
from evosyn.ports import Sandbox
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.sharing import Company
from evosyn.train import tiny
from evosyn.train.checkpoints import (
    check_disk,
    checkpoint_bytes,
    freeze_config,
    last_whole,
    read_metrics,
    trim_metrics,
)
from evosyn.train.config import RlvrConfig
from evosyn.train.data import fit_lengths, load_samples, prompt_of, tasks_of
from evosyn.train.models import (
    adapter_config,
    check_context,
    load_model,
    load_tokenizer,
    merge_adapter,
    require_options,
    use_bf16,
)
from evosyn.train.report import lineage_of, mean_of, start_and_end, versions, write_card, write_curve
from evosyn.train.rewards import RewardFunction, pass_histogram
from evosyn.train.scoring import Scorer, reward_judge
from evosyn.train.settings import grpo_settings, is_main_process, resolve, world_size

if TYPE_CHECKING:
    from evosyn.train.early_scoring import EarlyScorer

log = logging.getLogger(__name__)

OnRow = Callable[[dict[str, float]], None]


@dataclass(frozen=True)
class RlvrRun:
    """What is to be trained on what.

    Attributes:
        data: dataset directory (or one parquet file), and `setting` in it.
        model: local path, hub id or `builtin:tiny`.
        out: the run directory.
        config: as given; it is resolved here.
    """

    data: str
    setting: str
    model: str
    out: Path
    config: RlvrConfig

    def frozen(self) -> dict[str, Json]:
        """What `config.yaml` holds."""
        head = {"command": "train", "data": self.data, "setting": self.setting, "model": self.model}
        return {**head, **resolve(self.config).model_dump(mode="json")}


def train_rlvr(request: RlvrRun, sandbox: Sandbox, *, on_row: OnRow | None = None) -> dict[str, Json]:
    """Run or go on with one training, and return its report (also in `report.json`).

    Raises:
        UsageError: data, model and configuration do not fit together; nothing was trained.
        UnavailableError: the sandbox, the disk or the arithmetic gave up; a checkpoint was written where it makes
            sense.
        KeyboardInterrupt: SIGTERM came, everything is saved.
    """
    require_options(request.config)
    samples = load_samples(request.data, request.setting)
    config = resolve(request.config)
    everything = len(samples)
    if request.model == tiny.NAME:
        samples = tiny.easiest(samples, config.tiny)
    if config.rollout.oversample != 1 and world_size() > 1:
        raise UsageError(
            "rollout.oversample: works in one process only; --set rollout.oversample=1 for more (vLLM and "
            "more prompts help)"
        )
    with open_run(request.out) as run:
        if is_main_process():
            freeze_config(run, request.frozen())
        if run.file("report.json").exists():
            log.info("%s is done", request.out)
            return dict(run.read_json("report.json"))
        domains, company = domains_named({sample.domain for sample in samples}), Company(share=config.reward.company)
        with SqliteVerdicts(run.file("verdicts.sqlite")) as verdicts:
            judge = reward_judge(sandbox, domains, config.reward.limits, verdicts, company=company)
            report = _train(request, config, run, samples, Scorer(judge), on_row)
        return finish(report, run, everything, ["reward", "pass_rate"])


class _Further(RunDir):
    """The run directory as further processes of a distributed run see it: no lock, the first process writes."""

    def open_for_writing(self) -> RunDir:
        self.path.mkdir(parents=True, exist_ok=True)
        return self


def open_run(out: Path) -> RunDir:
    """The run directory, locked by the first process of a distributed run."""
    return RunDir(out) if is_main_process() else _Further(out)


def resume_point(run: RunDir) -> Path | None:
    """The last whole checkpoint; metrics after it are dropped, since those steps are done again."""
    checkpoint = last_whole(run.file("checkpoints"), clean=is_main_process())
    if is_main_process():
        trim_metrics(run.file("metrics.jsonl"), int(checkpoint.name.removeprefix("checkpoint-")) if checkpoint else 0)
    return checkpoint


def prepare_model(model: str, out: Path, samples: Sequence[Any], config: Any, *, cpu: bool) -> str:
    """A path or hub id to load: `builtin:tiny` is made first; torch is told how many threads to take."""
    import torch

    if cpu:
        torch.set_num_threads(config.keep.threads)
    if model != tiny.NAME:
        return model
    if world_size() > 1:
        raise UsageError(f"--model {tiny.NAME}: is made for one process; start it without torchrun")
    tiny.build(out / "tiny", samples, config.tiny, SeedTree(config.seed))
    return str(out / "tiny")


def _train(
    request: RlvrRun,
    config: RlvrConfig,
    run: RunDir,
    samples: Sequence[Any],
    scorer: Scorer,
    on_row: OnRow | None,
) -> dict[str, Json]:
    import torch

    from evosyn.train.callbacks import MetricsWriter, RunWatch
    from evosyn.train.early_scoring import EarlyScorer

    cpu = not torch.cuda.is_available()
    bf16 = use_bf16(config.memory)
    path = prepare_model(request.model, run.path, samples, config, cpu=cpu)
    tokenizer = load_tokenizer(path, pad_token=config.pad_token)
    model = load_model(path, config.memory, bf16=bf16)
    rows, left_out = _rows(samples, tokenizer, model, path, config)
    parameters = sum(weight.numel() for weight in model.parameters())
    needed = checkpoint_bytes(parameters, trained=0 if config.memory.lora_rank else parameters)
    check_disk(run.path, needed, config.keep.last)

    tasks = tasks_of(samples)
    early = EarlyScorer(scorer, tokenizer)
    length = config.rollout.max_completion
    reward = RewardFunction(tasks, scorer, config.reward, max_completion=length, wait=early.drain)
    watch = RunWatch(run.path, reward, stuck_after=config.keep.stuck_after, needed=needed)
    checkpoint = resume_point(run)
    settings = grpo_settings(config, run.path, bf16=bf16, cpu=cpu)
    trainer = _trainer(model, tokenizer, rows, (reward, early), settings, config)
    trainer.add_callback(MetricsWriter(run.file("metrics.jsonl"), on_row))
    trainer.add_callback(watch)
    run_trainer(trainer, watch, checkpoint)

    save_final(trainer, tokenizer, run.path / "model", path)
    report = _report(request, config, samples, run, path)
    report |= {"parameters": parameters, "left_out": left_out, "warnings": watch.warnings, "trl": settings}
    report |= {"executed": reward.scorer.judge.executed, "drawn": reward.drawn}
    report["pass_histogram"] = pass_histogram(reward.passes)
    return report


def finish(report: dict[str, Json], run: RunDir, rows: int, curves: Sequence[str]) -> dict[str, Json]:
    """Label, curve, card and report.json of a run that has ended; `rows` is how many the data has."""
    if report["label"] is not None:
        report["label"] = tiny.label(report["lineage"]["rows"], rows)
    if is_main_process():
        title = f"{report['method']} on {report['lineage']['setting']}" + (
            " (a demonstration)" if report["label"] else ""
        )
        write_curve(run, read_metrics(run.file("metrics.jsonl")), curves, title)
        write_card(run.path / "model", report)
        run.write_json("report.json", report)
    return report


def _report(request: RlvrRun, config: RlvrConfig, samples: Sequence[Any], run: RunDir, path: str) -> dict[str, Json]:
    label = tiny.LABEL if tiny.is_tiny(path) else None
    metrics = read_metrics(run.file("metrics.jsonl"))
    return {
        "command": "train",
        "method": config.algorithm,
        "model": request.model,
        "label": label,
        "steps": config.steps,
        "seed": config.seed,
        "lineage": lineage_of(request.data, request.setting, samples),
        "metrics": {name: start_and_end(metrics, name) for name in ("reward", "pass_rate", "case_share", "entropy")},
        "reward_share": mean_of(metrics, "reward_share"),
        "warm_start": tiny.read_mark(path)["warm_start"] if label else None,
        "versions": versions(),
    }


def _rows(
    samples: Sequence[Any], tokenizer: Any, model: Any, name: str, config: RlvrConfig
) -> tuple[list[dict[str, Json]], int]:
    rows = [{"prompt": prompt_of(sample), "row_id": sample.id} for sample in samples]
    lengths = {
        row["row_id"]: len(tokenizer.apply_chat_template(row["prompt"], add_generation_prompt=True, return_dict=False))
        for row in rows
    }
    limit = config.rollout.max_prompt
    fitting, left_out = fit_lengths(rows, lambda row: lengths[row["row_id"]], limit, "rollout.max_prompt")
    longest = max(lengths[row["row_id"]] for row in fitting)
    check_context(model, name, longest + config.rollout.max_completion, longest, config.rollout.max_completion)
    if len(fitting) < config.rollout.prompts:
        raise UsageError(
            f"rollout.prompts={config.rollout.prompts}: the data has only {len(fitting)} rows; lower it, "
            f"or synthesize more"
        )
    return fitting, left_out


def _trainer(
    model: Any,
    tokenizer: Any,
    rows: list[dict[str, Json]],
    rewards: tuple[RewardFunction, EarlyScorer],
    settings: dict[str, Any],
    config: RlvrConfig,
) -> Any:
    from datasets import Dataset
    from trl import GRPOConfig

    from evosyn.train.trainer import EvosynGRPOTrainer

    reward, early = rewards
    return EvosynGRPOTrainer(
        model=model,
        args=GRPOConfig(**settings),
        reward_funcs=[reward],
        train_dataset=Dataset.from_list(rows),
        processing_class=tokenizer,
        peft_config=adapter_config(config.memory),
        oversample=config.rollout.oversample or 1,
        seeds=SeedTree(config.seed),
        tasks=reward.tasks,
        early=early,
    )


def run_trainer(trainer: Any, watch: Any, checkpoint: Path | None) -> None:
    """Train to the end, or raise what stopped it.

    Raises:
        UnavailableError: out of memory, with what to lower.
    """
    import torch
    from transformers.trainer_callback import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    try:
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise UnavailableError(
            "out of memory: lower --set optim.micro_batch (or fit.micro_batch), switch on --set "
            "memory.gradient_checkpointing=true, "
            "or lower --set rollout.max_completion (or fit.max_length); --set memory.lora_rank=16 helps as well"
        ) from error
    watch.raise_failure()


def save_final(trainer: Any, tokenizer: Any, folder: Path, source: str) -> None:
    """The trained model with its tokenizer; an adapter also merged; the mark of `builtin:tiny` travels along."""
    trainer.save_model(str(folder))
    if not is_main_process():
        return
    tokenizer.save_pretrained(folder)
    merge_adapter(folder)
    if tiny.is_tiny(source):
        (folder / tiny.MARK).write_bytes((Path(source) / tiny.MARK).read_bytes())
