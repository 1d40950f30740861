"""How families of models mark their reasoning, one line a family, and what of a text such marks leave as its answer.

The answer is what follows the textually last mark that ends reasoning; reasoning that was begun and not ended is no
answer, whatever stands in it. The marks of `think` may also be data; what they are is decided in `evosyn.thinking`.
Sources: the chat templates of the families, vLLM's `vllm/reasoning`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from typing import Annotated, NamedTuple

from pydantic import AfterValidator

from evosyn.errors import FormatError, UsageError, nearest
from evosyn.fences import without_fences
from evosyn.parsing import BOM

AUTO, NONE, THINK, HARMONY, PREFILLED = "auto", "none", "think", "harmony", "-prefilled"
CUT, OTHER = "cut-in-reasoning", "other-reasoning"


class Answer(str):
    """The answer of a text: what was reasoning is out, and nothing that is left is a mark of it."""

    __slots__ = ()


class Thought(NamedTuple):
    """An answer, and the reasoning that stood in the same text; None where there was none.

    Attributes:
        fault: why the text may not be paid, as `name: detail`: it was cut in its reasoning, or marks it as no known
            family does; "" where it is finished.
        acts: the answer is a call of a tool, with which the family ends its reasoning.
    """

    answer: Answer
    reasoning: str | None
    fault: str = ""
    acts: bool = False


class Family(NamedTuple):
    """Regular expressions of marks, each begun by plain letters: of those that open reasoning, close it, begin
    an answer (and close it), begin a call of a tool (likewise, and stay), end an answer; such a family
    may reason `always` before it answers."""

    opens: str
    closes: str
    answers: str = ""
    acts: str = ""
    ends: str = ""
    always: bool = False


_CALL = r"<tool_call>\s*<function="
ACTS = re.compile(_CALL)
"""A call in Qwen's XML: it ends reasoning of `think` that is open."""
_TO = r"<\|start\|>assistant\s+to=functions\.|<\|channel\|>\s*commentary\s+to=functions\."
_FINAL = r"<\|channel\|>\s*final(?:\s*<\|constrain\|>[^<\n]*)?(?:<\|message\|>)?"
FAMILIES = {
    THINK: Family(r"<think(?:ing)?>", r"</think(?:ing)?>", acts=_CALL),
    HARMONY: Family(r"<\|channel\|>", "", _FINAL, _TO, always=True),
    "mistral": Family(r"\[THINK\]", r"\[/THINK\]"),
    "reasoning": Family(r"<reasoning>", r"</reasoning>"),
    "thought": Family(r"<thoughts?>", r"</thoughts?>"),
    "kimi": Family(r"◁think▷", r"◁/think▷"),
    "seed": Family(r"<seed:think>", r"</seed:think>"),
    "gemma4": Family(r"<\|channel>", r"<channel\|>"),
    "granite": Family(
        r"Here(?:'s| is) my thought process:|<think>", r"</think>", r"Here(?:'s| is) my response:|<response>",
        ends=r"</response>",
    ),
    "cohere": Family(
        r"<\|START_THINKING\|>", r"<\|END_THINKING\|>", r"<\|START_(?:RESPONSE|TEXT)\|>", r"<\|START_ACTION\|>"
    ),
    "begin-of-thought": Family(r"<\|begin_of_thought\|>", r"<\|end_of_thought\|>", r"<\|begin_of_solution\|>"),
}  # fmt: skip
_SKIPPED = Family(r"\Aanalysis", "", r"assistant\s*final", r"assistant\s*commentary\s+to=functions\.", always=True)
"""Harmony as a tokenizer decodes it that leaves its special tokens out: no text says so by itself."""
FORMS = (AUTO, NONE, THINK, THINK + PREFILLED, *list(FAMILIES)[1:])
_NAMES = (*FORMS, *(name + PREFILLED for name in FAMILIES if name not in (THINK, HARMONY)))
_UNSEEN = r"\u00ad\u200b-\u200f\u2060-\u2064\ufeff"
_BLANKS = rf"[\s{_UNSEEN}]*"
SEEN = re.compile(rf"[^\s{_UNSEEN}]")
_ROLE = re.compile(
    rf"{_BLANKS}(?:<s>|<bos>)?\s*(?:<\|im_start\|>\s*assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|<\|assistant\|>|<｜Assistant｜>"
    r"|\[\|assistant\|\]|<start_of_turn>model|<\|turn>model|<\|start\|>assistant(?=<\|channel\|>)|assistant(?=\n)"
    rf"|(?:\w{{1,16}} ?){{1,3}}:\s*(?=[<\[◁]))?{_BLANKS}"
)
"""What some tokenizers leave before a reply, and the name of who speaks before a mark."""
_WORDS = r"think|thought|reason|reflect|analys|scratch|rational|deliberat|monolog|inner|hidden|ponder|cot\b"
_THOUGHT = rf"</?[\w:.-]*(?:{_WORDS})[\w:.-]*(?:\s[^<>]{{0,64}})?>|\[/?[\w:.-]*(?:{_WORDS})[\w:.-]*\](?![(\[:])"
_STRANGE = re.compile(
    r"(<(?P<special>[|｜][^<>|｜\n]{1,64}[|｜]?|[^<>|｜\s]{1,64}[|｜])>|◁[^▷\n]{1,64}▷|[\[<]unused\d+[\]>]"
    rf"|{_THOUGHT}|(?<=[|｜]>)(?:{_WORDS})\w*\n|<(?P<tag>[a-z][\w:.-]*)>)",
    re.IGNORECASE,
)
_SIGNS = "|".join(family.opens for family in FAMILIES.values() if not family.opens[0].isalpha())
_LATER = re.compile(rf"^(?:[^\S\n]|[{_UNSEEN}])*+((?-i:{_SIGNS})|{_THOUGHT})", re.IGNORECASE | re.MULTILINE)
_ORDINARY = re.compile(
    rf"(?!.*(?:{_WORDS})).*(?:tool|func|call|python|action|answer|response|solution|final|text|sentence|bos|end|eo[st])",
    re.IGNORECASE,
)
"""Special tokens that begin replies without reasoning."""
_END = re.compile(
    r"(?:<[|｜][^<>|｜]{1,64}[|｜]>|\[\|[^\[\]|]{1,64}\|\]|</?s>|<(?:eos|pad|end_of_turn|start_of_turn|turn\||seed:eos)>)\Z"
)
"""End marks of the families of models, as a tokenizer decodes them that is told to keep them."""
MARK_CHARS = 80


