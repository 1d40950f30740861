"""Prompts of new problems: fair rotation over the seeds, one domain in a prompt, wishes at the end."""

import asyncio
from collections import Counter
from dataclasses import replace

import pytest

from evosyn.chat import Reply
from evosyn.configs.sampling import SynthesisSampling
from evosyn.domains import domain
from evosyn.errors import UsageError
from evosyn.randomness import SeedTree
from evosyn.synthesis.problems import Briefs, ProblemConfig, make_problem

TREE = SeedTree(3)
DOMAINS = dict.fromkeys(("tests.toy:Domain", "other:domain"), domain("python-function"))


def test_every_seed_leads_once_in_each_round_in_a_new_order(toy_seeds):
    briefs = Briefs(toy_seeds, ProblemConfig(), TREE, DOMAINS)
    leading = [briefs.brief(index).seeds[0].problem_id for index in range(4 * len(toy_seeds))]
    rounds = [leading[at : at + len(toy_seeds)] for at in range(0, len(leading), len(toy_seeds))]
    assert all(sorted(one) == sorted(seed.problem_id for seed in toy_seeds) for one in rounds)
    assert len({tuple(one) for one in rounds}) > 1


def test_a_prompt_shows_distinct_seeds_of_one_domain(toy_seeds):
    mixed = [replace(seed, domain="other:domain") if at % 2 else seed for at, seed in enumerate(toy_seeds)]
    briefs = Briefs(mixed, ProblemConfig(examples=3), TREE, DOMAINS)
    for index in range(20):
        seeds = briefs.brief(index).seeds
        assert len({seed.domain for seed in seeds}) == 1
        assert len({seed.problem_id for seed in seeds}) == len(seeds) <= 3


def test_wishes_vary_and_are_a_function_of_the_index_alone(toy_seeds):
    briefs = Briefs(toy_seeds, ProblemConfig(), TREE, DOMAINS)
    backwards = {index: briefs.brief(index) for index in reversed(range(60))}
    assert all(briefs.brief(index) == backwards[index] for index in range(60))
    topics = Counter(brief.wishes["topic"] for brief in backwards.values())
    assert len(topics) > 10


def test_the_rendered_wishes_stand_after_the_prompt_of_the_domain(toy_seeds, toy_domain):
    briefs = Briefs(toy_seeds, ProblemConfig(examples=1), TREE, DOMAINS)
    brief = replace(briefs.brief(0), wishes={"persona": "P", "topic": "T", "difficulty": "D", "twist": "W."})
    text = briefs.request(brief, toy_domain, 0).messages[-1].content
    assert text == (
        f"problems like:\n{brief.seeds[0].statement}\n\n"
        "To keep the new problems different from each other, follow these wishes where they fit the format asked for "
        "above:\n- Write it as P would.\n- Let it be about T.\n- Difficulty: D.\n- W.\n"
        "Do not mention these wishes in the problem itself.\n"
    )


def test_without_variation_the_prompt_is_the_domains_own(toy_seeds, toy_domain):
    briefs = Briefs(toy_seeds, ProblemConfig(vary=False), TREE, DOMAINS)
    brief = briefs.brief(0)
    assert briefs.request(brief, toy_domain, 0) == toy_domain.ask(
        "problem", None, 0, SynthesisSampling().problem, brief.seeds
    )


@pytest.mark.parametrize(("good_at", "attempts"), [(0, 1), (2, 3), (5, 3)])
def test_a_problem_is_asked_for_again_with_another_sample_and_each_reply_is_accounted_for(
    toy_seeds, toy_domain, good_at, attempts
):
    briefs, samples = Briefs(toy_seeds, ProblemConfig(), TREE, DOMAINS), []

    async def ask(index, attempt, request):  # noqa: ARG001
        samples.append(request.sample)
        text = "add 3 to it" if attempt == good_at else "sorry"
        return Reply(id=f"r{attempt}", text=text, model="m", failure="refused" if attempt == 1 else None)

    made = asyncio.run(
        make_problem(briefs.brief(7), briefs, toy_domain, ask, ProblemConfig(attempts=3), simulated=False)
    )
    assert len(made.attempts) == len(samples) == len(set(samples)) == attempts
    assert (made.problem is not None) == (good_at < 3)
    assert [one.reason for one in made.attempts if one.reason] == ["no-problem", "reply-refused", "no-problem"][
        : attempts if made.problem is None else attempts - 1
    ]
    if made.problem is not None:
        assert made.problem.problem_id == "syn-000007"
        assert made.problem.provenance.parents == tuple(seed.id for seed in made.brief.seeds)


def test_after_a_reply_that_was_cut_the_next_attempt_has_more_room(toy_seeds, toy_domain):
    config, lengths = ProblemConfig(), []
    briefs = Briefs(toy_seeds, config, TREE, DOMAINS, SynthesisSampling(problem={"max_tokens": 50}))

    async def ask(index, attempt, request):  # noqa: ARG001
        lengths.append(request.params["max_tokens"])
        return Reply(id=f"r{attempt}", text="add 3 to it", model="m", failure=None if attempt else "truncated")

    made = asyncio.run(make_problem(briefs.brief(7), briefs, toy_domain, ask, config, simulated=False))
    assert made.problem is not None and lengths == [50, 200]


def test_a_domain_without_seeds_is_refused(toy_seeds):
    with pytest.raises(UsageError, match="python-stdin"):
        Briefs(toy_seeds, ProblemConfig(domains=("python-stdin",)), TREE, DOMAINS)


def test_a_wanted_domain_without_seeds_is_refused_beside_one_that_has_some(toy_seeds):
    with pytest.raises(UsageError, match="none is of the domain pyhton-stdin;"):
        Briefs(toy_seeds, ProblemConfig(domains=(toy_seeds[0].domain, "pyhton-stdin")), TREE, DOMAINS)


def test_a_new_problem_carries_the_name_by_which_its_seeds_found_the_domain(toy_seeds, toy_domain):
    seeds = [replace(seed, domain="mine.add:create") for seed in toy_seeds]
    briefs = Briefs(seeds, ProblemConfig(), TREE, {"mine.add:create": toy_domain})

    async def ask(index, attempt, request):  # noqa: ARG001
        return Reply(id="r", text="add 3 to it", model="m")

    made = asyncio.run(make_problem(briefs.brief(0), briefs, toy_domain, ask, ProblemConfig(), simulated=False))
    assert made.problem.domain == "mine.add:create"


def test_a_domain_without_wishes_gets_its_own_prompt_and_one_with_some_gets_its_own_wishes(toy_seeds, toy_domain):
    briefs = Briefs(toy_seeds, ProblemConfig(), TREE, {toy_seeds[0].domain: toy_domain})
    brief = briefs.brief(0)
    assert briefs.request(brief, toy_domain, 0) == toy_domain.ask(
        "problem", None, 0, SynthesisSampling().problem, brief.seeds
    )
    toy_domain.wishes = lambda: {"topic": ["sums of tens"], "length": ["Keep it to one sentence."]}
    briefs = Briefs(toy_seeds, ProblemConfig(), TREE, {toy_seeds[0].domain: toy_domain})
    text = briefs.request(briefs.brief(0), toy_domain, 0).messages[-1].content
    assert "- Let it be about sums of tens.\n- Keep it to one sentence.\nDo not mention" in text
