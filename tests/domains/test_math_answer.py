"""Final answers: what is the same, what is read of a reply, and what hostile ones cost."""

from __future__ import annotations

import json
import re
import time
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from evosyn.domains import load_pools
from evosyn.domains.answers.comparing import accepts
from evosyn.domains.answers.exact import Unreadable, exact
from evosyn.domains.answers.marks import last_answer
from evosyn.domains.answers.reading import Number, Words, _read_short, read_answer
from evosyn.domains.math_answer import MathAnswer
from evosyn.records import Problem, Solution, Testing, Verdict

PAIRS = Path(__file__).with_name("answer_pairs.yaml")
DOMAIN = MathAnswer()
PROBLEM = Problem("p", "math-answer", "How many apples are there in 12 bags of 32?")
SECONDS, SECONDS_WHOLE = 0.02, 0.25
"""Four times what docs/math-answer.md says of an ordinary machine: what explodes takes thousands of times as long."""
"""Of the processor, to read one hostile text and compare it, at best of some tries; and for all that a domain does."""
SMALL = """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen"""
TENS = "twenty thirty forty fifty sixty seventy eighty ninety"
SIGNS = r"\frac \sqrt \text { } ( ) [ ] 1 23 4.5 , ; ^ ! % $ - + * / π and m e5 x = ½ one half"
HOSTILE = {
    "nested powers": "10^{10^{10^{10}}}",
    "powers of nine": "9^{9^{9^9}}",
    "a tower": "^".join(["9"] * 150),
    "a factorial": "99999999!",
    "factorials": "100" + "!" * 200,
    "many digits": "9" * 300,
    "digits beyond the limit": "9" * 5_000_000,
    "an exponent": "1e999999999",
    "a large exponent": "1e999",
    "roots of large numbers": "+".join([f"\\sqrt{{{10**11 + 3}}}"] * 14),
    "roots of larger ones": "+".join([f"\\sqrt{{{10**12 - 11}}}"] * 14),
    "a power of many roots": "(\\sqrt2+\\sqrt3+\\sqrt5+\\sqrt7+\\sqrt{11})^{4096}",
    "powers of powers": "((((\\pi+1)^{99})^{99})^{99})^{99}",
    "a power of pi": "((\\pi^{99})^{99})^{99}",
    "products of sums": "(1+\\pi)" * 40,
    "open brackets": "(" * 290,
    "nested fractions": "\\frac{1}{" * 30 + "2" + "}" * 30,
    "nested wrappers": "\\text{" * 40 + "5" + "}" * 40,
    "open wrappers": "\\text{" * 49,
    "signs": "-" * 299 + "5",
    "commas": "1," * 150,
    "words between": " or ".join("12345"[i % 5] for i in range(60)),
    "number words": "nine hundred " * 23,
    "wide signs": "ﷺ" * 300,
    "marks": "a" + "\u0301" * 299,
    "fractions of signs": "½" * 300,
    "not a unit": "5" + " a" * 149,
    "an integral": "\\int_0^1 x^x dx",
    "a macro bomb": "\\def\\a{\\b\\b}\\def\\b{\\c\\c}\\def\\c{9!9!}\\a",
    "zero to nothing": "0^{-1}",
    "an exponent with many digits": "1^{" + "7" * 280 + "}",
    "a power of a sum of letters": "(a+b+c+d+e+f)^{12}",
    "powers of sums of letters": "((x+y)^{12})^{12}",
    "products of sums of letters": "(a+b+c)(d+e+f)" * 20,
    "an equation of powers": "(a+b+c)^8=(d+e+f)^8",
    "a long polynomial": "+".join(f"{'abcdef'[i % 6]}^{i % 12}" for i in range(60)),
    "negative powers": "x^{-12}" * 40,
    "lists within lists": "((1,2),(3,4))," * 20,
    "open lists": "(1," * 90,
    "ratios": "1:" * 149 + "1",
    "signs of both": "\\pm " * 70,
    "sides": "=" * 300,
    "a chain": "1=" * 149 + "1",
    "roundings": "\\pi\\approx 3.14" * 18,
    "units": "5 " + "m/s*" * 70,
    "fractions of units": "5 " + "\\frac{m}{s}" * 24,
    "squares of units": "5 " + "square " * 40,
    "unions": "(1,2)\\cup" * 25,
    "dollars": "$a" * 150,
    "a repeating decimal": "0.\\overline{" + "3" * 280 + "}",
    "digits by blanks": "1" + " 234" * 70,
    "options": "(A) " * 75,
    "logarithms": "+".join(["\\log_{2}{3}"] * 26),
    "a logarithm to a base near 1": f"\\log_{{1.{'0' * 100}1}}{{10^{{300}}}}",
    "a logarithm to a long base": f"\\log_{{{'9' * 140}/{'5' * 139}}}{{10^{{150}}}}",
    "binomials": "+".join(["\\binom{99}{49}"] * 20),
    "bars": "|" * 300,
    "bars within bars": "|1-" * 30 + "2" + "|" * 30,
    "cube roots": "+".join([f"\\sqrt[3]{{{10**12 - 11 - one}}}" for one in range(14)]),
    "a power of roots of sums": "(\\sqrt{x+1}+\\sqrt{y+1}+\\sqrt{x+y})^{12}",
    "roots of sums within each other": "\\sqrt{x+" * 33 + "1" + "}" * 33,
    "powers of a fraction of roots of sums": "(" * 24 + "\\sqrt{x+1}+1" + ")^{3}" * 24,
    "tags": "<a>" * 50 + "5" + "</a>" * 37,
    "relations": "<" * 300,
    "a chain of relations": "1<" * 149 + "2",
    "measures": "1 h " * 75,
    "a wide matrix": "\\begin{pmatrix}" + "1&" * 130 + "1\\end{pmatrix}",
    "a high matrix": "\\begin{pmatrix}" + "1\\\\" * 80 + "1\\end{pmatrix}",
    "wrappers of open brackets": "\\text{{{" * 40,
    "a range": "1-" * 149 + "1",
    "differentials": "dx" * 150,
    "many decimals": ", ".join(["0.5"] * 32),
}


