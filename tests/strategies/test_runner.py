"""The runner over the real sandbox: good programs in both forms, and one hostile program a test."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from evosyn.errors import SandboxUnavailable
from evosyn.jobs import HarnessJob, ItemOutcome, Job, Status
from evosyn.ports import Sandbox
from evosyn.records import Evidence, Invalid, PassMatrix, Ranking
from evosyn.sharing import Company
from evosyn.strategies import known_names, load_known
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.ranking import dense_ranks
from evosyn.strategies.running.packing import pack
from evosyn.strategies.running.sandboxed import STRATEGY_LIMITS, SandboxedRunner, harness

GOOD = load_known("initial")


def evidences(count: int = 5, rows: int = 4, columns: int = 3) -> tuple[Evidence, ...]:
    found = []
    for index in range(count):
        rng = np.random.default_rng(index)
        verdicts = rng.choice(list("PF"), (rows + index % 2, columns))
        found.append(evidence_of(PassMatrix(f"p{index}", verdicts, solution_texts=tuple("abcde"[: len(verdicts)]))))
    return tuple(found)


SEEN = evidences()


@pytest.fixture(scope="module")
def runner(sandbox: Sandbox) -> SandboxedRunner:
    return SandboxedRunner(sandbox)


def program(body: str) -> str:
    return f"def rank(evidence):\n    {body}\n    return evidence.passed.sum(1), evidence.passed.sum(0)\n"


LACKING = {"mbr"}
"""Rules that need what `SEEN` does not have."""


def test_every_known_strategy_ranks_every_evidence(runner: SandboxedRunner) -> None:
    for name, result in zip(
        known_names(), runner.rank([load_known(name) for name in known_names()], SEEN), strict=True
    ):
        if name in LACKING:
            assert (
                isinstance(result, Invalid) and "it read what is unknown here: evidence.values (None)" in result.reason
            )
            continue
        assert not isinstance(result, Invalid), result
        assert [len(ranking.solution_scores_M) for ranking in result] == [4, 5, 4, 5, 4]
        assert [len(ranking.testing_scores_N) for ranking in result] == [3] * 5


@pytest.mark.parametrize(
    ("body", "unknown", "told"),
    [
        (
            "return np.array([len(t) for t in evidence.solution_texts]), evidence.passed.sum(0)",
            ("solution_texts",),
            "must have shape (2,); it read what is unknown here: evidence.solution_texts (empty)",
        ),
        ("return 1 / evidence.durations.sum(1), evidence.passed.sum(0)", ("durations",), "evidence.durations (zeros)"),
        (
            "return (evidence.values or evidence.testing_texts)[0], 0",
            ("testing_texts", "values"),
            "evidence.testing_texts (empty), evidence.values (None)",
        ),
        ("return 1 / (len(evidence.solution_groups) - 2), 0", (), "ZeroDivisionError"),
    ],
)
def test_texts_that_are_empty_and_durations_that_nobody_measured_are_named_where_a_program_fails(
    runner: SandboxedRunner, body: str, unknown: tuple[str, ...], told: str
) -> None:
    plain = PassMatrix("p", np.array([list("PF"), list("FP")]))
    whole = replace(plain, solution_texts=("a", "b"), testing_texts=("c", "d"), durations_MN=np.array([[1, 0], [0, 1]]))
    text = f"import numpy as np\ndef rank(evidence):\n    {body}\n"
    (found,) = runner.rank([text], [evidence_of(plain)])
    assert isinstance(found, Invalid) and found.unknown == unknown and told in found.reason
    (held,) = runner.rank([text], [evidence_of(whole)])
    assert not isinstance(held, Invalid) or set(held.unknown) <= {"values"}


ODD = "def rank(e):\n    raise ValueError('\\ud800 x \\x1b[2J\\u202e' + 'a' * 100_000)\n"
FORGED = """
def rank(e):
    try:
        1 / 0
    except Exception as error:
        frame = error.__traceback__.tb_frame
    while frame.f_code.co_name != "_ranked":
        frame = frame.f_back
    frame.f_globals["_refused"] = lambda *_: {"reason": chr(0xd800) + chr(27) + "[2J" + "a" * 500_000, "unknown": []}
    raise ValueError
