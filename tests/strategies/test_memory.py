"""A program never knows one draw of a task when it ranks another, by whatever means it keeps what it saw."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf

import numpy as np
import pytest

from evosyn.evaluators.consistency import SeedConsistency
from evosyn.evaluators.draws import ConsistencyConfig
from evosyn.jobs import HarnessJob, Job
from evosyn.origins import Origin
from evosyn.ports import Sandbox
from evosyn.rankings import Rankings
from evosyn.records import Candidate, Evidence, Invalid, PassMatrix
from evosyn.sharing import Company
from evosyn.strategies import load_known
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.running import _harness
from evosyn.strategies.running.sandboxed import UNSTEADY, SandboxedRunner, _ToRank, harness

TASKS, DRAWS = 3, 4
MEANS = {
    "name": "seen = {}\n{count}\ndef rank(e):\n    return count(e, seen)\n",
    "argument": "{count}\ndef rank(e, seen={}):\n    return count(e, seen)\n",
    "closure": "{count}\ndef made():\n    seen = {}\n    return lambda e: count(e, seen)\nrank = made()\n",
    "cache": (
        "from functools import lru_cache\n{count}\n@lru_cache(None)\ndef seen():\n    return {}\n"
        "def rank(e):\n    return count(e, seen())\n"
    ),
    "partial": "from functools import partial\n{count}\nrank = partial(lambda seen, e: count(e, seen), {})\n",
    "generator": (
        "{count}\ndef held():\n    seen = {}\n    while True:\n        yield seen\nholder = held()\n"
        "def rank(e):\n    return count(e, next(holder))\n"
    ),
    "global": (
        "{count}\nseen = None\ndef rank(e):\n    global seen\n    seen = seen or {}\n    return count(e, seen)\n"
    ),
}
"""Programs that the company policy admits."""
ADDRESSES = """
def big():
    {locals}
    yield 1
def address(one):
    return int(repr(one).split("0x")[1].split(">")[0], 16)
def rank(e):
    fresh = [big() for _ in range(6)]
    places = [address(one) for one in fresh]
    told = sum([one > two for one, two in zip(places, places[1:])]) == 5
    for at in sorted(range(6), key=lambda at: places[at], reverse=told):
        fresh[at] = None
    return [1 + told] * e.passed.shape[0], [1 + told] * e.passed.shape[1]
""".replace("{locals}", "; ".join([f"a{number} = 0" for number in range(40)]))
"""What the allocator hands out next is the order in which the last call let go of its generators"""
LOOKING = """
def rank(e):
    pack = vars(e)["_pack"]
    tasks = [pack["texts"][numbers[0]] for numbers in pack["solution_texts"]]
    many = max(tasks.count(one) for one in tasks)
    return [many] * e.passed.shape[0], [many] * e.passed.shape[1]
"""
APART = {
    "attribute": "{count}\ndef rank(e):\n    return count(e, vars(rank).setdefault('seen', {}))\n",
    "class": "{count}\nclass Kept:\n    seen = {}\ndef rank(e):\n    return count(e, Kept.seen)\n",
    "module": "import numpy as np\n{count}\ndef rank(e):\n    return count(e, vars(np).setdefault('seen', {}))\n",
    "pack": "{count}\ndef rank(e):\n    return count(e, vars(e)['_pack'].setdefault('seen', {}))\n",
    "looking ahead": LOOKING,
}
COUNT = """
def count(e, seen):
    draws = seen.setdefault(e.solution_texts[0], {})
    many = draws.setdefault(str(e.copies.tolist()), len(draws) + 1)
    return [many] * e.passed.shape[0], [many] * e.passed.shape[1]
