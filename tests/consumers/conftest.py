"""Only `make test-consumers` collects these tests; there a case that is skipped has failed."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest

if os.environ.get("EVOSYN_CONSUMERS") != "1":
    collect_ignore_glob = ["test_*.py"]


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.skipped:
        report.outcome = "failed"
        report.longrepr = f"skipped, which counts as failed here: {report.longrepr}"
    return report
