"""Loading models and tokenizers by local path or hub id, and saying clearly why one cannot be trained.

It downloads nothing by itself: transformers does, and HF_HUB_OFFLINE=1 stops it. The hub is asked first whether it
has a model. Adapters (LoRA, QLoRA) are configured
here and applied by TRL.
"""

from __future__ import annotations

import logging
import os
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from evosyn.errors import MissingExtra, UnavailableError, UsageError
from evosyn.train.config import MemoryConfig, RlvrConfig, TrainingConfig

log = logging.getLogger(__name__)

TINY = "builtin:tiny"
HUB_S = 10.0
"""Seconds in which the hub must say whether it has a model."""


def require_train() -> None:
    """
    Raises:
        MissingExtra: torch, transformers, trl or accelerate is not installed.
    """
    for package in ("torch", "transformers", "trl", "accelerate", "peft"):
        if find_spec(package) is None:
            raise MissingExtra(package, "train", "training")


def require_options(config: TrainingConfig) -> None:
    """
    Raises:
        UsageError: an option that was asked for needs a package that is not installed, or another option.
    """
    needs = []
    if isinstance(config, RlvrConfig) and config.rollout.engine != "transformers":
        needs.append((f"rollout.engine={config.rollout.engine}", "vllm", "pip install vllm"))
    if config.memory.deepspeed is not None:
        needs.append(("memory.deepspeed", "deepspeed", "pip install --no-build-isolation deepspeed, after torch"))
    if config.keep.report_to != "none":
        name = config.keep.report_to
        needs.append((f"keep.report_to={name}", name, f"pip install {name}"))
    for key, package, how in needs:
        if find_spec(package) is None:
            raise UsageError(f"{key}: needs the package {package}: {how}")
    if config.memory.four_bit and not config.memory.lora_rank:
        raise UsageError("memory.four_bit: only an adapter is trained on it; add --set memory.lora_rank=16")


def check_model(model: str) -> None:
    """See what can be seen of a model's name before torch is loaded and the hub is asked.

    Raises:
        UsageError: it is a path, and nothing is there.
    """
    if model == TINY or Path(model).exists():
        return
    if model.count("/") > 1 or model.startswith((".", "/", "~")):
        raise UsageError(f"model {model}: no such directory; a training leaves its model in RUN/model")
    log.info("%s is no directory here, so the hub is asked for it", model)


def load_tokenizer(model: str, *, pad_token: str | None = None) -> Any:
    """The tokenizer of `model`, with a pad token and a chat template.

    Raises:
        UsageError: there is none, or it lacks one of the two.
        UnavailableError: the hub cannot be reached.
    """
    from transformers import AutoTokenizer

    _ask_the_hub(model)
    try:
        tokenizer = AutoTokenizer.from_pretrained(model, padding_side="left")
    except (OSError, ValueError) as error:
        raise _not_found(model, error) from error
    if tokenizer.chat_template is None:
        raise UsageError(
            f"--model {model}: its tokenizer has no chat template; take the instruct version of the model, or save one "
            "into the tokenizer (tokenizer.chat_template = ...; tokenizer.save_pretrained(DIR)) and give DIR"
        )
    if pad_token is not None:
        if pad_token not in tokenizer.get_vocab():
            raise UsageError(f"--pad-token {pad_token!r}: is not in the vocabulary of {model}")
        tokenizer.pad_token = pad_token
    if tokenizer.pad_token is None:
        offered = tokenizer.eos_token or "a token that never occurs in texts"
        raise UsageError(
            f"--model {model}: its tokenizer has no pad token; name one with --pad-token (an unused "
            f"special token is best; "
            f"{offered!r} works, but then the end of an answer may not be learnt)"
        )
    return tokenizer


def load_model(model: str, memory: MemoryConfig, *, bf16: bool, frozen: bool = False) -> Any:
    """The causal language model in the asked precision: weights that are trained stay in 32 bits.

    Args:
        frozen: nothing of it is trained.

    Raises:
        UsageError: there is none, or the precision is not possible here.
        UnavailableError: the hub cannot be reached.
    """
    import torch
    from transformers import AutoModelForCausalLM

    # cuDNN's attention, torch's default on Hopper cards, has gradients that are no numbers for padded batches of some
    # lengths: pytorch/pytorch#196678, huggingface/trl#7181
    torch.backends.cuda.enable_cudnn_sdp(False)
    options: dict[str, Any] = {"dtype": torch.bfloat16 if bf16 and (frozen or memory.lora_rank) else torch.float32}
    if memory.four_bit:
        options["quantization_config"] = _four_bit()
    try:
        return AutoModelForCausalLM.from_pretrained(model, **options)
    except (OSError, ValueError) as error:
        raise _not_found(model, error) from error


