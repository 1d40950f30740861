"""What a training run can be told: frozen models, each fewer than ten fields, beside the code that they feed.

They are not TRL's configuration: `settings` turns them into it, and `--print-config` shows the result. DESIGN.md
section 3; names of the algorithms after DeepSeekMath (GRPO), Yu 2025 (DAPO) and Liu 2025 (Dr. GRPO).
"""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from evosyn.configs.section import Section, Sources
from evosyn.environments.rotation import RotationConfig
from evosyn.limits import LimitsConfig
from evosyn.text.reasoning import AUTO, ReasoningForm
from evosyn.train.scoring import REWARD_LIMITS
from evosyn.workbench import WorkbenchConfig


class RolloutConfig(Section):
    """How completions are drawn.

    Attributes:
        group: completions per prompt.
        prompts: prompts per optimizer step, over all processes.
        max_prompt: tokens; rows with a longer prompt are left out and counted.
        max_completion: tokens.
        reasoning: how completions mark what the model thought: `auto` (the chat template says it), `none`, or the name
            of a family (docs/reasoning.md); one that ends in its reasoning is paid nothing.
        oversample: dynamic sampling's stand-in: so many times the prompts are sampled in one pass, and the groups whose
            rewards differ are kept first. 1 switches it off; None takes the algorithm's own.
        engine: `transformers`, or vLLM beside the trainer (`vllm-colocate`) or as a server (`vllm-server`).
        server: base URL of the vLLM server.
        gpu_share: share of the GPU's memory that a colocated vLLM takes.
    """

    group: int = Field(default=8, ge=2)
    prompts: int = Field(default=4, ge=1)
    max_prompt: int = Field(default=1024, ge=1)
    max_completion: int = Field(default=512, ge=1)
    reasoning: ReasoningForm = AUTO
    temperature: float = Field(default=1.0, gt=0)
    oversample: int | None = Field(default=None, ge=1, le=8)
    engine: Literal["transformers", "vllm-colocate", "vllm-server"] = "transformers"
    server: str = "http://127.0.0.1:8000"
    gpu_share: float = Field(default=0.3, gt=0, lt=1)


class OptimConfig(Section):
    """How weights move.

    Attributes:
        beta: weight of the KL term; 0 needs no reference model.
        epsilon_high: upper clip; None takes the algorithm's own.
        iterations: optimizer passes over one batch of completions (mu in the GRPO paper).
        micro_batch: sequences per forward pass and process; None takes the largest divisor of the batch up to 32.
        schedule: of the learning rate; `cosine_with_min_lr` ends at a tenth of it (DejaQ, table 5).
    """

    learning_rate: float = Field(default=1e-6, gt=0)
    beta: float = Field(default=0.0, ge=0)
    epsilon: float = Field(default=0.2, gt=0)
    epsilon_high: float | None = None
    iterations: int = Field(default=1, ge=1)
    micro_batch: int | None = Field(default=None, ge=1)
    warmup: float = Field(default=0.03, ge=0, le=1)
    schedule: Literal["constant_with_warmup", "linear", "cosine", "cosine_with_min_lr"] = "constant_with_warmup"
    max_grad_norm: float = Field(default=1.0, gt=0)


class RewardConfig(LimitsConfig):
    """What a completion is paid for.

    Attributes:
        credit: `all` pays 1 when every case of the testing passes, `share` pays the share of cases that pass.
        combine: the parts are added with their weights (`sum`), or what is paid for the testing counts only where the
            format is kept (`product`, ReSyn section 3.2, without `format_weight`); the shape is added to either.
        format: what the format part looks for: one code fence, `<think>...</think><answer>...</answer>`, or a
            `\\boxed{...}`.
        shape: `none`, `soft-overlong` (Yu 2025: from 0 to -1 over the last fifth of the allowance) or `cosine` (Yeo
            2025: short right answers pay more than long ones, short wrong answers pay less than long ones); None takes
            the algorithm's own.
        cpu_s, wall_s, budget_s, memory_mb: limits of one run, of one completion, of one process; the same as everywhere
            else that pays rewards, unless they are set here.
        company: whether plain completions may share a process (docs/sandbox.md, "Company").
    """

    credit: Literal["all", "share"] = "all"
    combine: Literal["sum", "product"] = "sum"
    format: Literal["fence", "think", "boxed"] = "fence"
    weight: float = Field(default=1.0, ge=0)
    format_weight: float = Field(default=0.0, ge=0)
    shape: Literal["none", "soft-overlong", "cosine"] | None = None
    shape_weight: float = Field(default=0.5, ge=0)
    cpu_s: float = Field(default=REWARD_LIMITS.cpu_s, gt=0)
    budget_s: float = Field(default=REWARD_LIMITS.budget_s, gt=0)
    memory_mb: int = Field(default=REWARD_LIMITS.memory_mb, ge=64)
    company: bool = True

    @model_validator(mode="after")
    def _is_one_way(self) -> Self:
        if self.combine == "product" and self.format_weight:
            raise ValueError(
                f"format_weight={self.format_weight}: with combine=product the format is a factor; drop it"
            )
        return self


