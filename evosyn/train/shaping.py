"""The parts of a reward that do not depend on execution: format and length.

Sources: soft overlong punishment, Yu 2025 (DAPO, 2503.14476) equation 13; cosine reward, Yeo 2025 (2502.03373) section
3, as the DejaQ recipe uses it; `<think>` format, DeepSeek-R1 (2501.12948); `\\boxed`, the DejaQ recipe.
"""

from __future__ import annotations

import math
import re

from evosyn.domains.answers.marks import last_box
from evosyn.fences import is_one_fence

_THINK = re.compile(r"\s*<think>(?:(?!</?think>).)*</think>\s*<answer>(?:(?!</?answer>).)*</answer>\s*", re.DOTALL)


def format_score(text: str, kind: str) -> float:
    """1.0 where the text has the asked form, else 0.0: exactly one fenced block, or one think block and one answer, or
    something in a `\\boxed{...}`."""
    if kind == "think":
        return float(_THINK.fullmatch(text) is not None)
    if kind == "boxed":
        return float(bool(last_box(text)))
    return float(is_one_fence(text))


def soft_overlong(length: int, limit: int) -> float:
    """0 up to four fifths of `limit` tokens, then linearly down to -1 at `limit`."""
    width = max(1, limit // 5)
    return -min(1.0, max(0.0, (length - (limit - width)) / width))


def cosine(passed: bool, length: int, limit: int) -> float:
    """A pass pays from 1 (empty) down to 0.5 (at the limit); a failure from -1 up to -0.5: wrong and short is the
    worst.
    """
    swing = (1 + math.cos(math.pi * min(length, limit) / limit)) / 2
    return 0.5 + 0.5 * swing if passed else -0.5 - 0.5 * swing