def context_of(model: Any) -> int:
    """Tokens that the model can see; a large number where its configuration does not say."""
    config = model.config
    return int(getattr(config, "max_position_embeddings", None) or getattr(config, "n_positions", None) or 1_000_000)


def check_context(model: Any, name: str, needed: int, prompt: int, completion: int) -> None:
    """
    Raises:
        UsageError: prompts plus completions do not fit the model's context.
    """
    context = context_of(model)
    if needed > context:
        raise UsageError(
            f"--model {name}: its context of {context} tokens is shorter than the longest prompt ({prompt}) plus "
            f"rollout.max_completion ({completion}); lower --set rollout.max_completion or rollout.max_prompt"
        )


def adapter_config(memory: MemoryConfig) -> Any | None:
    """The LoRA configuration, or None where all weights are trained."""
    if not memory.lora_rank:
        return None
    from peft import LoraConfig

    targets: str | list[str] = memory.lora_targets
    if targets != "all-linear":
        targets = [part.strip() for part in memory.lora_targets.split(",")]
    return LoraConfig(
        r=memory.lora_rank,
        lora_alpha=memory.lora_alpha,
        lora_dropout=memory.lora_dropout,
        target_modules=targets,
        task_type="CAUSAL_LM",
    )


def merge_adapter(folder: Path) -> bool:
    """Where `folder` holds an adapter, write the merged model to `folder/merged`; says whether there was one."""
    if not (folder / "adapter_config.json").is_file():
        return False
    from peft import AutoPeftModelForCausalLM
    from transformers import AutoTokenizer
    from transformers.integrations.deepspeed import unset_hf_deepspeed_config

    unset_hf_deepspeed_config()  # or ZeRO-3 parts what is loaded among the processes, and only one of them merges
    merged = AutoPeftModelForCausalLM.from_pretrained(folder).merge_and_unload()
    merged.save_pretrained(folder / "merged")
    AutoTokenizer.from_pretrained(folder).save_pretrained(folder / "merged")
    return True


def use_bf16(memory: MemoryConfig) -> bool:
    """The asked precision, or what this machine does well."""
    import torch

    if memory.bf16 is not None:
        return memory.bf16
    return bool(torch.cuda.is_available() and torch.cuda.is_bf16_supported())


def _four_bit() -> Any:

    import torch
    from transformers import BitsAndBytesConfig

    if not torch.cuda.is_available():
        raise UsageError("memory.four_bit: needs a GPU; this machine has none. Leave it out, or lower memory.lora_rank")
    if find_spec("bitsandbytes") is None:
        raise UsageError("memory.four_bit: needs the package bitsandbytes: pip install bitsandbytes")
    return BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )


def _ask_the_hub(model: str) -> None:
    """One question to the hub where a model is not of this machine: left alone, the library asks for minutes.

    Raises:
        UsageError: the hub has no such model, or no model can be called so.
        UnavailableError: the hub cannot be reached.
    """
    import httpx
    from huggingface_hub import HfApi, try_to_load_from_cache
    from huggingface_hub.errors import HFValidationError, RepositoryNotFoundError

    if Path(model).exists() or os.environ.get("HF_HUB_OFFLINE") == "1":
        return
    try:
        if try_to_load_from_cache(model, "config.json") is None:
            HfApi().model_info(model, timeout=HUB_S)
    except HFValidationError as error:
        raise UsageError(f"model {model}: is no directory here, and no model of the hub is called so") from error
    except RepositoryNotFoundError as error:
        raise UsageError(
            f"model {model}: is no directory here, and the hub has no such model; a private one needs HF_TOKEN"
        ) from error
    except (OSError, httpx.HTTPError) as error:
        raise _not_found(model, error) from error


def _not_found(model: str, error: Exception) -> UsageError | UnavailableError:
    first = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    if Path(model).exists():
        return UsageError(f"model {model}: is not a model directory that transformers can load: {first}")
    if os.environ.get("HF_HUB_OFFLINE") == "1":
        return UsageError(
            f"model {model}: no such directory, and HF_HUB_OFFLINE=1 forbids to ask the hub; give a "
            f"local path, or unset it"
        )
    return UnavailableError(f"model {model}: neither a local directory nor reachable on the hub: {first}")
