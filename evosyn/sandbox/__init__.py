"""Sandboxes: where untrusted programs run. `open_sandbox` is the way in; the contract is `ports.Sandbox`.

Nothing heavy is imported before a sandbox is opened. DESIGN.md section 5, docs/sandbox.md.
"""

from __future__ import annotations

from collections.abc import Mapping

from evosyn import registry
from evosyn.ports import Sandbox, SandboxTools
from evosyn.records import Json


def open_sandbox(
    name: str = "local",
    *,
    workers: int | None = None,
    allow_weak: bool = False,
    packages: tuple[str, ...] = (),
    packages_from: str | None = None,
    hash_seed: int = 0,
    options: Mapping[str, Json] | None = None,
) -> Sandbox:
    """Open a sandbox by name; close it, or use it as a context manager.

    Args:
        name: `local`, `docker`, or anything else that the registry finds.
        workers, allow_weak, packages, packages_from, hash_seed: see `ports.SandboxTools`.
        options: of its own config.

    Raises:
        SandboxUnavailable: it does not work here, or protects too little and `allow_weak` is not set.
        UsageError: no sandbox of that name, an option that it does not know, or a package that cannot be shown.
    """
    tools = SandboxTools(workers, allow_weak, packages, packages_from, hash_seed)
    sandbox: Sandbox = registry.make("sandboxes", name, tools, options)
    return sandbox
