"""The exact TRL configuration and the command lines that would start a run: what `--print-config` shows; and what a
process is told that no such line started.

It starts nothing and imports no torch.
"""

from __future__ import annotations

import importlib.util
import os
import shlex
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from evosyn.configs.saving import as_yaml
from evosyn.train.config import MemoryConfig, TrainingConfig


def precision(memory: MemoryConfig, devices: Path = Path("/dev")) -> tuple[bool, bool]:
    """Whether a run on this machine would use bf16, and whether it would use the CPU; told without torch.

    A GPU that is there is taken to know bf16, as all of the last years do. A container that was given one of several
    has it under the number that it has on the machine.
    """
    hidden = os.environ.get("CUDA_VISIBLE_DEVICES") in ("", "-1")
    cpu = hidden or not any(path.name.removeprefix("nvidia").isdecimal() for path in devices.glob("nvidia*"))
    return (not cpu if memory.bf16 is None else memory.bf16), cpu


def join_alone() -> None:
    """Where no launcher started this process, make it the only one of a group: deepspeed looks for one."""
    if "RANK" in os.environ:
        return
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    group = {"RANK": 0, "LOCAL_RANK": 0, "WORLD_SIZE": 1, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    os.environ.update({name: str(value) for name, value in group.items()})


def render(config: TrainingConfig, trl: Mapping[str, Any], argv: Sequence[str]) -> str:
    """YAML with the resolved configuration, TRL's keyword arguments and launch lines."""
    text = as_yaml({"evosyn": config.model_dump(mode="json"), "trl": dict(trl)})
    return text + "\n".join(["# launch", *(f"#   {line}" for line in launch_lines(config.model, argv, trl))]) + "\n"


def launch_lines(model: str, argv: Sequence[str], trl: Mapping[str, Any]) -> list[str]:
    """One process, all GPUs of a machine, two machines; the vLLM server where one is used. A bundled model has one
    process."""
    command = "-m evosyn " + " ".join(shlex.quote(part) for part in argv if part != "--print-config")
    lines = [f"one process:   python {command}"]
    if model.startswith("builtin:"):  # made for one process
        return lines
    lines += [
        f"8 GPUs:        torchrun --standalone --nproc-per-node 8 {command}",
        f"2 x 8 GPUs:    torchrun --nnodes 2 --node-rank $NODE_RANK --nproc-per-node 8 --rdzv-backend c10d "
        f"--rdzv-endpoint $MASTER_ADDR:29500 {command}",
    ]
    if trl.get("vllm_mode") == "server":
        lines.append(
            f"vLLM server:   VLLM_SERVER_DEV_MODE=1 vllm serve {model} --weight-transfer-config "
            f'\'{{"backend": "nccl"}}\''
        )
    if "deepspeed" in trl and importlib.util.find_spec("deepspeed") is None:
        lines.append("deepspeed is not installed here: pip install --no-build-isolation deepspeed (after torch)")
    return lines
