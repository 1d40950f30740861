"""Answers that a sound verifier refuses: junk, literals of the source, answers of other instances, perturbed ones, and
what a solver that does not solve would say.

Texts only; nothing is run here. EvoEnv section 3.2 asks for perturbed, malformed and mistyped answers and for leaks;
the lists are ours. docs/environments.md has the thresholds.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Mapping

from evosyn.parsing import parsed

JUNK = (
    *("", " ", "0", "1", "-1", "2", "10", "yes", "no", "true", "false", "none", "null", "[]", "{}", "a", "abc", "?"),
    *("nan", "1e309", "0 0 0", "I do not know", "x" * 500),
)
LONGEST_LITERAL = 100
"""Characters; longer ones are pieces of the question."""
LARGEST_LITERAL = 10**LONGEST_LITERAL
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_WRITTEN = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
ROUNDED = 0.05
"""Part of a decimal number, or of 1 where it is smaller, by which a sound verifier may let an answer miss."""
_ZEROS = re.compile(r"(?<![\w.])0+(?=\d)")
_TOKEN = re.compile(r"[^\s,;]+")


def literals(source: str) -> list[str]:
    """Every text and number that stands in a program, as an answer; not those that are longer than one."""
    nodes = list(ast.walk(parsed(source)))
    said = {id(node.value) for node in nodes if isinstance(node, ast.Expr)}  # titles and remarks
    values = [node.value for node in nodes if isinstance(node, ast.Constant) and id(node) not in said]
    plain = [one for one in values if type(one) in (str, float) or (type(one) is int and one < LARGEST_LITERAL)]
    texts = [str(one).strip() for one in plain]
    return [text for text in dict.fromkeys(texts) if 0 < len(text) <= LONGEST_LITERAL]


def perturbed(answer: str) -> dict[str, str]:
    """Wrong answers near a right one, by what was done to it; none reads or rounds like the right one."""
    found = {name: change(answer) for name, change in _CHANGES.items()}
    found["halve"] = answer[: len(answer) // 2]
    wrong = {name: text for name, text in found.items() if alike(text) != alike(answer) and not _rounds(text, answer)}
    return wrong | ({"coarse": coarse} if (coarse := _coarse(answer)) else {})


def shortcuts(prompt: str) -> dict[str, str]:
    """What solvers say that read the question without solving it."""
    words = prompt.split() or [""]
    numbers = [int(one) for one in re.findall(r"-?\d+", prompt) if len(one) < 20]
    told: dict[str, str] = {
        "prompt": prompt,
        "first-word": words[0],
        "last-word": words[-1].strip(".,;:()[]?!'\""),
        "last-line": prompt.strip().split("\n")[-1],
        "after-colon": prompt.rpartition(":")[2].strip(),
        "in-brackets": prompt.rpartition("(")[2].partition(")")[0].strip(),
        "number-count": str(len(numbers)),
    }
    if numbers:
        counted = {"first": numbers[0], "last": numbers[-1], "max": max(numbers), "min": min(numbers)}
        told |= {f"number-{name}": str(one) for name, one in {**counted, "sum": sum(numbers)}.items()}
    return told


def alike(text: str) -> str:
    """The text as a tolerant reader sees it: without case, blanks, brackets and punctuation between its parts, and
    without zeros before a number."""
    text = _ZEROS.sub("", text)
    return " ".join(re.findall(r"[^\s,;.\[\](){}\"']+", text.lower())) or text.strip()


def squeezed(text: str) -> str:
    """Its letters and digits alone: what it says, however its parts are set apart."""
    return re.sub(r"[\W_]+", "", text.lower())


def _rounds(text: str, answer: str) -> bool:
    """Whether two texts differ in decimals only that a rounding may explain."""
    if _WRITTEN.sub("0", text) != _WRITTEN.sub("0", answer):
        return False
    pairs = zip(_WRITTEN.findall(text), _WRITTEN.findall(answer), strict=True)
    return all(
        one == other or ("." in other and abs(float(one) - float(other)) <= ROUNDED * max(1.0, abs(float(other))))
        for one, other in pairs
    )


def _on_number(change: Callable[[int], int]) -> Callable[[str], str]:
    """Changes the last number of an answer, a decimal by its quarters; of an answer without one its last letter."""

    def changed(answer: str) -> str:
        numbers = [one for one in _NUMBER.finditer(answer) if len(one[0]) < 400]
        if not numbers:
            return answer[:-1] + chr((ord(answer[-1]) - 32 + change(0)) % 95 + 32) if answer else "1"
        last = numbers[-1]
        whole, point, rest = last[0].partition(".")
        number = int(whole)
        told = f"{number + change(0) * max(1, abs(number) // 4)}.{rest}" if point else str(change(number))
        return answer[: last.start()] + told + answer[last.end() :]

    return changed


def _coarse(answer: str) -> str:
    """The answer with its last decimal number off by a hundred units of its last place: less than a rounding explains
    where many are asked for; "" where there are fewer than two."""
    last = next((one for one in reversed(list(_NUMBER.finditer(answer))) if "." in one[0]), None)
    places = len(last[0].partition(".")[2]) if last else 0
    if last is None or not 2 <= places <= 12 or len(last[0]) > 15:
        return ""
    return f"{answer[: last.start()]}{float(last[0]) + 10.0 ** (2 - places):.{places}f}{answer[last.end() :]}"


def _on_tokens(change: Callable[[list[str]], list[str]]) -> Callable[[str], str]:
    """Changes the order of the parts of an answer, which may be separated by anything; one part goes by its letters."""

    def changed(answer: str) -> str:
        spans = [one.span() for one in _TOKEN.finditer(answer)]
        if len(spans) < 2:
            return "".join(change(list(answer)))
        parts = [answer[start:end] for start, end in spans]
        gap = answer[spans[0][1] : spans[1][0]]
        return gap.join(change(parts))

    return changed


def _swapped(parts: list[str]) -> list[str]:
    """With two neighbours exchanged that differ, the later the better."""
    for at in range(len(parts) - 1, 0, -1):
        if parts[at] != parts[at - 1]:
            return [*parts[: at - 1], parts[at], parts[at - 1], *parts[at + 1 :]]
    return parts


def _repeated(parts: list[str]) -> list[str]:
    """With one part in place of another: as many as before, one of them twice."""
    at = next((at for at in range(len(parts) - 1, 0, -1) if parts[at] != parts[at - 1]), 0)
    return [*parts[:at], parts[at - 1], *parts[at + 1 :]] if at else parts


_CHANGES: Mapping[str, Callable[[str], str]] = {
    "plus-1": _on_number(lambda number: number + 1),
    "minus-1": _on_number(lambda number: number - 1),
    "plus-7": _on_number(lambda number: number + 7),
    "negated": _on_number(lambda number: -number),
    "too-large": _on_number(lambda number: number + 1_000_003),
    "repeat": _on_tokens(_repeated),
    "drop-first": _on_tokens(lambda parts: parts[1:]),
    "drop-last": _on_tokens(lambda parts: parts[:-1]),
    "double-last": _on_tokens(lambda parts: [*parts, *parts[-1:]]),
    "swap": _on_tokens(_swapped),
    "reverse": _on_tokens(lambda parts: parts[::-1]),
    "longer": lambda answer: f"{answer} {answer}",
}
"""What makes another answer of a right one; each breaks a rule of many tasks: range, sign, number of parts, order, each
once."""
PARTS = frozenset({"drop-first", "drop-last", "double-last", "longer", "halve"})
"""Changes that leave less of an answer, or more; the others leave its form."""
