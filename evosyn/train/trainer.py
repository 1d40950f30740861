"""GRPOTrainer with early scoring, rows from a feed, an order of rows that a run can go on in, and oversampling, the
nearest thing to DAPO's dynamic sampling.

DAPO (Yu 2025, section 3.2) samples prompts until the batch is full of groups whose rewards differ. TRL 1.16 has no such
option, so `oversample` times the prompts are sampled in one padded pass and the groups with signal are kept first, in
the order drawn; where too few have one, groups without it fill the batch (their advantage is zero). It hooks
private methods of TRL, which is why TRL is pinned below 1.17 and tests watch the hooks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from trl import GRPOTrainer
from trl.trainer.utils import RepeatSampler

from evosyn.randomness import SeedTree
from evosyn.train.early_scoring import EarlyScorer
from evosyn.train.feeding import LiveRows
from evosyn.train.scoring import Task


class EpochSampler(RepeatSampler):  # type: ignore[misc]
    """TRL's order of rows, which here depends on the seed and the epoch alone. TRL 1.16 draws each epoch's from where
    the one before left its generator, so that a run that goes on in its second epoch gets the order of the first.

    Args:
        epoch: says which one begins.
    """

    def __init__(self, of: RepeatSampler, epoch: Callable[[], int]) -> None:
        super().__init__(of.data_source, of.mini_repeat_count, of.batch_size, of.repeat_count, of.shuffle, of.seed)
        self._epoch = epoch

    def __iter__(self) -> Iterator[int]:
        if self.shuffle:
            self.generator.manual_seed(self.seed + self._epoch())
        yield from super().__iter__()


class EvosynGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """As its parent, with `oversample`, `seeds` and `tasks` beside the usual arguments.

    With `early` given, completions of the transformers engine are scored while others are still being generated. With
    `live`, rows come from a feed, and those of the data set only say how many. That and oversampling are for a single
    process; the caller refuses more.
    """

    def __init__(
        self,
        *args: Any,
        oversample: int = 1,
        seeds: SeedTree,
        tasks: Mapping[str, Task],
        early: EarlyScorer | None = None,
        live: LiveRows | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._oversample, self._seeds, self._tasks, self._early = oversample, seeds, tasks, early
        self._live = live
        self._batch_tasks: list[Task] = []

    def _get_train_sampler(self, dataset: Any = None) -> EpochSampler:
        return EpochSampler(super()._get_train_sampler(dataset), lambda: int((self.state.epoch or 0.0) + 1e-9))

    def _generate_single_turn(self, prompt_ids: list[list[int]], *args: Any, **kwargs: Any) -> Any:
        if self._early is None or self.use_vllm or len(self._batch_tasks) != len(prompt_ids):
            return super()._generate_single_turn(prompt_ids, *args, **kwargs)
        width = max(len(ids) for ids in prompt_ids)
        model = self.accelerator.unwrap_model(self.model_wrapped)
        with self._early.watching(model, self._batch_tasks, width, self.eos_token_ids):
            return super()._generate_single_turn(prompt_ids, *args, **kwargs)

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        if not self.model.training:
            return self._score(inputs)
        group = self.num_generations
        wanted = len(inputs) // group
        if self._live is not None:
            inputs = self._live.draw(int(self.state.global_step), wanted * self._oversample)
        elif self._oversample > 1:
            inputs = inputs + self._further(inputs, wanted * (self._oversample - 1))
        output = self._score(inputs)
        return output if self._oversample == 1 else self._with_signal(output, wanted)

    def _with_signal(self, output: dict[str, Any], wanted: int) -> dict[str, Any]:
        """So many groups of those sampled: with signal first, in the order drawn."""
        group = self.num_generations
        signal = output["advantages"].view(-1, group).abs().amax(dim=1) > 1e-6
        order = torch.cat([signal.nonzero().flatten(), (~signal).nonzero().flatten()])[:wanted]
        order = order.sort().values
        rows = (order.unsqueeze(1) * group + torch.arange(group, device=order.device)).flatten()
        size = len(signal) * group
        kept = {
            name: value.index_select(0, rows) if isinstance(value, torch.Tensor) and value.dim() and len(value) == size
            else value
            for name, value in output.items()
        }  # fmt: skip
        kept["num_items_in_batch"] = kept["completion_mask"].sum()
        self._metrics["train"]["groups_with_signal"].append(signal.float().mean().item())
        self._metrics["train"]["kept_with_signal"].append(signal[order].float().mean().item())
        return kept

    def _score(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        self._batch_tasks = [self._tasks[row["row_id"]] for row in inputs if row["row_id"] in self._tasks]
        output: dict[str, Any] = super()._generate_and_score_completions(inputs)
        if self._live is not None and self.model.training:
            weights = self._live.weights([row["row_id"] for row in inputs])
            output["advantages"] = output["advantages"] * output["advantages"].new_tensor(weights)
        return output

    def _further(self, inputs: list[dict[str, Any]], prompts: int) -> list[dict[str, Any]]:
        """Groups of rows that are not in the batch, drawn from the step's own stream (so a resumed run draws the
        same).
        """
        here = {row["row_id"] for row in inputs}
        others = [index for index, row in enumerate(self.train_dataset["row_id"]) if row not in here]
        if not others:
            return []
        generator = self._seeds.child("oversample", int(self.state.global_step)).random()
        drawn = generator.sample(others, min(prompts, len(others)))
        return [self.train_dataset[index] for index in drawn for _ in range(self.num_generations)]