class _Marks(NamedTuple):
    """The expressions of a family, compiled."""

    acts: re.Pattern[str]
    closes: re.Pattern[str]
    any: re.Pattern[str]
    begins: re.Pattern[str]
    ends: re.Pattern[str]

    def kind(self, mark: str) -> str:
        return "acts" if self.acts.fullmatch(mark) else "closes" if self.closes.fullmatch(mark) else "opens"


def check_form(name: str) -> str:
    """Raises FormatError where there is no form of that name."""
    if name in _NAMES:
        return name
    known = nearest(str(name), _NAMES, f"known: {', '.join(FORMS)}")
    raise FormatError("", f"{str(name)[:80]!r} is no form of reasoning; {known} (docs/reasoning.md)", name)


def form_named(name: str, where: str) -> str:
    """The same for what a user gives; raises UsageError with `where` it was given."""
    try:
        return check_form(name)
    except FormatError as error:
        raise UsageError(f"{where}: {error.reason}") from error


ReasoningForm = Annotated[str, AfterValidator(check_form)]
"""The name of one, in a configuration."""


def form_of(text: str, form: str) -> tuple[str, str]:
    """The form that a text is read in where `form` was named, and the fault of a text that begins with marks of
    another one, "" for none. A family's own mark that begins a text names it, else one that begins a line outside of
    fences; else `think` is taken."""
    start = _start(text)
    begun = [name for name in FAMILIES if _marks(FAMILIES[name]).begins.match(text, start)]
    strange = _STRANGE.match(text, start)
    if strange and strange["tag"] and f"</{strange['tag']}" in text:
        strange = None
    late = form == AUTO and not (begun or strange) and _LATER.search(text)
    if late and (strange := _LATER.search(without_fences(text))):
        begun = [name for name in FAMILIES if _marks(FAMILIES[name]).begins.match(text, strange.start(1))]
    if form == AUTO and begun:
        return begun[0], ""
    own = form in begun or form.removesuffix(PREFILLED) in begun
    if form == NONE or own or not (begun or strange):
        return (THINK if form == AUTO else form), ""
    mark = strange[1].strip() if strange else text[start : start + 32]
    whose = f"a mark of {begun[0]}" if begun else "a mark of no family that is known"
    told = f"the text, or a line of it, begins with {mark!r}, {whose}; name its form, `none` where that is no reasoning"
    return form, f"{OTHER}: {told}"


