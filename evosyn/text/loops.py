"""Texts of models that end in a loop."""

LOOKED_AT, SHORTEST, TIMES = 4_000, 300, 3
"""Characters at the end of a text that are looked at, those that a loop fills at least, and passes of it at least."""


def repeats_itself(text: str) -> bool:
    """Whether a text ends in the same passage, three times and more: the shortest period of each end of it, as Knuth,
    Morris and Pratt find it."""
    tail = text[: -LOOKED_AT - 1 : -1]
    borders = [0] * len(tail)
    for place in range(1, len(tail)):
        border = borders[place - 1]
        while border and tail[place] != tail[border]:
            border = borders[border - 1]
        borders[place] = border + (tail[place] == tail[border])
    lengths = range(SHORTEST, len(tail) + 1)
    return any(length >= TIMES * (length - borders[length - 1]) for length in lengths)
