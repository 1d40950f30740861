"""What harness jobs share lives as long as somebody holds its key, here, in a worker and on a node of a cluster."""

from __future__ import annotations

import marshal
import os
from collections.abc import Iterator
from typing import Any, cast

import numpy as np
import pytest
from hostile_suite.host import descendants

from evosyn.jobs import HarnessJob, Status
from evosyn.ports import SandboxTools
from evosyn.rankings import Rankings
from evosyn.records import PassMatrix
from evosyn.sandbox import open_sandbox
from evosyn.sandbox._contexts import SharedContexts
from evosyn.sandbox._inside.alarm import JobLimits
from evosyn.sandbox._inside.hosts import MOST, MOST_HARNESSES, SMALL, Hosts
from evosyn.sandbox._ray_node import MOST_CONTEXTS, NodeSandbox
from evosyn.strategies import load_known
from evosyn.strategies.evidence import evidence_of
from evosyn.strategies.running.sandboxed import REMEMBERED, SandboxedRunner

ADDS = "def main(program, context, argument):\n    return context['a'] + argument\n"


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Any]:
    with open_sandbox(workers=1, allow_weak=True, packages=("numpy",)) as opened:
        yield opened


def test_a_context_lives_as_long_as_its_key_and_one_holder_of_equal_data_is_enough() -> None:
    contexts = SharedContexts()
    one, other = contexts.add({"a": 1}), contexts.add({"a": 1})
    copy = str(one)
    assert (one, len(contexts)) == (other, 1)
    del one
    assert contexts.get(copy) == other.kept
    del other
    assert copy not in contexts
    with pytest.raises(KeyError, match="held no more"):
        contexts.get(copy)


def test_a_job_holds_its_context_and_a_copy_of_a_key_is_none_whatever_a_worker_knows(sandbox: Any) -> None:
    ((outcome,),) = sandbox.run([HarnessJob(ADDS, "", sandbox.share({"a": 40}), 2)])
    assert (outcome.status, outcome.value) == (Status.OK, 42)
    copy = str(sandbox.share({"a": 40}))
    with pytest.raises(KeyError, match="held no more"):
        sandbox.run([HarnessJob(ADDS, "", copy, 2)])
    held = sandbox.share({"a": 40})
    ((outcome,),) = sandbox.run([HarnessJob(ADDS, "", copy, 3)])
    assert (outcome.value, held) == (43, copy)


def test_a_worker_forgets_what_it_is_told_and_nothing_else() -> None:
    hosts = Hosts(cast(Any, None), -1)
    for key, gone in (("a", ()), ("b", ()), ("c", ("a", "never"))):
        hosts.share(range(1), 0.0, JobLimits(0.0, 0.0, 0.0, 0, 0), marshal.dumps((key, b"x", gone), 2))
    assert set(hosts._contexts) == {"b", "c"}


def test_hosts_end_with_what_they_are_for() -> None:
    """One lives for each context that is asked for again, below one for each harness, and no more than so many."""
    with open_sandbox(workers=1, allow_weak=True, packages=("numpy",)) as sandbox:

        def living(harness: str, keys: list[str]) -> int:
            outcomes = sandbox.run([HarnessJob(harness, "", key, 2) for key in keys])
            assert {outcome.status for (outcome,) in outcomes} == {Status.OK}
            return len(descendants({os.getpid()}))

        keys = [sandbox.share({"a": number}) for number in range(MOST + 4)]
        one = living(ADDS, keys[:1])
        assert living(ADDS, keys[:3]) == one + 1
        assert living(ADDS, keys[:3]) == one + 3
        assert living(ADDS, keys[:3]) == one + 3
        assert living(ADDS, keys[3:MOST]) == living(ADDS, keys[:3]) == one + 3
        assert living(ADDS, keys[3:MOST]) == one + MOST
        assert living(ADDS, keys[MOST:]) == one + MOST - 4
        large = [sandbox.share({"a": 1, "b": bytes(SMALL + 1)})]
        assert living(ADDS, large) == one + MOST - 4, "it has a host at once, in place of the oldest"
        del large
        keys = [sandbox.share({"a": -1})]  # the worker hears of what is gone with the next that it is sent
        assert living(ADDS, keys) == one
        for number in range(MOST_HARNESSES + 4):
            living(f"{ADDS}# {number}", keys)
            most = living(f"{ADDS}# {number}", keys)
        assert most <= one + 2 * MOST_HARNESSES
        used = f"{ADDS}# {MOST_HARNESSES + 3}"
        for number in range(MOST_HARNESSES):
            before = descendants({os.getpid()})
            living(used, keys)
            assert descendants({os.getpid()}) == before, "the harness that is asked for again and again stays"
            living(f"{ADDS}# again {number}", keys)


def test_a_runner_of_many_draws_holds_the_last_ones_alone(sandbox: Any) -> None:
    runner, verdicts = SandboxedRunner(sandbox), np.array([list("PF"), list("PP")])
    for draw in range(REMEMBERED + 6):
        evidences = (evidence_of(PassMatrix(f"p{draw}", verdicts, solution_texts=(f"a{draw}", "b"))),)
        (found,) = runner.rank([load_known("initial")], evidences)
        assert isinstance(found, Rankings)
    assert len(sandbox._pool.contexts) == REMEMBERED


def test_a_node_knows_the_last_contexts_and_is_told_again_of_others() -> None:
    node = NodeSandbox("local", {}, SandboxTools(workers=1, allow_weak=True), 1, "")
    held: Any = node._sandbox
    with held:
        keys = [str(node._key(str(number), lambda one=number: {"a": one})) for number in range(MOST_CONTEXTS + 3)]
        assert len(held._pool.contexts) == MOST_CONTEXTS
        assert node._key("0", lambda: {"a": 0}) == keys[0] in held._pool.contexts
