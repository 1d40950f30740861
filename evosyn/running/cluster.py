"""Joining a Ray cluster, or starting one on this machine: quietly, without telemetry, never without a token unasked.

Ray (Moritz 2018) is imported here and when asked for, nowhere else. docs/scale.md.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import secrets
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from evosyn.errors import MissingExtra, UnavailableError, UsageError
from evosyn.jobs import Protection
from evosyn.sources import code_version

STORE_MB = 256
"""Shared memory for objects of a cluster that we start; what nodes send each other is small."""
KEPT = ("PATH", "HOME", "USER", "LOGNAME", "SHELL", "TMPDIR", "LD_LIBRARY_PATH", "VIRTUAL_ENV", "TZ")
KEPT_STEMS = ("LANG", "LC_", "PYTHON", "RAY_", "OMP_", "EVOSYN_SANDBOX_")
"""Of the environment, what the processes of a cluster that we start are given: no key of an endpoint is among them."""
_opening = threading.Lock()


def meant(address: str) -> str:
    """The cluster that is meant: the one of this address, or that of RAY_ADDRESS; "" for one node started here."""
    return address or os.environ.get("RAY_ADDRESS", "")


def join(address: str = "") -> Any:
    """The module `ray`, connected.

    Args:
        address: HOST:PORT of the head of a cluster, or "", see `meant`; a node that is started here ends with this
            process. Where this process is connected already it stays so.

    Raises:
        MissingExtra: Ray is not installed.
        UsageError: nothing says whether the cluster asks for a token; we are connected to another one.
        UnavailableError: there is no such cluster, or it refuses us.
    """
    with _opening:
        return _joined(meant(address))


def unlike(version: str, held: Protection | None, wanted: Protection) -> str:
    """Why verdicts found by a node's evosyn and sandbox are not those found here; "" where they are."""
    if version != code_version():
        return f"has evosyn {version}, here is {code_version()}; install the same version"
    if held is None:
        return "its sandbox does not start"
    if (held.backend, held.level, held.version) != (wanted.backend, wanted.level, wanted.version):
        there, here = (f"{one.backend} {one.level} ({one.version})" for one in (held, wanted))
        return f"its sandbox is {there}, that of the others {here}; see `evosyn doctor` there"
    there, here = (", ".join(one.packages) or "no packages" for one in (held, wanted))
    told = f"its programs see other files ({there}) than those of the others ({here}); install the same versions"
    return "" if held.programs == wanted.programs else told


def _joined(address: str) -> Any:
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"  # is read when Ray is imported
    _settle_token(address)
    if importlib.util.find_spec("ray") is None:
        raise MissingExtra("ray", "ray", "--runner ray")
    ray = importlib.import_module("ray")
    if ray.is_initialized():
        held = ray.get_runtime_context().gcs_address
        if address not in ("", held):
            raise UsageError(f"--runner ray:{address}: this process is connected to the Ray cluster at {held}")
        return ray
    ours = {} if address else {"include_dashboard": False, "object_store_memory": STORE_MB << 20}
    try:
        with bare_environment():
            ray.init(
                address=address or "local", log_to_driver=False, logging_level="ERROR", configure_logging=False, **ours
            )
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        where = f"the Ray cluster at {address}" if address else "a Ray cluster on this machine"
        raise UnavailableError(
            f"{where}: {_first_line(error)}. Is `ray start --head` running there, and is RAY_AUTH_TOKEN its token?"
        ) from error
    return ray


class ClusterNode(NamedTuple):
    """A machine of the cluster: Ray's id of it, and CPUs as Ray counts them."""

    id: str
    cpus: int


def nodes_of(ray: Any) -> dict[str, ClusterNode]:
    """The machines that are there and have CPUs, by a name that people can use."""
    found = {}
    for node in ray.nodes():
        cpus = int(node["Resources"].get("CPU", 0)) if node["Alive"] else 0
        if cpus:
            found[f"{node['NodeManagerAddress']}/{node['NodeID'][:8]}"] = ClusterNode(node["NodeID"], cpus)
    return found


def _settle_token(address: str) -> None:
    """Whoever reaches the ports of a cluster without a token runs programs as its user. Ray itself finds a token in the
    file where `ray get-auth-token --generate` puts one.

    Raises:
        UsageError: an existing cluster, and nobody said whether it has one.
    """
    mode = os.environ.get("RAY_AUTH_MODE")
    if address and mode is None and not (Path.home() / ".ray" / "auth_token").is_file():
        raise UsageError(
            f"--runner ray:{address}: set RAY_AUTH_MODE=token and RAY_AUTH_TOKEN (or RAY_AUTH_TOKEN_PATH) as on the "
            "nodes of the cluster; for one that has no token, on a network that nobody else can reach, set "
            "RAY_AUTH_MODE=disabled"
        )
    if not address and mode is None:
        os.environ["RAY_AUTH_MODE"] = "token"
        if not (os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")):
            os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)


@contextmanager
def bare_environment() -> Iterator[None]:
    """While processes of a cluster are started, they find nothing of ours but what they need."""
    held = dict(os.environ)
    for name in held:
        if name not in KEPT and not name.startswith(KEPT_STEMS):
            del os.environ[name]
    try:
        yield
    finally:
        os.environ.update({name: value for name, value in held.items() if name not in os.environ})


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)[:300]
