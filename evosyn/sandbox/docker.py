"""The Docker sandbox: the same jails, jobs and verdicts as the local one, each worker in a container of its own.

No network, read-only root, no capabilities, a user that is nobody, limits on memory and processes. A container ends
when our end of its stream is gone; what a crash of the engine leaves is removed when the next sandbox opens. With
gVisor's runtime the kernel that programs see is not the host's: set EVOSYN_SANDBOX_RUNTIME=runsc.

The image is `evosyn-sandbox` (`evosyn sandbox build-image`), or what EVOSYN_SANDBOX_IMAGE names.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import platform
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from pydantic import TypeAdapter, ValidationError

from evosyn.errors import SandboxUnavailable
from evosyn.ports import PluginConfig, SandboxTools
from evosyn.records import Json
from evosyn.sandbox import _filter, _jail, _memory, _owners
from evosyn.sandbox._image import PACKAGES_LABEL, PYTHON_LABEL, docker_client
from evosyn.sandbox.distributions import canonical
from evosyn.sandbox.local import LocalSandbox
from evosyn.sandbox.packages import SHOWN, digest_of

IMAGE = "evosyn-sandbox"
VERSION = "docker-2"
OWNER_LABEL, HOST_LABEL = "evosyn.sandbox.owner", "evosyn.sandbox.host"
PIDS = 256

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ContainerSpec:
    """What the containers of one sandbox have in common: the id of an image, the place of Python inside, and by
    distribution what each package is imported as."""

    image: str
    runtime: str | None
    python: str
    packages: Mapping[str, list[str]]
    hash_seed: int = 0

    @property
    def shown(self) -> list[str]:
        """Folders of packages inside the image."""
        return [f"{SHOWN}/{name}" for name in self.packages]


def create(tools: SandboxTools, config: PluginConfig) -> LocalSandbox:  # noqa: ARG001
    """The Docker sandbox; see `ports.SandboxTools`.

    Raises:
        MissingExtra: the docker SDK is not installed.
        SandboxUnavailable: no engine, no image, or it protects too little and `allow_weak` is not set.
    """
    from evosyn.sandbox import _probe

    count = _memory.chosen_workers(tools.workers)
    client = docker_client()
    spec = replace(_spec(client, tools.packages), hash_seed=tools.hash_seed)
    remove_leftovers(client)
    kind, version = f"{spec.image}@{spec.runtime}", f"{VERSION}+{spec.runtime or 'runc'}"
    plain = Containers(client, replace(spec, packages={}))
    protection = _probe.protection_from("docker", kind, version, plain.launch, own_view=True)
    if protection.level == "weak" and not tools.allow_weak:
        raise SandboxUnavailable(f"the Docker sandbox does not hold: {', '.join(protection.lacks)}")
    containers = Containers(client, spec)
    digest = digest_of([spec.image, spec.hash_seed, sorted(spec.packages)])
    held, guards = replace(protection, packages=tuple(spec.packages), programs=digest), _probe.guards_of("docker", kind)
    sandbox = LocalSandbox(containers.launch, held, count, _memory.Memory(count, bounds=containers), guards)
    return _probe.with_packages(sandbox, spec.shown)


def remove_leftovers(client: Json) -> int:
    """Remove containers whose owner on this host is gone; their number."""
    removed = 0
    for container in client.containers.list(all=True, filters={"label": f"{HOST_LABEL}={_host()}"}):
        owner = container.labels.get(OWNER_LABEL, "")
        if owner and not _owners.is_alive(owner):
            with contextlib.suppress(*_errors()):
                container.remove(force=True)
                removed += 1
    return removed


class Containers:
    """Starts workers in containers; the engine bounds what each uses (`_memory.Bounds`)."""

    def __init__(self, client: Json, spec: ContainerSpec) -> None:
        self._client, self._spec = client, spec
        self._names: dict[int, str] = {}

    def launch(self, slot: int) -> tuple[Container, ContainerStream]:
        try:
            container, stream = _launch(self._client, self._spec, slot)
        except _errors() as error:
            raise SandboxUnavailable(f"the container did not start: {error}") from error
        self._names[slot] = container.name
        return container, stream

    def enter(self, slot: int) -> list[str]:  # noqa: ARG002 - a container is bounded from its start
        return []

    def allow(self, slot: int, share_mb: int) -> bool:
        size = share_mb << 20
        try:
            self._client.api.update_container(self._names[slot], mem_limit=size, memswap_limit=size)
        except _errors() as error:
            _log.info("the engine does not let a container have %d MB: %s", share_mb, error)
            return False
        return True

    def leave(self, slot: int) -> None:
        self._names.pop(slot, None)

    def close(self) -> None:
        self._names.clear()


class Container:
    """A container as `_worker.Process`."""

    def __init__(self, client: Json, name: str, words: IO[bytes]) -> None:
        self._client, self.name = client, name
        self.pid = 0  # its processes are the engine's, which limits their memory
        self.stderr: IO[bytes] | None = words

    def kill(self) -> None:
        with contextlib.suppress(*_errors()):
            self._client.api.remove_container(self.name, force=True)

    def wait(self, timeout: float | None = None) -> int:  # noqa: ARG002 - removal has ended it
        return 0


class ContainerStream:
    """The attached standard streams as `_worker.Channel`: raw towards the container, framed by the engine from it.

    Args:
        words: gets what it writes to standard error before it is ready.
    """

    def __init__(self, attached: socket.socket, words: IO[bytes]) -> None:
        self._socket, self._words = attached, words
        self._socket.setblocking(False)
        self._raw = bytearray()

    def fileno(self) -> int:
        return self._socket.fileno()

    def send(self, data: memoryview, /) -> int:
        return self._socket.send(data)

    def recv(self, size: int, /) -> bytes:
        """Bytes of standard output."""
        data = self._socket.recv(max(size, 1 << 16))
        if not data:
            return b""
        self._raw += data
        found = bytearray()
        while len(self._raw) >= 8:
            length = int.from_bytes(self._raw[4:8], "big")
            if len(self._raw) < 8 + length:
                break
            if self._raw[0] == 1:
                found += self._raw[8 : 8 + length]
            elif not self._words.closed:
                self._words.seek(0, os.SEEK_END)
                self._words.write(self._raw[8 : 8 + length])
                self._words.seek(0)
            del self._raw[: 8 + length]
        if not found:
            raise BlockingIOError
        return bytes(found)

    def close(self) -> None:
        self._socket.close()


def _launch(client: Json, spec: ContainerSpec, slot: int) -> tuple[Container, ContainerStream]:
    api = client.api
    host_config = api.create_host_config(
        network_mode="none",
        read_only=True,
        cap_drop=["ALL"],
        security_opt=["no-new-privileges"],
        mem_limit=_memory.share_of() << 20,
        memswap_limit=_memory.share_of() << 20,
        pids_limit=PIDS,
        auto_remove=True,
        ipc_mode="none",
        log_config={"type": "none"},
        runtime=spec.runtime,
    )
    created = api.create_container(
        spec.image,
        command=[spec.python, "-s", "-S", "-P", "-B", "-X", "utf8", "-c", _jail.BOOT, "0", "1"],
        environment=_jail.environment(spec.hash_seed, packages=bool(spec.packages)),
        user=f"{_jail.NOBODY}:{_jail.NOBODY}",
        working_dir="/",
        stdin_open=True,
        host_config=host_config,
        labels={OWNER_LABEL: _owners.me(), HOST_LABEL: _host(), "evosyn.sandbox.slot": str(slot)},
    )
    words = io.BytesIO()
    container = Container(client, created["Id"], words)
    try:
        attached = api.attach_socket(created["Id"], params={"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1})
        raw = getattr(attached, "_sock", attached)
        api.start(created["Id"])
        raw.settimeout(30)
        raw.sendall(_jail.boot_blob(_config(spec), same_python=False))
    except BaseException:
        container.kill()
        raise
    return container, ContainerStream(raw, words)


def _config(spec: ContainerSpec) -> dict[str, Json]:
    return {
        "filter": _filter.for_machine(),
        "rlimits": {**_jail.RLIMITS, "RLIMIT_NPROC": PIDS},
        "uids": [],
        "keep_read": False,
        "die_with_parent": False,
        "dumpable": False,
        "readable": ["/"],
        "writable": ["/dev/null"],
        "warm": _jail.WARM,
        "packages": dict(spec.packages),
        "path": spec.shown,
    }


def _spec(client: Json, packages: Sequence[str]) -> ContainerSpec:
    name = os.environ.get("EVOSYN_SANDBOX_IMAGE", IMAGE)
    try:
        image = client.images.get(name)
    except _errors() as error:
        raise SandboxUnavailable(
            f"the engine has no image {name!r} ({error}); make it with: evosyn sandbox build-image"
        ) from error
    try:
        held = TypeAdapter(dict[str, list[str]]).validate_json(image.labels.get(PACKAGES_LABEL, "{}"))
    except ValidationError as error:
        rule = "is no JSON object of lists of module names; make the image again with: evosyn sandbox build-image"
        raise SandboxUnavailable(f"the image {name!r}: its label {PACKAGES_LABEL} {rule}") from error
    wanted = [canonical(package) for package in packages]
    if missing := [package for package in wanted if package not in held]:
        words = " ".join(f"--package {package}" for package in dict.fromkeys([*held, *missing]))
        raise SandboxUnavailable(
            f"the image {name!r} does not hold {', '.join(missing)} (label {PACKAGES_LABEL}); make it again with: "
            f"evosyn sandbox build-image {words}"
        )
    runtime, python = os.environ.get("EVOSYN_SANDBOX_RUNTIME") or None, image.labels.get(PYTHON_LABEL, "python3")
    return ContainerSpec(image.id, runtime, python, {package: held[package] for package in wanted})


def _errors() -> tuple[type[BaseException], ...]:
    import docker

    return (docker.errors.DockerException, OSError)


def _host() -> str:
    with contextlib.suppress(OSError):
        return Path("/proc/sys/kernel/random/boot_id").read_text().strip()
    return platform.node()
