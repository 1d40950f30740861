"""Problems that a simulated mutator can read: those of the templates, and stories in a plain language of its own. Pure.

A story is one step after the other, so its right answer is known from its words alone: that is the truth by which
mutants are found valid.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from typing import NamedTuple, TypeAlias

import yaml

from evosyn.records import Json
from evosyn.synthesis.mutations.wording import numbers_in, sentences_of
from simulation.math_author.templates import templates

Operand: TypeAlias = int | str
"""A number; the letter of an earlier heap; or a letter and 1 or 2, the first or second number in its step."""
MOST_STEPS = 8
LARGEST = 10**6
HIDDEN = {2: "half", 5: "fifth", 60: "sixtieth"}
"""Divisors that problems do not write as a number."""
PART, DOUBLED = "%", "^"
_HIDDEN_TEXT = {
    PART: "For {heap} {to} exactly a {b} of {a} is left.",
    DOUBLED: "{heap} {to} has one, doubled {b} times.",
}
_AGAIN = {"1": "the first number of ", "2": "the second number of "}
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_BLANK = re.compile(r"<<(\w+)>>")


class StoryStep(NamedTuple):
    sign: str
    a: Operand
    b: Operand


@dataclass(frozen=True)
class Story:
    """A problem as steps; the last one is asked for.

    Attributes:
        extra: sentences that no step is told by.
    """

    setting: str
    steps: tuple[StoryStep, ...]
    extra: tuple[str, ...] = ()


class Telling(NamedTuple):
    """How one setting tells a story."""

    heap: str
    opening: str
    question: str
    steps: Mapping[str, str]


@functools.cache
def tellings() -> Mapping[str, Telling]:
    """By setting."""
    listed = yaml.safe_load((resources.files(__package__) / "stories.yaml").read_text(encoding="utf-8"))
    return {
        one["setting"]: Telling(
            one["heap"], one["opening"], one["question"], {**{sign: one[sign] for sign in "+-*/"}, **_HIDDEN_TEXT}
        )
        for one in listed
    }


def values_of(steps: Sequence[StoryStep]) -> list[int] | None:
    """What each step comes to; None where one is no positive whole number, or too large."""
    known: dict[str, int] = {}
    found = []
    for letter, (sign, *operands) in zip(_LETTERS, steps, strict=False):
        a, b = (one if isinstance(one, int) else known.get(one, 0) for one in operands)
        value = _value(sign, a, b)
        if value is None or not 0 < value <= LARGEST:
            return None
        known |= {letter: value, f"{letter}1": a, f"{letter}2": b}
        found.append(value)
    return found


def told(story: Story) -> str:
    """The words of a story; what no step is told by stands after its first step."""
    telling = tellings()[story.setting]
    lines = []
    for letter, (sign, a, b) in zip(_LETTERS, story.steps, strict=False):
        shown = [one if isinstance(one, int) else _named(telling.heap, one) for one in (a, b)]
        second = HIDDEN[int(b)] if sign == PART else shown[1]
        line = telling.steps[sign].format(heap=telling.heap, to=letter, a=shown[0], b=second)
        lines.append(line[0].upper() + line[1:])
    question = telling.question.format(to=_LETTERS[len(story.steps) - 1])
    return " ".join([telling.opening, lines[0], *story.extra, *lines[1:], question])


def story_of(statement: str) -> Story | None:
    """The story that a statement tells, by its template or in the plain language; None where it is neither."""
    for template in templates().values():
        match = _pattern(template["id"]).fullmatch(statement.strip())
        if match is not None:
            return Story(template["setting"], _steps(template, match.groupdict()))
    sentences = sentences_of(statement)
    setting = next((name for name, one in tellings().items() if sentences[:1] == [one.opening]), None)
    return None if setting is None else _read(setting, sentences[1:])


def is_ours(statement: str) -> bool:
    """Whether it is in the language of the simulated mutator, readable or not."""
    return any(statement.startswith(one.opening) for one in tellings().values())


def _named(heap: str, operand: str) -> str:
    return f"{_AGAIN.get(operand[1:], '')}{heap} {operand[0]}"


def _value(sign: str, a: int, b: int) -> int | None:
    if sign in ("/", PART):
        return a // b if b and a % b == 0 else None
    if sign == DOUBLED:
        return a**b if b <= 20 else None
    return {"+": a + b, "-": a - b, "*": a * b}[sign]


@functools.cache
def _pattern(template: str) -> re.Pattern[str]:
    """Of the statements of a template; a blank that comes again holds the same."""
    parts, seen = [], set[str]()
    for place, part in enumerate(_BLANK.split(templates()[template]["text"])):
        if place % 2 == 0:
            parts.append(re.escape(part))
        else:
            parts.append(f"(?P={part})" if part in seen else rf"(?P<{part}>\w+)")
            seen.add(part)
    return re.compile("".join(parts))


def _steps(template: Mapping[str, Json], params: Mapping[str, str]) -> tuple[StoryStep, ...]:
    """A blank that is used again is named as the number of an earlier step, as in the text, which has it once."""
    known: dict[str, Operand] = {}
    steps = []
    for letter, line in zip(_LETTERS, template["steps"], strict=False):
        name, _, formula = line.partition(" = ")
        a, sign, b = re.split(r"\s*([-+*/^])\s*", formula)
        operands = [known[one] if one in known else int(params.get(one, one)) for one in (a, b)]
        known |= {one: f"{letter}{place}" for place, one in enumerate((a, b), 1) if one in params and one not in known}
        known[name] = letter
        hidden = sign == "/" and b.isdigit() and b not in numbers_in(_BLANK.sub("", template["text"]))
        steps.append(StoryStep(PART if hidden else sign, *operands))
    return tuple(steps)


def _read(setting: str, sentences: Sequence[str]) -> Story | None:
    steps: list[StoryStep] = []
    extra, asked = [], ""
    for sentence in sentences:
        step = _read_step(setting, sentence, _LETTERS[len(steps)])
        if step is not None:
            steps.append(step)
        elif (question := _formed(tellings()[setting].question).fullmatch(sentence)) is not None:
            asked = question["to"]
        else:
            extra.append(sentence)
    return Story(setting, tuple(steps), tuple(extra)) if steps and asked == _LETTERS[len(steps) - 1] else None


def _read_step(setting: str, sentence: str, letter: str) -> StoryStep | None:
    telling = tellings()[setting]
    for sign, text in telling.steps.items():
        match = _formed(text.replace("{heap}", telling.heap), telling.heap).fullmatch(sentence)
        if match is None or match["to"] != letter:
            continue
        if sign == PART:
            divisor = next(number for number, word in HIDDEN.items() if word == match["b"])
            return StoryStep(PART, _operand(match["a"]), divisor)
        return StoryStep(sign, 2 if sign == DOUBLED else _operand(match["a"]), _operand(match["b"]))
    return None


@functools.cache
def _formed(text: str, heap: str = "") -> re.Pattern[str]:
    found = re.escape(text).replace(r"\{to\}", r"(?P<to>[A-Z])")
    words = "|".join(HIDDEN.values())
    for name in "ab":
        found = found.replace(
            rf"\{{{name}\}}", rf"(?P<{name}>\d+|(?:the (?:first|second) number of )?{heap} [A-Z]|{words})", 1
        )
    return re.compile(found, re.IGNORECASE)


def _operand(text: str) -> Operand:
    if text.isdigit():
        return int(text)
    again = next((place for place, words in _AGAIN.items() if text.lower().startswith(words)), "")
    return text[-1].upper() + again
