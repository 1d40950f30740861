"""The pipes between a testing and a program: whole messages in, whole messages out, the end where nobody is left."""

from __future__ import annotations

import os
from typing import NoReturn

EXIT_PEER = 81


def write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        try:
            view = view[os.write(handle, view) :]
        except OSError:
            _gone()


class PipeReader:
    """Reads exact numbers of bytes from a pipe with few system calls; ends the process where the peer is gone."""

    def __init__(self, handle: int) -> None:
        self._handle = handle
        self._data = b""

    def read(self, size: int) -> bytes:
        while len(self._data) < size:
            part = os.read(self._handle, max(size - len(self._data), 1 << 16))
            if not part:
                _gone()
            self._data += part
        data, self._data = self._data[:size], self._data[size:]
        return data


def _gone() -> NoReturn:
    os._exit(EXIT_PEER)
