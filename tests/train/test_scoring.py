from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from evosyn.chat import Parsed
from evosyn.crossexec.verdict_cache import SqliteVerdicts
from evosyn.dataset import read_dataset
from evosyn.domains.python_function import PythonFunction
from evosyn.jobs import CellResult, ItemOutcome, Job, Limits, Protection
from evosyn.ports import Expansion, Plan, Sandbox
from evosyn.records import Problem, Solution, Testing, Verdict
from evosyn.tasks import task_from_json, task_text
from evosyn.train.config import RewardConfig
from evosyn.train.data import tasks_of
from evosyn.train.rewards import RewardFunction, completion_text, pass_histogram
from evosyn.train.scoring import Scorer, Task, domains_of, reward_judge

LIMITS = Limits(wall_s=1.0, budget_s=3.0, memory_mb=256)


@pytest.fixture
def tasks(small_data: Path) -> dict[str, Task]:
    return {task.problem.problem_id: task for task in tasks_of(read_dataset(small_data)).values()}


@pytest.fixture
def scorer(sandbox: Sandbox, tasks: dict[str, Task]) -> Scorer:
    return Scorer(reward_judge(sandbox, domains_of(tasks.values()), LIMITS))


GOOD = "```python\ndef total(xs):\n    return sum(xs)\n```"


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


def test_a_completion_is_executed_once_however_often_it_is_drawn(scorer: Scorer, tasks: dict[str, Task]) -> None:
    text = fenced("def total(xs):\n    return sum(xs)\n\ndef count(xs):\n    return len(xs)")
    scorer.score([tasks["total"]] * 8, [text] * 8)
    scorer.score([tasks["total"]], [text])
    assert (scorer.judge.executed, scorer.judge.cached) == (1, 8)
    scorer.score([tasks["count"]], [text])
    assert scorer.judge.executed == 2


def test_verdicts_in_a_file_spare_the_executions_of_the_same_limits_only(
    sandbox: Sandbox, tasks: dict[str, Task], tmp_path: Path
) -> None:
    texts = [
        GOOD,
        "prose",
        fenced("def total(xs):\n    return 1 // 0"),
        fenced("def total(xs):\n    return 5 if xs else 0"),
    ]
    found = []
    for limits in (LIMITS, LIMITS, replace(LIMITS, memory_mb=257)):
        with SqliteVerdicts(tmp_path / "verdicts.sqlite") as verdicts:
            scorer = Scorer(reward_judge(sandbox, domains_of(tasks.values()), limits, verdicts))
            found.append((scorer.score([tasks["total"]] * 4, texts), scorer.judge.executed))
    assert [executed for _, executed in found] == [3, 0, 3]
    assert found[0][0] == found[1][0] == found[2][0]
    assert found[0][0][2].detail


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


def test_a_right_answer_in_another_form_earns_nothing_where_the_format_is_a_factor(
    scorer: Scorer, tasks: dict[str, Task]
) -> None:
    reward = reward_of(tasks, scorer, combine="product", weight=2.0)
    right = "def total(xs):\n    return sum(xs)"
    texts = [fenced(right), f"{fenced(right)}\n{fenced(right)}", fenced("def total(xs):\n    return 1")]
    assert reward(texts, [tasks["total"].row_id] * 3) == [2.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="with combine=product the format is a factor"):
        RewardConfig(combine="product", format_weight=0.5)


def test_length_is_counted_in_tokens_where_they_are_given(scorer: Scorer, tasks: dict[str, Task]) -> None:
    reward = reward_of(tasks, scorer, shape="soft-overlong", shape_weight=1.0)
    text = fenced("def total(xs):\n    return sum(xs)")
    (earned,) = reward([text], [tasks["total"].row_id], completion_ids=[[0] * 100])
    assert earned == pytest.approx(0.0)


class BrokenSandbox:
    """What a sandbox beyond repair does."""

    protection = Protection("local", "strong", "1")

    def run(self, jobs: object, *, on_done: object = None) -> object:
        from evosyn.errors import SandboxUnavailable

        del jobs, on_done
        raise SandboxUnavailable("the workers cannot be brought back")


def test_a_broken_machine_never_raises_into_the_trainer(tasks: dict[str, Task]) -> None:
    scorer = Scorer(reward_judge(BrokenSandbox(), domains_of(tasks.values()), LIMITS))  # type: ignore[arg-type]
    reward = reward_of(tasks, scorer)
    assert reward([fenced("def total(xs):\n    return 1")] * 2, [tasks["total"].row_id] * 2) == [None, None]
    assert reward.failure is not None


def test_a_completion_in_no_known_form_never_raises_into_the_trainer(scorer: Scorer, tasks: dict[str, Task]) -> None:
    reward = reward_of(tasks, scorer)
    assert reward([["no message"]], [tasks["total"].row_id]) == [None]
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
    assert completion_text([]) == completion_text([{"role": "assistant", "content": None}]) == ""
    parts = [{"type": "text", "text": "x"}, {"type": "image"}, {"type": "text", "text": "y"}]
    assert completion_text([{"role": "user", "content": "z"}, {"role": "assistant", "content": parts}]) == "xy"


