"""What a state's name says, what counts to its bound, and how many are kept."""

from __future__ import annotations

import io
import os
import random
import socket
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from evosyn.jobs import ShellCell, ShellJob, ShellScript
from evosyn.sandbox import _owners
from evosyn.shell_world import ShellWorld
from evosyn.worlds.shell import ShellWorlds, states
from evosyn.worlds.shell._inside import archive
from evosyn.worlds.shell.states import ShellState, StateStore, passing_folder

NOBODY = f"{socket.gethostname()}.4194999-1."
"""The mark of a process that is not there."""


@pytest.mark.parametrize(
    "path", ["run/x", "tmp/.evosyn/x", "var/log/x", "root/.bash_history", "var/cache/a/x", "opt/x"]
)
def test_every_folder_belongs_to_a_state(path: str, tmp_path: Path) -> None:
    file = tmp_path / path
    file.parent.mkdir(parents=True)
    digests = set()
    for text in ("one", "two"):
        file.write_text(text)
        digests.add(archive.pack(str(tmp_path), None, (0.0, 1e12)))
    file.unlink()
    digests.add(archive.pack(str(tmp_path), None, (0.0, 1e12)))
    assert len(digests) == 3


@contextmanager
def deep(folder: Path, levels: int) -> Iterator[None]:
    """Folders in one another whose path no call would take."""
    handle = os.open(folder, os.O_RDONLY)
    for _ in range(levels):
        os.mkdir("x" * 200, dir_fd=handle)
        inner = os.open("x" * 200, os.O_RDONLY, dir_fd=handle)
        os.close(handle)
        handle = inner
    os.close(handle)
    yield
    archive.remove(str(folder))


def test_names_and_empty_files_and_second_names_count_as_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archive, "MOST_BYTES", 1 << 20)
    for name in ("few", "deep", "empty", "linked"):
        (tmp_path / name).mkdir()
    (tmp_path / "few" / "a").write_text("a")
    for number in range(600):
        (tmp_path / "empty" / str(number)).touch()
    (tmp_path / "linked" / "a").write_bytes(bytes(100_000))
    for number in range(12):
        (tmp_path / "linked" / str(number)).hardlink_to(tmp_path / "linked" / "a")
    with deep(tmp_path / "deep", 80):
        for name in ("deep", "empty", "linked"):
            written = io.BytesIO()
            with pytest.raises(archive.LayerTooLarge):
                archive.pack(str(tmp_path / name), written, (0.0, 1e12))
            assert len(written.getvalue()) < 3 << 20
        assert archive.pack(str(tmp_path / "few"), io.BytesIO(), (0.0, 1e12))


def layer(store: StateStore, name: str, *, unused_s: float = 0.0) -> None:
    store.keep(io.BytesIO(random.Random(name).randbytes(100_000)), name)
    os.utime(store.layer(name), (time.time() - unused_s,) * 2)


def test_states_of_a_run_stay_within_a_bound_and_those_in_use_stay(tmp_path: Path) -> None:
    store = StateStore(tmp_path, most_bytes=1_000_000)
    used = ShellState("image", ("used",), 1)
    layer(store, "used", unused_s=9000)
    state = store.put(used)
    for number in range(30):
        layer(store, f"old-{number:02}", unused_s=5000 - number)
        assert store.get(state) == used  # which marks it
    left = {path.name.partition(".")[0] for path in (tmp_path / "layers").iterdir()}
    assert "used" in left and "old-29" in left and "old-00" not in left
    assert sum(path.stat().st_size for path in (tmp_path / "layers").iterdir()) <= 1_200_000
    for number in range(30):
        layer(store, f"new-{number:02}")
    assert all(store.layer(f"new-{number:02}").is_file() for number in range(30))


def test_a_state_is_here_with_all_of_its_layers_or_not_at_all(tmp_path: Path) -> None:
    store = StateStore(tmp_path)
    layer(store, "a")
    state = store.put(ShellState("image", ("a",), 1))
    assert store.has(state)
    store.layer("a").unlink()
    assert not store.has(state)


def test_states_of_other_rules_are_not_taken_for_those_of_these(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = StateStore(tmp_path)
    state = store.put(ShellState("image", (), 0))
    monkeypatch.setattr(states, "RULES", 99)
    assert not store.has(state)
    assert ShellState("image", (), 0).id != state


def test_what_a_killed_process_was_writing_goes_at_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    StateStore(tmp_path / "states")
    left, other = (tmp_path / "states" / "layers" / f"tmp.{who}x" for who in (NOBODY, "elsewhere.4194999-1."))
    own = tmp_path / "states" / "first" / f"tmp.{socket.gethostname()}.{_owners.me()}.x"
    for path in (left, other, own):
        path.touch()
    StateStore(tmp_path / "states")
    assert (left.exists(), other.exists(), own.exists()) == (False, True, True)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    (tmp_path / f"evosyn-states-{NOBODY}x" / "layers").mkdir(parents=True)
    (tmp_path / "evosyn-states-of-somebody").mkdir()
    with passing_folder() as mine, passing_folder() as second:
        assert {path.name for path in tmp_path.glob("evosyn-states-*")} == {
            "evosyn-states-of-somebody", mine.name, second.name}  # fmt: skip


def test_a_state_that_went_is_made_again_from_what_was_done(shells: ShellWorlds) -> None:
    world = ShellWorld(init=(ShellScript("mkdir -p /root/d; echo one > /root/d/a"),))
    with shells.open(world) as session:
        session.act("echo two > /root/d/b")
        state = session.freeze()
    for digest in shells.states.get(state).layers:
        shells.states.layer(digest).unlink()
    assert not shells.kept(state)
    job = ShellJob(world.text, (ShellCell(ShellScript("cat /root/d/*")),), state, actions=("echo two > /root/d/b",))
    assert shells.run([job])[0][0].value["out"] == "one\ntwo\n"
    assert shells.kept(state)
