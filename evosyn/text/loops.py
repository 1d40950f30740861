"""Texts of models that end in a loop."""

import re

LOOKED_AT, TIMES = 16_000, 3
"""Characters at the end of a text that are looked at, and passes of a loop at least."""
SHORTEST, SHORTEST_OF_LINES = 300, 100
"""Characters that the passes fill at least: within a line, where a list of equal items may be cut, and of lines."""
COUNTED = 20
"""Passes at least of lines that differ in numbers alone: nobody asks for so many cases in a row that are all alike."""
_NUMBERS = re.compile(r"-?\d[\d.]*(?:,[ \t]*-?\d[\d.]*)*")


def repeats_itself(text: str) -> bool:
    """Whether a text ends in the same line or passage, three times and more, or in many lines that only count on."""
    tail = text[-LOOKED_AT:]
    return _ends_in_a_loop(tail, TIMES, SHORTEST) or _ends_in_a_loop(_NUMBERS.sub("0", tail), COUNTED, len(tail) + 1)


def _ends_in_a_loop(text: str, times: int, shortest: int) -> bool:
    """By the shortest period of each end of the text, as Knuth, Morris and Pratt find it; a period within a line counts
    from `shortest` characters on."""
    tail = text[::-1]
    line = tail.find("\n") % (len(tail) + 1)
    borders = [0] * len(tail)
    for place in range(1, len(tail)):
        border = borders[place - 1]
        while border and tail[place] != tail[border]:
            border = borders[border - 1]
        borders[place] = border + (tail[place] == tail[border])
        length, period = place + 1, place + 1 - borders[place]
        if length >= times * period and length >= (SHORTEST_OF_LINES if period > line else shortest):
            return True
    return False
