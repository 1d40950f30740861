"""Answers as they are printed: how many are decided wrongly, and rules for those that nobody wrote down."""

from __future__ import annotations

import itertools
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evosyn.domains.answers.comparing import accepts
from evosyn.domains.answers.exact import exact
from evosyn.domains.answers.reading import Equation, Number, Polynomial, Words, read_answer
from evosyn.domains.math_answer import MathAnswer
from evosyn.records import Problem, Solution, Testing

HOME = Path(__file__)
DOMAIN = MathAnswer()
PROBLEM = Problem("p", "math-answer", "How many apples are there in 12 bags of 32?")
PRINTED = [tuple(row) for row in yaml.safe_load(HOME.with_name("printed_pairs.yaml").read_text(encoding="utf-8"))]
WRITTEN = [
    (row["declared"], text, "right" if truth == "same" else "wrong")
    for row in yaml.safe_load(HOME.with_name("answer_pairs.yaml").read_text(encoding="utf-8"))
    for truth in ("same", "other")
    for text in row[truth]
]
KINDS = yaml.safe_load(HOME.with_name("kind_pairs.yaml").read_text(encoding="utf-8"))
TEXTS = sorted({text for declared, text, _ in PRINTED + WRITTEN for text in (declared, text)})


def pays(declared: str, said: str, **more: object) -> bool:
    return DOMAIN.decide(PROBLEM, Solution(said), Testing("answer", {"answer": declared, **more})) is True


