"""Every recipe with a real model, small: at most five minutes each on two idle cores (`make test-real`)."""

from __future__ import annotations

import pytest

from tests.real.running import Lane

pytestmark = [pytest.mark.real]
MODEL = "openai/local"
ASKED = ("--model", MODEL)
KEPT_OR_NOT = (0, 1)
"""A small model may make nothing that stands: 1, with the reason."""
JOURNALS = {"dejaq": "mutations.jsonl", "evoenv": "drafts.jsonl"}
TINY = (
    "tiny.warm_steps=20",
    "rollout.prompts=4",
    "rollout.group=2",
    "rollout.max_completion=48",
    "coevolution.seeds=8",
)
SMALL = [word for one in TINY for word in ("--set", one)]


class TestManyShortCalls:
    """Drawing and answering: 16 calls at once in windows of 2,048 tokens."""

    slots = 16

    def test_a_doctor_samples(self, lane: Lane) -> None:
        lane.run("doctor", "--sample", "2", "seeds.jsonl", *ASKED, paid=None)

    def test_a_pool_outlives_two_kills_and_a_dead_server(self, lane: Lane) -> None:
        sizes = ("-M", "3", "-N", "3")
        lane.run("pool", "sample", "seeds.jsonl", "--out", "pool", *sizes, *ASKED, kills=2, named=True)

    def test_a_model_is_measured(self, lane: Lane) -> None:
        lane.run("eval", "--bench", "seeds.jsonl", "--limit", "8", "--samples", "2", "--out", "eval", *ASKED)

    def test_environments_are_calibrated(self, lane: Lane) -> None:
        lane.run("env", "rows", "builtin:env-seeds", "--per-env", "1", "--out", "rows")
        lane.run("calibrate", "rows", "--samples", "4", "--max-tokens", "256", *ASKED)


class TestFewLongCalls:
    """Proposals, agents and drafts: 4 calls at once in windows of 8,192 tokens."""

    slots = 4

    def test_a_strategy_is_evolved_on_the_pool(self, lane: Lane) -> None:
        sizes = ("-M", "3", "-N", "3", "--iterations", "6")
        lane.run("evolve", "pool", *sizes, "--out", "search", *ASKED, ends=KEPT_OR_NOT, named=True)

    def test_a_dataset_is_synthesized(self, lane: Lane) -> None:
        sizes = ("--problems", "4", "-M", "4", "-N", "4")
        lane.run("synthesize", "search", *sizes, "--out", "data", *ASKED, ends=KEPT_OR_NOT, named=True)

    def test_shell_tasks_are_worked_on(self, lane: Lane) -> None:
        """Eight episodes; 4 where no task is left to search on."""
        sizes = ("-M", "2", "-N", "2", "--iterations", "1", "--proposer", "genetic")
        lane.run("evolve", "shell.jsonl", *sizes, "--out", "shell", *ASKED, ends=(0, 1, 4), named=True)

    def test_a_world_is_played(self, lane: Lane) -> None:
        lane.run("world", "tasks", "builtin:library", "--tasks", "8", "--seed", "1", "--out", "library")
        lane.run("world", "rollout", "library", "--limit", "8", "--out", "episodes", *ASKED)

    def test_environments_are_made(self, lane: Lane) -> None:
        lane.run("env", "make", "--limit", "6", "--out", "envs", *ASKED, ends=KEPT_OR_NOT, named=True)

    @pytest.mark.train
    @pytest.mark.parametrize(("recipe", "source"), [("dejaq", "math-seeds"), ("evoenv", "env-seeds")])
    def test_a_round_of_co_evolution(self, recipe: str, source: str, lane: Lane) -> None:
        pytest.importorskip("trl")
        words = ("coevolve", f"builtin:{source}", "--recipe", recipe, "--out", recipe, "--steps", "4")
        student = ("--model", "builtin:tiny", "--teacher", f"litellm:{MODEL}")
        lane.run(*words, *student, *SMALL, paid=JOURNALS[recipe])