class MemoryConfig(Section):
    """What makes a model fit.

    Attributes:
        bf16: None means: on a GPU that can, yes; on a CPU, no.
        lora_rank: 0 trains all weights.
        lora_targets: module names; `all-linear` takes every linear layer.
        four_bit: QLoRA, needs bitsandbytes and a GPU.
        deepspeed: a preset (`zero2`, `zero3`, `zero3-offload`) or the path of a DeepSpeed JSON file.
    """

    bf16: bool | None = None
    gradient_checkpointing: bool = False
    lora_rank: int = Field(default=0, ge=0)
    lora_alpha: int = Field(default=32, ge=1)
    lora_dropout: float = Field(default=0.0, ge=0, lt=1)
    lora_targets: str = "all-linear"
    four_bit: bool = False
    deepspeed: str | None = None


class KeepConfig(Section):
    """What is written, and where it is reported.

    Attributes:
        every: steps between checkpoints.
        last: how many checkpoints are kept.
        report_to: `none`, `wandb`, `trackio` or `tensorboard`.
        stuck_after: so many steps in which no group had two different rewards give a warning with the pass rates.
        threads: torch threads per process on a CPU; more than one is slower on a loaded machine.
    """

    every: int = Field(default=10, ge=1)
    last: int = Field(default=2, ge=1)
    report_to: Literal["none", "wandb", "trackio", "tensorboard"] = "none"
    stuck_after: int = Field(default=10, ge=1)
    threads: int = Field(default=1, ge=1)


class TinyConfig(Section):
    """`builtin:tiny`: a randomly initialised model made on the spot, and its warm start by SFT.

    Attributes:
        problems: only so many problems are taken, those with the shortest solutions: it cannot learn more in a minute.
        warm_steps: SFT steps before RLVR; 0 leaves the weights random.
        warm_solutions: solutions per problem in the warm start, drawn uniformly, right or wrong.
        prompt_chars: how much of the last user message its chat template shows.
    """

    vocabulary: int = Field(default=768, ge=300, le=4096)
    width: int = Field(default=96, ge=32, le=128)
    layers: int = Field(default=3, ge=1, le=4)
    problems: int = Field(default=10, ge=1)
    warm_steps: int = Field(default=120, ge=0)
    warm_solutions: int = Field(default=3, ge=1)
    warm_batch: int = Field(default=16, ge=1)
    warm_rate: float = Field(default=4e-3, gt=0)
    prompt_chars: int = Field(default=240, ge=20)


class RowsConfig(Section):
    """Which rows are taken of the data.

    Attributes:
        mix: shares of the rows that come from each of several datasets, such as `2:1:1`: none is left out, those of
            datasets that are too small come more than once. None takes each row once.
        band: only rows whose solve rate lies in it, such as `.1:.9` (`evosyn calibrate`).
        student: whose solve rate; None where the data has those of one only.
    """

    mix: str | None = None
    band: str | None = None
    student: str | None = None


class TrainingConfig(Section):
    """What every training run is told.

    Attributes:
        data: dataset directories (or parquet files), one or several, and `setting` in them.
        model: local path, hub id or `builtin:tiny`.
        steps: optimizer steps.
        pad_token: for tokenizers that have none.
    """

    command: str
    data: Sources = ""
    setting: str = "evosyn"
    rows: RowsConfig = RowsConfig()
    model: str = ""
    steps: int = Field(default=200, ge=1)
    seed: int = 0
    pad_token: str | None = None
    memory: MemoryConfig = MemoryConfig()
    keep: KeepConfig = KeepConfig()
    tiny: TinyConfig = TinyConfig()


