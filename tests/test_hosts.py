"""Who a Host header names."""

from __future__ import annotations

import pytest

from evosyn.hosts import is_ours, named_host


@pytest.mark.parametrize(
    ("header", "name"),
    [("localhost", "localhost"), ("LOCALHOST:80", "localhost"), (" 127.0.0.1:8000 ", "127.0.0.1"), ("[::1]:9", "::1")],
)
def test_the_host_is_named_without_its_port(header: str, name: str) -> None:
    assert named_host(header) == name


@pytest.mark.parametrize("header", ["127.0.0.1:1@evil.com", "localhost:80.evil.com", "[::1]evil.com", "evil.com", ""])
def test_what_only_begins_like_this_machine_is_another(header: str) -> None:
    assert not is_ours(named_host(header), "127.0.0.1", token=False)
