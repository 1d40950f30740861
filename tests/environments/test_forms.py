"""Programs in the forms of both papers become environments that stand on every rung."""

from __future__ import annotations

from pathlib import Path

from evosyn.environments import environment
from evosyn.environments.forms import to_contract
from evosyn.environments.ladder import Ladder
from evosyn.environments.replies import read_draft, read_verifier

CLASS_FORM = '''"""Sort numbers."""
import random
from environments import VerifiableEnvironment

CATEGORY = "sequence-string"
KIND = "exact"


class Sorting(VerifiableEnvironment):
    prompt_template = "Sort these numbers in increasing order, separated by blanks: {numbers}"

    def _generate(self, seed, difficulty):
        rng = random.Random(seed)
        self.numbers = [rng.randrange(100) for _ in range(4 + 4 * difficulty)]
        self.reference_answer = sorted(self.numbers)

    def _prompt_generate(self):
        return self.prompt_template.format(numbers=" ".join(map(str, self.numbers)))

    def _process(self, answer):
        return [int(word) for word in answer.split()]

    def scorer(self, processed):
        return 1.0 if processed == self.reference_answer else 0.0
'''
FUNCTION_FORM = '''"""Find a pair of numbers with a given sum."""
import random

CATEGORY = "constraint"
KIND = "feasible"


def rho0(d, n):
    return [{"numbers": random.sample(range(1, 200), 6 + 4 * d), "pick": random.sample(range(6), 2)} for _ in range(n)]


def target(s):
    return sum(s["numbers"][i] for i in s["pick"])


def O(s):
    return f"Numbers: {s['numbers']}. Write two of them, the smaller first, that add up to {target(s)}, with a blank."


def R(s, a):
    one, other = map(int, a.split())
    return one < other and one in s["numbers"] and other in s["numbers"] and one + other == target(s)


def solve(s):
    return " ".join(str(one) for one in sorted(s["numbers"][i] for i in s["pick"]))
'''


def test_a_class_with_generate_prompt_process_and_scorer(ladder: Ladder, tmp_path: Path) -> None:
    file = tmp_path / "sorting.py"
    file.write_text(CLASS_FORM)
    climb = ladder.check(environment(str(file)).source)
    assert (climb.level, climb.reason, climb.flags) == (5, "", ("verify-raises",)), climb
    assert climb.prompts[0].startswith("Sort these numbers")


def test_a_class_that_returns_its_instance_and_reference(ladder: Ladder) -> None:
    returning = (
        CLASS_FORM.replace("self.reference_answer = sorted(self.numbers)", "return self.numbers, sorted(self.numbers)")
        .replace("scorer(self, processed)", "scorer(self, processed, reference)")
        .replace("processed == self.reference_answer", "processed == reference")
        .replace("_prompt_generate(self)", "_prompt_generate(self, numbers)")
    )
    climb = ladder.check(to_contract(returning))
    assert (climb.level, climb.reason) == (5, ""), climb


def test_functions_rho0_o_and_r(ladder: Ladder) -> None:
    climb = ladder.check(to_contract(FUNCTION_FORM))
    assert (climb.level, climb.reason) == (5, ""), climb
    assert "pick" not in climb.prompts[0]


def test_what_is_of_neither_form_stays_as_it_is() -> None:
    for text in ("def (", "x = 1\n", FUNCTION_FORM.replace("def solve", "def answered")):
        assert to_contract(text) == text


def test_what_cannot_be_written_again_stays_as_it_is_and_is_no_verifier() -> None:
    huge = f"BIG = 0x{'f' * 5000}\n"
    for text in (FUNCTION_FORM + huge, CLASS_FORM + huge):
        assert to_contract(text) == text
        assert read_draft(f"```python\n{text}```").value is None
    verifier = f"```python\ndef verify(instance, reference, answer):\n    return answer == BIG\n\n{huge}```"
    assert read_verifier(verifier, to_contract(FUNCTION_FORM)).reason.startswith("does-not-parse: ValueError")


def test_the_environment_of_the_documentation_passes(ladder: Ladder) -> None:
    page = Path(__file__).parents[2] / "docs" / "write-an-environment.md"
    source = page.read_text().partition("```python\n")[2].partition("```")[0]
    climb = ladder.check(source)
    assert (climb.level, climb.reason) == (5, ""), climb
