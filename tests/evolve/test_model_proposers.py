"""Proposers that ask a model: over real HTTP; every reply ends as a program or as a named reason."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from simulation.scripted_server import ScriptedServer

from evosyn import registry
from evosyn.chat import Reply, Request
from evosyn.ports import ModelTools, Proposal, ProposalContext, Proposer, Repairing, TeacherTools, Tried
from evosyn.records import Candidate, Elite, Evaluation
from evosyn.strategies.genome import StrategyGenome

STRATEGIES = StrategyGenome()
GOLDEN = Path(__file__).parents[1] / "golden" / "prompts"
PARENT = "def rank(evidence):\n    passed = evidence.passed\n    return passed.sum(axis=1), passed.sum(axis=0)\n"
DIFF = """I weigh testings.

<<<<<<< SEARCH
    return passed.sum(axis=1), passed.sum(axis=0)
=======
    return passed.mean(axis=1), passed.mean(axis=0)
>>>>>>> REPLACE
"""


def elite(text: str, score: float, per_seed: Sequence[float] = (), feedback: Sequence[str] = ()) -> Elite:
    return Elite(Candidate(text), Evaluation(score, per_seed=tuple(per_seed), feedback=tuple(feedback)))


def context(**changes: object) -> ProposalContext:
    parent = elite(PARENT, 0.25, (0, 1), ["seed 7: criterion 1"])
    fields: dict[str, object] = {"index": 3, "seed": 1, "parent": parent, "task": STRATEGIES.task}
    return ProposalContext(**{**fields, **changes})  # type: ignore[arg-type]


def propose(name: str, replies: list[str], given: ProposalContext, **config: object) -> tuple[Proposal, list[str]]:
    """The proposal, and the prompts that the model saw."""
    seen: list[str] = []

    def script(body: Mapping[str, object], _occurrence: int) -> str:
        seen.append("\n".join(message["content"] for message in body["messages"]))  # type: ignore[index,attr-defined]
        return replies[min(len(seen), len(replies)) - 1]

    async def main(url: str) -> Proposal:
        teacher = registry.make("teachers", "litellm:openai/m", TeacherTools(), {"base_url": url})
        proposer = registry.make("proposers", name, ModelTools(STRATEGIES, teacher), config)
        assert isinstance(proposer, Proposer)
        try:
            return await proposer.propose(given)
        finally:
            await teacher.aclose()

    with ScriptedServer(script) as server:
        return asyncio.run(main(server.base_url)), seen


def fenced(text: str) -> str:
    return f"Because.\n```python\n{text}```\n"


@pytest.mark.parametrize("name", ["rewrite", "diff", "crossover", "explain"])
def test_what_a_model_is_told_of_strategies_does_not_change(name: str) -> None:
    """Stored replies are found by these texts."""

    class Recording:
        name, simulated = "recording", True

        async def complete(self, request: Request) -> Reply:
            asked.append(request)
            return Reply("r_0", "prose", self.name)

        async def aclose(self) -> None: ...

    asked: list[Request] = []
    other, best = elite("# other\n" + PARENT, 0.2, (1, 0)), elite("# best\n" + PARENT, 0.5, (0, 0))
    tried = Tried("c_1", context().parent.candidate.id, "I weigh testings.", 0.2, "new", 1, 2)
    failed = Tried("c_2", "c_3", "", None, "invalid: NameError: np (line 2)")
    given = context(inspirations=(other,), top=(best,), attempts=(tried, failed))
    asyncio.run(registry.make("proposers", name, ModelTools(STRATEGIES, Recording())).propose(given))
    said = "\n".join(f"[{message.role}]\n{message.content.strip()}\n" for message in asked[-1].messages)
    assert said == (GOLDEN / f"strategy.{name}.md").read_text()
    assert [request.purpose for request in asked] == ["strategy", "strategy"]


def test_a_diff_is_applied_to_the_parent_and_keeps_its_lineage() -> None:
    proposal, prompts = propose("diff", [DIFF], context())
    (candidate,) = proposal.candidates
    assert candidate.text == PARENT.replace("sum", "mean")
    assert candidate.parents == (context().parent.candidate.id,)
    assert candidate.proposer == "diff:openai/m"
    assert "seed 7: criterion 1" in prompts[0]
    assert "Score 0.2500" in prompts[0]


@pytest.mark.parametrize("name", ["rewrite", "explain", "crossover", "diff"])
def test_a_whole_program_is_taken_by_every_proposer(name: str) -> None:
    new = PARENT.replace("sum", "max")
    proposal, _ = propose(name, [fenced(new)], context())
    assert [candidate.text for candidate in proposal.candidates] == [new]


@pytest.mark.parametrize("name", ["rewrite", "explain", "crossover"])
def test_a_change_is_taken_where_a_whole_program_was_asked_for(name: str) -> None:
    proposal, _ = propose(name, [DIFF], context())
    assert [candidate.text for candidate in proposal.candidates] == [PARENT.replace("sum", "mean")]


def test_crossover_shows_the_elite_that_wins_where_the_parent_loses() -> None:
    same, better = elite("# same\n" + PARENT, 0.3, (0, 1)), elite("# better\n" + PARENT, 0.2, (1, 0))
    given = context(inspirations=(same, better))
    proposal, prompts = propose("crossover", [fenced(PARENT.replace("sum", "any"))], given)
    assert "with program B into one" in prompts[0]
    assert "# better" in prompts[0].split("# Program B (score 0.2000)")[1].split("# Program")[0]
    assert proposal.candidates[0].parents == (given.parent.candidate.id, better.candidate.id)


@pytest.mark.parametrize(
    ("replies", "waste"),
    [
        (["I think it is fine as it is.", "Still."], "prose"),
        ([DIFF.replace("axis=0)", "axis=9)", 1)] * 2, "diff-does-not-apply"),
        ([fenced("def rank(evidence:\n")] * 2, "does-not-parse"),
        ([fenced("x = 1\n")] * 2, "no-entry-point"),
        ([fenced(PARENT)] * 2, "unchanged"),
        (["```java\nclass A {}\n```"] * 2, "prose"),
        (["x" * 250_000] * 2, "too-long"),
    ],
)
def test_a_useless_reply_is_asked_about_once_and_then_named(replies: list[str], waste: str) -> None:
    proposal, prompts = propose("diff", replies, context())
    assert (proposal.candidates, proposal.waste) == ((), waste)
    assert len(proposal.replies) == len(prompts) == 2


def test_a_repaired_reply_is_used_and_both_calls_are_on_record() -> None:
    new = PARENT.replace("sum", "max")
    proposal, prompts = propose("diff", ["no idea", fenced(new)], context())
    assert proposal.candidates[0].text == new
    assert "could not be used: it holds no program" in prompts[1]
    assert proposal.candidates[0].detail["replies"] == list(proposal.replies)


def test_a_rank_that_uses_helpers_of_any_program_that_was_shown_is_completed() -> None:
    other = elite("def half(x):\n    return x / 2\n\n\n" + PARENT, 0.5, (1, 1))
    reply = fenced("def rank(evidence):\n    return half(evidence.passed.sum(axis=1)), evidence.passed.sum(axis=0)\n")
    proposal, _ = propose("rewrite", [reply], context(top=(other,)))
    assert "def half(x):" in proposal.candidates[0].text


def test_functions_that_were_shown_already_are_left_out() -> None:
    helper = "def half(x):\n    return x / 2\n\n\n"
    parent = elite(helper + PARENT, 0.2, (0, 1))
    other = elite(helper + PARENT.replace("sum", "mean"), 0.3, (1, 0))
    _, prompts = propose(
        "rewrite", [fenced(PARENT)], context(parent=parent, top=(other, parent), inspirations=(other,))
    )
    assert prompts[0].count("def half") == 1
    assert "# as above: half" in prompts[0]
    assert prompts[0].count("def rank(evidence):\n    passed") == 2


def test_an_invalid_program_is_mended_with_one_call_and_its_reason() -> None:
    new = PARENT.replace("sum", "max")
    broken, prompts = propose("rewrite", [fenced(new)], context())

    async def main(url: str) -> Proposal | None:
        teacher = registry.make("teachers", "litellm:openai/m", TeacherTools(), {"base_url": url})
        proposer = registry.make("proposers", "rewrite", ModelTools(STRATEGIES, teacher))
        assert isinstance(proposer, Repairing)
        try:
            mended = await proposer.repair(context(), broken, "NameError: np (line 2)")
            assert mended is not None
            assert await proposer.repair(context(), mended, "again") is None
            return mended
        finally:
            await teacher.aclose()

    def script(body: Mapping[str, object], _: int) -> str:
        prompts.append("\n".join(message["content"] for message in body["messages"]))  # type: ignore[index,attr-defined]
        return fenced(PARENT.replace("sum", "min"))

    with ScriptedServer(script) as server:
        mended = asyncio.run(main(server.base_url))
    assert mended is not None
    assert [one.text for one in mended.candidates] == [new, PARENT.replace("sum", "min")]
    assert mended.candidates[1].detail["repairs"] == mended.candidates[0].id
    assert mended.candidates[1].parents == mended.candidates[0].parents
    assert len(mended.replies) == 2
    assert prompts[1].startswith(prompts[0])
    assert "no score: NameError: np (line 2)" in prompts[1]


def test_an_empty_reply_is_named_and_not_asked_about_again() -> None:
    proposal, prompts = propose("rewrite", [""], context())
    assert (proposal.waste, len(prompts)) == ("empty", 1)


def test_a_prompt_that_is_too_long_loses_the_least_important_first() -> None:
    top = tuple(elite(f"# top {number}\n" + "# filler\n" * 500 + PARENT, 0.4) for number in range(3))
    given = context(top=top, attempts=(Tried("c_1", None, "I tried and tried.", 0.1, "new"),))
    _, long = propose("rewrite", [fenced(PARENT.replace("sum", "max"))], given, prompt_tokens=8000)
    _, short = propose("rewrite", [fenced(PARENT.replace("sum", "max"))], given, prompt_tokens=2000)
    assert "I tried and tried." in long[0]
    assert "# top 2" in long[0]
    assert "# top" not in short[0]
    assert "seed 7: criterion 1" in short[0]
    assert PARENT.strip() in short[0]


def test_a_mailbox_waits_for_its_answer_and_remembers_it(tmp_path: Path) -> None:
    async def main() -> tuple[Proposal, Proposal]:
        teacher = registry.make("teachers", f"mailbox:{tmp_path}", TeacherTools(), {"poll_s": 0.01})
        proposer = registry.make("proposers", "rewrite", ModelTools(STRATEGIES, teacher))
        waiting = asyncio.create_task(proposer.propose(context()))
        while not (prompts := list(tmp_path.glob("*.prompt.md"))):
            await asyncio.sleep(0.01)
        assert "The contract" in prompts[0].read_text()
        answer = prompts[0].with_name(prompts[0].name.replace(".prompt.", ".reply."))
        answer.write_text(fenced(PARENT.replace("sum", "max")))
        return await waiting, await proposer.propose(context())

    first, second = asyncio.run(asyncio.wait_for(main(), 10))
    assert first == second
    assert first.candidates[0].text == PARENT.replace("sum", "max")
