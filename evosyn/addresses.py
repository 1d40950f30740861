"""The address of an endpoint: checked before anything is sent, and shown without what may be secret in it.

A wrong address is never repeated as it was given where a password may stand in it. Nothing is looked up here.
"""

from __future__ import annotations

import re
from urllib.parse import SplitResult, parse_qsl, urlsplit

from evosyn.records import Json

EXAMPLE = "such as http://localhost:8000/v1"
FULL = "/chat/completions"
SECRET_WORDS = ("key", "token", "secret", "password", "signature", "sig")
SCHEME = re.compile(r"https?://", re.IGNORECASE)


def fault_of(url: str) -> str:
    """What is wrong with the address of an endpoint, and what to do; empty where nothing is."""
    shown = without_secrets(url)
    if re.search(r"[^!-~]", url):
        return f"{shown!r} holds a blank, a line end or a letter that is not ASCII; give a URL {EXAMPLE}"
    parts = _split(url)
    if parts is None:
        return f"{shown!r} is no URL {EXAMPLE}"
    if parts.scheme.lower() not in ("http", "https"):
        return f"{shown!r} does not begin with http:// or https://; give a URL {EXAMPLE}"
    if "@" in parts.netloc:
        return f"{shown!r} holds a user or a password; give the address alone, and a key by --api-key-env NAME"
    if not parts.hostname:
        return f"{shown!r} names no host; give a URL {EXAMPLE}"
    if parts.netloc.endswith(":") or _port(parts) is None:
        return f"{shown!r} has a port that is none (1 to 65535)"
    if parts.query or parts.fragment or url.endswith(("?", "#")):
        return f"{shown!r} holds more than an address (? or #), which may be a secret; leave that out"
    if parts.path.rstrip("/").endswith(FULL):
        return f"{shown!r} ends with {FULL}, which is added; leave that out"
    return ""


def holds_secret(key: str, value: Json) -> bool:
    """Whether the value of a key is an address with a secret in it, which must not be written into a file."""
    if not isinstance(value, str) or "://" not in value:
        return key == "base_url" and "@" in str(value)
    parts = _split(value)
    if parts is None:  # no URL, which the teacher says; whether it holds one is not known
        return "@" in value or "?" in value
    names = [name.lower() for name, _ in parse_qsl(parts.query)]
    return "@" in parts.netloc or any(word in name for name in names for word in SECRET_WORDS)


def is_this_machine(url: str | None) -> bool:
    """Whether an address is of the machine that asks."""
    host = (parts.hostname or "") if url and (parts := _split(url)) else ""
    return host in ("localhost", "::1", "0.0.0.0", "host.docker.internal") or bool(re.fullmatch(r"127(\.\d+){3}", host))


def without_secrets(url: str) -> str:
    """The text of a URL without user, password, query and fragment, whatever else it is."""
    scheme = SCHEME.match(url)
    rest = url[scheme.end() :] if scheme else url
    if "@" in rest:
        rest = f"...@{rest.rpartition('@')[2]}"
    return (scheme[0] if scheme else "") + re.sub(r"[?#].*", "?...", rest, flags=re.DOTALL)


def _split(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None


def _port(parts: SplitResult) -> int | None:
    """The port, 0 where none is given; None where it is none."""
    try:
        port = parts.port
    except ValueError:
        return None
    return 0 if port is None else port or None