@pytest.mark.parametrize("half", ["tuned", "other"])
def test_printed_answers_are_decided_as_the_documents_say(half: str) -> None:
    rows = [row for place, row in enumerate(PRINTED) if (place // 2 % 2 == 0) == (half == "tuned")]
    assert [sum(truth == one for *_, truth in rows) for one in ("right", "wrong")] == [75, 75]
    assert [row for row in rows if pays(row[0], row[1]) != (row[2] == "right")] == []


@pytest.mark.parametrize("kind", KINDS)
def test_answers_of_a_kind_are_the_same_in_both_directions_or_in_none(kind: str) -> None:
    for truth in ("equal", "different"):
        both = [(one, other) for pair in KINDS[kind][truth] for one, other in (pair, pair[::-1])]
        assert len(both) > 8 and [pair for pair in both if pays(*pair) != (truth == "equal")] == []
        assert [text for text, _ in both if not pays(text, text)] == []


def test_every_declared_answer_accepts_itself() -> None:
    assert [text for text in TEXTS if len(text) <= 300 and not accepts(read_answer(text), read_answer(text))] == []


def test_answers_that_are_one_to_a_strategy_have_the_same_verdict_and_the_same_value() -> None:
    found: dict[str, str] = {}
    for text in TEXTS:
        other = found.setdefault(DOMAIN.same(PROBLEM, Solution(text)), text)
        assert DOMAIN.given(PROBLEM, Solution(text)) == DOMAIN.given(PROBLEM, Solution(other))
        if other != text:
            assert [pays(declared, text) for declared in TEXTS if declared.strip()] == [
                pays(declared, other) for declared in TEXTS if declared.strip()
            ]


UNITS = """5 km;5 kilometers|5 m;5 metres|5 miles;5 mi|5 ft;5 feet|5 in;5 inches|5 cm;5 CM|5 mm
5 square feet;5 ft^2;5 sq ft|5 cm^2;5 cm²;5 square centimetres;5 \\text{ cm}^2|5 cm^3;5 cubic cm
5 km/h;5 kph;5 kilometres per hour;5 \\frac{km}{h};5 km h^{-1}|5 mph;5 miles an hour;5 mi/h|5 m/s;5 m s^{-1}
5 m/s^2;5 m s^{-2}|5 kg|5 g|5 mg|5 lb;5 lbs|£5;5 GBP|$5;5 dollars;USD 5|€5|5 cents;5¢|5 kB;5 kilobytes|5 MB|5 Mb
5 GB|5 N;5 newtons|5 J;5 joules|5 W;5 watts|5 mW|5 MW|5 kWh;5 kilowatt-hours|5 V|5 A|5 Pa|5 kPa|5 Hz|5 MHz
5 am;5 a.m.;5 AM|5 pm;5 p.m.|5 s;5 seconds|5 min|5 h;5 hours;5 hrs|5 days|5 weeks|5 years|5 light years
5 °C;5 degrees Celsius|5 °F|5 rad|5 L;5 litres|5 mL;5 ml|5 gallons|5 mpg;5 miles per gallon|5 N m|5 kg m/s
5 kg/m^3;5 \\frac{kg}{m^3}|5 mol|5 people;5 persons|5 dollars per hour;$5/h|5 oz|5 fluid ounces|5 tons|5 acres
5 furlongs|5 fathoms|5 nautical miles|5 boys|5 girls|5 cups|5 Ω;5 ohms"""


def test_units_are_their_own_spellings_and_no_others_and_may_be_left_out() -> None:
    groups = [group.split(";") for group in UNITS.replace("\n", "|").split("|")]
    for group in groups:
        for declared, text in itertools.product(group, group):
            assert pays(declared, text), (declared, text)
        assert pays(group[0], "5") and pays("5", group[0]) and not pays(group[0], "6"), group
    wrong = [pair for one, other in itertools.permutations(groups, 2) for pair in [(one[0], other[-1])] if pays(*pair)]
    assert wrong == []


@pytest.mark.parametrize(("word", "one", "other"), [("5 pounds", "£5", "5 lb"), ("5 degrees", "5 °C", "5 °F")])
def test_a_word_of_two_units_is_either_and_makes_them_no_one(word: str, one: str, other: str) -> None:
    assert pays(word, one) and pays(one, word) and pays(word, other) and pays(other, word)
    assert not pays(one, other) and not pays(other, one)


STRANGE = st.text(st.sampled_from("⊕&#@|_?§∮∂∇≅⇒") | st.characters(categories=["Lo", "So"]), min_size=1, max_size=6)


@given(
    STRANGE.filter(lambda text: text.strip() and "####" not in text),
    st.sampled_from(["{0}{1}", "{0} {1}", "{1} {0}", "x = {0}{1}"]),
)
def test_what_is_not_understood_never_counts_as_the_number_beside_it(strange: str, form: str) -> None:
    text = form.format(384, strange)
    assert not pays("384", text) and not pays("384 m", text)
    assert pays(text, text) or not text.strip()


@pytest.mark.parametrize(
    "behind",
    [
        *("widgets^2", "per widget", "widgets per hour", "widgets/s", "m per widget", "m^", "/", "per", "square", "'"),
        *("...", "K", "of", "a", "(m", "m)", "m 3", "\\frac{m}{widget}", "mod 9", "\\log 2", "half", "% of a m"),
        *("\\sin x", "m^x", "x_1"),
    ],
)
def test_a_power_of_an_unknown_unit_or_per_it_is_words(behind: str) -> None:
    glue = "" if behind in ("'", "...", "K") else " "
    assert not pays("384", f"384{glue}{behind}") and pays(f"384{glue}{behind}", f"384{glue}{behind}")


DIGITS = st.integers(0, 10**9)


@given(DIGITS, st.integers(1, 6), st.fractions(-2, 2), st.booleans())
def test_a_declared_decimal_takes_what_rounds_to_it_and_nothing_else(
    digits: int, places: int, off: Fraction, negative: bool
) -> None:
    unit = Fraction(1, 10**places)
    declared = f"{'-' * negative}{digits // 10**places}.{digits % 10**places:0{places}d}"
    value = (-1 if negative else 1) * (digits + off) * unit
    near = -Fraction(1, 2) <= off < Fraction(1, 2) if digits else abs(off) < Fraction(1, 2)
    assert accepts(read_answer(declared), Number(exact(value))) == (near or off == 0)


@given(st.fractions(-1000, 1000, max_denominator=997), st.integers(1, 9), st.integers(-2, 2))
def test_an_exact_number_takes_right_roundings_with_six_digits_alone(value: Fraction, places: int, off: int) -> None:
    unit = Fraction(1, 10**places)
    written = round(value / unit) + off
    sign, (whole, part) = "-" * (written < 0), divmod(abs(written), 10**places)
    text = f"{sign}{whole}.{part:0{places}d}"
    near = -unit / 2 <= (value - written * unit) * (1 if written > 0 else -1) < unit / 2
    right = near and len(str(abs(written))) >= 6 and value.denominator > 1 and part
    assert accepts(Number(exact(value)), read_answer(text)) == bool(right or value == written * unit)


@pytest.mark.parametrize(
    "group", ["1/2;0.5;0.50;0.500;.5;\\frac12", "384;384.0;384.000;3.84e2", "0.142857;142857/1000000"]
)
def test_numbers_that_are_equal_are_one_to_a_strategy(group: str) -> None:
    assert len({DOMAIN.same(PROBLEM, Solution(text)) for text in group.split(";")}) == 1


@pytest.mark.parametrize(
    ("declared", "said", "tolerance", "fine"),
    [
        *[
            ("3.14", "3.2", 0.05, True),
            ("3.14", "3.2", 0.01, False),
            ("1000", "1009", 0.01, True),
            ("1000", "1011", 0.01, False),
        ],
        *[
            ("\\pi", "22/7", 0.01, True),
            ("$2.50", "$2.51", 0.01, True),
            ("5 m", "5.01 km", 0.1, False),
            ("(1, 2)", "(1, 2.01)", 0.1, True),
        ],
        *[("Tuesday", "Tuesdays", 0.9, False), ("x+1", "x+2", 0.9, False)],
    ],
)
def test_a_tolerance_widens_numbers_alone(declared: str, said: str, tolerance: float, fine: bool) -> None:
    assert pays(declared, said, tolerance=tolerance) == fine and pays(declared, declared, tolerance=tolerance)
    assert DOMAIN.check_testing(PROBLEM, Testing("answer", {"answer": declared, "tolerance": tolerance})) is None


@pytest.mark.parametrize("tolerance", [0, -1, 1, "0.1x", float("nan")])
def test_a_tolerance_is_a_small_number(tolerance: object) -> None:
    assert DOMAIN.check_testing(PROBLEM, Testing("answer", {"answer": "3", "tolerance": tolerance})) is not None


COEFFICIENTS = st.lists(st.integers(-4, 4), min_size=3, max_size=4)


def polynomial(coefficients: list[int], letter: str = "x") -> str:
    return "+".join(f"({one}){letter}^{{{power}}}" for power, one in enumerate(coefficients))


@given(COEFFICIENTS, COEFFICIENTS, COEFFICIENTS)
def test_polynomials_are_equal_where_they_are_equal_everywhere(a: list[int], b: list[int], c: list[int]) -> None:
    product = [sum(a[i] * b[n - i] for i in range(len(a)) if 0 <= n - i < len(b)) for n in range(len(a) + len(b) - 1)]
    for other in (product, product[::-1], c):
        same = [*other, *[0] * 9][:9] == [*product, *[0] * 9][:9]
        assert pays(f"({polynomial(a)})({polynomial(b)})", polynomial(other)) == same


@given(COEFFICIENTS, st.integers(-5, 5), st.integers(-5, 5))
def test_an_equation_is_its_difference_up_to_a_factor(a: list[int], factor: int, shift: int) -> None:
    declared = f"y = {polynomial(a)}"
    moved = f"({factor})y - ({shift}) = ({factor})({polynomial(a)}) - ({shift})"
    assert pays(declared, moved) == (factor != 0)
    assert not pays(declared, f"y = {polynomial([a[0] + 1, *a[1:]])}")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        *[
            ("x+y+z+u+v+w", Polynomial),
            ("x+y+z+u+v+w+t", Words),
            ("x^{12}", Polynomial),
            ("x^{13}", Words),
            ("x^6y^7", Words),
        ],
        *[
            ("BAC", Words),
            ("A-B-C", Words),
            ("1A2B", Words),
            ("1/2x", Words),
            ("f(2)+1", Words),
            ("R^2-r^2", Polynomial),
        ],
        *[("x+1=14", Equation), ("384 = 12 \\cdot 32", Equation), ("12*32 = 385", Words), ("x = ", Words)],
    ],
)
def test_what_is_read_of_letters(text: str, kind: type) -> None:
    assert isinstance(read_answer(text), kind)