"""


@pytest.mark.parametrize("text", [ODD, FORGED])
def test_a_reason_is_one_short_line_that_can_be_printed(runner: SandboxedRunner, text: str) -> None:
    (found,) = runner.rank([text], SEEN)
    assert isinstance(found, Invalid) and found.reason.isprintable() and found.reason.isascii()
    assert "\\ud800" in found.reason and "\\x1b[2J" in found.reason and len(found.reason) <= 600


def test_what_is_unknown_for_some_testings_is_named_where_a_program_fails(runner: SandboxedRunner) -> None:
    values = (np.ones((2, 1), np.uint64), None)
    partly = replace(evidence_of(PassMatrix("p", np.array([list("PF"), list("FP")]))), values_NMC=values)
    text = "def rank(e):\n    return [v.sum() for v in e.values], e.passed.sum(0)\n"
    (found,) = runner.rank([text], [partly])
    assert isinstance(found, Invalid) and found.unknown == ()
    assert found.reason.endswith("; it read what is unknown for some testings (None there): evidence.values")
    whole = replace(partly, values_NMC=(np.ones((2, 1), np.uint64),) * 2)
    (found,) = runner.rank([text.replace("[v.", "1 / [0 * v.")], [whole])
    assert isinstance(found, Invalid) and "unknown" not in found.reason


def test_programs_and_evidences_may_be_none(runner: SandboxedRunner) -> None:
    assert runner.rank([], SEEN) == []
    assert [len(found) for found in runner.rank([GOOD], ())] == [0]


def test_evidence_carries_everything_that_was_recorded(runner: SandboxedRunner) -> None:
    matrix = PassMatrix(
        "p",
        np.array([["P", "U"], ["F", "P"]]),
        np.array(["P", "F"]),
        cases_NMC=(np.array([["P", "P", "P"], ["P", "F", "F"]]), np.array([["U"], ["P"]])),
        durations_MN=np.array([[0.5, 0.0], [0.25, 1.0]]),
        copies_M=np.array([3, 1]),
        groups_M=np.array([7, 7]),
        solution_texts=("x = 1", "x = 1 # same"),
        testing_texts=("one", "two"),
    )
    text = """
def rank(e):
    assert e.passed.tolist() == [[True, False], [False, True]]
    assert e.known.tolist() == [[True, False], [True, True]]
    assert [case.tolist() for case in e.cases] == [[[True, True, True], [True, False, False]], [[False], [True]]]
    assert e.durations.tolist() == [[0.5, 0.0], [0.25, 1.0]]
    assert e.copies.tolist() == [3, 1]
    assert e.solution_groups.tolist() == [0, 0] and e.testing_groups.tolist() == [0, 1]
    assert e.solution_texts == ("x = 1", "x = 1 # same") and e.testing_texts == ("one", "two")
    return e.copies, [1, 2]
"""
    (found,) = runner.rank([text], [evidence_of(matrix)])
    assert not isinstance(found, Invalid), found
    assert found[0].solution_scores_M.tolist() == [3.0, 1.0]


LISTS = """
from typing import Callable
import concurrent.futures
import time
from tqdm import tqdm

WORKERS = 256

def verify_all(tasks):
    passes = {}
    accepts = {}
    futures = []
    with concurrent.futures.ProcessPoolExecutor(max_workers=WORKERS) as executor:
        for instance, solution_id, testing_id, verify_func in tasks:
            passes.setdefault(solution_id, [])
            accepts.setdefault(testing_id, [])
            futures.append(executor.submit(verify_func, instance, solution_id, testing_id))
        time.sleep(1)
        for future in tqdm(concurrent.futures.as_completed(futures), total=len(futures)):
            result = future.result()
            if result['result'] and not result['unknown_error']:
                passes[result['solution_id']].append(result['testing_id'])
                accepts[result['testing_id']].append(result['solution_id'])
    print("done")
    return passes, accepts

