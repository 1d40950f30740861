"""What a tokenizer and its chat template say of reasoning: the form of replies, and texts that keep its marks."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from evosyn.text.reasoning import AUTO, HARMONY, form_of_prompt, is_mark

log = logging.getLogger(__name__)


def reasoning_of(tokenizer: Any, model: str, form: str = AUTO) -> str:
    """The form in which replies to prompts of a chat template mark their reasoning: `form`, or what the template says
    where that is `auto`."""
    template = str(tokenizer.chat_template)
    if form == AUTO:
        turns = [{"role": "user", "content": "?"}]
        form = form_of_prompt(
            tokenizer.apply_chat_template(turns, add_generation_prompt=True, tokenize=False), template
        )
    elif form == HARMONY and "<|channel|>" not in template:
        log.warning("reasoning=%s: the chat template of %s has no channels; no answer of it will count", form, model)
    log.info("%s: replies are read with reasoning=%s", model, form)
    return form


def marks_are_special(tokenizer: Any) -> bool:
    """Whether some marks of reasoning are special tokens, which are left out of texts by default."""
    return any(map(is_mark, _special(tokenizer).values()))


def _special(tokenizer: Any) -> dict[int, str]:
    return {at: str(token.content) for at, token in tokenizer.added_tokens_decoder.items() if token.special}


def completion_texts(tokenizer: Any, rows: Sequence[Sequence[int]]) -> list[str]:
    """Completions as texts: without special tokens, or where those mark reasoning, without the ones at the end."""
    if not marks_are_special(tokenizer):
        return list(tokenizer.batch_decode(rows, skip_special_tokens=True))
    special = _special(tokenizer)
    ends = [max((at for at, one in enumerate(row, 1) if int(one) not in special), default=0) for row in rows]
    cut = [row[:end] for row, end in zip(rows, ends, strict=True)]
    return list(tokenizer.batch_decode(cut, skip_special_tokens=False))


def pieces_of(tokenizer: Any, row: Sequence[int]) -> list[str]:
    """The part of its text that each token ends; empty for one that is left out, or that ends no character."""
    skip, found, begun, done = not marks_are_special(tokenizer), list[str](), 0, 0
    for at in range(len(row)):
        before, now = (tokenizer.decode(row[begun:end], skip_special_tokens=skip) for end in (done, at + 1))
        whole = len(now) > len(before) and not now.endswith("\ufffd")
        found.append(now[len(before) :] if whole else "")
        begun, done = (done, at + 1) if whole else (begun, done)
    return found