class RlvrConfig(TrainingConfig):
    """One RLVR run (`evosyn train`); `workbench` says where completions run, `rotation` which rows leave."""

    command: Literal["train"] = "train"
    algorithm: Literal["grpo", "dapo", "dr_grpo"] = "grpo"
    rollout: RolloutConfig = RolloutConfig()
    optim: OptimConfig = OptimConfig()
    reward: RewardConfig = RewardConfig()
    rotation: RotationConfig = RotationConfig()
    workbench: WorkbenchConfig = WorkbenchConfig()

    @property
    def method(self) -> str:
        return self.algorithm


class FitConfig(Section):
    """How SFT and DPO move weights.

    Attributes:
        batch: rows per optimizer step, over all processes.
        max_length: tokens of prompt and completion; longer rows are left out and counted.
        per_problem: solutions per problem that are learnt from, best first (rejection sampling: each passes the chosen
            testing).
        reasoning: learn all that the teacher wrote, its reasoning included, in place of the program alone (SFT).
        packing: several rows in one sequence (SFT; needs a flash-attention kernel to keep them apart, so not on a CPU).
        beta: DPO's temperature.
    """

    learning_rate: float = Field(default=1e-5, gt=0)
    batch: int = Field(default=16, ge=1)
    micro_batch: int | None = Field(default=None, ge=1)
    max_length: int = Field(default=2048, ge=8)
    per_problem: int = Field(default=1, ge=1)
    reasoning: bool = False
    packing: bool = False
    beta: float = Field(default=0.1, gt=0)
    warmup: float = Field(default=0.03, ge=0, le=1)
    schedule: Literal["constant_with_warmup", "linear", "cosine"] = "cosine"


class DistillConfig(TrainingConfig):
    """One distillation run (`evosyn distill`)."""

    command: Literal["distill"] = "distill"
    method: Literal["sft", "dpo"] = "sft"
    fit: FitConfig = FitConfig()


class EvalConfig(Section):
    """One evaluation (`evosyn eval`).

    Attributes:
        models: local paths or hub ids; the first is the one that the others are compared with.
        bench: pools with human testings, or datasets, whose rows are judged by their own testings.
        samples: completions per problem.
        ks: pass@k to report; none given: 1 and `samples`.
        temperature: None is 0 for one sample, else 0.8.
        max_tokens: length of a completion.
        reasoning: how completions mark what a model thought, as in `rollout.reasoning`; of a served model
            `workbench.teacher.reasoning` says it where this is `auto`.
        limit: only the first so many problems.
        shots: problems of each bench, the first with a reference, that are shown before each question and not measured.
        workbench: a served model to measure as well (`teacher`), and where completions run.
    """

    command: Literal["eval"] = "eval"
    models: tuple[str, ...] = ()
    bench: Sources = ""
    samples: int = Field(default=1, ge=1)
    ks: tuple[int, ...] = ()
    temperature: float | None = Field(default=None, ge=0)
    max_tokens: int = Field(default=512, ge=1)
    reasoning: ReasoningForm = AUTO
    limit: int | None = Field(default=None, ge=1)
    shots: int = Field(default=0, ge=0, le=16)
    seed: int = 0
    workbench: WorkbenchConfig = WorkbenchConfig()


class CalibrateConfig(Section):
    """One calibration (`evosyn calibrate`); `workbench.teacher` is the student.

    Attributes:
        data: dataset directory, and `setting` in it.
        samples: completions per row.
        max_tokens: length of a completion.
        tiny: of `builtin:tiny` as a student, which is made from the data.
        workbench: a directory of a local model, or `builtin:tiny`, may stand for `teacher.model` as well.
    """

    command: Literal["calibrate"] = "calibrate"
    data: str = ""
    setting: str = "evosyn"
    samples: int = Field(default=8, ge=1)
    temperature: float = Field(default=0.8, ge=0)
    top_p: float = Field(default=0.95, gt=0, le=1)
    max_tokens: int = Field(default=512, ge=1)
    seed: int = 0
    tiny: TinyConfig = TinyConfig()
    workbench: WorkbenchConfig = WorkbenchConfig()