def pairs() -> Iterator[tuple[str, str, bool]]:
    """(declared, given, whether they are the same)."""
    for row in yaml.safe_load(PAIRS.read_text(encoding="utf-8")):
        for truth in ("same", "other"):
            for text in row[truth]:
                yield row["declared"], text, truth == "same"


def test_what_is_the_same_is_told_from_what_is_not_on_pairs_written_before() -> None:
    found = list(pairs())
    assert len(found) > 350 and Counter(truth for *_, truth in found).most_common()[-1][1] > 150
    wrong = [pair for pair in found if accepts(read_answer(pair[0]), read_answer(pair[1])) != pair[2]]
    assert not wrong


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_answer_costs_little_and_no_exception(name: str) -> None:
    text, started = HOSTILE[name], time.thread_time()
    found = read_answer(text)
    assert accepts(found, found) and not accepts(read_answer("384"), found)
    reply = f"\\boxed{{{text}}}"
    plan = DOMAIN.plan(PROBLEM, Solution(reply), [Testing("answer", {"answer": "384"})], None)  # type: ignore[arg-type]
    assert plan.judge([])[0].verdict in (Verdict.FAIL, Verdict.ERROR)
    DOMAIN.read("solution", reply, PROBLEM)
    assert time.thread_time() - started < SECONDS_WHOLE * (8 if len(text) > 10_000 else 1)


@pytest.mark.parametrize("name", [name for name, text in HOSTILE.items() if len(text) <= 300])
def test_a_hostile_answer_is_read_and_compared_in_milliseconds(name: str) -> None:
    seconds = []
    for _ in range(5):
        _read_short.cache_clear()
        started = time.thread_time()
        accepts(read_answer("384"), read_answer(HOSTILE[name]))
        seconds.append(time.thread_time() - started)
    assert min(seconds) < SECONDS


OTHERS = {
    "5": "5 pi; 5 times pi; 5 xy; 5x/y; 5 sin x; 5 squared; 5 factorial; 5 plus a few; 5 not; 5 hundredths; 5 twelfths",
    " 5": "5 percent less; 5 and a half; 5 or more; 5 of infinity",
    "3": "3 dozens; 3 thousands; 3 quadrillion",
    "4": "4 bn",
    "1": "1 googol",
    "7": "7 or",
    "2": "2 times infinity",
    "384": "5 != 384; x>=384; x <= 384; \u2260=384; not =384; x\\ne=384; x \\geq = 384; x < y = 384",
    "13": "six seven",
    "12": "five and seven",
    "103": "nineteen eighty four",
    "67": "six seven",
    "21": "twenty eleven",
    "20": "twenty zero",
}
ALIKE = {
    "36": "3 dozens",
    "5\\pi": "5 pi",
    "\\pi": "Pi",
    "3000": "3 thousands",
    "120": "5!=120; 5! = 120",
    "384": "x = 384; total cost = 384; f(2) = 384; 12 * 32 = 384; 384 km per hour; 384 sq ft; 384 kg*m/s^2; 384 months",
    " 384": "384 miles per hour; 384 cubic centimetres; 384 in total",
    "205": "two hundred and five",
    "1200": "twelve hundred",
    "2003004": "two million three thousand four",
    "5, 7": "five and seven",
    "90": "ninety",
    "0": "zero",
}


