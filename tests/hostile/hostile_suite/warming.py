"""A few honest jobs of every kind: what a worker keeps between jobs is then there, and works."""

from __future__ import annotations

from evosyn.jobs import Call, CallsJob, Check, ChecksJob, Limits, Status, StdioJob
from evosyn.ports import Sandbox

LIMITS = Limits(wall_s=20.0, budget_s=60.0)


def warm(sandbox: Sandbox) -> None:
    """
    Raises:
        AssertionError: an honest job did not come out right.
    """
    text = "def twice(x): return 2 * x"
    checks = (Check("assert twice(4) == 8"), Check("import math\nassert twice(3) == 6"))
    found = sandbox.run(
        [
            CallsJob(text, "twice", (Call((4,)), Call((5,))), LIMITS),
            ChecksJob(text, "twice", checks, LIMITS),
            StdioJob("print(2 * int(input()))", ("4\n", "5\n"), LIMITS),
        ]
    )
    statuses = [outcome.status for outcomes in found for outcome in outcomes]
    assert statuses == [Status.OK] * 6, f"honest jobs came to {found}"
