"""What watches a run from inside the trainer: metrics on disk, whole checkpoints, and the reasons to stop safely.

Nothing here raises into the trainer; `RunWatch.failure` says afterwards why it stopped.
"""

from __future__ import annotations

import json
import logging
import math
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType
from typing import Any

from transformers import TrainerCallback

from evosyn.errors import EvosynError, UnavailableError
from evosyn.train.checkpoints import check_disk, mark_complete
from evosyn.train.rewards import RewardFunction, pass_histogram

log = logging.getLogger(__name__)

_NOT_FINITE = (
    "the training diverged; lower --set optim.learning_rate (or fit.learning_rate), or --set optim.max_grad_norm"
)


class MetricsWriter(TrainerCallback):  # type: ignore[misc]
    """Appends one JSON line a step to `metrics.jsonl`, and tells `on_row` (progress)."""

    def __init__(self, path: Path, on_row: Callable[[dict[str, float]], None] | None = None) -> None:
        self._path, self._on_row = path, on_row
        self._started = time.monotonic()

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **rest: Any) -> None:
        del args, control, rest
        if not logs or "train_runtime" in logs or not state.is_world_process_zero:
            return
        row: dict[str, Any] = {"step": state.global_step, "seconds": round(time.monotonic() - self._started, 3)}
        row |= {name: _plain(value) for name, value in logs.items() if name != "epoch"}
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
        if self._on_row is not None:
            self._on_row(row)


class RunWatch(TrainerCallback):  # type: ignore[misc]
    """Guards one run.

    Args:
        out: the run directory, for disk checks and the reward cache.
        reward: the reward function, or None (SFT, DPO).
        stuck_after: steps without any signal before the warning.
        needed: bytes of one checkpoint.

    Attributes:
        failure: why the run was stopped, or None.
        interrupted: SIGTERM came.
        warnings: what a reader of the report should know.
    """

    def __init__(self, out: Path, reward: RewardFunction | None, *, stuck_after: int, needed: int) -> None:
        self._out, self._reward, self._stuck_after, self._needed = out, reward, stuck_after, needed
        self.failure: BaseException | None = None
        self.interrupted = False
        self.warnings: list[str] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        del args, state, control, rest
        self._previous = signal.signal(signal.SIGTERM, self._on_signal)

    def on_train_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        del args, state, control, rest
        signal.signal(signal.SIGTERM, self._previous)

    def on_step_end(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        del args, rest
        if self._reward is not None and self._reward.failure is not None:
            self.failure = self._reward.failure
        if self.interrupted or self.failure is not None:
            control.should_save = not isinstance(self.failure, ArithmeticError) and state.global_step > 0
            control.should_training_stop = True
        elif self._reward is not None and self._reward.flat_steps == self._stuck_after:
            self._warn(
                f"step {state.global_step}: no group had two different rewards for {self._stuck_after} "
                f"steps, so nothing is "
                f"learnt; rows by pass rate (0 to 1 in five parts): {pass_histogram(self._reward.passes)}. "
                f"Take easier or "
                "harder problems, a model that solves some, --set reward.credit=share, or --set rollout.temperature=1.2"
            )

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **rest: Any) -> None:
        del args, rest
        for name in ("loss", "grad_norm"):
            value = (logs or {}).get(name)
            if isinstance(value, float) and not math.isfinite(value):
                self.failure = ArithmeticError(f"step {state.global_step}: {name} is {value}: {_NOT_FINITE}")
                control.should_training_stop = True
                control.should_save = False

    def on_save(self, args: Any, state: Any, control: Any, **rest: Any) -> None:
        del rest
        if not state.is_world_process_zero:
            return
        mark_complete(Path(args.output_dir) / f"checkpoint-{state.global_step}", state.global_step)
        try:
            check_disk(self._out, self._needed, 0)
        except UnavailableError as error:
            self.failure = error
            control.should_training_stop = True

    def raise_failure(self) -> None:
        """
        Raises:
            EvosynError: the run was stopped; an evosyn error comes as it is, another one as UnavailableError.
            KeyboardInterrupt: SIGTERM came and everything is saved.
        """
        if self.failure is not None:
            if isinstance(self.failure, EvosynError):
                raise self.failure
            raise UnavailableError(f"training stopped: {self.failure}") from self.failure
        if self.interrupted:
            raise KeyboardInterrupt

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        del number, frame
        self.interrupted = True

    def _warn(self, text: str) -> None:
        log.warning("%s", text)
        self.warnings.append(text)


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return round(value, 8) if math.isfinite(value) else None
    return value
