"""Imports everything while files can still be reached, reads the configuration, and starts."""

from __future__ import annotations

import bz2  # noqa: F401 - tarfile asks for these when it is too late
import gzip  # noqa: F401
import json
import lzma  # noqa: F401
import socket
import sys
import zlib  # noqa: F401

from evosyn.worlds.shell._inside.start import start

PACKET = 200_000


def main() -> None:
    """Entry; returns never."""
    for codec in ("utf-8", "latin-1", "ascii"):
        "".encode(codec)
    sys.setrecursionlimit(100_000)  # a room may leave folders as deep as it has inodes
    control = int(sys.argv[1])
    link = socket.socket(fileno=control)
    config = json.loads(link.recv(PACKET))
    link.detach()
    start(control, config)
