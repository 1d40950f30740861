"""Mutators: what is asked, how replies are read and refused, and what a simulated mutator's replies come to."""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from simulation.math_author.mutations import draw_mutation
from simulation.math_author.stories import story_of, tellings, values_of
from simulation.math_author.templates import seed_problems

from evosyn.chat import Reply, Request
from evosyn.randomness import SeedTree
from evosyn.records import Problem
from evosyn.synthesis.mutations.asking import (
    DISTRACTOR,
    PURPOSES,
    SETTING,
    SETTINGS,
    SYMBOLIC,
    StatedProblem,
    link_request,
)
from evosyn.synthesis.mutations.bleu import bleu
from evosyn.synthesis.mutations.mutator import Mutation, MutationConfig, WantedMutation, drawn_links, mutated
from evosyn.synthesis.mutations.reading import read_link
from evosyn.synthesis.mutations.wording import numbers_in

GOLDEN = Path(__file__).parents[2] / "golden" / "mutation_prompts.md"
PARENT = "Ann buys 12 bags of 32 apples each and eats two of them. How many apples are left?"
TOLD = "A clerk files 12 boxes of 32 letters, and two letters are lost. How many of the letters are there now?"
BEFORE = StatedProblem(PARENT, "382")


def reply(**values: object) -> str:
    return f"Here you are:\n```json\n{json.dumps(values)}\n```"


def reason(link: str, text: str) -> str:
    return read_link(link, text, BEFORE, PARENT, 0.6).reason


def answer_in(statement: str) -> int | None:
    """The right answer of a statement; None where it has none, or is not readable here."""
    story = story_of(statement)
    values = None if story is None else values_of(story.steps)
    return values[-1] if values else None


def test_the_prompts_are_those_of_the_golden_file() -> None:
    asked = [link_request(link, BEFORE, "Economic", 3000, {}) for link in PURPOSES]
    text = "\n\n=====\n\n".join("\n\n".join([one.purpose, *(part.content for part in one.messages)]) for one in asked)
    assert text == GOLDEN.read_text()
    assert [BEFORE.answer in one.messages[-1].content for one in asked] == [False, False, True]


@pytest.mark.parametrize(
    ("link", "text", "found"),
    [
        (SETTING, reply(mutated_problem=TOLD), ""),
        (SETTING, "I cannot do that.", "no-json"),
        (SETTING, reply(problem=TOLD), "missing-key"),
        (SETTING, reply(mutated_problem=" "), "empty"),
        (SETTING, reply(mutated_problem=[TOLD]), "empty"),
        (SETTING, reply(mutated_problem=TOLD * 8), "too-long"),
        (SETTING, reply(mutated_problem=PARENT), "copy-of-parent"),
        (SETTING, reply(mutated_problem="Ana compra 12 bolsas con 32 manzanas y pierde dos."), "not-english"),
        (SETTING, reply(mutated_problem=PARENT.replace("Ann", "Zoe")), "too-similar"),
        (SETTING, reply(mutated_problem=TOLD.replace("32", "33")), "numbers-changed"),
        (SETTING, reply(mutated_problem=TOLD.replace("two letters", "some")), "numbers-changed"),
        (SYMBOLIC, reply(mutated_problem=TOLD, mutated_reasoning="12 * 32 = 384", mutated_solution="$384$"), ""),
        (SYMBOLIC, reply(mutated_problem=TOLD, mutated_reasoning="so \\boxed{3/4}", mutated_solution="3/4"), ""),
        (SYMBOLIC, reply(mutated_problem=TOLD, mutated_solution="384"), "missing-key"),
        (SYMBOLIC, reply(mutated_problem=TOLD, mutated_reasoning="hm", mutated_solution="many"), "answer-unreadable"),
        (SYMBOLIC, reply(mutated_problem=TOLD, mutated_reasoning="382", mutated_solution="382"), "answer-unchanged"),
        (SYMBOLIC, reply(mutated_problem=TOLD, mutated_reasoning="it is 7", mutated_solution=8), "answer-unsupported"),
    ],
)  # fmt: skip
def test_a_reply_is_a_problem_or_has_a_reason(link: str, text: str, found: str) -> None:
    assert reason(link, text) == found


