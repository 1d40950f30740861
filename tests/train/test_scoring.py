from pathlib import Path

import pytest

from evosyn.dataset import read_dataset
from evosyn.jobs import Limits
from evosyn.ports import Sandbox
from evosyn.records import Problem, Testing, Verdict
from evosyn.train.config import RewardConfig
from evosyn.train.data import tasks_of
from evosyn.train.rewards import RewardFunction, completion_text, pass_histogram
from evosyn.train.scoring import Scorer, Task, domains_of

LIMITS = Limits(wall_s=1.0, budget_s=3.0, memory_mb=256)


@pytest.fixture
def tasks(small_data: Path) -> dict[str, Task]:
    return {task.problem.problem_id: task for task in tasks_of(read_dataset(small_data)).values()}


@pytest.fixture
def scorer(sandbox: Sandbox, tasks: dict[str, Task]) -> Scorer:
    return Scorer(sandbox, domains_of(tasks.values()), LIMITS)


def fenced(body: str) -> str:
    return f"```python\n{body}\n```"


def test_right_and_wrong_programs_are_told_apart(scorer: Scorer, tasks: dict[str, Task]) -> None:
    task = tasks["total"]
    right, wrong, prose = scorer.score(
        [task] * 3, [fenced("def total(xs):\n    return sum(xs)"), fenced("def total(xs):\n    return 1"), "I cannot."]
    )
    assert (right.passed, right.share) == (True, 1.0)
    assert (wrong.passed, wrong.share) == (False, 0.0)
    assert (prose.passed, prose.parsed) == (False, False)


def test_share_is_the_share_of_cases_that_pass(scorer: Scorer, tasks: dict[str, Task]) -> None:
    (score,) = scorer.score([tasks["total"]], [fenced("def total(xs):\n    return 5 if xs else 0")])
    assert score.share == pytest.approx(2 / 3)
    assert not score.passed


