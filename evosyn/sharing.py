"""Whether programs may share a process, and what repeating some of them alone has shown.

Which programs may is the policy's word (`evosyn.sandbox.company`); this is the switch and the proof that goes on beside
the work: of what came out in company a sample is repeated alone. What differs is repeated once more in a process of
that kind without company: a program that differs from itself there (it shows an address, say) is never shared again;
where it does not, its neighbours made the difference, which ends all sharing of this process. docs/sandbox.md,
"Company".
"""

from __future__ import annotations

import hashlib
import logging
import os
import threading

log = logging.getLogger(__name__)

_differed = threading.Event()
_SECRET = os.urandom(16)


class Company:
    """The settings and counters of one user of shared processes. Thread-safe.

    Args:
        share: False gives every program a process of its own.
        repeat: share of what came out in company that is repeated alone, from 0 to 1.

    Attributes:
        shared: programs whose results came out in company.
        repeated: of them, those that were repeated alone.
        differed: of them, those that gave something else alone, on account of their neighbours.
        unsteady: of them, those that gave something else alone by themselves.
    """

    def __init__(self, share: bool = True, repeat: float = 0.02) -> None:
        if not 0.0 <= repeat <= 1.0:
            raise ValueError(f"repeat: a share from 0 to 1 (got {repeat})")
        self._share, self._repeat = share, repeat
        self._lock = threading.Lock()
        self._apart: set[bytes] = set()
        self.shared = self.repeated = self.differed = self.unsteady = 0

    @property
    def shares(self) -> bool:
        """Whether programs may share a process now; for ever False in this process once one gave something else
        alone."""
        return self._share and not _differed.is_set()

    def admits(self, program: str) -> bool:
        """Whether this program may share; not once it was found to differ from itself."""
        return not self._apart or _digest(program) not in self._apart

    def repeats(self, program: str) -> bool:
        """Whether what this program gave in company is repeated alone; drawn by its text and a secret of this process,
        so that nobody can write a program that is never drawn."""
        return int.from_bytes(_digest(program), "big") < self._repeat * 2.0**64

    def count(self, shared: int) -> None:
        """So many programs came out in company."""
        with self._lock:
            self.shared += shared

    def agreed(self) -> None:
        """A program was repeated alone and gave the same."""
        with self._lock:
            self.repeated += 1

    def disagreed(self, program: str, neighbours: bool) -> None:
        """A program gave something else alone. Where its neighbours made the difference nothing shares a process any
        more; else only the program is kept apart."""
        with self._lock:
            self.repeated += 1
            self.differed += neighbours
            self.unsteady += not neighbours
            if not neighbours:
                self._apart.add(_digest(program))
        if neighbours and not _differed.is_set():
            _differed.set()
            name = hashlib.sha256(program.encode("utf-8", "surrogatepass")).hexdigest()[:16]
            log.warning(
                "a program gave something else alone than in company (sha256 %s...); what it gave alone counts, and "
                "from now on every program of this process runs alone, which is slower",
                name,
            )


def _digest(program: str) -> bytes:
    return hashlib.blake2b(program.encode("utf-8", "surrogatepass"), digest_size=8, key=_SECRET).digest()
