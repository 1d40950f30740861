"""Sandboxes: where untrusted programs run. `open_sandbox` is the way in; the contract is `ports.Sandbox`.

Nothing heavy is imported before a sandbox is opened. DESIGN.md section 5, docs/sandbox.md.
"""

from __future__ import annotations

from evosyn.ports import Sandbox
from evosyn.registry import factory


def open_sandbox(
    name: str = "local",
    *,
    workers: int | None = None,
    allow_weak: bool = False,
    numpy: bool = False,
    hash_seed: int = 0,
) -> Sandbox:
    """Open a sandbox by name; close it, or use it as a context manager.

    Args:
        name: `local`, `docker`, or anything else that the registry finds.
        workers: how many programs run at the same time; None for one per core that we may use, as far as their
            memory fits the machine.
        allow_weak: accept less protection than the sandbox demands by default.
        numpy: have numpy imported in the workers (for HarnessJobs of ours).
        hash_seed: PYTHONHASHSEED of the programs; another seed shows answers that depend on the order of sets.

    Raises:
        SandboxUnavailable: it does not work here, or protects too little and `allow_weak` is not set.
        UsageError: no sandbox of that name.
    """
    make = factory("sandboxes", name)
    sandbox: Sandbox = make(workers=workers, allow_weak=allow_weak, numpy=numpy, hash_seed=hash_seed)
    return sandbox
