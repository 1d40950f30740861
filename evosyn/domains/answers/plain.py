"""The text of a final answer without its dress: LaTeX, Unicode, number words and money become a few plain signs.

All of it is substitution on a text of bounded length; what a sign is worth is for `reading`.
"""

from __future__ import annotations

import re
import unicodedata

LONGEST = 300
"""Characters of an answer that is read as a value; longer ones are words."""
MONEY = {"$": "usd", "€": "eur", "£": "gbp", "¥": "jpy", "¢": "cent"}
_SMALL = (
    *("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"),
    *("thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen"),
)
_TENS = ("twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_WORTH = {word: number for number, word in enumerate(_SMALL)} | {
    word: 10 * number for number, word in enumerate(_TENS, 2)
}
_SCALES = {"hundred": 100, "thousand": 1000, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_WORD = "|".join(sorted([*_WORTH, *_SCALES], key=len, reverse=True))
_NUMBER_WORDS = re.compile(rf"\b(?:{_WORD})(?:(?:[\s-]+and)?[\s-]+(?:{_WORD}))*\b", re.I)
_SCALED = re.compile(rf"(?<=\d)\s*\b({'|'.join(_SCALES)}|dozen)s?\b", re.I)
_PARTS = ("half", "third", "quarter", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth")
_PART_WORDS = re.compile(rf"\b(\d+)[\s-]+(halves|fourths?|(?:{'|'.join(_PARTS)})s?)\b", re.I)
_DRESS = re.compile(r"^[\s*`]+|[\s*`]+$|(?<!\.)\.$|^(['\"])(.*)\1$|^<([a-z]+)>(.*)</\3>$", re.S)
"""Blanks, marks of emphasis, a full stop, quotes and tags around an answer."""
_SUPER = re.compile(r"[⁰¹²³⁴⁵⁶⁷⁸⁹⁻]+")
_FONT = "bf|it|rm|sf|tt|sc|sl|md|up|normal|em"
_COMMAND = rf"\\(?:text(?:{_FONT})?|math(?:{_FONT})|bold(?:symbol)?|bm|emph|underline|[mhf]box|operatorname|boxed)"
_HELD = r"\{((?:[^{}]|\{(?:[^{}]|\{[^{}]*\})*\})*)\}"
_WRAPPER = re.compile(rf"{_COMMAND}(?![A-Za-z])(?:\s*{_HELD}|\s+([A-Za-z]|-?\d+(?:[.,]\d+)*(?!\w)))")
_MATH = re.compile(r"(?<![\\\d$])(\$\$?)(?![ $])([^$]+)(?<! )\1(?![\d$])")
_REPEATING = re.compile(r"(\d*)\.(\d*)\\overline\s*\{?(\d+)\}?", re.A)
_BY_BLANKS = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?![\d,]|\s*/)", re.A)
_REPLACED = (
    (re.compile(rf"\\(?:text)?color\s*\{{\w+\}}|\\(?:{_FONT}|displaystyle|textstyle)(?![a-zA-Z])"), ""),
    (re.compile(r"\\[dtc](frac|binom)(?![a-zA-Z])"), r"\\\1"),
    (re.compile(r"\{([^{}]*)\\choose(?![a-zA-Z])([^{}]*)\}"), r"\\binom{\1}{\2}"),
    (re.compile(r"\\(frac|binom)\s*(\d)\s*(\d)"), r"\\\1{\2}{\3}"),
    (re.compile(r"\\(?:leqslant|leqq?|le)(?![a-zA-Z])|<=|[⩽≦]"), "≤"),
    (re.compile(r"\\(?:geqslant|geqq?|ge)(?![a-zA-Z])|>=|[⩾≧]"), "≥"),
    (re.compile(r"\\(?:neq?(?![a-zA-Z])|not\s*=)|(?<![\d)])!\s*="), "≠"),
    (re.compile(r"\\lt(?![a-zA-Z])"), "<"),
    (re.compile(r"\\gt(?![a-zA-Z])"), ">"),
    (re.compile(r"\\\{\s*\\\}|^\{\s*\}$|\\(?:emptyset|varnothing)(?![a-zA-Z])"), "∅"),
    (re.compile(r"\\([{}])"), r"\1"),
    (re.compile(r"\^\s*\{?\s*(?:\\circ(?![a-zA-Z])|°)\s*\}?|°|\\degree(?![a-zA-Z])"), " degrees "),
    (re.compile(r"\\(?:left|right|[bB]igg?[lr]?)(?![a-zA-Z])|(?<!\\)\\!|\{\s*\}"), ""),
    (re.compile(r"(?<=\d)(?:\\[,;: ]|\{,\})(?=\d{3}(?!\d))"), ","),
    (re.compile(r"[(\[]\s*\\begin\{(?:array\}\s*\{[lcr|\s]*\}|matrix\})"), r"\\begin{pmatrix}"),
    (re.compile(r"\\end\{(?:array|matrix)\}\s*[)\]]"), r"\\end{pmatrix}"),
    (re.compile(r"\{bmatrix\}"), "{pmatrix}"),
    (re.compile(r"\\q?quad(?![a-zA-Z])|(?<!\\)\\[,;: ]|~"), " "),
    (re.compile(r"\\(?:times|cdot|ast)(?![a-zA-Z])|[×·∙⋅]"), "*"),
    (re.compile(r"(?<=\d)\s*[xX]\s*(?=\d)"), "*"),
    (re.compile(r"\\div(?![a-zA-Z])|[÷⁄∕]"), "/"),
    (re.compile(r"\\pi(?![a-zA-Z])|\b[Pp]i\b"), "π"),
    (re.compile(r"\\infty(?![a-zA-Z])"), "∞"),
    (re.compile(r"\\(?:approx|simeq)(?![a-zA-Z])|[≃≅]"), "≈"),
    (re.compile(r"\\in(?![a-zA-Z])"), "∈"),
    (re.compile(r"\\cup(?![a-zA-Z])"), "∪"),
    (re.compile(r"\\[lr]?vert(?![a-zA-Z])"), "|"),
    (re.compile(r"\\pm(?![a-zA-Z])|\+/-|(?:^|(?<=[=,])|(?<=[=,] ))\+-|\bplus or minus\b"), "±"),
    (re.compile(r"(?<!\\)\\[()\[\]]"), " "),
    (re.compile(r"\\%"), "%"),
    (re.compile(r"\b([ap])\.\s?m\b\.?", re.I), r"\1m"),
    (re.compile(r"(?<=\d):00(?=\s*[ap]m\b)", re.I), ""),
    (re.compile(r"\bU\.?S\.?A?\.?\s*(?=\$|dollars?\b)"), ""),
)
_DASHES = str.maketrans(dict.fromkeys("−‐‑‒–—﹣－", "-"))


def plain(text: str) -> str:
    """An answer of `LONGEST` characters at most in plain signs; letters keep their case."""
    text = _SUPER.sub(lambda found: "^{" + unicodedata.normalize("NFKC", found[0]) + "}", text)
    text = "".join([f" {sign}" if unicodedata.decomposition(sign)[:10] == "<fraction>" else sign for sign in text])
    text = _undressed(unicodedata.normalize("NFKC", text).translate(_DASHES))
    if len(text) > 1 and text[0] == text[-1] == "$":
        text = text.strip("$")
    text = _MATH.sub(r" \2 ", text).replace("\\$", "$")
    while (unwrapped := _WRAPPER.sub(r" \1\2 ", text)) != text:
        text = unwrapped
    text = _REPEATING.sub(_repeating, text)
    for form, plainly in _REPLACED:
        text = form.sub(plainly, text)
    for sign, name in MONEY.items():
        text = text.replace(sign, f" {name} ")
    text = _BY_BLANKS.sub(lambda found: found[0].replace(" ", ""), text)
    return in_digits(_undressed(text))


def _undressed(text: str) -> str:
    while (bare := _DRESS.sub(r"\2\4", text)) != text:
        text = bare
    return text


def _repeating(found: re.Match[str]) -> str:
    """A decimal whose last digits repeat, as a fraction."""
    whole, fixed, again = found.groups()
    return f"({int(whole + fixed + again) - int((whole + fixed) or 0)}/{'9' * len(again)}{'0' * len(fixed)})"


def in_digits(text: str) -> str:
    """A text with its number words as digits: `twenty-five` is 25, `2.5 million` is 2.5 * 10^6."""
    text = re.sub(rf"^an?\s+(?=(?:{'|'.join([*_SCALES, *_PARTS])}|dozen)\b)", "1 ", text, flags=re.I)
    tens = {word: f"*10^{len(str(worth)) - 1}" for word, worth in _SCALES.items()}
    text = _SCALED.sub(lambda found: tens.get(found[1].lower(), "*12"), text)
    text = _NUMBER_WORDS.sub(lambda found: _counted(found[0].lower()), text)
    text = _PART_WORDS.sub(lambda found: f"{found[1]}/{_part(found[2].lower())}", text)
    text = re.sub(r"^half$", "1/2", text, flags=re.I)
    return re.sub(r"\b(?:minus|negative)\s+(?=\d)", "-", text, flags=re.I)


def _counted(text: str) -> str:
    """Number words as one number where they are one, else each by itself: `six seven` is not 13."""
    whole, part, scale = 0, 0, 10**15
    for word in re.split(r"[\s-]+", text):
        if word in _WORTH:
            worth, behind = _WORTH[word], part % 100
            if behind and not (behind >= 20 and behind % 10 == 0 and 0 < worth < 10):
                return re.sub(_WORD, lambda found: str(_WORTH.get(found[0]) or _SCALES.get(found[0], 0)), text)
            part += worth
        elif word == "hundred" and part < 100:
            part = max(part, 1) * 100
        elif word in _SCALES and word != "hundred" and _SCALES[word] < scale:
            scale = _SCALES[word]
            whole, part = whole + max(part, 1) * scale, 0
        elif word != "and":
            return text
    return str(whole + part)


def _part(word: str) -> int:
    word = {"halves": "half", "fourth": "quarter", "fourths": "quarter"}.get(word, word.removesuffix("s"))
    return _PARTS.index(word) + 2
