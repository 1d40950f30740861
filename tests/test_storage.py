"""Shared storage: whole objects, one creator, the same of a directory and of a bucket."""

from __future__ import annotations

import threading
import uuid
from pathlib import Path
from typing import Any

import fsspec  # type: ignore[import-untyped]
import pytest
from fsspec.implementations.memory import MemoryFileSystem  # type: ignore[import-untyped]

from evosyn.errors import UnavailableError
from evosyn.storage import Storage, open_storage


@pytest.fixture(params=["directory", "bucket"])
def storage(request: pytest.FixtureRequest, tmp_path: Path) -> Storage:
    address = str(tmp_path / "store") if request.param == "directory" else f"memory://{uuid.uuid4().hex}/run"
    return open_storage(address)


def test_what_is_written_is_read_and_listed_and_nothing_else_is(storage: Storage) -> None:
    assert storage.read("a/one") is None
    assert storage.names("a") == []
    storage.write("a/two", b"2")
    storage.write("a/one", b"1")
    storage.write("a/one", b"more")
    storage.write("b/three", b"3")
    assert storage.names("a") == ["one", "two"]
    assert storage.read("a/one") == b"more"


def test_an_object_is_created_once(storage: Storage) -> None:
    assert storage.create("seal", b"first")
    assert not storage.create("seal", b"second")
    assert storage.read("seal") == b"first"


def test_of_many_who_create_at_once_one_does_and_no_draft_is_left(tmp_path: Path) -> None:
    storage, won = open_storage(str(tmp_path)), []

    def create(number: int) -> None:
        if storage.create("sealed/one", str(number).encode() * 100_000):
            won.append(number)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(won) == 1
    assert storage.read("sealed/one") == str(won[0]).encode() * 100_000
    assert [path.name for path in (tmp_path / "sealed").iterdir()] == ["one"]


class HttpError(Exception):
    """As gcsfs has one, which is no OSError."""


class Refusing(MemoryFileSystem):
    """A bucket that lets nobody near an object or folder `locked`, and says in its own way that one is there."""

    protocol = "refusing"

    def cat_file(self, path: str, **options: Any) -> Any:
        return super().cat_file(_open(path), **options)

    def pipe_file(self, path: str, value: bytes, mode: str = "overwrite", **options: Any) -> Any:
        if mode == "create" and self.exists(path):
            raise HttpError("412: there is one")
        return super().pipe_file(_open(path), value, **options)

    def find(self, path: str, **options: Any) -> Any:
        return super().find(_open(path), **options)


def _open(path: str) -> str:
    if "locked" in path:
        raise HttpError("403: nobody may")
    return path


def test_what_a_bucket_refuses_in_its_own_way_is_an_error_of_the_system_and_names_the_object() -> None:
    fsspec.register_implementation("refusing", Refusing, clobber=True)
    bucket = open_storage(f"refusing://{uuid.uuid4().hex}/run")
    assert bucket.create("seal", b"first")
    assert not bucket.create("seal", b"second")
    bucket.write("a/one", b"1")
    assert bucket.read("a/one") == b"1"
    for refused in (
        lambda: bucket.read("a/locked"),
        lambda: bucket.write("a/locked", b""),
        lambda: bucket.create("a/locked", b""),
        lambda: bucket.names("a/locked"),
    ):
        with pytest.raises(OSError, match=r"refusing://\w+/run/a/locked: HttpError: 403: nobody may"):
            refused()


def test_a_kind_of_bucket_that_nobody_knows_is_refused() -> None:
    with pytest.raises(UnavailableError, match="nowhere://x: cannot be opened"):
        open_storage("nowhere://x")