# EVOLVE-BLOCK-START
def strategy(instance: dict, solution_id_list: list[str], testing_id_list: list[str], verify_func: Callable):
    tasks = [(instance, s, t, verify_func) for s in solution_id_list for t in testing_id_list]
    passes, accepts = verify_all(tasks)
    by_solution = sorted(solution_id_list, key=lambda s: len(passes[s]), reverse=True)
    by_testing = sorted(testing_id_list, key=lambda t: len(accepts[t]), reverse=True)
    return by_solution, by_testing
# EVOLVE-BLOCK-END
"""


@pytest.mark.parametrize("key", ["len(passes[s])", "(len(passes[s]), int(s))", "(len(passes[s]), -int(s))"])
def test_sorted_lists_become_the_scores_they_were_sorted_by_ties_included(runner: SandboxedRunner, key: str) -> None:
    lists, scores = runner.rank([LISTS.replace("key=lambda s: len(passes[s])", f"key=lambda s: {key}"), GOOD], SEEN)
    assert not isinstance(lists, Invalid), lists
    assert not isinstance(scores, Invalid), scores
    for ours, theirs in zip(lists, scores, strict=True):
        for one, other in zip(ours, theirs, strict=True):
            assert dense_ranks(one).tolist() == dense_ranks(other).tolist()


THREADS = """
import queue, threading
from multiprocessing import Pool

def strategy(instance, solution_ids, testing_ids, verify_func):
    results, lock = queue.Queue(), threading.Lock()

    def work(solution_id):
        for testing_id in testing_ids:
            with lock:
                results.put(verify_func(instance, solution_id, testing_id))

    threads = [threading.Thread(target=work, args=(solution_id,)) for solution_id in solution_ids]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    found = [results.get() for _ in range(results.qsize())]
    with Pool(8) as pool:
        counts = pool.map(lambda s: sum(f['result'] for f in found if f['solution_id'] == s), solution_ids)
    by_solution = dict(zip(solution_ids, counts))
    by_testing = {t: sum(f['result'] for f in found if f['testing_id'] == t) for t in testing_ids}
    return (sorted(solution_ids, key=by_solution.get, reverse=True),
            sorted(testing_ids, key=by_testing.get, reverse=True))
