"""What harness jobs share, for as long as somebody may ask for it: each context lives as long as its key does.

Whoever shared it holds the key, and so does every job that names it; when the last of them is gone so is the context,
here and, with the next one that it is sent, in a worker. So a search that draws anew for as long as it runs holds what
it uses now. `ports.Sandbox.share`; docs/sandbox.md.
"""

from __future__ import annotations

import hashlib
import pickle
import threading
from collections.abc import Callable
from typing import Any
from weakref import WeakValueDictionary

from evosyn.records import Json


class ContextKey(str):
    """The key of a context, a digest of its content. A copy of the text is equal, and keeps nothing.

    Attributes:
        kept: what the sandbox keeps of the context.
    """

    kept: Any

    def __reduce__(self) -> tuple[type[str], tuple[str]]:
        return str, (str(self),)


class SharedContexts:
    """Contexts by key, each as long as its key is held. Thread-safe.

    Args:
        keep: makes of the pickle of a context what is kept of it.
    """

    def __init__(self, keep: Callable[[bytes], Any] = bytes) -> None:
        self._keep, self._lock = keep, threading.Lock()
        self._held: WeakValueDictionary[str, ContextKey] = WeakValueDictionary()

    def add(self, value: Json) -> ContextKey:
        """The key of trusted data of ours on its way into a jail (never the other way round); equal data, equal key."""
        pickled = pickle.dumps(value, protocol=5)
        digest = hashlib.sha256(pickled).hexdigest()
        with self._lock:
            key = self._held.get(digest)
            if key is None:
                key = ContextKey(digest)
                key.kept = self._keep(pickled)
                self._held[digest] = key
        return key

    def get(self, key: str) -> Any:
        """What is kept under a key, or a copy of it.

        Raises:
            KeyError: nobody holds the key that `add` gave, or it gave none.
        """
        found = self._held.get(str(key))
        if found is None:
            raise KeyError(f"context {str(key)!r} was not made by share(), or the text that it gave is held no more")
        return found.kept

    def __contains__(self, key: str) -> bool:
        return str(key) in self._held

    def __len__(self) -> int:
        return len(self._held)
