"""GRPOTrainer with oversampling: the nearest thing to DAPO's dynamic sampling that one generation pass allows.

DAPO (Yu 2025, section 3.2) samples prompts until the batch is full of groups whose rewards differ. TRL 1.16 has no such
option, so `oversample` times the prompts are sampled in one padded pass and the groups with signal are kept first, in
the order drawn; where too few have one, groups without it fill the batch (their advantage is zero). It hooks one
private method of TRL, which is why TRL is pinned below 1.17 and a test watches the hook.
"""

from __future__ import annotations

from typing import Any

import torch
from trl import GRPOTrainer

from evosyn.seeds import SeedTree


class OversamplingGRPOTrainer(GRPOTrainer):  # type: ignore[misc]
    """As its parent, with `oversample` and `seeds` beside the usual arguments. Single-process; the CLI refuses more."""

    def __init__(self, *args: Any, oversample: int, seeds: SeedTree, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._oversample, self._seeds = oversample, seeds

    def _generate_and_score_completions(self, inputs: list[dict[str, Any]]) -> dict[str, Any]:
        if not self.model.training or self._oversample == 1:
            return super()._generate_and_score_completions(inputs)  # type: ignore[no-any-return]
        group = self.num_generations
        wanted = len(inputs) // group
        output = super()._generate_and_score_completions(
            inputs + self._further(inputs, wanted * (self._oversample - 1))
        )
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
