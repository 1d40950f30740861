"""Joining a cluster: never without a token unasked, without telemetry, and without our keys in its processes."""

import importlib.util
import os
from dataclasses import replace

import pytest

from evosyn.errors import EvosynError, MissingExtra, UsageError
from evosyn.jobs import Protection
from evosyn.running import cluster
from evosyn.running.cluster import unlike
from evosyn.sources import code_version
from evosyn.workbench import SandboxConfig, Workbench, WorkbenchConfig


@pytest.fixture(autouse=True)
def _plain_environment(monkeypatch, tmp_path):
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH", "RAY_ADDRESS", "RAY_USAGE_STATS_ENABLED"):
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_an_existing_cluster_is_not_joined_before_somebody_has_said_whether_it_has_a_token():
    with pytest.raises(UsageError, match=r"set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN .* RAY_AUTH_MODE=disabled"):
        cluster.join("10.0.0.1:6379")


@pytest.mark.skipif(importlib.util.find_spec("ray") is not None, reason="Ray is installed")
def test_without_ray_the_extra_is_named_and_a_cluster_of_ours_would_have_had_a_token_and_no_telemetry():
    with pytest.raises(MissingExtra, match=r"evosyn\[ray\]"):
        cluster.join()
    assert os.environ["RAY_USAGE_STATS_ENABLED"] == "0"
    assert os.environ["RAY_AUTH_MODE"] == "token"
    assert len(os.environ["RAY_AUTH_TOKEN"]) == 64


def test_processes_of_a_cluster_that_we_start_get_no_key_of_ours(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    monkeypatch.setenv("RAY_AUTH_TOKEN", "theirs")
    before = dict(os.environ)
    with cluster.bare_environment():
        assert "OPENAI_API_KEY" not in os.environ
        assert os.environ["RAY_AUTH_TOKEN"] == "theirs"
        assert os.environ["PATH"] == before["PATH"]
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"runner": "ray:10.0.0.1"}, "HOST:PORT"),
        ({"runner": "ray:ray://10.0.0.1:10001"}, "HOST:PORT"),
        ({"runner": "rai"}, "ray"),
        ({"runner": "ray", "backend": "ray"}, "sandbox of one machine"),
        ({"runner": "ray", "no_such_option": 1}, "no_such_option"),
    ],
)
def test_a_runner_that_does_not_exist_or_an_address_that_is_none_is_refused_before_anything_is_opened(given, told):
    with pytest.raises(EvosynError, match=told):
        Workbench(WorkbenchConfig(sandbox=SandboxConfig(**given)))


def test_a_node_is_like_ours_only_in_all_that_decides() -> None:
    ours = Protection("local", "strong", "1", packages=("numpy 2",), programs="p")
    assert not unlike(code_version(), replace(ours, holds=("memory",)), ours)
    reasons = [unlike("0.0.1", ours, ours), unlike(code_version(), None, ours)]
    for name, value in {"backend": "docker", "level": "weak", "version": "2", "programs": "q"}.items():
        reasons.append(unlike(code_version(), replace(ours, **{name: value}), ours))
    assert all(reasons) and len(set(reasons)) == 6
