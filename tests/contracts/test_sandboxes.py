"""Every sandbox that the registry finds is made with the same arguments and keeps the port's contract."""

from __future__ import annotations

import inspect

import pytest

from evosyn import registry
from evosyn.errors import EvosynError
from evosyn.jobs import Call, CallsJob, Status
from evosyn.ports import Sandbox

NAMES = registry.names("sandboxes")


def test_there_is_a_local_and_a_docker_sandbox() -> None:
    assert {"local", "docker"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_a_sandbox_is_made_with_the_common_arguments(name: str) -> None:
    parameters = inspect.signature(registry.factory("sandboxes", name)).parameters
    assert {"workers", "allow_weak", "numpy", "hash_seed"} <= set(parameters)


@pytest.mark.parametrize("name", NAMES)
def test_a_sandbox_runs_jobs_in_order_and_closes_twice(name: str) -> None:
    try:
        sandbox = registry.factory("sandboxes", name)(workers=1)
    except EvosynError as error:
        pytest.skip(f"{name}: {error}")
    with sandbox:
        assert isinstance(sandbox, Sandbox)
        assert sandbox.protection.version
        jobs = [CallsJob(f"def f(x): return x + {n}", "f", (Call((1,)), Call((2,)))) for n in range(5)]
        results = sandbox.run(jobs)
        assert [[item.value for item in outcomes] for outcomes in results] == [[n + 1, n + 2] for n in range(5)]
        assert sandbox.run([]) == []
        assert sandbox.run([CallsJob("def f(): pass", "f", ())]) == [()]
        (outcomes,) = sandbox.run([CallsJob("x =", "f", (Call(), Call()))])
        assert [item.status for item in outcomes] == [Status.LOAD_ERROR] * 2
    sandbox.close()
