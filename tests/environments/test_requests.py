"""What models are asked on the way to an environment, letter by letter, and that untrusted text cannot end its fence."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from evosyn.chat import Request
from evosyn.environments import asking, bundled, environment
from evosyn.environments.asking import ShownInstance
from evosyn.environments.ladder import Climb
from evosyn.fences import markdown_fences

GOLDEN = Path(__file__).parents[1] / "golden" / "environments_prompts.md"
SOURCE = bundled("known")["modular-chain"].read_text()
SHOWN = [
    ShownInstance(level, f"How much is {level} + {level}?", {"a": level}, None, str(2 * level)) for level in (1, 3, 5)
]


def asked() -> list[Request]:
    """One of each kind."""
    climb = Climb(environment("modular-chain"), 5, figures={"right": 1.0, "junk": 0.0, "fixed:7": 0.5})
    return [
        asking.keyword_request("paying with coins", 9, {}),
        asking.shown_request([SOURCE], "graph", {}),
        asking.judge_code_request(climb, SOURCE, {}, [10, 20, 30, 40, 50]),
        asking.judge_questions_request(SHOWN, {}),
        asking.revision_request(SOURCE, ["level 1: unclear", "ends its ```` fence"], {}),
        asking.review_request(climb, SOURCE, SHOWN, ["verify-raises"], {}),
        asking.solver_request(SHOWN, {}),
        asking.verifier_request(SOURCE, SHOWN, {}),
    ]


def test_the_prompts_are_those_of_the_golden_file() -> None:
    text = "\n\n=====\n\n".join(f"{one.purpose}\n\n{one.messages[0].content}" for one in asked())
    assert text == GOLDEN.read_text()


def test_a_solver_is_shown_neither_program_nor_reference_and_an_author_of_verifiers_no_check() -> None:
    *_, solver, verifier = (one.messages[0].content for one in asked())
    assert "def generate" not in solver and "reference" not in solver
    assert "def generate" in verifier and "def verify" not in verifier and "def solve" not in verifier


@given(st.text(alphabet="`~ a\n", max_size=60))
def test_no_text_ends_its_fence(text: str) -> None:
    (fence,) = markdown_fences(asking.fenced(text) + "\n")
    assert fence.text.strip() == text.strip()