HOSTILE = {
    "leaves": "import os\ndef total(xs):\n    os._exit(0)",
    "leaves at import": "import os\nos._exit(0)\ndef total(xs):\n    return sum(xs)",
    "loops": "def total(xs):\n    while True: pass",
    "eats memory": "def total(xs):\n    return sum(bytearray(1 << 33))",
    "prints PASS": "def total(xs):\n    print('PASS', 'ok', '{\"verdict\": \"P\"}')\n    return None",
    "always equal": (
        "class Equal:\n    def __eq__(self, other): return True\n    def __hash__(self): return 0\n"
        "def total(xs):\n    return Equal()"
    ),
    "equal int": "class Equal(int):\n    def __eq__(self, other): return True\ndef total(xs):\n    return Equal(1)",
    "raises SystemExit": "def total(xs):\n    raise SystemExit(0)",
    "patches builtins": "import builtins\nbuiltins.sum = lambda xs: 3\ndef total(xs):\n    return None",
    "reads the parent": "import inspect\ndef total(xs):\n    return inspect.stack()[1].frame.f_locals.get('expected')",
    "forks": "import os\ndef total(xs):\n    while True: os.fork()",
    "null bytes": "def total(xs):\n    return '\\x00' * 10",
    "surrogates": "def total(xs):\n    return '\\ud800'",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_completion_earns_nothing_and_harms_nobody(name: str, scorer: Scorer, tasks: dict[str, Task]) -> None:
    good = fenced("def total(xs):\n    return sum(xs)")
    first, hostile, last = scorer.score([tasks["total"]] * 3, [good, fenced(HOSTILE[name]), good + "\n"])
    assert first.passed
    assert last.passed
    assert hostile.known
    assert not hostile.passed


@pytest.mark.parametrize(
    "text", ["", "```", "```python\n", "\x00", "\ud800", "```python\n\x00\n```", "(" * 5000, "```" * 999]
)
def test_arbitrary_text_is_a_completion_like_any_other(text: str, scorer: Scorer, tasks: dict[str, Task]) -> None:
    (score,) = scorer.score([tasks["total"]], [text])
    assert not score.passed


def test_a_completion_is_executed_once_however_often_it_is_drawn(
    scorer: Scorer, tasks: dict[str, Task], tmp_path: Path
) -> None:
    text = fenced("def total(xs):\n    return sum(xs)")
    scorer.score([tasks["total"]] * 8, [text] * 8)
    scorer.score([tasks["total"]], [text])
    assert (scorer.executed, scorer.cached) == (1, 8)
    scorer.score([tasks["count"]], [text])
    assert scorer.executed == 2
    scorer.save(tmp_path / "cache.jsonl")


def test_a_saved_cache_spares_the_executions(sandbox: Sandbox, tasks: dict[str, Task], tmp_path: Path) -> None:
    text = fenced("def total(xs):\n    return sum(xs)")
    one = Scorer(sandbox, domains_of(tasks.values()), LIMITS)
    before = one.score([tasks["total"]], [text])
    one.save(tmp_path / "cache.jsonl")
    two = Scorer(sandbox, domains_of(tasks.values()), LIMITS)
    assert two.load(tmp_path / "cache.jsonl") == 1
    assert two.score([tasks["total"]], [text]) == before
    assert two.executed == 0
    assert two.load(tmp_path / "nothing.jsonl") == 0


def test_a_broken_testing_pays_nobody(scorer: Scorer, tasks: dict[str, Task]) -> None:
    problem = tasks["total"].problem
    broken = Task("x", problem, Testing("program", {"code": "def check(candidate):\n    undefined_name()"}))
    (score,) = scorer.score([broken], [fenced("def total(xs):\n    return sum(xs)")])
    assert score.verdict is not Verdict.PASS


def reward_of(tasks: dict[str, Task], scorer: Scorer, **options: object) -> RewardFunction:
    by_row = {task.row_id: task for task in tasks.values()}
    return RewardFunction(by_row, scorer, RewardConfig(**options), max_completion=100)  # type: ignore[arg-type]


def test_parts_of_the_reward_are_added_with_their_weights(scorer: Scorer, tasks: dict[str, Task]) -> None:
    reward = reward_of(tasks, scorer, credit="share", weight=2.0, format_weight=0.5, shape="none")
    text = fenced("def total(xs):\n    return 5 if xs else 0")
    (earned,) = reward([[{"role": "assistant", "content": text}]], [tasks["total"].row_id])
    assert earned == pytest.approx(2.0 * 2 / 3 + 0.5)


def test_length_is_counted_in_tokens_where_they_are_given(scorer: Scorer, tasks: dict[str, Task]) -> None:
    reward = reward_of(tasks, scorer, shape="soft-overlong", shape_weight=1.0)
    text = fenced("def total(xs):\n    return sum(xs)")
    (earned,) = reward([text], [tasks["total"].row_id], completion_ids=[[0] * 100])
    assert earned == pytest.approx(0.0)


class BrokenSandbox:
    """What a sandbox beyond repair does."""

    def run(self, jobs: object, *, on_done: object = None) -> object:
        from evosyn.errors import SandboxUnavailable

        del jobs, on_done
        raise SandboxUnavailable("the workers cannot be brought back")


def test_a_broken_machine_never_raises_into_the_trainer(tasks: dict[str, Task]) -> None:
    scorer = Scorer(BrokenSandbox(), domains_of(tasks.values()), LIMITS)  # type: ignore[arg-type]
    reward = reward_of(tasks, scorer)
    assert reward([fenced("def total(xs):\n    return 1")] * 2, [tasks["total"].row_id] * 2) == [None, None]
    assert reward.failure is not None


def test_steps_without_signal_are_counted_and_the_count_ends_with_signal(
    scorer: Scorer, tasks: dict[str, Task]
) -> None:
    reward = reward_of(tasks, scorer)
    row = tasks["total"].row_id
    for _ in range(3):
        reward(["nothing"] * 2, [row] * 2)
    assert reward.flat_steps == 3
    reward(["nothing", fenced("def total(xs):\n    return sum(xs)")], [row] * 2)
    assert reward.flat_steps == 0
    assert pass_histogram(reward.passes) == [1, 0, 0, 0, 0]


def test_metrics_reach_the_trainer(scorer: Scorer, tasks: dict[str, Task]) -> None:
    seen: dict[str, float] = {}
    reward = reward_of(tasks, scorer)
    row = tasks["total"].row_id
    reward([fenced("def total(xs):\n    return sum(xs)"), "no"], [row] * 2, log_metric=seen.__setitem__)
    assert (seen["pass_rate"], seen["parsed"], seen["unknown"]) == (0.5, 0.5, 0.0)
    reward(["no"], [row], log_metric=seen.__setitem__)
    assert 0.0 < seen["reward_share"] <= 1.0


def test_both_forms_of_completions_are_read() -> None:
    assert completion_text("x") == completion_text([{"role": "assistant", "content": "x"}]) == "x"
    assert completion_text([]) == ""


def test_a_scorer_says_what_it_cannot_judge(scorer: Scorer, tasks: dict[str, Task]) -> None:
    assert scorer.complaint(tasks["total"]) is None
    other = Task("x", Problem("p", "os-shell", "do it"), Testing("script", {}))
    assert "os-shell" in str(scorer.complaint(other))
