"""GRPO in your own script, with TRL's trainer and the sandboxed reward of evosyn.

    evosyn export data/quickstart --format trl
    python examples/trl_reward.py data/quickstart/export/trl/train.parquet MODEL

Set EVOSYN_REWARD_URL to ask a running `evosyn reward serve` instead of a sandbox in this process.
"""

import sys

from datasets import load_dataset
from trl import GRPOConfig, GRPOTrainer

from evosyn import trl_reward


def main(data: str, model: str) -> None:
    rows = load_dataset("parquet", data_files=data, split="train")
    settings = GRPOConfig(output_dir="models/own-script", max_steps=100, num_generations=8, max_completion_length=512)
    GRPOTrainer(model=model, args=settings, reward_funcs=[trl_reward], train_dataset=rows).train()


if __name__ == "__main__":
    main(*sys.argv[1:3])
