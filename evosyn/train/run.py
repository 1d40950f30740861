"""What every training run shares: one directory, claimed, frozen and resumed; the model; the way to the report.

RLVR and distillation say only what their trainer is. The same call goes on after any interruption, from the last whole
checkpoint. Facts about TRL 1.16 stand in `docs/train.md`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evosyn.configs.saving import check_new, freeze_config
from evosyn.dataset import Sample
from evosyn.errors import UnavailableError, UsageError
from evosyn.randomness import SeedTree
from evosyn.records import Json
from evosyn.rundir import RunDir
from evosyn.train import tiny
from evosyn.train.checkpoints import check_disk, checkpoint_bytes, last_whole, read_metrics, trim_metrics
from evosyn.train.config import DistillConfig, RlvrConfig
from evosyn.train.data import gathered, mixed
from evosyn.train.launch import join_alone
from evosyn.train.models import check_model, load_model, load_tokenizer, merge_adapter, require_options, use_bf16
from evosyn.train.report import lineage_of, start_and_end, versions, write_card, write_curve
from evosyn.train.rewards import RewardFunction
from evosyn.train.settings import is_main_process, world_size

if TYPE_CHECKING:
    from evosyn.train.feeding import LiveRows

log = logging.getLogger(__name__)

WRITES = (
    "journal.jsonl", "mutations.jsonl", "seeds.jsonl", "drafts.jsonl", "programs", "curve.png", "checkpoints", "model",
    "tiny",
)  # fmt: skip
"""Names in the directory of a training, of `coevolve` too, beside those that every command writes."""

OnRow = Callable[[dict[str, float]], None]
Metrics = Sequence[Mapping[str, Json]]


@dataclass(frozen=True)
class Start:
    """What a trainer is made from.

    Attributes:
        run: the claimed directory.
        path: where the model was loaded from.
        bf16, cpu: how it trains on this machine.
        resources: closed when the run ends.
    """

    run: RunDir
    samples: Sequence[Sample]
    path: str
    tokenizer: Any
    model: Any
    bf16: bool
    cpu: bool
    resources: ExitStack


class PreparedTrainer(NamedTuple):
    """What a method adds to a run.

    Attributes:
        trainer: TRL's, made with the keyword arguments `settings`.
        left_out: rows that do not fit.
        metrics: names that are reported, and `curves` those that are drawn.
        reward: of RLVR.
        own: what only this method reports, from the metrics.
        live: where rows come from a feed.
    """

    trainer: Any
    settings: Mapping[str, Any]
    left_out: int
    metrics: Sequence[str]
    curves: Sequence[str]
    own: Callable[[Metrics], dict[str, Json]]
    reward: RewardFunction | None = None
    live: LiveRows | None = None


def ready(config: RlvrConfig | DistillConfig, out: Path) -> list[list[Sample]]:
    """The rows of each dataset of a run that can begin: what can be said without a sandbox or a model is said here.

    Raises:
        UsageError: options, model or data do not fit together; `out` is of another kind of run, or holds files of
            something else where this run would write its own.
    """
    check_run(config, out)
    return gathered(config)


def check_run(config: RlvrConfig | DistillConfig, out: Path) -> None:
    """The same, for a run whose rows come from elsewhere."""
    if is_main_process():
        RunDir(out).check_kind(config.command)
        check_new(out, WRITES)
    require_options(config)
    check_model(config.model)


def run_training(
    config: RlvrConfig | DistillConfig,
    out: Path,
    prepare: Callable[[Start], PreparedTrainer],
    on_row: OnRow | None,
    parts: Sequence[Sequence[Sample]] | None = None,
) -> dict[str, Json]:
    """Run or go on with one training, and return its report (also in `report.json`).

    Args:
        parts: rows of each dataset, as `ready` found them, or made otherwise after `check_run`; None to ask `ready`.

    Raises:
        UsageError: data, model and configuration do not fit together; nothing was trained.
        UnavailableError: the sandbox, the disk, the memory or the arithmetic gave up; a checkpoint was written where it
            makes sense.
        KeyboardInterrupt: SIGTERM came, everything is saved.
    """
    chosen = everything = ready(config, out) if parts is None else parts
    if config.model == tiny.NAME:
        chosen = [tiny.easiest(part, max(1, config.tiny.problems // len(everything))) for part in everything]
    samples = mixed(chosen, config.rows.mix, SeedTree(config.seed))
    with ExitStack() as resources:
        run = resources.enter_context(RunDir(out) if is_main_process() else _Further(out))
        if is_main_process():
            run.check_kind(config.command)
            freeze_config(run.path, config, writes=WRITES)
            run.claim(config.command)
        if run.file("report.json").exists():
            log.info("%s is done", out)
            return dict(run.read_json("report.json"))
        start = _load(config, run, samples, resources)
        with _enough_memory():
            prepared = prepare(start)
        report = _train(config, start, prepared, on_row)
        if report["label"] is not None:
            report["label"] = tiny.label(*(sum(map(len, some)) for some in (chosen, everything)))
        if is_main_process():
            write_card(run.path / "model", report)
            run.write_json("report.json", report)
        return report


class _Further(RunDir):
    """The run directory as further processes of a distributed run see it: no lock, the first process writes."""

    def open_for_writing(self) -> RunDir:
        self.path.mkdir(parents=True, exist_ok=True)
        return self


def _load(config: RlvrConfig | DistillConfig, run: RunDir, samples: Sequence[Sample], resources: ExitStack) -> Start:
    log.info("loading torch and transformers")
    import torch

    if config.memory.deepspeed is not None:
        join_alone()
    cpu, bf16, path = not torch.cuda.is_available(), use_bf16(config.memory), config.model
    if cpu:
        torch.set_num_threads(config.keep.threads)
    if path == tiny.NAME:
        if world_size() > 1:
            raise UsageError(f"--model {tiny.NAME}: is made for one process; start it without torchrun")
        check_disk(run.path, checkpoint_bytes(tiny.MOST, trained=tiny.MOST), config.keep.last)
        path = str(run.file("tiny"))
        tiny.build(run.file("tiny"), samples, config.tiny, SeedTree(config.seed))
    log.info("loading the model")
    tokenizer = load_tokenizer(path, pad_token=config.pad_token)
    model = load_model(path, config.memory, bf16=bf16)
    return Start(run, samples, path, tokenizer, model, bf16, cpu, resources)


def _train(
    config: RlvrConfig | DistillConfig, start: Start, prepared: PreparedTrainer, on_row: OnRow | None
) -> dict[str, Json]:
    from evosyn.train.callbacks import MetricsWriter, RunWatch

    run, trainer = start.run, prepared.trainer
    parameters = sum(weight.numel() for weight in start.model.parameters())
    needed = checkpoint_bytes(parameters, trained=0 if config.memory.lora_rank else parameters)
    check_disk(run.path, needed, config.keep.last)
    watch = RunWatch(run.path, prepared.reward, stuck_after=config.keep.stuck_after, needed=needed)
    checkpoint, step = _resume_point(run)
    if prepared.live is not None:
        prepared.live.go_on(checkpoint, step)
    log.info("training goes on from %s", checkpoint.name) if checkpoint else log.info("the first step begins")
    trainer.add_callback(MetricsWriter(run.file("metrics.jsonl"), on_row))
    trainer.add_callback(watch)
    _fit(trainer, checkpoint)
    watch.raise_failure()
    _save(trainer, start)
    metrics = read_metrics(run.file("metrics.jsonl"))
    label = tiny.LABEL if tiny.is_tiny(start.path) else None
    if is_main_process():
        shown = f"{config.method} on {config.setting}{' (a demonstration)' if label else ''}"
        write_curve(run, metrics, prepared.curves, shown)
    return {
        "command": config.command,
        "method": config.method,
        "model": config.model,
        "label": label,
        "parameters": parameters,
        "steps": config.steps,
        "seed": config.seed,
        "left_out": prepared.left_out,
        "lineage": lineage_of(config, start.samples),
        "metrics": {name: start_and_end(metrics, name) for name in prepared.metrics},
        "warnings": watch.warnings,
        "warm_start": tiny.read_mark(start.path)["warm_start"] if label else None,
        "trl": dict(prepared.settings),
        "versions": versions(),
        **prepared.own(metrics),
    }


def _resume_point(run: RunDir) -> tuple[Path | None, int]:
    """The last whole checkpoint and its step; metrics after it are dropped, since those steps are done again."""
    checkpoint = last_whole(run.file("checkpoints"), clean=is_main_process())
    step = int(checkpoint.name.removeprefix("checkpoint-")) if checkpoint else 0
    if is_main_process():
        trim_metrics(run.file("metrics.jsonl"), step)
    return checkpoint, step


def _fit(trainer: Any, checkpoint: Path | None) -> None:
    """
    Raises:
        UnavailableError: out of memory, with what to lower.
    """
    from transformers.trainer_callback import PrinterCallback

    trainer.remove_callback(PrinterCallback)
    with _enough_memory():
        trainer.train(resume_from_checkpoint=str(checkpoint) if checkpoint else None)


@contextmanager
def _enough_memory() -> Iterator[None]:
    """
    Raises:
        UnavailableError: there is not, with what to lower.
    """
    import torch

    try:
        yield
    except (torch.OutOfMemoryError, MemoryError) as error:
        raise UnavailableError(
            "out of memory: lower --set optim.micro_batch (or fit.micro_batch), switch on --set "
            "memory.gradient_checkpointing=true, or lower --set rollout.max_completion (or fit.max_length); "
            "--set memory.lora_rank=16 helps as well"
        ) from error


def _save(trainer: Any, start: Start) -> None:
    """The trained model with its tokenizer; an adapter also merged; the mark of `builtin:tiny` travels along."""
    folder = start.run.path / "model"
    trainer.save_model(str(folder))
    if not is_main_process():
        return
    start.tokenizer.save_pretrained(folder)
    merge_adapter(folder)
    if tiny.is_tiny(start.path):
        (folder / tiny.MARK).write_bytes((Path(start.path) / tiny.MARK).read_bytes())
