"""A user that follows a script: opens with the first request, and tells the others when asked. No model; ours.

It answers by the request it has not made that shares most words with what it hears, or by the next one. One that was
made is said again only when nothing is left and somebody asks about it; it never names a tool or a key, since requests
hold none (`tasks.ungrounded`). ScaleEnv, appendix C, has a model in its place.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

ASK = "ask_user"
DONE = "That is all, thank you."
ENOUGH = 2
"""Words in common by which a message is about a request."""
_WORD = re.compile(r"\w{4,}")
_QUESTION = re.compile(r"[^.!?\n]*\?")
_OFFER = re.compile(r"\b(else|anything|something|further|help|assist)\b", re.IGNORECASE)
"""What stands in a question that asks for no detail, whatever row it names."""


class ScriptedUser:
    """One user in one episode.

    Args:
        requests: sentences, the first of which the agent knows from the beginning.
    """

    def __init__(self, requests: tuple[str, ...]) -> None:
        self._requests = requests
        self._untold = list(requests[1:])

    def answer(self, message: str) -> str:
        """What the user says to a message."""
        if self._untold:
            return self._untold.pop(self._about(message, self._untold) or 0)
        asked = [one for one in _QUESTION.findall(message) if not _OFFER.search(one)]
        place = self._about(" ".join(asked), self._requests)
        return DONE if place is None else self._requests[place]

    @staticmethod
    def _about(message: str, requests: Sequence[str]) -> int | None:
        """Which request a message is about."""
        scores = [len(_words(message) & _words(one)) for one in requests]
        return scores.index(max(scores)) if max(scores) >= ENOUGH else None


def _words(text: str) -> set[str]:
    return {one.lower() for one in _WORD.findall(text)}