"""


def drawn() -> tuple[list[Evidence], list[str]]:
    """Draws of tasks, those of one beside each other, and the task of each."""
    found, tasks = [], []
    for task in range(TASKS):
        for draw in range(DRAWS - (task == 0)):
            verdicts = np.random.default_rng([task, draw]).choice(list("PF"), (4, 3))
            texts = (f"task {task}", "b", "c", "d")
            found.append(evidence_of(PassMatrix("p", verdicts, copies_M=np.full(4, draw), solution_texts=texts)))
            tasks.append(f"task {task}")
    return found, tasks


class Watched:
    """A sandbox that counts the programs that it is given."""

    def __init__(self, sandbox: Sandbox) -> None:
        self._sandbox = sandbox
        self.jobs = 0
        self.share = sandbox.share

    def run(self, jobs: Sequence[Job]):
        self.jobs += sum(isinstance(job, HarnessJob) for job in jobs)
        return self._sandbox.run(jobs)


def seen_by(runner: SandboxedRunner, text: str, tasks: Sequence[str] | None, evidences: list[Evidence]) -> set[float]:
    """How many draws of one task it knew at most and at least, as its scores say; no end where it gave itself away."""
    (found,) = runner.rank([text.replace("{count}", COUNT)], evidences, tasks)
    if found is UNSTEADY:
        return {inf}
    assert not isinstance(found, Invalid), found.reason
    return {score for ranking in found for scores in ranking for score in scores.tolist()}


@pytest.mark.parametrize("name", [*MEANS, *APART])
def test_what_a_program_keeps_of_one_draw_is_gone_at_the_next(sandbox: Sandbox, name: str) -> None:
    evidences, tasks = drawn()
    text, watched = {**MEANS, **APART}[name], Watched(sandbox)
    runner = SandboxedRunner(watched)  # type: ignore[arg-type]
    assert seen_by(runner, text, tasks, evidences) == {1.0}
    assert watched.jobs == DRAWS + 1, "and one for a problem by itself"
    assert max(seen_by(runner, text, None, evidences)) > 1.0


def test_where_the_next_object_will_lie_tells_nothing_of_another_draw(sandbox: Sandbox) -> None:
    """No policy names all that a process keeps: here every other ranking of a process is told from the rest. One that
    ranks a problem twice and nothing else gives such a program away."""
    draws, tasks = drawn()
    some = [place for place, task in enumerate(tasks) if task != "task 0"]
    evidences, tasks = [draws[place] for place in some], [tasks[place] for place in some]
    runner = SandboxedRunner(sandbox)

    def of_first_task(given: list[str] | None) -> list[float]:
        (refused,) = runner.rank([ADDRESSES], evidences, given)
        assert isinstance(refused, Invalid) and "ranked again" in refused.reason
        parts = runner._parts(evidences, given)
        ranked = runner._ranked([_ToRank(ADDRESSES, part) for part in parts])
        scores = {}
        for part, found in zip(parts, ranked, strict=True):
            assert not isinstance(found, Invalid), found.reason
            scores |= dict(zip(part.at_E.tolist(), [one.solution_scores_M[0] for one in found], strict=True))
        return [scores[place] for place in range(DRAWS)]

    assert of_first_task(None) == [1.0, 2.0, 1.0, 2.0]
    assert of_first_task(tasks) == [1.0] * DRAWS


def test_in_company_it_is_gone_too(sandbox: Sandbox) -> None:
    evidences, tasks = drawn()
    runner = SandboxedRunner(sandbox, company=Company(repeat=0.0))
    texts = [one.replace("{count}", COUNT) + f"# {number}\n" for number in range(8) for one in MEANS.values()]
    for found in runner.rank(texts, evidences, tasks):
        assert not isinstance(found, Invalid), found.reason
        assert {score for ranking in found for scores in ranking for score in scores.tolist()} == {1.0}
    assert runner.company.shared == len(texts) * (DRAWS + 1)


def test_rankings_come_back_in_the_order_of_the_evidences_whatever_process_made_them(sandbox: Sandbox) -> None:
    evidences, tasks = drawn()
    own, runner = load_known("codet"), SandboxedRunner(sandbox)
    together, apart, alone = (
        runner.rank([text], evidences, given)[0]
        for text, given in ((own, tasks), ("import random\n" + own, tasks), (own, None))
    )
    for found in (together, apart):
        assert isinstance(found, Rankings) and isinstance(alone, Rankings)
        for one, other in zip(found, alone, strict=True):
            assert one.solution_scores_M.tolist() == other.solution_scores_M.tolist()
            assert one.testing_scores_N.tolist() == other.testing_scores_N.tolist()


def test_who_fails_on_the_first_part_gets_no_other_and_the_reason_of_any_is_given(sandbox: Sandbox) -> None:
    evidences, tasks = drawn()
    watched = Watched(sandbox)
    runner = SandboxedRunner(watched)  # type: ignore[arg-type]
    (found,) = runner.rank(["import random\ndef rank(e):\n    return 1 / 0\n"], evidences, tasks)
    assert isinstance(found, Invalid) and "ZeroDivisionError" in found.reason and watched.jobs == 1
    late = "import random\ndef rank(e):\n    assert e.copies[0] < 2\n    return e.passed.sum(1), e.passed.sum(0)\n"
    (found,) = runner.rank([late], evidences, tasks)
    assert isinstance(found, Invalid) and "AssertionError" in found.reason and watched.jobs == 2 + DRAWS


def test_known_rules_stay_in_one_process() -> None:
    from evosyn.strategies import known_names

    scope: dict[str, object] = {"__name__": "host"}
    exec(compile(harness(), "<harness>", "exec", dont_inherit=True), scope)
    admitted = scope["admitted"]
    assert callable(admitted)
    assert [name for name in known_names() if not admitted(load_known(name))] == ["random"]
    assert not _harness.POLICY


def test_a_rule_that_gathers_rows_over_draws_scores_as_without(sandbox: Sandbox) -> None:
    """The shares of testings passed, of all that were seen of a problem or of those of the draw."""
    gathering = """
{imports}
seen, answers = {}, {}
def rank(evidence):
    key = str(evidence.passed.tolist())
    if key in answers:
        return answers[key]
    {forget}
    rows = seen.setdefault(evidence.testing_texts[0][:4], {})
    for one, row in zip(evidence.solution_texts, evidence.passed.tolist()):
        for other, passed in zip(evidence.testing_texts, row):
            rows.setdefault(one, {})[other] = passed
    s = [sum(rows[one].values()) / len(rows[one]) for one in evidence.solution_texts]
    mean = sum(s) / len(s)
    t = [sum((x - mean) * passed for x, passed in zip(s, column)) for column in evidence.passed.T.tolist()]
    answers[key] = s, t
    return answers[key]
