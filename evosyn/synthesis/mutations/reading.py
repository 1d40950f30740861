"""Replies of a mutator as problems, or the reason why there is none. Arbitrary text never raises.

The checks cost nothing and are ours: DejaQ (2601.01931, section 5.2) has none and finds a quarter to a half of its
mutants invalid. They look at words and numbers alone, so a mutant that passes may still be wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from evosyn.chat import Parsed
from evosyn.domains.answers.comparing import accepts
from evosyn.domains.answers.marks import last_answer
from evosyn.domains.answers.plain import LONGEST
from evosyn.domains.answers.reading import Number, read_answer
from evosyn.domains.replies import json_values
from evosyn.records import Json
from evosyn.synthesis.mutations.asking import DISTRACTOR, SETTING, SYMBOLIC, StatedProblem
from evosyn.synthesis.mutations.bleu import bleu
from evosyn.synthesis.mutations.wording import is_english, numbers_in, question_of, sentences_of, written_numbers
from evosyn.thinking import answer_in, without_first_thought

LONGER, SHORT = 3, 600
"""Times the length of what a link was given that a mutant may have, and characters that any may."""
MORE_SENTENCES = 3
KEYS: dict[str, tuple[str, ...]] = dict.fromkeys((SETTING, DISTRACTOR), ("mutated_problem",))
KEYS[SYMBOLIC] = ("mutated_problem", "mutated_reasoning", "mutated_solution")


def read_link(link: str, reply: str, before: StatedProblem, parent: str, most_alike: float) -> Parsed[StatedProblem]:
    """What a reply makes of a problem.

    Args:
        before: what the link was asked to change.
        parent: the statement that the whole mutation began with.
        most_alike: BLEU with the parent from which a mutant is too similar, in (0, 1].
    """
    found = _values(link, reply)
    if isinstance(found, str):
        return Parsed(None, found)
    made = StatedProblem(found["mutated_problem"].strip(), before.answer)
    if link == SYMBOLIC:
        made = made._replace(answer=_bare(found["mutated_solution"]))
    reason = _unfit(made.statement, before.statement, parent, most_alike) or _CHECKS[link](made, before)
    if not reason and link == SYMBOLIC and not _ends_with(found["mutated_reasoning"], made.answer):
        reason = "answer-unsupported"
    return Parsed(None, reason) if reason else Parsed(made)


def _values(link: str, reply: str) -> Mapping[str, str] | str:
    """The texts of the last object of the form asked for; else the reason."""
    objects = [one for one in json_values(answer_in(reply)) if isinstance(one, Mapping)]
    if not objects:
        return "no-json"
    held = next((one for one in objects if all(key in one for key in KEYS[link])), None)
    if held is None:
        return "missing-key"
    texts = {key: _text(held[key]) for key in KEYS[link]}
    return "empty" if not all(one.strip() for one in texts.values()) else texts


def _text(value: Json) -> str:
    if isinstance(value, str):
        return without_first_thought(value).encode("utf-8", "replace").decode()
    return str(value) if isinstance(value, int | float) and not isinstance(value, bool) else ""


def _unfit(statement: str, before: str, parent: str, most_alike: float) -> str:
    if len(statement) > max(LONGER * len(before), SHORT):
        return "too-long"
    if statement == parent.strip():
        return "copy-of-parent"
    if not is_english(statement):
        return "not-english"
    return "too-similar" if bleu(statement, parent) >= most_alike else ""


def _of_setting(made: StatedProblem, before: StatedProblem) -> str:
    return "" if numbers_in(made.statement) == numbers_in(before.statement) else "numbers-changed"


def _of_distractor(made: StatedProblem, before: StatedProblem) -> str:
    if not numbers_in(before.statement) <= numbers_in(made.statement):
        return "numbers-changed"
    asked = question_of(before.statement)
    kept = {asked} if asked else set(sentences_of(before.statement))
    if not kept <= set(sentences_of(made.statement)):
        return "question-changed"
    more = len(sentences_of(made.statement)) - len(sentences_of(before.statement))
    return "" if more <= MORE_SENTENCES else "too-many-sentences"


def _of_symbolic(made: StatedProblem, before: StatedProblem) -> str:
    answer = read_answer(made.answer) if len(made.answer) <= LONGEST else None
    if not isinstance(answer, Number):
        return "answer-unreadable"
    old = numbers_in(made.statement) == numbers_in(before.statement) and accepts(read_answer(before.answer), answer)
    return "answer-unchanged" if old else ""


_CHECKS: Mapping[str, Callable[[StatedProblem, StatedProblem], str]] = {
    SETTING: _of_setting, DISTRACTOR: _of_distractor, SYMBOLIC: _of_symbolic,
}  # fmt: skip


def _bare(solution: str) -> str:
    """An answer as it may stand in a testing, without its box."""
    return (last_answer(solution) or solution).strip().strip("$").strip()


def _ends_with(reasoning: str, answer: str) -> bool:
    """Whether a working ends in the answer that is declared; one that ends in no number says nothing."""
    declared = read_answer(answer)
    said = last_answer(reasoning)
    numbers = written_numbers(reasoning)
    last = said if said else numbers[-1] if numbers else answer
    return len(last) > LONGEST or accepts(declared, read_answer(last))
