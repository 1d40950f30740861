"""A whole program as the interpreter runs a script: what it finds at its beginning, and what is done at its end.

Jails start `python -S -c` and end children with `os._exit`; a script may count on what lies between: the names that
`site` adds, its arguments, `/dev/stdin`; and then on the end that Python's own reference describes (`Py_FinalizeEx`:
threads, `atexit`, flushing, finalizers), which is part of the run and under its limits.
"""

from __future__ import annotations

import builtins
import functools
import gc
import io
import marshal
import os
import site
import sys
import weakref
from collections.abc import Callable, Iterable
from types import ModuleType
from typing import Any

from evosyn.sandbox._inside import child, wire
from evosyn.sandbox._inside.alarm import Alarm, JobLimits, TimeLimit
from evosyn.sandbox._inside.child import Writer, describe

NAME = "program.py"
FILE = f"/tmp/{NAME}"
_ADDED = ("exit", "quit", "copyright", "credits", "license", "help", "open")
FOLDERS = ("/dev/fd/", "/proc/self/fd/")
STREAMS = {
    **{f"/dev/{name}": number for number, name in enumerate(("stdin", "stdout", "stderr"))},
    **{f"{folder}{number}": number for folder in FOLDERS for number in range(3)},
}
"""Files that a jail without `/proc` does not have: opening one gives another descriptor of that stream."""


def prepare() -> None:
    """What every program finds; called once, in the ancestor of all."""
    sys.argv[:] = [NAME]
    sys.orig_argv[:] = [sys.executable, NAME]
    site.setquit()
    site.setcopyright()
    site.sethelper()
    io.open = builtins.open = _streams_too(io.open, io.open)
    os.open = _streams_too(os.open, lambda handle, *_, **__: handle)
    vars(child)["__builtins__"].update({name: getattr(builtins, name) for name in _ADDED})  # those of functions


def _streams_too(open_file: Callable[..., Any], of_stream: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(open_file)
    def opened(file: Any, *args: Any, **kwargs: Any) -> Any:
        stream = STREAMS.get(os.fspath(file)) if isinstance(file, str | os.PathLike) else None
        return open_file(file, *args, **kwargs) if stream is None else of_stream(os.dup(stream), *args, **kwargs)

    return opened


def run(code: bytes, alarm: Alarm, limits: JobLimits, writer: Writer) -> None:
    """A whole program over standard input and output; writes one record without the output."""
    try:
        alarm.start(limits)
        status, detail = _main(code)
        if not _end() and status == wire.OK:
            status, detail = wire.EXCEPTION, b"SystemExit: 120"
        alarm.disarm()
    except TimeLimit:
        status, detail = wire.TIMEOUT, b""
    writer.put(status, alarm.stop(), detail)


def _main(code: bytes) -> tuple[int, bytes]:
    sys.modules["__main__"] = module = ModuleType("__main__")
    space = module.__dict__
    space["__file__"], space["__builtins__"] = FILE, builtins
    try:
        for part in marshal.loads(code):
            exec(part, space)
    except TimeLimit:
        raise
    except SystemExit as error:
        return (wire.OK, b"") if is_success(error.code) else describe(error)
    except BaseException as error:  # noqa: BLE001 - the sandbox boundary
        return describe(error)
    return wire.OK, b""


def is_success(code: Any) -> bool:
    """Whether a process that exits with this has status 0."""
    return code is None or (isinstance(code, int) and not int.__and__(code, 255) and -(2**63) <= code < 2**63)


def _end() -> bool:
    """The end of an interpreter, in its order; False where that makes its exit status 120.

    What goes wrong in a thread, a function of `atexit` or a finalizer changes no exit status. Nothing is done where
    there is nothing to do: each page that is touched here is copied first.
    """
    modules = sys.modules
    if "threading" in modules:
        _tried(lambda: modules["threading"]._shutdown())
    if "atexit" in modules:
        _tried(lambda: modules["atexit"]._run_exitfuncs())
    good = _flushed("stdout")
    try:
        plain = sys.stdout is sys.__stdout__ and sys.stderr is sys.__stderr__
    except AttributeError:
        plain = False
    if not plain:
        good = _flushed("stderr") and good
        sys.stdout, sys.stderr = getattr(sys, "__stdout__", None), getattr(sys, "__stderr__", None)
    again = _let_go() or not plain
    return (not again or _flushed("stdout")) and good


def _let_go() -> bool:
    """Let go of the program's namespace and all that only it holds; True where code of the program may have run."""
    module = sys.modules.pop("__main__", None)
    space = getattr(module, "__dict__", None)
    if type(space) is not dict or sys.getrefcount(space) <= _ALONE:
        return False  # no function or class of the program refers to it: files that it holds are closed by the way
    mark: set[None] = set()
    life = weakref.ref(mark)
    space["__loader__"] = mark
    del module, space, mark
    for found in gc.get_objects():  # the collector may close a file before what is buffered above it
        if type(found) is io.TextIOWrapper or type(found) is io.BufferedWriter:
            _tried(found.flush)
    del found
    gc.collect()
    if life() is not None:  # something else holds it
        _tried(lambda: _clear([found for found in gc.get_referrers(life()) if type(found) is dict]))
    return True


_ALONE = 3
"""References to a module's namespace that are no function's: the module, a name here, an argument."""


def _clear(spaces: Iterable[dict[Any, Any]]) -> None:
    for space in spaces:
        for name in sorted(space, key=lambda name: name[:1] != "_"):  # as CPython: the private names first
            if name != "__builtins__":
                space[name] = None


def _tried(work: Callable[[], object]) -> bool:
    """Do it; False where it raised."""
    try:
        work()
    except TimeLimit:
        raise
    except BaseException:  # noqa: BLE001 - the sandbox boundary
        return False
    return True


def _flushed(name: str) -> bool:
    """Flush a stream as it is now; one that is closed or gone is no fault."""
    try:
        getattr(sys, name).flush()
    except TimeLimit:
        raise
    except BaseException:  # noqa: BLE001 - the sandbox boundary
        stream = getattr(sys, name, None)
        found: list[object] = []
        return stream is None or (_tried(lambda: found.append(bool(stream.closed))) and found == [True])
    return True
