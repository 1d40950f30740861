"""A plain SFT loop for models of under a million parameters: warm starts and toys.

For real models `distill` goes through TRL; here the start-up of a trainer would cost more than the training. Loss on
answers only; batches in the order of the seed tree; the same seed gives the same weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import torch

from evosyn.randomness import SeedTree


class Pair(NamedTuple):
    """Token ids of one prompt and of its answer, the end token included."""

    prompt: list[int]
    answer: list[int]


class RateSchedule(NamedTuple):
    """How long, with how many pairs a step, and the peak of a one-cycle learning rate."""

    steps: int
    batch: int
    rate: float


def fit_pairs(
    model: Any,
    pairs: Sequence[Pair],
    pad: int,
    schedule: RateSchedule,
    seeds: SeedTree,
    on_step: Callable[[int], None] | None = None,
) -> list[float]:
    """Train `model` in place and return the loss of each step.

    Args:
        pad: id of the pad token.
        on_step: told the number of steps done, after each.
    """
    steps, batch, rate = schedule
    order = seeds.rng()
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate, weight_decay=0.01)
    rise = 0.2 if steps == 10 else 0.1  # torch divides by zero where the rate rises for exactly one step
    cycle = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=rate, total_steps=steps, pct_start=rise)
    losses: list[float] = []
    queue: list[int] = []
    for step in range(1, steps + 1):
        model.train()
        while len(queue) < batch:
            queue += order.permutation(len(pairs)).tolist()
        now, queue = queue[:batch], queue[batch:]
        loss = model(**collate([pairs[index] for index in now], pad)).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        cycle.step()
        optimizer.zero_grad()
        losses.append(float(loss.detach()))
        if on_step is not None:
            on_step(step)
    model.eval()
    return losses


def collate(pairs: Sequence[Pair], pad: int) -> dict[str, Any]:
    """One right-padded batch; labels only where the answer stands."""
    width = max(len(pair.prompt) + len(pair.answer) for pair in pairs)
    ids = torch.full((len(pairs), width), pad)
    mask = torch.zeros_like(ids)
    labels = torch.full_like(ids, -100)
    for place, (prompt, answer) in enumerate(pairs):
        end = len(prompt) + len(answer)
        ids[place, :end] = torch.tensor([*prompt, *answer])
        mask[place, :end] = 1
        labels[place, len(prompt) : end] = torch.tensor(answer)
    return {"input_ids": ids, "attention_mask": mask, "labels": labels}