def test_a_distractor_leaves_numbers_and_question_as_they_are() -> None:
    before = StatedProblem(TOLD, "382")

    def read(text: str) -> str:
        return read_link(DISTRACTOR, reply(mutated_problem=text), before, PARENT, 0.6).reason

    first, question = TOLD.split(". ")
    assert read(f"{first}. There are 7 clerks in the next room. {question}") == ""
    assert read(f"{first.replace('12', '13')}. It rains. {question}") == "numbers-changed"
    assert read(f"{first}. It rains. How many of the letters are lost?") == "question-changed"
    assert read(f"{first}. It is. It is. It is. It is. {question}") == "too-many-sentences"


def test_a_distractor_of_a_problem_that_asks_nothing_leaves_all_its_sentences() -> None:
    told, more = "Write a function total(xs). It gives the sum of 12 numbers.", " The office is closed on Monday."

    def read(text: str) -> str:
        text = reply(mutated_problem=text)
        return read_link(DISTRACTOR, text, StatedProblem(told, "382"), PARENT, 0.6).reason

    assert read(told + more) == ""
    assert read(told.replace("the sum", "the product") + more) == "question-changed"


@given(st.text(max_size=200), st.sampled_from(list(PURPOSES)))
def test_no_text_is_too_strange_to_be_read(text: str, link: str) -> None:
    for shown in (text, reply(mutated_problem=text, mutated_reasoning=text, mutated_solution=text)):
        found = read_link(link, shown, BEFORE, PARENT, 0.6)
        assert (found.value is None) == bool(found.reason)


def test_numbers_are_those_in_digits_and_in_words() -> None:
    assert sorted(numbers_in("One of twenty-five cost 1,250.50 dollars, the second three, another 3.")) == [
        "1250.5",
        "25",
        "3",
    ]
    assert numbers_in("three and 3, 03 and 3.0")["3"] == 4
    assert numbers_in(f"0.50 of {'9' * 5000} and 000") == {"0.5": 1, "9" * 5000: 1, "0": 1}


@pytest.mark.parametrize("link", PURPOSES)
def test_a_number_of_thousands_of_digits_is_a_number_like_others(link: str) -> None:
    long = "9" * 5000
    told = StatedProblem(f"{BEFORE.statement} He also reads {long}.", BEFORE.answer)
    for statement in (told.statement, BEFORE.statement):
        text = reply(mutated_problem=statement, mutated_reasoning=f"so it is {long}", mutated_solution="12")
        found = read_link(link, text, told, PARENT, 0.6)
        assert (found.value is None) == bool(found.reason)


def test_bleu_is_1_for_equal_texts_and_falls_with_what_is_retold() -> None:
    assert bleu(PARENT, PARENT) == pytest.approx(1.0)
    assert bleu("", PARENT) == bleu("zebra", PARENT) == 0.0
    assert bleu(PARENT.replace("Ann", "Zoe"), PARENT) > 0.8 > 0.3 > bleu(TOLD, PARENT) > 0


def test_links_are_drawn_by_number_in_the_asked_shares_and_of_those_known() -> None:
    config, tree = MutationConfig(), SeedTree(3)
    drawn = Counter(drawn_links(config, number, tree, list(PURPOSES)) for number in range(2000))
    assert set(drawn) == {(), (SETTING, DISTRACTOR), (SETTING, SYMBOLIC), (SETTING, DISTRACTOR, SYMBOLIC)}
    assert 0.2 < drawn[()] / 2000 < 0.3
    assert 0.25 < drawn[SETTING, SYMBOLIC] / 2000 < 0.35
    assert drawn_links(config, 17, tree, list(PURPOSES)) == drawn_links(config, 17, tree, list(PURPOSES))
    known = {drawn_links(config, number, tree, [SETTING, DISTRACTOR]) for number in range(200)}
    assert known == {(), (SETTING,), (SETTING, DISTRACTOR)}


