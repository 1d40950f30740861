"""What a model thinks aloud before it answers, told from the answer: `<think>...</think>` and its kin.

A chat template may open the thoughts itself, so that only their end stands in the reply; a reply that was cut may never
close them. What stands in thoughts (drafts, examples) is no answer.
"""

from __future__ import annotations

_NAMES = ("think", "thinking", "thought", "reasoning")


def without_thinking(text: str) -> str:
    """The answer: what follows the last end of thoughts, or where nothing does, what stands before their begin."""
    text = _without_those_in_fields(text)
    ended = max((text.rfind(mark) + len(mark) for mark in _marks("</") if mark in text), default=0)
    answer = text[ended:] if text[ended:].strip() or not ended else text
    opened = min((at for mark in _marks("<") if (at := answer.find(mark)) >= 0), default=-1)
    if opened >= 0:
        return answer[:opened]
    return answer if answer is not text or not ended else ""


def _without_those_in_fields(text: str) -> str:
    """Without thoughts that a quoted text begins with: they end there, and the answer goes on around them."""
    for name in _NAMES:
        parts, done = [], 0
        while (begun := text.find(f'"<{name}>', done)) >= 0 and (ended := text.find(f"</{name}>", begun)) >= 0:
            parts.append(text[done : begun + 1])
            done = ended + len(name) + 3
        text = "".join([*parts, text[done:]])
    return text


def _marks(sign: str) -> list[str]:
    return [f"{sign}{name}>" for name in _NAMES]