"""


def test_threads_locks_queues_and_pools_are_there_for_programs_of_the_other_form(runner: SandboxedRunner) -> None:
    lists, scores = runner.rank([THREADS, GOOD], SEEN)
    assert not isinstance(lists, Invalid), lists
    assert not isinstance(scores, Invalid)
    for ours, theirs in zip(lists, scores, strict=True):
        assert dense_ranks(ours.testing_scores_N).tolist() == dense_ranks(theirs.testing_scores_N).tolist()


HOSTILE = {
    "syntax": ("def rank(evidence:\n    pass", r"does not parse: .*line 1: def rank\(evidence:"),
    "nothing": ("x = 1", "defines neither rank"),
    "raises": (program("evidence.passed[99]"), r"IndexError: .*line 2: evidence\.passed\[99\]"),
    "raises-at-import": ("1 / 0", r"ZeroDivisionError: .*line 1: 1 / 0"),
    "unknown-attribute": (program("evidence.human"), "has no attribute 'human'; it has passed, known"),
    "recursion": ("def rank(evidence):\n    return rank(evidence)", r"RecursionError.*line 2: return rank"),
    "exit": (program("raise SystemExit"), "SystemExit"),
    "huge": (program("[0] * 10**12"), "MemoryError"),
    "prints": (program("print('hello')"), r"PermissionError: a strategy has no input or output: print\(\)"),
    "reads": (program("open('/etc/passwd')"), r"(FileNotFound|Permission)Error: \[Errno"),
    "forks": (program("import os; os.fork()"), "cannot import 'os'"),
    "not-there": ("import scipy\n" + GOOD, r"ImportError: a strategy cannot import 'scipy'.*line 1: import scipy"),
    "mutates": (program("evidence.passed[0, 0] = True"), "read-only"),
    "unlocks": (program("evidence.passed.flags.writeable = True"), "cannot set WRITEABLE"),
    "no-pair": ("def rank(evidence):\n    return 1.0", "returned float instead of a pair"),
    "words": ("def rank(evidence):\n    return ['a'] * 4, [1, 2, 3]", "solution scores are not numbers"),
    "complex": ("def rank(evidence):\n    return [1.0 + 2j] * 4, [1, 2, 3]", "scores are not numbers: complex"),
    "roots": (
        "import numpy as np\ndef rank(evidence):\n"
        "    return evidence.passed.sum(1), np.sqrt(-1.0 - evidence.passed.sum(0) + 0j)",
        "testing scores are not numbers: complex",
    ),
    "length": ("def rank(evidence):\n    return [1.0], [1, 2, 3]", r"solution scores have shape \(1,\), must have"),
    "scalar": ("def rank(evidence):\n    return 1.0, [1, 2, 3]", r"solution scores have shape \(\)"),
    "nan": (
        "def rank(evidence):\n    s = evidence.passed.sum(1) * 1.0\n    s[2] = float('nan')\n    return s, [1, 2, 3]",
        r"solution scores\[2\] of problem number 0 is nan",
    ),
    "inf": ("def rank(evidence):\n    return evidence.passed.sum(1), [0, 0, -1e999]", r"testing scores\[2\].* is -inf"),
    "counts-calls": (
        "calls = []\ndef rank(e):\n    calls.append(1)\n    return e.passed.sum(1) * len(calls), e.passed.sum(0)",
        "must not depend on global state",
    ),
    "draws-lots": (
        "import random\ndef rank(e):\n    return [random.random() for _ in e.passed], e.passed.sum(0)",
        "unseeded randomness",
    ),
    "draws-lots-once": (
        "import numpy as np\nLOTS = np.random.default_rng().random(9)\n"
        "def rank(e):\n    return e.passed.sum(1) + LOTS[: len(e.passed)], e.passed.sum(0)",
        "by itself in another process: .* unseeded randomness",
    ),
    "patches-the-check": (
        "import random, numpy as np\nnp.array_equal = lambda *a, **k: True\n"
        "def rank(e):\n    return [random._os.urandom(1)[0] for _ in e.passed], e.passed.sum(0)",
        "by itself in another process",
    ),
    "looks-at-the-others": (
        "def rank(e):\n    many = len(vars(e)['_pack']['places'])\n"
        "    return (e.passed.sum(1) + 1) * many, e.passed.sum(0)",
        "by itself in another process: .* other problems",
    ),
    "needs-the-others": (
        "def rank(e):\n    assert len(vars(e)['_pack']['places']) > 1\n    return e.passed.sum(1), e.passed.sum(0)",
        "AssertionError",
    ),
    "texts": ("def rank(e):\n    return ['1', '2', '3', '4'], [1, 2, 3]", "scores are not numbers: str32 is none"),
    "dates": (
        "import numpy as np\ndef rank(e):\n    return e.passed.sum(1).astype('datetime64[s]'), [1, 2, 3]",
        r"scores are not numbers: datetime64\[s\] is none",
    ),
    "lists-lost": (
        LISTS.replace("return by_solution,", "return by_solution[1:],"),
        "3 solution ids, must return the 4",
    ),
    "lists-ids": (LISTS.replace("return by_solution,", "return ['x'],"), "two sorted lists of ids"),
}


@pytest.mark.parametrize("name", sorted(HOSTILE))
def test_a_bad_program_is_invalid_with_the_reason_and_harms_no_other(runner: SandboxedRunner, name: str) -> None:
    text, reason = HOSTILE[name]
    (alone,) = runner.rank([GOOD], SEEN)
    before, bad, after = runner.rank([GOOD, text, GOOD], SEEN)
    assert isinstance(bad, Invalid)
    import re

    assert re.search(reason, bad.reason), bad.reason
    for result in (before, after):
        assert not isinstance(result, Invalid)
        assert not isinstance(alone, Invalid)
        for one, other in zip(result, alone, strict=True):
            assert one.solution_scores_M.tolist() == other.solution_scores_M.tolist()


def test_no_verdict_depends_on_the_company(runner: SandboxedRunner) -> None:
    """Many programs at once share processes where they can; loops, which would take long here, have their own test."""
    spoilers = ["import numpy as np\nnp.maximum = None\n" + GOOD, "import builtins\nbuiltins.len = None\n" + GOOD]
    good = [load_known(name) + f"# {number}" for number in range(6) for name in known_names()]
    bad = [text for text, _ in HOSTILE.values()] + spoilers
    mixed = [text for pair in zip(good, [*bad, *good], strict=False) for text in pair]
    together = runner.rank(mixed, SEEN)
    for text, result in zip(mixed, together, strict=True):
        (alone,) = runner.rank([text], SEEN)
        if isinstance(alone, Invalid):
            assert result == alone
        else:
            assert not isinstance(result, Invalid), result
            for one, other in zip(result, alone, strict=True):
                np.testing.assert_array_equal(one.solution_scores_M, other.solution_scores_M)
                np.testing.assert_array_equal(one.testing_scores_N, other.testing_scores_N)


def test_a_loop_among_many_costs_only_itself(sandbox: Sandbox) -> None:
    from dataclasses import replace

    runner = SandboxedRunner(sandbox, replace(STRATEGY_LIMITS, cpu_s=1.5, wall_s=0.0, budget_s=1.5))
    loop = "def rank(e):\n    for _ in range(10**12):\n        pass\n    return 1, 2\n"
    results = runner.rank([GOOD + f"# {number}" for number in range(40)] + [loop], SEEN)
    assert results[-1] == Invalid("took longer than the time limit of 1.6 s")
    assert not any(isinstance(result, Invalid) for result in results[:-1])


def test_a_loop_ends_at_the_time_limit(sandbox: Sandbox) -> None:
    from dataclasses import replace

    runner = SandboxedRunner(sandbox, replace(STRATEGY_LIMITS, cpu_s=1.5, wall_s=0.0, budget_s=1.5))
    stubborn = "while True:\n    try:\n        while True: pass\n    except BaseException: pass"
    loop, stubborn, good = runner.rank([program("while True: pass"), stubborn, GOOD], SEEN)
    assert loop == stubborn == Invalid("took longer than the time limit of 1.6 s")
    assert not isinstance(good, Invalid)


def test_a_large_array_meets_the_memory_limit(runner: SandboxedRunner) -> None:
    text = "import numpy as np\n" + program("np.ones((1 << 14, 1 << 14))")
    (found,) = runner.rank([text], SEEN)
    assert isinstance(found, Invalid)
    assert "Unable to allocate" in found.reason or "memory" in found.reason.lower()


def test_one_program_cannot_patch_what_the_next_one_uses(runner: SandboxedRunner) -> None:
    patch = "import numpy as np\nnp.asarray = None\n" + GOOD
    for _ in range(3):
        _, good = runner.rank([patch, GOOD], SEEN)
        assert not isinstance(good, Invalid)


def test_results_do_not_depend_on_the_batch(runner: SandboxedRunner) -> None:
    programs = [load_known(name) for name in known_names() if name not in LACKING]
    together = runner.rank(programs, SEEN)
    alone = [runner.rank([text], SEEN)[0] for text in programs]
    for one, other in zip(together, alone, strict=True):
        assert not isinstance(one, Invalid)
        assert not isinstance(other, Invalid)
        for first, second in zip(one, other, strict=True):
            assert isinstance(first, Ranking)
            np.testing.assert_array_equal(first.solution_scores_M, second.solution_scores_M)
            np.testing.assert_array_equal(first.testing_scores_N, second.testing_scores_N)


def test_a_slow_program_is_stopped_after_the_screen(sandbox: Sandbox) -> None:
    from dataclasses import replace

    runner = SandboxedRunner(sandbox, replace(STRATEGY_LIMITS, cpu_s=30.0, wall_s=0.0, budget_s=30.0))
    count = "seen.append(1)\n    assert len(seen) < 4\n    n = 0\n    while n < 16_000_000: n += 1"
    (found,) = runner.rank(["seen = []\n" + program(count)], evidences(600))
    assert isinstance(found, Invalid)
    assert found.reason == "too slow: 600 problems must be ranked within 42.0 s, the first 3 took more than their share"


class Faulty:
    """A sandbox that fails on its own account wherever a program has a word in it, and counts what it is asked."""

    def __init__(self, sandbox: Sandbox, word: str) -> None:
        self._sandbox, self._word = sandbox, word
        self.asked: list[int] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self._sandbox, name)

    def run(self, jobs: Sequence[Job]) -> list[tuple[ItemOutcome, ...]]:
        self.asked.append(len(jobs))
        broken = (ItemOutcome(Status.INFRASTRUCTURE, detail="lost"),)
        found = self._sandbox.run(jobs)
        return [
            broken if isinstance(job, HarnessJob) and self._word in job.program else items
            for job, items in zip(jobs, found, strict=True)
        ]


@pytest.mark.parametrize("company", [[GOOD], []])
def test_a_program_on_which_the_sandbox_fails_twice_is_invalid_and_ends_nothing(
    sandbox: Sandbox, company: list[str]
) -> None:
    faulty = Faulty(sandbox, "spoils")
    *others, bad = SandboxedRunner(faulty).rank([*company, GOOD + "# spoils"], SEEN)  # type: ignore[arg-type]
    assert bad == Invalid("the sandbox failed twice on it")
    assert not any(isinstance(result, Invalid) for result in others)


def test_a_sandbox_that_fails_on_every_program_is_no_programs_fault(sandbox: Sandbox) -> None:
    with pytest.raises(SandboxUnavailable, match="fails on every strategy program: lost"):
        SandboxedRunner(Faulty(sandbox, "def rank")).rank([GOOD, GOOD], SEEN)  # type: ignore[arg-type]


MANY = [GOOD + f"# {number}" for number in range(48)]


def test_programs_share_processes_and_a_sample_of_them_is_repeated_alone(sandbox: Sandbox) -> None:
    counting = Faulty(sandbox, "nothing of this kind")
    runner = SandboxedRunner(counting, company=Company(repeat=0.25))  # type: ignore[arg-type]
    results = runner.rank([*MANY, "import os\n" + GOOD], SEEN)
    assert runner.company.shared == 2 * len(MANY), "on all problems, and on one of them by itself"
    assert 0 < runner.company.repeated < len(MANY)
    assert runner.company.differed == 0
    assert counting.asked[1] == runner.company.repeated / 2 + 1
    assert sum(isinstance(result, Invalid) for result in results) == 1


def test_sharing_can_be_switched_off_and_gives_the_same(sandbox: Sandbox, runner: SandboxedRunner) -> None:
    counting = Faulty(sandbox, "nothing of this kind")
    alone = SandboxedRunner(counting, company=Company(share=False))  # type: ignore[arg-type]
    for one, other in zip(alone.rank(MANY, SEEN), runner.rank(MANY, SEEN), strict=True):
        assert not isinstance(one, Invalid)
        assert not isinstance(other, Invalid)
        for first, second in zip(one, other, strict=True):
            np.testing.assert_array_equal(first.solution_scores_M, second.solution_scores_M)
    assert counting.asked == [len(MANY)] * 2


def test_in_company_a_program_without_the_policys_word_is_not_loaded(sandbox: Sandbox) -> None:
    limits = STRATEGY_LIMITS
    context = sandbox.share(pack(SEEN))
    argument = {"screen": 3, "budget_s": 5.0, "company": True}
    texts = (GOOD, "import os\n" + GOOD, "1 / 0\nimport os\n", GOOD)
    (items,) = sandbox.run([HarnessJob(harness(), "", context, argument, limits, texts)])
    assert [outcome.status for outcome in items] == [Status.OK] * 4
    assert [bool(outcome.value) for outcome in items] == [True, False, False, True]
