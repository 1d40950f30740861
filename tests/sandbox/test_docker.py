"""What only the Docker sandbox has: containers that end with us, and nothing left behind."""

from __future__ import annotations

import importlib.util
import io
import json
import signal
import subprocess
import sys
import time

import pytest

from evosyn.errors import EvosynError, SandboxUnavailable
from evosyn.jobs import Call, CallsJob, Limits
from evosyn.sandbox import _image, _memory, _owners, docker, open_sandbox

pytestmark = pytest.mark.docker

SCRIPT = """
from evosyn.jobs import Call, CallsJob, Limits
from evosyn.sandbox import open_sandbox
sandbox = open_sandbox("docker", workers=1)
print("ready", flush=True)
sandbox.run([CallsJob("def f(x):\\n    while True: pass", "f", (Call((1,)),) * 9, Limits(wall_s=60))])
"""


@pytest.fixture(scope="module")
def client() -> object:
    if importlib.util.find_spec("docker") is None:
        pytest.skip("the docker SDK is not installed")
    try:
        engine = _image.docker_client()
    except EvosynError as error:
        pytest.skip(str(error))
    if not engine.images.list(name="evosyn-sandbox", filters={"label": _image.PACKAGES_LABEL}):
        _image.build_from_host(engine, "evosyn-sandbox")
    return engine


def containers(client: object, owner: str) -> list[object]:
    return client.containers.list(all=True, filters={"label": f"{docker.OWNER_LABEL}={owner}"})


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_no_container_outlives_a_killed_owner(client: object, number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", SCRIPT], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n"
    owner = f"{process.pid}-{_owners.started(process.pid)}"
    time.sleep(1)
    assert containers(client, owner)
    process.send_signal(number)
    process.wait(30)
    until = time.monotonic() + 30
    while containers(client, owner) and time.monotonic() < until:
        time.sleep(0.2)
    assert containers(client, owner) == []


def test_containers_of_owners_that_are_gone_are_removed(client: object) -> None:
    labels = {docker.OWNER_LABEL: "999999-1", docker.HOST_LABEL: docker._host()}
    left = client.api.create_container("evosyn-sandbox", command=["x"], labels=labels)
    assert docker.remove_leftovers(client) >= 1
    with pytest.raises(docker._errors()):
        client.api.inspect_container(left["Id"])


@pytest.mark.usefixtures("client")
def test_a_missing_image_names_the_command_that_makes_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EVOSYN_SANDBOX_IMAGE", "no-such-image-here")
    with pytest.raises(SandboxUnavailable, match="build-image"):
        open_sandbox("docker", workers=1)


@pytest.mark.parametrize("label", ["{", "[]", '{"numpy": "numpy"}', '{"numpy": [1]}', "null", ""])
def test_an_image_whose_label_cannot_be_read_is_named(
    client: object, monkeypatch: pytest.MonkeyPatch, label: str
) -> None:
    name, empty = "evosyn-unreadable", io.BytesIO(bytes(10240))
    changes = [f"LABEL {_image.PACKAGES_LABEL}={json.dumps(label)}"]
    client.api.import_image_from_data(empty, repository=name, tag="latest", changes=changes)
    monkeypatch.setenv("EVOSYN_SANDBOX_IMAGE", name)
    try:
        with pytest.raises(SandboxUnavailable, match=f"{name}.*{_image.PACKAGES_LABEL}.*build-image"):
            open_sandbox("docker", workers=1)
    finally:
        client.images.remove(name)


def test_a_container_may_use_what_the_limits_of_its_jobs_come_to(client: object) -> None:
    with open_sandbox("docker", workers=1) as sandbox:
        for memory_mb in (Limits().memory_mb, 2 * Limits().memory_mb):
            job = CallsJob("def f(x): return x", "f", (Call((7,)),), Limits(memory_mb=memory_mb))
            assert sandbox.run([job])[0][0].value == 7
            (container,) = containers(client, _owners.me())
            container.reload()
            assert container.attrs["HostConfig"]["Memory"] == _memory.share_of(memory_mb) << 20
