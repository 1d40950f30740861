"""What a command writes: read up to a cap, the rest is read, counted and thrown away."""

from __future__ import annotations

import os


class Output:
    """A pipe that a command writes to."""

    def __init__(self, cap: int) -> None:
        self.read_end = self.write_end = -1  # should there be no more pipes
        self.read_end, self.write_end = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(self.read_end, False)
        self.cap = cap
        self.data = bytearray()
        self.lost = 0

    def __del__(self) -> None:
        self.close_writing()
        if self.read_end >= 0:
            os.close(self.read_end)

    def close_writing(self) -> None:
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def read(self) -> bool:
        """Take what is there, in one piece; whether more may come."""
        try:
            part = os.read(self.read_end, 1 << 16)
        except BlockingIOError:
            return True
        room = self.cap - len(self.data)
        self.data += part[:room]
        self.lost += max(0, len(part) - room)
        return bool(part)

    def read_rest(self) -> None:
        """Take what was written until now, and not what a process that goes on adds forever."""
        for _ in range(1 + (1 << 20) // (1 << 16)):
            before = len(self.data) + self.lost
            if not self.read() or len(self.data) + self.lost == before:
                return

    def take(self) -> bytes:
        """What was read; the next command starts with nothing."""
        found = bytes(self.data)
        self.data.clear()
        return found