def test_a_task_of_a_domain_that_is_not_there_is_undecided_and_the_others_are_scored(
    scorer: Scorer, tasks: dict[str, Task]
) -> None:
    other = Task("x", Problem("p", "os-shell", "do it"), Testing("script", {"code": "true"}))
    unknown, right = scorer.score([other, tasks["total"]], [GOOD, GOOD])
    assert (unknown.verdict, unknown.detail) == (Verdict.UNKNOWN, "the domain 'os-shell' is not served")
    assert right.passed


class Faulty(PythonFunction):
    """A domain that fails on the texts that name one of its methods: a plug-in with faults in each of them."""

    def read_solution(self, text: str, problem: Problem | None) -> Parsed[Solution]:
        if "fails in parse" in text:
            raise RecursionError("too deep")
        return super().read_solution(text, problem)

    def expand(self, problem: Problem, testings: Sequence[Testing], limits: Limits) -> Expansion:
        if any("fails in expand" in testing.text for testing in testings):
            raise KeyError(10**5000)
        return super().expand(problem, testings, limits)

    def plan(self, problem: Problem, solution: Solution, testings: Sequence[Testing], limits: Limits) -> Plan:
        if "fails in plan" in solution.text:
            raise ValueError("Exceeds the limit (4300 digits)")
        made = super().plan(problem, solution, testings, limits)
        return FaultyPlan(made) if "fails in judge" in solution.text else made


class FaultyPlan:
    def __init__(self, plan: Plan) -> None:
        self.jobs = plan.jobs

    def judge(self, outcomes: Sequence[object]) -> tuple[CellResult, ...]:
        raise MemoryError(len(outcomes))


@pytest.mark.parametrize("method", ["parse", "plan", "judge"])
def test_where_evosyn_fails_on_one_completion_all_others_keep_their_reward(
    method: str, sandbox: Sandbox, tasks: dict[str, Task]
) -> None:
    reward = reward_of(tasks, Scorer(reward_judge(sandbox, {"python-function": Faulty()}, LIMITS)))
    texts = [GOOD, f"{GOOD[:-3]}# fails in {method}\n```", fenced("def total(xs):\n    return 1"), GOOD + "\n"]
    assert reward(texts, [tasks["total"].row_id] * 4) == [1.0, None, 0.0, 1.0]
    assert reward.failure is None


def test_where_a_testing_cannot_be_expanded_only_its_own_completions_are_undecided(
    sandbox: Sandbox, tasks: dict[str, Task]
) -> None:
    problem = tasks["total"].problem
    bad = Task("bad", problem, Testing("asserts", {"asserts": ["assert total([1]) == 1, 'fails in expand'"]}))
    scorer = Scorer(reward_judge(sandbox, {"python-function": Faulty()}, LIMITS))
    scores = scorer.score([tasks["total"], bad, bad, tasks["total"]], [GOOD, GOOD, GOOD + "\n", GOOD + "\n\n"])
    assert [score.verdict.value for score in scores] == ["P", "U", "U", "P"]
    assert scores[1].detail == "evosyn failed: KeyError"


class Choosy:
    """A sandbox that refuses a whole batch for the sake of single jobs, as for arguments that are no plain data."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox, self.runs, self.protection = sandbox, 0, sandbox.protection

    def run(self, jobs: Sequence[Job], *, on_done: Any = None) -> list[tuple[ItemOutcome, ...]]:
        self.runs += 1
        for number, job in enumerate(jobs):
            if "refused" in job.program:
                raise TypeError(f"job {number}: an argument is not plain data")
        return self.sandbox.run(jobs, on_done=on_done)


def test_a_job_that_the_sandbox_refuses_costs_no_other_its_verdict(sandbox: Sandbox, tasks: dict[str, Task]) -> None:
    choosy = Choosy(sandbox)
    scorer = Scorer(reward_judge(choosy, domains_of(tasks.values()), LIMITS))  # type: ignore[arg-type]
    texts = [fenced(f"import os\ndef total(xs):\n    return sum(xs)  # {number}") for number in range(64)]
    for place in (5, 40):
        texts[place] = texts[place].replace("#", "# refused")
    scores = scorer.score([tasks["total"]] * 64, texts)
    assert [place for place, score in enumerate(scores) if not score.passed] == [5, 40]
    assert {scores[place].verdict for place in (5, 40)} == {Verdict.UNKNOWN}
    assert choosy.runs <= 2 * (2 * 6 + 1) + 3


def test_a_completion_of_no_row_is_undecided_and_the_others_are_paid(scorer: Scorer, tasks: dict[str, Task]) -> None:
    reward = reward_of(tasks, scorer)
    row = tasks["total"].row_id
    assert reward([GOOD, GOOD, "prose"], [row, "gone", row]) == [1.0, None, 0.0]
    assert reward.failure is None


def test_equal_tasks_are_prepared_once_a_batch_whoever_made_them(sandbox: Sandbox, tasks: dict[str, Task]) -> None:
    counting = CountingExpansions()
    scorer = Scorer(reward_judge(sandbox, {"python-function": counting}, LIMITS))
    task = tasks["total"]
    copies = [task_from_json(task_text(task)) for _ in range(8)]
    assert all(score.passed for score in scorer.score(copies, [GOOD + " " * number for number in range(8)]))
    assert counting.expanded == 1


class CountingExpansions(PythonFunction):
    """The domain, counting how often a testing is expanded."""

    expanded = 0

    def expand(self, problem: Problem, testings: Sequence[Testing], limits: Limits) -> Expansion:
        self.expanded += 1
        return super().expand(problem, testings, limits)