def form_of_prompt(prompt: str, template: str = "") -> str:
    """The form of replies to a prompt as a chat template renders it, with its generation prompt; one family's marks in
    the source of the template name the family."""
    family, _, opens = _ending(prompt)
    if family:
        return family + PREFILLED if opens else NONE
    marked = [name for name, family in FAMILIES.items() if re.search(family.opens, template)]
    return marked[0] if len(marked) == 1 and marked[0] != THINK else AUTO


def prefill_of(prompt: str) -> str:
    """The mark that opens reasoning at the end of a prompt as it is rendered; "" for none."""
    _, mark, opens = _ending(prompt)
    return mark if opens else ""


def _ending(prompt: str) -> tuple[str, str, bool]:
    """The mark with which a prompt ends: its family, itself, and whether it opens reasoning."""
    tail = prompt.rstrip()
    for name, family in FAMILIES.items():
        for found in _marks(family).any.finditer(tail, max(0, len(tail) - MARK_CHARS)):
            if found.end() == len(tail) and not family.always:
                return name, found[0], _marks(family).kind(found[0]) == "opens"
    return "", "", False


def is_mark(token: str) -> bool:
    return token == "<|channel|>" or any(_marks(family).any.fullmatch(token) for family in FAMILIES.values())


def separated(text: str, form: str) -> Thought:
    """Answer and reasoning of a text of a family whose marks are never data."""
    prefilled, name = form.endswith(PREFILLED), form.removesuffix(PREFILLED)
    family = _SKIPPED if name == HARMONY and "<|channel|>" not in text else FAMILIES[name]
    marks = _marks(family)
    begun, acts = (0 if prefilled or family.always else -1), -1
    since, thoughts = 0, list[str]()
    for mark in marks.any.finditer(text):
        kind = marks.kind(mark[0])
        if kind == "opens":
            begun = mark.end() if begun < 0 else begun
        elif kind == "acts":
            acts = mark.start() if begun >= 0 and acts < 0 else acts
        else:
            thoughts.append(text[max(since, begun) : mark.start()])
            since, begun, acts = mark.end(), -1, -1
    if begun < 0:
        return Thought(Answer(without_marks(text[since:].lstrip() if thoughts else text, name)), joined(thoughts))
    if acts >= 0:
        return Thought(Answer(text[acts:]), joined([*thoughts, text[begun:acts]]), acts=True)
    return Thought(Answer(""), joined([*thoughts, text[begun:]]), cut_after(text[begun:]))


def cut_after(reasoning: str) -> str:
    """The fault of a text that ends in this reasoning."""
    return f"{CUT}: the text ends before its answer, {len(reasoning)} characters into its reasoning"


def without_marks(text: str, name: str = THINK) -> str:
    """A text up to the first of the end marks that stand at its end, with nothing but blanks between them."""
    own = _marks(FAMILIES[name]).ends
    end = last = len(text)
    while True:
        while last and text[last - 1].isspace():
            last -= 1
        tail = text[max(0, last - MARK_CHARS) : last]
        found = _END.search(tail) or own.search(tail)
        if found is None:
            return text[:end]
        end = last = last - len(found[0])


def without_role(text: str, form: str) -> str:
    """A text of a form from the mark on that begins it, without what some tokenizers leave before that."""
    start = _start(text)
    return text[start:] if _marks(FAMILIES[form.removesuffix(PREFILLED)]).begins.match(text, start) else text


def _start(text: str) -> int:
    at = len(BOM) if text.startswith(BOM) else 0
    while True:
        at = role.end() if (role := _ROLE.match(text, at)) else at
        strange = _STRANGE.match(text, at)
        if not (strange and _ORDINARY.match(strange["special"] or strange["tag"] or "")):
            return at
        at = strange.end()


def joined(thoughts: Sequence[str]) -> str | None:
    return "\n".join(part.strip() for part in thoughts if part.strip()) if thoughts else None


@cache
def _marks(family: Family) -> _Marks:
    flags = re.IGNORECASE if family.opens.startswith("<") else 0  # letters are found faster as they are
    closes = _either(family.answers, family.closes)
    every, begins = _either(family.acts, closes, family.opens), _either(family.opens, family.closes)
    whole = (family.acts, closes, every, begins, rf"(?:{family.ends or '(?!)'})\Z")
    return _Marks(*(re.compile(one or "(?!)", flags) for one in whole))


def _either(*patterns: str) -> str:
    return "|".join(one for one in patterns if one)
