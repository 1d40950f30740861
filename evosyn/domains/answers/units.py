"""Units of measure, as products of known ones with powers, their sizes, and what is counted."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple, TypeAlias

from evosyn.domains.answers.exact import Unreadable

Product: TypeAlias = tuple[tuple[str, int], ...]
"""Names of units with their powers, sorted; none is 0."""

MONEY = frozenset({"usd", "eur", "gbp", "jpy", "inr", "cny", "chf", "cent", "pence", "pound"})
_EITHER = {"pound": ("lb", "gbp"), "degree": ("celsius", "fahrenheit"), "ounce": ("oz", "floz")}
"""What a word may say that says two things: `5 pounds` are 5 lb, or £5."""
_PREFIXES = {"k": "kilo", "M": "mega", "G": "giga", "T": "tera", "m": "milli", "c": "centi", "d": "deci"}
_PREFIXES |= {"μ": "micro", "u": "micro", "n": "nano"}
_BASES = {"m": "meter metre", "g": "gram gramme", "s": "second sec", "L": "liter litre", "l": "liter", "N": "newton"}
_BASES |= {"J": "joule", "W": "watt", "V": "volt", "A": "ampere amp", "Pa": "pascal", "Hz": "hertz", "mol": "mole"}
_BASES |= {"cal": "calorie", "Ω": "ohm", "K": "kelvin", "eV": "electronvolt", "B": "byte", "b": "bit", "C": "coulomb"}
_BASES |= {"F": "farad", "T": "tesla", "Wh": "watthour", "bar": "bar", "lm": "lumen", "cd": "candela"}
_ALONE = frozenset("mgsLlNJWVAKBΩ")
"""Of one sign; another one is a letter."""
_OTHERS = """usd dollar buck|eur euro|gbp sterling quid|pound|jpy yen|inr rupee|cny yuan|chf franc
cent penny pennies|pence|in inch inches|ft foot feet|yd yard|mi mile|nmi|furlong|fathom|league|acre|hectare ha|lb|ounce
oz|floz|stone|gallon gal|quart qt|pint pt|cup|tablespoon tbsp|teaspoon tsp|knot|lightyear ly|horsepower hp|carat
ton tonne|minute min|hour hr|day|week wk|fortnight|month mo|year yr|decade|century centuries|revolution rev|psi
atm atmosphere|mmhg|degree deg|radian rad|celsius|fahrenheit|am|pm|unit|person people|student pupil
kid child children|decibel db"""
_PHRASES = r"""pounds? sterling=gbp;nautical miles?=nmi;fluid ounces?|fl\.? ?oz=floz;light[ -]years?=ly
years? old=year;kph|kmph|kmh=km/h;degrees? (?:celsius|c)|℃=celsius;degrees? (?:fahrenheit|f)|℉=fahrenheit
kilowatt[ -]?hours?=kWh;mph=mi/h;rpm=rev/min;mpg=mi/gal;mps=m/s;fps=ft/s;c\.?c=cm^3;sqm=m^2;sq ?ft=ft^2
([kmg])bps=\1b/s"""
_PHRASE = [
    (re.compile(rf"(?<![a-z])(?:{form})(?![a-z])", re.I), name)
    for form, _, name in (one.rpartition("=") for one in re.split(r"[;\n]", _PHRASES))
]
_KINDS = """second 1 minute 60 hour 3600 day 86400 week 604800|month 1 year 12|in 1 ft 12 yd 36 mi 63360
millimeter 1 centimeter 10 meter 1000 kilometer 1000000|gram 1 kilogram 1000|milliliter 1 liter 1000
oz 1 ounce 1 lb 16 pound 16|cent 1 usd 100"""
SIZES = {
    ((name, 1),): (kind.split()[0], int(times))
    for kind in re.split(r"[|\n]", _KINDS)
    for name, times in re.findall(r"(\w+) (\d+)", kind)
}
"""Of a unit: the smallest one of its kind, and how many of these it is."""
_SIGN = re.compile(r"\s*(\^\s*\{?\s*-?\d\s*\}?|[A-Za-zμΩ]+|\S)", re.A)
_FRACTION = re.compile(r"\\frac\s*\{((?:[^{}]|\{[^{}]*\})*)\}\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
_POWERS, _AHEAD = {"squared": 2, "cubed": 3}, {"square": 2, "sq": 2, "cubic": 3, "cu": 3}
_NAMED = re.compile(r"(?=.*[aeiouy])[a-z]{3,}", re.A)
"""What may be counted; an abbreviation may be as well a product of letters."""
_TOTAL = frozenset({"total", "all", "altogether", "overall"})
_ADDED = _TOTAL | {"of", "in", "a", "an", "the", "to"}
"""Beside what is counted, they say nothing."""
_NO_UNIT = re.compile(
    r"[a-z]*illi(?:on|ard)s?|googol\w*|(?:ten|(?:[a-z]+teen)|twelf|[a-z]+tie|hundred|thousand|[a-z]*illion)ths?|halves|half|thirds?"
    r"|quarters?|squared?|cubed?|cubic|factorial|times|plus|minus|less|more|fewer|than|not?|nor|or|and|sine?|cos(?:ine)?|tan(?:gent)?"
    r"|log|exp|mod|modulo|roots?|over|per|score|gross|divided|multiplied|(?:in|de)creased|reduced|raised|infin\w+|approx\w*|about"
    r"|nearly|almost|base|if|when|unless|except|but|since|ago|before|after|later|earl(?:y|ier)|late|until|left|right|up|down|above|below"
    r"|under|between|behind|ahead|back|off|away|past|hence|north|south|east|west|\w+wards?|sideways|always",
    re.A,
)
"""What says that it is another number, one under a condition, or from where or since when."""
_MANY = re.compile(r"[a-z]*(?:[^siu]s|men)|mice|geese|teeth|sheep|fish|dice|deer", re.A)
"""Several things; another word behind a number may say when, where or in which direction."""


class Label(NamedTuple):
    """What stands behind a number: known units, and words that are none, such as `apple`."""

    units: Product = ()
    counted: str = ""


def _known() -> tuple[dict[str, str], dict[str, str]]:
    """Names of units by their spelling: as it is written, and in lower case where that says one unit alone."""
    exactly: dict[str, str] = {}
    words: dict[str, str] = {}
    for sign, names in _BASES.items():
        unit = names.split()[0]
        if len(sign) > 1 or sign in _ALONE:
            exactly[sign] = unit
        words |= dict.fromkeys(names.split(), unit)
        for prefix, name in _PREFIXES.items():
            if sign not in "Bb" or prefix in "kMGT":
                exactly.setdefault(prefix + sign, name + unit)
                words |= {name + one: name + unit for one in names.split()}
    words |= {one: names.split()[0] for names in re.split(r"[|\n]", _OTHERS) for one in names.split()}
    words |= {f"{word}s": unit for word, unit in words.items() if len(word) > 1}
    exactly |= {"KB": "kilobyte", "h": "hour"}
    lower: dict[str, set[str]] = {}
    for sign, unit in exactly.items():
        lower.setdefault(sign.lower(), set()).add(unit)
    single = {sign: units.pop() for sign, units in lower.items() if len(sign) > 1 and len(units) == 1}
    return exactly, single | words


_EXACTLY, _WORDS = _known()


def unit(word: str) -> str | None:
    """The name of a known unit; None for another word."""
    return _EXACTLY.get(word) or (_WORDS.get(word.lower()) if len(word) > 1 else None)


def may_be_counted(word: str) -> bool:
    """Whether a word in lower case may be what is counted, and changes no number."""
    return word in _ADDED or bool(_NAMED.fullmatch(word) and not _NO_UNIT.fullmatch(word))


def label(text: str, *, few: bool = False) -> Label:
    """What a text behind a number says, of `few` things at most one: units or what is counted, with what these are of;
    raises `Unreadable` where it is neither."""
    text = " ".join(text.split())
    for form, name in _PHRASE:
        text = form.sub(name, text)
    units, rest = _product(text)
    words = re.findall(r"[a-z]+", rest.lower())
    if not re.fullmatch(r"[a-z\s,.-]*", rest.lower()) or not all(map(may_be_counted, words)):
        raise Unreadable("more than a number and a unit")
    head = [word for word in re.findall(r"[a-z]+", re.split(r"\bof\b", rest.lower())[0]) if word not in _ADDED]
    if head and (units or not (few or _MANY.fullmatch(head[-1]))):
        raise Unreadable("words that are no unit")
    counted = " ".join([word.removesuffix("s") for word in words if word not in _ADDED])
    if text and not (units or counted or _TOTAL.intersection(words)):
        raise Unreadable("says nothing")
    return Label(units, counted)


def alike(declared: Label, given: Label) -> bool:
    """Whether two labels that are there say the same."""
    if declared.counted and given.counted and declared.counted != given.counted:
        return False
    meanings = [(word, one) for word, meant in _EITHER.items() for one in (word, *meant)]
    return any(_said(declared.units, *one) == _said(given.units, *one) for one in meanings)


def _said(units: Product, word: str, meant: str) -> Product:
    return tuple(sorted((meant if name == word else name, power) for name, power in units))


def _product(text: str) -> tuple[Product, str]:
    """The product of known units that a text begins with, and the rest."""
    text, found = _FRACTION.sub(r" \1/(\2)", text), Counter[str]()
    place, turned, ahead, below, last = 0, 1, 1, False, ""
    while (sign := _SIGN.match(text, place)) is not None:
        token, after = sign[1].lower(), _SIGN.match(text, sign.end())
        name, following = unit(sign[1]), after[1] if after else ""
        if name is not None and not (token == "in" and following.isalpha()):
            last, power = name, (-ahead if below or turned < 0 else ahead)
            found[name] += power
            turned = ahead = 1
        elif last and ((len(token) > 1 and token[0] == "^") or token in _POWERS):
            found[last] += power * (_POWERS.get(token) or int(re.sub(r"[^\d-]", "", token))) - power
            last = ""
        elif token in _AHEAD:
            ahead = _AHEAD[token]
        elif token in ("/", "per") or (token in ("a", "an", "each", "every") and found and unit(following)):
            turned = -1
        elif token == "(" and turned < 0:
            turned, below = 1, True
        elif token == ")" and below:
            below = False
        elif token not in tuple("*.-") or not (found or ahead > 1):
            break
        place = sign.end()
    if turned < 0 or below or ahead > 1:
        raise Unreadable("a power of what is not known, or `per` it")
    return tuple(sorted((name, power) for name, power in found.items() if power)), text[place:]
