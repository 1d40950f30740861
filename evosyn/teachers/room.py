"""How much of a model's window a prompt and its reply take: what `max_tokens: auto` comes to, and prompts cut to fit.

Lengths follow the replies that ended by themselves. A window is what the endpoint says, also in a refusal. Tokens of a
prompt are estimated from its letters, at the rate that was counted for earlier ones; only what cannot fit at all is
not sent.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict, deque
from dataclasses import replace

from evosyn.chat import WAS_CUT, Refusals, Reply, Request, without_passage
from evosyn.lengths import MORE_ROOM, ROOMY, given_length, start_of

RECENT, ENOUGH = 256, 16
"""Replies of a purpose that are remembered, and those that ended by themselves from which lengths follow them."""
SHARE, BEYOND = 0.98, 1.5
"""The quantile of their lengths, and how much more is allowed."""
SHORTEST = 256
"""Tokens that a reply is always allowed, where they are there."""
NEARLY = 0.9
"""The share of a window that a prompt, as it is estimated, and a reply have at least which were fitted to it."""
LEAST = 16
"""Tokens of a reply that are worth a call."""
OF_WINDOW = 3
"""A prompt is cut until a reply has such a part of the window, or all that it wants."""
PER_TOKEN, COUNTED_FROM = 3.0, 400
"""Letters of a token until some were counted, and letters of a prompt that say something about it."""
TEMPLATE = 24
"""Tokens that a chat template adds."""
CERTAIN = {False: 0.6, True: 0.9}
"""The share of an estimate that a prompt has at least; by whether letters of tokens were counted."""
_NUMBER = r"\D{0,25}?(\d+)"
_WINDOWS = re.compile(
    rf"context limit: [\d +]+> (\d+)|context[ _](?:length|window|size|limit){_NUMBER}|\bn_ctx\"?{_NUMBER}|"
    r"tokens > (\d+) maximum|<= (\d+)\. Given",
    re.I,
)
_PROMPTS = re.compile(
    rf"n_prompt_tokens\"?{_NUMBER}|(\d+) (?:in the messages|input tokens|tokens from the input|`inputs` tokens)|"
    r"(?:input|request) \((\d+) tokens|prompt is too long: (\d+)|context limit: (\d+)",
    re.I,
)
_LONGEST = re.compile(r"at most (\d+) completion tokens|> ?(\d+), which is the maximum", re.I)


class TooLong(Exception):
    """A prompt does not fit the window, whatever is left out."""


class Room:
    """What is known of the lengths of prompts and replies.

    Args:
        known: of the endpoint, shared with other teachers; grows here.
    """

    def __init__(self, known: Refusals) -> None:
        self.known = known
        self._seen: defaultdict[str, deque[tuple[int, bool]]] = defaultdict(lambda: deque(maxlen=RECENT))
        self._letters, self._tokens = 0, 0
        self._fewest = math.inf

    def saw(self, request: Request, reply: Reply) -> None:
        """A reply has come to a request as it was sent, or was found in the cache."""
        if reply.failure is None or reply.failure in WAS_CUT:
            self._seen[request.purpose].append((reply.output_tokens, reply.failure is None))
        letters = _letters(request)
        if letters >= COUNTED_FROM and reply.input_tokens and not reply.estimated:
            self._letters, self._tokens = self._letters + letters, self._tokens + reply.input_tokens

    def length(self, request: Request) -> int | None:
        """Tokens that a reply to this request is allowed, the window aside; None where nothing limits it."""
        given = given_length(request.params)
        if given is None:
            return None
        wanted = (
            given if isinstance(given, int) else self._usual(request.purpose) * (MORE_ROOM if given == ROOMY else 1)
        )
        return min(wanted, self.known.longest or wanted)

    def fitted(self, request: Request) -> Request:
        """The request as it is sent: with a length, and a prompt that leaves room for it.

        Raises:
            TooLong: there is no room.
        """
        length, window = self.length(request), self.known.window
        if window is None:
            return replace(request, length=length)
        wanted = window // OF_WINDOW if length is None else min(length, window // OF_WINDOW)
        for passage in request.optional:
            if self._tokens_of(request) + wanted <= window:
                break
            request = without_passage(request, passage)
        prompt = self._tokens_of(request)
        if prompt * CERTAIN[self._tokens > 0 or self._fewest < math.inf] + LEAST > window:
            raise TooLong(f"{prompt} tokens of prompt, window {window}")
        return replace(request, length=None if length is None else max(min(length, window - prompt), LEAST))

    def is_full(self, request: Request, reply: Reply) -> bool:
        """Whether a reply to a request as it was sent, which was cut, had all the room that there is."""
        window, used = self.known.window, reply.input_tokens + reply.output_tokens
        if window is None:
            return False
        return used + LEAST > window or self._tokens_of(request) + (request.length or 0) > NEARLY * window

    def learned(self, request: Request, body: str) -> bool:
        """Whether a refusal of a request as it was sent says how long a prompt or a reply may be."""
        longest, window, prompt = (_number(found, body) for found in (_LONGEST, _WINDOWS, _PROMPTS))
        self.known.longest = longest or self.known.longest
        self.known.window = window or self.known.window
        if prompt and _letters(request) >= COUNTED_FROM:
            self._fewest = min(self._fewest, _letters(request) / prompt)
        return bool(longest or window or prompt)

    def _usual(self, purpose: str) -> int:
        """What `auto` comes to. Where more were cut than ended, their length says little: it grows with those that
        were cut."""
        start, seen = start_of(purpose), self._seen[purpose]
        ended = sorted(length for length, whole in seen if whole)
        cut = [length for length, whole in seen if not whole]
        usual = start
        if len(ended) >= ENOUGH:
            usual = max(SHORTEST, math.ceil(BEYOND * ended[math.ceil(SHARE * len(ended)) - 1]))
        return max(usual, min(2 * max(cut), MORE_ROOM**2 * start)) if len(cut) > len(ended) else usual

    def _tokens_of(self, request: Request) -> int:
        rate = self._letters / self._tokens if self._tokens else PER_TOKEN
        return TEMPLATE + math.ceil(_letters(request) / min(rate, self._fewest))


def _letters(request: Request) -> int:
    return sum(len(message.content) for message in request.messages)


def _number(pattern: re.Pattern[str], text: str) -> int | None:
    """The first number that such words hold."""
    found = pattern.search(text)
    return None if found is None else next(int(one) for one in found.groups() if one)
