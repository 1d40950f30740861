"""Who may ask a server of this machine: address, token and Host header, the same for the reward service and the page.

A foreign site whose name was pointed at this address (DNS rebinding) names itself in that header, and gets nothing.
"""

from __future__ import annotations

import socket

from evosyn.errors import UsageError

LOOPBACK = ("127.0.0.1", "::1", "localhost")
ANY = ("0.0.0.0", "::")


def named_host(header: str) -> str:
    """The host of a Host header, without port and brackets."""
    name = header.strip().lower()
    host, _, port = name[1:].partition("]") if name.startswith("[") else name.partition(":")
    return host if not port or port.removeprefix(":").isdecimal() else name


def is_ours(named: str, host: str, *, token: bool) -> bool:
    """Whether a server that listens on `host` answers to this name; where it listens on every address, only a token
    tells friends from strangers."""
    return named in (*LOOPBACK, host.lower()) or (host in ANY and token)


def require_token(host: str, token: str | None, how: str) -> None:
    """
    Raises:
        UsageError: others can reach the address, and there is no token; `how` says how to give one.
    """
    if host not in LOOPBACK and not token:
        raise UsageError(f"--host {host}: others can reach it, so a token is needed: {how}")


def listening_socket(host: str, port: int, backlog: int = 128) -> socket.socket:
    """A socket of this address that listens from now on, so that nobody who reads the port is refused; port 0 takes a
    free one.

    Raises:
        UsageError: the address cannot be used.
    """
    made = socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET, socket.SOCK_STREAM)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind((host, port))
        made.listen(backlog)
    except OSError as error:
        made.close()
        raise UsageError(f"--host {host} --port {port}: {error.strerror}; --port 0 takes a free port") from error
    return made