@pytest.mark.parametrize(
    ("declared", "said"), [(one, text) for one, many in OTHERS.items() for text in many.split("; ")]
)
def test_another_number_is_not_taken_for_a_unit_a_side_or_a_sum(declared: str, said: str) -> None:
    assert not accepts(read_answer(declared), read_answer(said))


@pytest.mark.parametrize(
    ("declared", "said"), [(one, text) for one, many in ALIKE.items() for text in many.split("; ")]
)
def test_units_sides_and_number_words_that_are_some(declared: str, said: str) -> None:
    assert accepts(read_answer(declared), read_answer(said))


def test_one_root_of_the_largest_numbers_is_read_and_a_sum_of_many_small_ones_too() -> None:
    assert isinstance(read_answer(f"\\sqrt{{{10**12 - 11}}}"), Number)
    assert read_answer("+".join(["\\sqrt{2}"] * 15)) == read_answer("15\\sqrt{2}")


@pytest.mark.parametrize(
    "piece",
    ["\\boxed{", "{", "}", "\\boxed ", "####", "answer is ", "\\", "\\boxed{5}", "answer: {", "<answer>", "\\boxed 5 "],
)
def test_a_reply_is_searched_in_linear_time(piece: str) -> None:
    text, started = piece * (300_000 // len(piece)), time.thread_time()
    last_answer(text)
    assert time.thread_time() - started < 1.5


@given(st.text(max_size=400) | st.lists(st.sampled_from(SIGNS.split())).map(" ".join))
def test_any_text_is_an_answer_that_is_the_same_as_itself(text: str) -> None:
    found = read_answer(text)
    assert accepts(found, read_answer(text))


@given(st.fractions(), st.sampled_from(["{0}/{1}", r"\frac{{{0}}}{{{1}}}", "({0}) / ({1})", r"$\dfrac{{{0}}}{{{1}}}$"]))
def test_a_fraction_is_worth_itself_however_it_is_written(value: Fraction, form: str) -> None:
    found = read_answer(form.format(value.numerator, value.denominator))
    assert isinstance(found, Number) and found.value == exact(value)


@given(st.integers(0, 10**12 - 1))
def test_a_number_in_words_is_that_number(number: int) -> None:
    assert accepts(read_answer(in_words(number)), read_answer(str(number)))


@given(st.integers(1, 9999), st.integers(1, 9999))
def test_roots_multiply_exactly(one: int, other: int) -> None:
    product = read_answer(f"\\sqrt{{{one}}} \\cdot \\sqrt{{{other}}}")
    assert isinstance(product, Number) and product == read_answer(f"\\sqrt{{{one * other}}}")


@pytest.mark.parametrize(
    ("text", "answer"),
    [
        ("\\boxed{5} and then \\boxed{6}", "6"),
        ("\\boxed{\\frac{1}{2}}", "\\frac{1}{2}"),
        ("a set \\boxed{\\{1, 2\\}} of two", "\\{1, 2\\}"),
        ("\\boxed{5} #### 6", "5"),
        ("5\n#### 6 apples\n\n", "6 apples"),
        ("The answer is 7. So the final answer is: 8. Done", "8"),
        ("**Answer:** 3.5", "3.5"),
        ("\\boxed{}", ""),
        ("\\boxed{5} then \\boxed{6", "5"),
        ("The answer is \\boxed{6", ""),
        ("} } \\boxed {4}", "4"),
        ("so $\\boxed 72$.", "72"),  # TeX sets a box around 7 alone; nobody means that
        ("\\boxed{5}\n\\boxed -7.5", "-7.5"),
        ("\\boxed 72 + x", None),
        ("<think>5</think><answer>\n7 km\n</answer>", "7 km"),
        ("<answer>5</answer> or <answer>6</answer>", "6"),
        ("<answer></answer>", ""),
        ("<answer>\nThe answer is 72.\n</answer>", "72"),
        ("<answer>5", None),
        ("It is 7.", None),
        ("", None),
    ],
)
def test_the_last_answer_of_a_reply_counts(text: str, answer: str | None) -> None:
    assert last_answer(text) == answer


def test_a_reply_is_kept_whole_and_one_without_an_answer_is_refused() -> None:
    reply = "<think>maybe \\boxed{1}</think>12 * 32 = 384, so \\boxed{384}."
    assert DOMAIN.read("solution", reply, PROBLEM).value == Solution("12 * 32 = 384, so \\boxed{384}.")
    assert DOMAIN.read("solution", "x" * 30_000 + "\\boxed{384}", PROBLEM).value == Solution("\\boxed{384}")
    assert DOMAIN.read("solution", "It is 384.", PROBLEM).reason.startswith("no-answer: ")
    assert DOMAIN.same(PROBLEM, Solution(reply)) == DOMAIN.same(PROBLEM, Solution("384"))


@pytest.mark.parametrize("answer", ["", "  ", "9" * 301, 5, None])
def test_a_declared_answer_is_a_short_text(answer: object) -> None:
    assert DOMAIN.check_testing(PROBLEM, Testing("answer", {"answer": answer})) is not None


def test_no_number_is_made_that_would_be_too_large() -> None:
    assert isinstance(read_answer("2^1000"), Number) and isinstance(read_answer("2^1100"), Words)
    with pytest.raises(Unreadable):
        exact(10**400)


def test_the_bundled_seeds_are_what_their_templates_make_and_the_simulated_solver_knows_them() -> None:
    from simulation.math_author.templates import seed_problems, templates
    from simulation.seeds import HOME

    from evosyn.pools import problem_to_json

    written = [json.loads(line) for line in (HOME / "math_seeds" / "seeds.jsonl").read_text().splitlines()]
    assert written == [problem_to_json(problem) for problem in seed_problems()], "run python -m simulation.seeds"
    assert len(templates()) == 24 and len({one["setting"] for one in templates().values()}) == 8
    for pool in load_pools("builtin:math-seeds"):
        problem = pool.problem
        assert problem.human_testing is not None and problem.reference_solution is not None
        assert DOMAIN.decide(problem, Solution(problem.reference_solution), problem.human_testing) is True
        assert "<<" not in problem.statement


def test_what_the_simulated_author_means_is_what_its_replies_are() -> None:
    from simulation.author.profile import profile_named
    from simulation.math_author.author import draw_math

    from evosyn.randomness import SeedTree

    found, profile = Counter[tuple[str, str, object]](), profile_named("mixed")
    for pool in load_pools("builtin:math-seeds"):
        problem, human = pool.problem, pool.problem.human_testing
        assert human is not None
        for sample in range(6):
            drawn = draw_math(SeedTree(1), profile, DOMAIN.ask("solution", problem, sample, {}))
            read = DOMAIN.read("solution", drawn.text, problem)
            fine = read.value and DOMAIN.decide(problem, read.value, human)
            found["solution", drawn.truth, fine] += 1
            drawn = draw_math(SeedTree(1), profile, DOMAIN.ask("testing", problem, sample, {}))
            testing = DOMAIN.read("testing", drawn.text, problem).value
            right = testing and DOMAIN.decide(problem, Solution(problem.reference_solution or ""), testing)
            found["testing", drawn.truth, right] += 1
            drawn = draw_math(SeedTree(1), profile, DOMAIN.ask("problem", None, sample, {}, [problem]))
            assert DOMAIN.read("problem", drawn.text).value is not None
    assert set(found) == {
        ("solution", "right", True), ("solution", "mistake", False),
        ("solution", "prose", None), ("solution", "cut", None),
        ("testing", "right", True), ("testing", "wrong", False), ("testing", "malformed", None),
    }  # fmt: skip


def in_words(number: int) -> str:
    """The English words of a number below 10^12."""
    small, tens = SMALL.split(), TENS.split()
    for scale, name in ((10**9, "billion"), (10**6, "million"), (1000, "thousand")):
        if number >= scale:
            rest = f" {in_words(number % scale)}" if number % scale else ""
            return f"{in_words(number // scale)} {name}{rest}"
    if number >= 100:
        return f"{small[number // 100]} hundred" + (f" and {in_words(number % 100)}" if number % 100 else "")
    if number >= 20:
        return tens[number // 10 - 2] + (f"-{small[number % 10]}" if number % 10 else "")
    return small[number]


def test_the_documents_tell_of_pairs_that_there_are() -> None:
    text = (Path(__file__).parents[2] / "docs" / "math-answer.md").read_text(encoding="utf-8")
    told = re.findall(r"^\| (`.*) \|$", text.partition("| declared |")[2], re.M)
    found = {(declared, truth, given) for declared, given, truth in pairs()}
    for declared, *cells in (line.split(" | ") for line in told):
        for cell, truth in zip(cells, (True, False), strict=False):
            assert all((declared.strip("`"), truth, one) in found for one in re.findall("`([^`]+)`", cell))
    assert len(told) > 20


@pytest.mark.parametrize("text", ["❷", "\\boxed{❷}", "፩", "𐩀/2", "3.❷"])
def test_digits_that_are_no_decimal_ones_are_words(text):
    found = read_answer(text)
    assert accepts(found, found)
