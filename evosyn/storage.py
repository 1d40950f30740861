"""Storage that several machines share: named objects of bytes, each whole or not there; a directory, or a bucket.

Nothing is ever changed in place but what is said to be: an object is written once, or `create`d by the first who comes.
Buckets (`s3://`, `gs://`, ...) are those of fsspec, which comes with `datasets`; its package for a kind of bucket is
imported when an address names it. docs/scale.md.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Protocol

from evosyn.errors import UnavailableError
from evosyn.rundir import write_atomic


class Storage(Protocol):
    """Objects by name; a name has parts with slashes between them. What does not work is an OSError."""

    def read(self, name: str) -> bytes | None:
        """An object, or None where there is none."""
        ...

    def write(self, name: str, data: bytes) -> None:
        """Put an object, in place of one of that name."""
        ...

    def create(self, name: str, data: bytes) -> bool:
        """Put an object unless there is one of that name; whether it was put."""
        ...

    def names(self, folder: str) -> list[str]:
        """The objects of a folder, without its name, sorted."""
        ...


def open_storage(address: str) -> Storage:
    """
    Args:
        address: a path, or the address of a bucket and a folder in it, such as `s3://bucket/run`.

    Raises:
        UnavailableError: there is no such kind of bucket, or its package is not installed.
    """
    return Bucket(address) if "://" in address else Directory(Path(address))


class Directory:
    """Implements `Storage` over a directory, of this machine or of a file server."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def read(self, name: str) -> bytes | None:
        try:
            return (self._path / name).read_bytes()
        except FileNotFoundError:
            return None

    def write(self, name: str, data: bytes) -> None:
        write_atomic(self._path / name, data)

    def create(self, name: str, data: bytes) -> bool:
        target = self._path / name
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, draft = tempfile.mkstemp(dir=target.parent, prefix=f".{target.name}.")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.link(draft, target)  # fails where there is one, on file servers too
        except FileExistsError:
            return False
        finally:
            Path(draft).unlink()
        return True

    def names(self, folder: str) -> list[str]:
        path = self._path / folder
        return sorted(one.name for one in path.iterdir() if one.name[0] != ".") if path.is_dir() else []


class Bucket:
    """Implements `Storage` over a file system of fsspec.

    `create` is as safe as that of the file system: s3fs and gcsfs ask the bucket for it, others look first.
    """

    def __init__(self, address: str) -> None:
        """
        Args:
            address: of the bucket and a folder in it.

        Raises:
            UnavailableError: see `open_storage`.
        """
        import fsspec  # type: ignore[import-untyped]

        scheme = address.partition("://")[0]
        try:
            found: tuple[Any, str] = fsspec.core.url_to_fs(address, use_listings_cache=False)
        except ImportError as error:
            package = {"s3": "s3fs", "gs": "gcsfs", "abfs": "adlfs"}.get(scheme)
            told = f"install its package: pip install {package}" if package else str(error)
            raise UnavailableError(f"{address}: shared storage of this kind cannot be opened; {told}") from error
        except (ValueError, OSError) as error:
            raise UnavailableError(f"{address}: cannot be opened as shared storage: {error}") from error
        self._files, self._path, self._address = found[0], found[1].rstrip("/"), address

    def read(self, name: str) -> bytes | None:
        with self._errors(name), suppress(FileNotFoundError):
            return bytes(self._files.cat_file(f"{self._path}/{name}"))
        return None

    def write(self, name: str, data: bytes) -> None:
        with self._errors(name):
            self._files.pipe_file(f"{self._path}/{name}", data)

    def create(self, name: str, data: bytes) -> bool:
        path = f"{self._path}/{name}"
        try:
            with self._errors(name):
                self._files.pipe_file(path, data, mode="create")
        except OSError:  # each file system has an error of its own for one that is there
            with self._errors(name):
                if self._files.exists(path):
                    return False
            raise
        return True

    def names(self, folder: str) -> list[str]:
        path = f"{self._path}/{folder}"
        with self._errors(folder):
            self._files.invalidate_cache()
            return sorted(one.rpartition("/")[2] for one in self._files.find(path))

    @contextmanager
    def _errors(self, name: str) -> Iterator[None]:
        """What the file system of a bucket raises (`gcsfs.HttpError`, errors of a login) as an OSError, which is what
        whoever uses a storage is ready for."""
        try:
            yield
        except OSError:
            raise
        except Exception as error:  # each has classes of its own
            raise OSError(f"{self._address.rstrip('/')}/{name}: {type(error).__name__}: {error}") from error
