"""For all tests: the processes that they start find what stands in for a model, and are reached by interrupts, however
the test run itself was started; hypothesis counts no seconds, which are the machine's; and the figures of the hostile
suite are printed at the end, and written as JSON to the file that EVOSYN_HOSTILE_REPORT names.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hostile_suite.findings import report, table
from hostile_suite.seed import run_seed
from hypothesis import HealthCheck, settings

support = str(
    Path(__file__).parent / "support"
)  # for the processes that tests start, as pytest's pythonpath is for their own
os.environ["PYTHONPATH"] = os.pathsep.join([support, *filter(None, [os.environ.get("PYTHONPATH")])])

settings.register_profile("any load", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("any load")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a background job of a shell; children would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)

run_seed()  # before other processes are started, which then have the same
_tallies: list[dict[str, Any]] = []


@pytest.fixture(autouse=True)
def _modules_of_a_test_go_with_it(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What a test imports from its own folder, such as a stand-in for a library, would be found by all after it."""
    before, made = set(sys.modules), str(tmp_path_factory.getbasetemp())
    yield
    added = {name: sys.modules[name] for name in sys.modules.keys() - before}
    left = [name for name, module in added.items() if (getattr(module, "__file__", None) or "").startswith(made)]
    assert not left, f"the test leaves {left} in sys.modules, which later tests would import"


def pytest_report_header() -> str:
    return f"hostile suite: EVOSYN_TEST_SEED={run_seed()}"


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    if report.when == "call":
        _tallies.extend(
            value for name, value in report.user_properties if name == "hostile" and isinstance(value, dict)
        )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    if not _tallies:
        return
    figures = report(_tallies)
    terminalreporter.section("hostile suite")
    for line in table(figures):
        terminalreporter.write_line(line)
    path = os.environ.get("EVOSYN_HOSTILE_REPORT")
    if path:
        Path(path).write_text(json.dumps(figures, indent=1, sort_keys=True) + "\n", encoding="utf-8")
