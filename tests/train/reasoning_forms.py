"""Texts of fourteen families of models, as their templates make them, that hold a reasoning and an answer."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple


class Written(NamedTuple):
    """How a family writes: the form that names it, the text before reasoning, between that and the answer, and behind
    it, and whether `auto` knows it by how its texts begin."""

    form: str
    before: str
    between: str
    behind: str = ""
    told: bool = True


FAMILIES = {
    "qwen3": Written("think", "<think>\n", "\n</think>\n\n", "<|im_end|>"),
    "hunyuan": Written("think", "<think>\n", "\n</think>\n<answer>\n", "\n</answer>"),
    "r1-distill": Written("think-prefilled", "", "\n</think>\n\n", "<｜end▁of▁sentence｜>", told=False),
    "gpt-oss": Written(
        "harmony",
        "<|channel|>analysis<|message|>",
        "<|end|><|start|>assistant<|channel|>final<|message|>",
        "<|return|>",
    ),
    "gpt-oss, special tokens left out": Written("harmony", "analysis", "assistantfinal", told=False),
    "magistral": Written("mistral", "[THINK]", "[/THINK]", "</s>"),
    "reasoning": Written("reasoning", "<reasoning>\n", "\n</reasoning>\n<answer>\n", "\n</answer>"),
    "exaone-deep": Written("thought", "<thought>\n", "\n</thought>\n\n", "[|endofturn|]"),
    "kimi": Written("kimi", "◁think▷", "◁/think▷", "<|im_end|>"),
    "seed-oss": Written("seed", "<seed:think>", "</seed:think>", "<seed:eos>"),
    "gemma4": Written("gemma4", "<|channel>thought\n", "<channel|>", "<turn|>"),
    "granite": Written("granite", "Here is my thought process: ", "\n\nHere is my response: ", "<|end_of_text|>"),
    "command-a": Written(
        "cohere",
        "<|START_THINKING|>",
        "<|END_THINKING|><|START_RESPONSE|>",
        "<|END_RESPONSE|><|END_OF_TURN_TOKEN|>",
    ),
    "sky-t1": Written(
        "begin-of-thought",
        "<|begin_of_thought|>\n\n",
        "\n\n<|end_of_thought|>\n\n<|begin_of_solution|>\n\n",
        "\n\n<|end_of_solution|>",
    ),
}
THOUGHT = "Half of 48 is 24, so"


def probes(family: Written, right: str, draft: str, plain: str) -> dict[str, tuple[str, float]]:
    """The four texts by which a family is tried, and what each is paid.

    Args:
        right: an answer in the form that was asked for.
        draft: a right answer in the middle of reasoning.
        plain: a right answer in another form.
    """
    whole: Callable[[str], str] = lambda said: (  # noqa: E731
        f"{family.before}{THOUGHT} {draft} Let me check.{family.between}{said}{family.behind}"
    )
    return {
        "final": (whole(right), 1.0),
        "plain": (whole(plain), 1.0),
        "cut": (f"{family.before}{THOUGHT} {draft} Let me", 0.0),
        "draft": (whole(""), 0.0),
    }