def test_a_failed_link_is_asked_again_until_the_tries_are_spent() -> None:
    said = iter(["no", reply(mutated_problem=TOLD), "no", "no", reply(mutated_problem=f"It rains. {TOLD}")])
    asked = []

    async def ask(request: Request) -> Reply:
        asked.append(request)
        text = next(said)
        return Reply("r", text, "m", failure="server" if text == "no" and len(asked) == 3 else None)

    wanted = WantedMutation(7, "p", BEFORE, "Professional", (SETTING, DISTRACTOR))
    made = asyncio.run(mutated(wanted, ask, MutationConfig(tries=5)))
    assert made.statement == f"It rains. {TOLD}" and made.answer == "382" and not made.lost
    assert made.wasted == ("setting:no-json", "distractor:server", "distractor:no-json")
    assert [one.sample for one in asked] == [7000, 7001, 7002, 7003, 7004]

    async def mute(request: Request) -> Reply:  # noqa: ARG001
        return Reply("r", "no", "m")

    lost = asyncio.run(mutated(wanted, mute, MutationConfig(tries=3)))
    assert (lost.statement, lost.lost, len(lost.wasted)) == ("", "setting:no-json", 3)


@pytest.mark.parametrize("problem", seed_problems()[::2], ids=lambda problem: str(problem.problem_id))
def test_the_simulated_mutator_reads_each_seed_and_retells_it_with_its_numbers(problem: Problem) -> None:
    assert problem.human_testing is not None
    statement, answer = problem.statement, problem.human_testing.body["answer"]
    assert str(answer_in(statement)) == answer
    story = story_of(statement)
    assert story is not None and set(tellings()) == set(SETTINGS)
    before, asked = StatedProblem(statement, answer), list[str]()
    for target in SETTINGS:
        for sample in range(4):
            drawn = draw_mutation(SeedTree(1), "weak", link_request(SETTING, before, target, sample, {}))
            if drawn.truth == SETTING:
                found = read_link(SETTING, drawn.text, before, statement, 0.6)
                assert found.value is not None, found.reason
                assert str(answer_in(found.value.statement)) == answer
                asked.append(target)
    assert len(set(asked)) > len(SETTINGS) / 2


def simulated(count: int, strength: str) -> tuple[list[Mutation], Counter[tuple[str, str]]]:
    """Mutations of the seeds by the simulated mutator, and what its replies were: (what it meant, how it was read)."""
    tree, config, seeds = SeedTree(5), MutationConfig(), seed_problems()
    read: Counter[tuple[str, str]] = Counter()
    found = []
    for number in range(count):
        problem = seeds[number % len(seeds)]
        assert problem.human_testing is not None
        text = StatedProblem(problem.statement, problem.human_testing.body["answer"])
        truths: list[str] = []

        async def ask(request: Request, truths: list[str] = truths) -> Reply:
            drawn = draw_mutation(tree, strength, request)
            truths.append(drawn.truth)
            return Reply("r", drawn.text, "m")

        links = drawn_links(config, number, tree, list(PURPOSES))
        if links:
            wanted = WantedMutation(number, "p", text, list(SETTINGS)[number % 8], links)
            made = asyncio.run(mutated(wanted, ask, config))
            found.append(made)
            read.update((truth, "") for truth in truths)
            read.update(("refused", one) for one in made.wasted)
    return found, read


def test_simulated_mutants_are_mostly_valid_and_free_checks_find_most_changed_numbers() -> None:
    made, read = simulated(400, "weak")
    usable = [one for one in made if not one.lost]
    wrong = [one for one in usable if str(answer_in(one.statement)) != one.answer]
    assert 0.05 < len(wrong) / len(usable) < 0.4
    assert len(usable) > 0.9 * len(made)
    spoiled = read["spoiled-number", ""]
    caught = read["refused", "setting:numbers-changed"]
    assert spoiled > 20 and caught >= 0.9 * spoiled
    assert read["refused", "symbolic:answer-unreadable"] >= 0.95 * read["spoiled-unreadable", ""] > 5
