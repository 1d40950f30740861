"""Installing a system-call filter on this process and its children. The filter itself is made outside, by `_filter`.

Linux `seccomp(2)`, without a library.
"""

from __future__ import annotations

import ctypes

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP, _MODE_FILTER = 38, 22, 2


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("filter", ctypes.c_char_p))


class Filter:
    """A filter ready to be installed many times; `install` costs one system call."""

    def __init__(self, program: bytes) -> None:
        self._bytes = program
        self._program = _Program(len(program) // 8, program)
        self._pointer = ctypes.byref(self._program)
        self._prctl = ctypes.CDLL(None, use_errno=True).prctl
        self._prctl.argtypes = (ctypes.c_int, ctypes.c_ulong, ctypes.c_void_p, ctypes.c_ulong, ctypes.c_ulong)

    def install(self) -> bool:
        return bool(self._prctl(_PR_SET_SECCOMP, _MODE_FILTER, self._pointer, 0, 0) == 0)


def no_new_privileges() -> bool:
    prctl = ctypes.CDLL(None, use_errno=True).prctl
    return bool(prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0)
