"""Who may ask a server of this machine: the rule for the Host header, the same for the reward service and the page.

A foreign site whose name was pointed at this address (DNS rebinding) names itself in that header, and gets nothing.
"""

from __future__ import annotations

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