"""
    pool = []
    for number in range(12):
        rng = np.random.default_rng(number)
        human = rng.random(24) < 0.5
        passed = rng.random((24, 24)) < np.where(human, 0.65, 0.35)[:, None]
        texts = [tuple(f"p{number:02} {kind}{place}" for place in range(24)) for kind in "st"]
        pool.append(PassMatrix(f"p{number}", np.where(passed, "P", "F"), np.where(human, "P", "F"),
                               solution_texts=texts[0], testing_texts=texts[1]))  # fmt: skip
    evaluator = SeedConsistency(SandboxedRunner(sandbox), pool, ConsistencyConfig(M=8, N=6, draws=8), axes=())
    scores = []
    for imports in ("", "import random"):
        for forget in ("", "seen.clear()"):
            text = gathering.replace("{imports}", imports).replace("{forget}", forget)
            (found,) = evaluator.evaluate([Candidate(text)])
            assert found.score is not None, found.invalid
            scores.append(found.score)
    assert len({round(score, 9) for score in scores}) == 1


def test_views_and_pools_that_share_a_task_are_never_in_one_process() -> None:
    """The evaluator says which draws are of one task."""
    from evosyn.evaluators.views import searched

    asked: list[str] = []

    class Asking:
        def rank(self, programs, evidences, tasks=None):
            assert len(evidences) == len(tasks)
            asked.extend(tasks)
            return [Invalid("asked") for _ in programs]

    def one(name: str, pool: str) -> PassMatrix:
        verdicts = np.random.default_rng(len(pool)).choice(list("PF"), (12, 12))
        human = np.array(list("PF" * 6))
        return PassMatrix(f"{pool}/{name}", verdicts, human, solution_texts=tuple("abcdefghijkl"),
                          origin=Origin(pool, name))  # fmt: skip

    pool = searched([one("x", "first"), one("x", "second"), one("y", "first")], 4)
    evaluator = SeedConsistency(Asking(), pool, ConsistencyConfig(M=4, N=4, draws=2), axes=())
    evaluator.evaluate([Candidate("def rank(e): return 1")])
    draws = len(evaluator.draws.evidences)
    assert asked[:draws] == list(evaluator.draws.tasks_E) and set(asked) == {"x", "y"}
    assert any(view for view in evaluator.draws.views_P), "and views are of the task that they show"
    assert set(asked[draws:]) == {"x", "y"} and 0 < len(asked[draws:]) < draws
