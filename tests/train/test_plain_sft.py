"""The small SFT loop that warm starts and toy policies are made by."""

from __future__ import annotations

import pytest

from evosyn.randomness import SeedTree

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.train


@pytest.mark.parametrize("steps", [1, 2, 3, 9, 10, 11, 20])
def test_any_number_of_steps_is_trained(steps: int) -> None:
    """A one-cycle rate of ten steps divided by zero."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    from evosyn.train.plain_sft import Pair, RateSchedule, fit_pairs

    shape = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "head_dim": 8}
    model = Qwen3ForCausalLM(Qwen3Config(vocab_size=8, num_attention_heads=2, num_key_value_heads=2, **shape))
    losses = fit_pairs(model, [Pair([1, 2], [3]), Pair([2], [4, 3])], 0, RateSchedule(steps, 2, 1e-3), SeedTree(0))
    assert len(losses) == steps and all(0 < loss < 10 for loss in losses)
