"""A user that follows a script: opens with the first request, and tells the others when asked. No model; ours.

It answers a question by the request that shares most words with it, or the next one; it never names a tool or a key,
since requests hold none (`tasks.ungrounded`). ScaleEnv, appendix C, has a model in its place.
"""

from __future__ import annotations

import re

ASK = "ask_user"
DONE = "That is all, thank you."
_WORD = re.compile(r"\w{4,}")


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
        words = _words(message)
        scores = [(len(words & _words(one)), -number) for number, one in enumerate(self._requests)]
        best, place = max(scores)
        told = self._requests[-place] if best >= 2 else self._untold[0] if self._untold else DONE
        if told in self._untold:
            self._untold.remove(told)
        return told


def _words(text: str) -> set[str]:
    return {one.lower() for one in _WORD.findall(text)}