@pytest.mark.parametrize(
    "form", ["{0}", "({0})", "{0}.", "{0})", "\\text{{({0})}}", "**{0}**", "({0}) seven", "option {0}", "{0}: 7"]
)
def test_an_option_is_named_in_many_ways_and_is_no_other(form: str) -> None:
    assert [letter for letter in "ABCDE" if pays("C", form.format(letter))] == ["C"]
    others = ("(B) or ({0})", "{0} or B", "not {0}", "(B), ({0})", "B{0}", "{0}+B", "(B) not ({0})", "{0}, {0}")
    assert not any(pays("C", other.format("C")) for other in others)


@pytest.mark.parametrize("declared", ["12 \\cdot 32 = 384", "384 = 384", "x + 0 = x", "2x+3y-z+8=0", "x=5, y=6"])
def test_a_declared_equation_is_not_its_last_side(declared: str) -> None:
    assert pays(declared, declared) and not any(
        pays(declared, one) for one in ("384", "0", "x", "6", "5, 6", "x=6, y=5")
    )


REPLIES = {
    "72": """The answer is 72, in total.|The answer is 72 because 8 * 9 = 72.|The answer is 72 (see above).
The answer is 72; that is it.|The answer is 72 apples, as I said.|**Final Answer:** 72|Answer: 72
The final answer is: **72**.|#### Step 1: add 3~The answer is 72.|## Final Answer~~72|**Final answer**~72 apples
#### Final Answer~~$72$|So.~#### 72~~|#### Answer: 72|The answer is $72$, which is even.
The answer is 70.~Wait: the answer is 72.|I say 5.~### Final Answer:~~The answer is 72.""",
    "73": """The answer is 72, or 73.|The answer is 72 or 73.|The answer is 73 plus 1.|The answer is 73 less than x.
#### 73 is wrong~Answer: 72|The answer is not 73.|The answer is 73.~#### 72|The answer is 73.~## Final Answer~72
The answer is 73 percent of 50, so 36.5.|The answer is 72, not 73.|#### Step 73: add~The answer is 72.
The answer is between 72 and 73.|The answer is 73.~The answer is""",
}  # fmt: skip


@pytest.mark.parametrize("declared", REPLIES)
def test_a_reply_is_paid_for_its_last_answer_as_far_as_it_goes(declared: str) -> None:
    replies = [one.replace("~", "\n") for one in REPLIES[declared].replace("\n", "|").split("|")]
    assert [one for one in replies if pays(declared, one) != (declared == "72")] == []
